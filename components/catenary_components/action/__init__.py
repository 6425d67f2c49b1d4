"""Actions: they do something with a message."""

"""Components that call the outside world."""

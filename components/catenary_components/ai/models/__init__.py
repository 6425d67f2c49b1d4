"""Models: one client for the OpenAI wire format, the retry policy around it, and models played from a script."""

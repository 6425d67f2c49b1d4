"""The built-in functions of the language, one family a file."""

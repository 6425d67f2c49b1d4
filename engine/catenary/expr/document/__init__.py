"""Longer texts: Jinja2 documents in a sandbox."""

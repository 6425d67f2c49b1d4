"""Expressions in Python's own spelling."""

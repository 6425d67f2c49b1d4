"""Filters: they choose a way and change nothing."""

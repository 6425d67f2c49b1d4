"""Transforms: they make another message."""

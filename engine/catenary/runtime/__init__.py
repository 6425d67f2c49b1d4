"""The kernel: private, not for import from outside the engine."""

"""AI nodes."""

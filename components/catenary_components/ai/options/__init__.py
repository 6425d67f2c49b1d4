"""The settings of an agent, a file for each part of it."""

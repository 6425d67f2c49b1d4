"""Hooks of agents: what looks at, and changes, what passes through the points of an agent's run."""

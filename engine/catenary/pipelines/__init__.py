"""Chains in pipelines: many messages through one chain, and a chain as a function that other processes call."""

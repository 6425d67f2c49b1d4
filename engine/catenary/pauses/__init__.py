"""Nodes that wait for an answer from outside: what they ask, what may be answered, and what comes of an answer."""

from catenary.pauses.answers import Answer, AnswerParts, Ask, Pause, Use

__all__ = ["Answer", "AnswerParts", "Ask", "Pause", "Use"]

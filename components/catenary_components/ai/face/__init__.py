"""Agents in Python: `Agent`, what it answers, and the events it tells of."""

from __future__ import annotations

from catenary_components.ai.face.agent import Agent
from catenary_components.ai.face.blocks import BlockEvent
from catenary_components.ai.face.reply import AgentReply

__all__ = ["Agent", "AgentReply", "BlockEvent"]

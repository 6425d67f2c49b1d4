"""AI nodes: the agent, and the phases its loops are made of."""

from __future__ import annotations

from catenary_components.ai import agent
from catenary_components.ai.phases import act, answer, limit, observe, reason

__all__ = ["act", "agent", "answer", "limit", "observe", "reason"]

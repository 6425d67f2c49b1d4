"""What agents ask in tests, and what is said to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catenary.testing import Reply, ToolCall

if TYPE_CHECKING:
    from catenary import Outcome


def wants(**places: str) -> Reply:
    """A reply that asks to send letters, by the ids of the calls."""
    return Reply(tool_calls=[ToolCall("send", {"to": to}, call_id) for call_id, to in places.items()])


def question(outcome: Outcome) -> dict[str, Any]:
    return json.loads(outcome.message.text)


def approve(call_id: str, **members: Any) -> dict[str, Any]:
    return {"toolCallId": call_id, "decision": "approve", **members}


def deny(call_id: str, **members: Any) -> dict[str, Any]:
    return {"toolCallId": call_id, "decision": "deny", **members}

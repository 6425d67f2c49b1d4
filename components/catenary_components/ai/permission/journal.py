"""What is known of calls that somebody was asked about: how often each was begun, and what came of it.

It is written down before and after a call runs, so that another process neither runs it again nor forgets it.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from catenary_components.ai.records import block_from_json, block_to_json
from catenary_components.ai.tools.execute import CallResult, refused

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary_components.ai.messages import MediaPart, ToolCall
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.execute import ReadyCall

ATTEMPTS: Final = 2
"""How often an approved call is begun, when the process ends in the middle of it."""


def from_journal(setup: AgentSetup, state: AgentState, call: ToolCall) -> CallResult | None:
    """Give the result of a call that is known already; a refusal when the call was begun too often."""
    known = noted_result(state, call)
    if known is not None:
        tool = setup.toolbox.get(call.name)
        return replace(known, is_direct=tool is not None and tool.returns_direct and known.state == "success")
    attempts = _attempts(_entry(state, call))
    if attempts < ATTEMPTS:
        return None
    text = f"[ERROR] The program ended {attempts} times while this tool ran; it is not run again. Tool: {call.name}"
    return refused(call, text, "ended in the middle")


def noted_result(state: AgentState, call: ToolCall) -> CallResult | None:
    """Give the result of a call that is written down; `None` when there is none."""
    result = _entry(state, call).get("result")
    if not isinstance(result, dict):
        return None
    known = cast("dict[str, Any]", result)
    parts = tuple(cast("MediaPart", block_from_json(part)) for part in known.get("parts", ()))
    return CallResult(call, known["text"], known["error"], state=known["state"], parts=parts)


def note_begun(state: AgentState, ready: ReadyCall) -> None:
    """Write down that an approved call is begun."""
    entry = _entry(state, ready.call)
    state.journal[ready.call.id] = {"attempts": _attempts(entry) + 1, "key": entry.get("key") or uuid.uuid4().hex}


def note_done(state: AgentState, result: CallResult) -> None:
    """Write down what came of a call."""
    entry = _entry(state, result.call)
    parts = {"parts": [block_to_json(part) for part in result.parts]} if result.parts else {}
    entry["result"] = {"text": result.text, "error": result.error, "state": result.state, **parts}
    state.journal[result.call.id] = entry


def note_result(state: AgentState, result: CallResult) -> None:
    """Write down the result of a call that is not run here: a denial, or what came from outside."""
    note_done(state, result)
    state.replace_call(replace(result.call, state="finished"))


def _entry(state: AgentState, call: ToolCall) -> dict[str, Json]:
    found = state.journal.get(call.id)
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}


def _attempts(entry: dict[str, Json]) -> int:
    attempts = entry.get("attempts", 0)
    return attempts if isinstance(attempts, int) else 0

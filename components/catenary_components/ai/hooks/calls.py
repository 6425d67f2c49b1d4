"""Calls that hooks have changed: the conversation shows what was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.errors import EngineError
from catenary_components.ai.messages import tool_message
from catenary_components.ai.tools.arguments import read_arguments
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.tool import Tool

TAKEN_OUT = "[ERROR] Not run: this call was taken out."


def read_or_none(tool: Tool | None, call: ToolCall) -> dict[str, Json] | None:
    """Read the arguments of a call; `None` when they are no JSON object, or there is no such tool."""
    if tool is None:
        return None
    try:
        return read_arguments(tool, call)
    except ToolInputError:
        return None


def edit_calls(state: AgentState, before: Sequence[ToolCall], after: Sequence[ToolCall]) -> None:
    """Put changed calls into the conversation; one that is missing gets a result that says it was taken out.

    Raises:
        EngineError: When there is a call that the model has not made.
    """
    known = {call.id: call for call in before}
    for call in after:
        if call.id not in known:
            raise EngineError(f"the model has made no call {call.id!r}", hint="change calls, or take them out")
        if call != known[call.id]:
            _replace(state, call)
    kept = {call.id for call in after}
    for call in before:
        if call.id not in kept:
            state.messages.append(tool_message(call.id, TAKEN_OUT, name=call.name, state="interrupted"))


def _replace(state: AgentState, call: ToolCall) -> None:
    for place in range(len(state.messages) - 1, -1, -1):
        message = state.messages[place]
        if message.role == "assistant" and any(one.id == call.id for one in message.tool_calls):
            state.messages[place] = message.with_call(call)
            return

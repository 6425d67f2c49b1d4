"""Calls that repeat, and calls that keep failing: what the model is told, so that it does not go on for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.jsontext import dumps, loads
from catenary_components.ai.tools.execute import refused

if TYPE_CHECKING:
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.execute import CallResult
    from catenary_components.ai.tools.tool import Tool

MANY: Final = 5
"""So many calls of one kind, and the model is told to give up rather than to try another way."""

_FAILED: Final = ("Error:", "Tool execution failed")
_MILD: Final = (
    "this is call {count} of {tool} with the same arguments. Read its earlier results again, or try another way."
)
_STRONG: Final = (
    "{tool} was called {count} times with the same arguments. Give up this plan, or ask the user what to do."
)
_FAILING: Final = (
    "Warning: the last {count} tool calls failed in a row. Stop and think about what is wrong before you call another."
)


def fingerprint(call: ToolCall) -> str:
    """Give what makes two calls the same: the tool and its arguments, whatever the order of their members."""
    try:
        return f"{call.name} {dumps(loads(call.arguments))}"
    except (ValueError, RecursionError):
        return f"{call.name} {call.arguments}"


def look_at(setup: AgentSetup, state: AgentState, tool: Tool, call: ToolCall) -> CallResult | None:
    """Note a call; refuse it when it is the third or a later one with the same arguments among the last calls."""
    allowed, window = setup.tools.max_repeats, setup.tools.repeat_window
    if not allowed or tool.may_repeat:
        return None
    key = fingerprint(call)
    state.recent_calls = [*state.recent_calls, key][-window:]
    count = state.recent_calls.count(key)
    if count <= allowed:
        return None
    advice = (_STRONG if count >= MANY else _MILD).format(count=count, tool=tool.name)
    return refused(call, f"Error: doom_loop_repeated - {advice}", "doom_loop_repeated")


def warned(setup: AgentSetup, state: AgentState, result: CallResult, text: str) -> str:
    """Count failures in a row; put a warning before the text of a result when there are many."""
    has_failed = result.state == "error" or result.text.startswith(_FAILED)
    state.failures = state.failures + 1 if has_failed else 0
    limit = setup.tools.warn_after_failures
    if not limit or state.failures < limit:
        return text
    return f"{_FAILING.format(count=state.failures)}\n\n{text}"

"""What becomes of the calls of a reply before anything runs: each is looked at and goes through the gate, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from catenary_components.ai.messages import object_or_text
from catenary_components.ai.permission.journal import from_journal
from catenary_components.ai.tools.batch import prepare
from catenary_components.ai.tools.execute import CallResult, ReadyCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import CallState, ToolCall
    from catenary_components.ai.permission.gate import Verdict
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

DENIED: Final = "Permission denied by rules"


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that waits for somebody's word.

    Attributes:
        call: The call.
        shown: What is told about it, besides the call itself.
    """

    call: ToolCall
    shown: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """A call whose result comes from outside."""

    call: ToolCall


Admitted: TypeAlias = ReadyCall | CallResult | AskedCall | OutsideCall


async def admit(ctx: Context, setup: AgentSetup, state: AgentState, call: ToolCall) -> Admitted:
    """Look at one call, and have the gate decide about it, unless somebody has decided already."""
    if call.state == "asking":
        return AskedCall(call, _asked_before(state, call))
    if call.state == "submitted":
        return OutsideCall(call)
    known = from_journal(setup, state, call)
    if known is not None:
        return known
    ready = prepare(setup, state, call, is_new=call.state == "pending")
    if isinstance(ready, CallResult):
        return ready
    stopped = await _judged(ctx, setup, state, ready)
    if stopped is not None:
        return stopped
    return OutsideCall(call) if ready.tool.is_external else ready


async def _judged(
    ctx: Context, setup: AgentSetup, state: AgentState, ready: ReadyCall
) -> CallResult | AskedCall | None:
    call = ready.call
    is_edited = call.id in _members(state.question, "edited")
    if setup.gate is None or (call.state == "allowed" and not is_edited):
        return None
    verdict = await setup.gate.judge(ctx, state, ready.tool, call, ready.arguments)
    if verdict.decision == "deny":
        text = f"Error: Permission denied - {verdict.reason}" if verdict.by in ("tool", "check") else DENIED
        return CallResult(call, text, verdict.reason, state="denied")
    if verdict.decision == "allow" or (is_edited and _asked_before(state, call).get("reason") == verdict.reason):
        return None
    return AskedCall(call, _shown(verdict))


def _shown(verdict: Verdict) -> dict[str, Json]:
    suggested: list[Json] = [rule.to_json() for rule in verdict.suggested]
    return {"reason": verdict.reason, "suggestedRules": suggested, **verdict.facts()}


def _asked_before(state: AgentState, call: ToolCall) -> Mapping[str, Json]:
    return _members(_members(state.question, "calls"), call.id)


def _members(value: Mapping[str, Json], name: str) -> dict[str, Json]:
    found = value.get(name)
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}


# Questions


def shown_calls(asked: list[AskedCall]) -> list[Json]:
    """Give calls that are asked about as events and questions show them."""
    return [
        {
            "id": one.call.id,
            "name": one.call.name,
            "input": object_or_text(one.call.arguments),
            "state": "asking",
            **one.shown,
        }
        for one in asked
    ]


def mark(state: AgentState, call: ToolCall, to: CallState) -> None:
    """Write down how far a call has come."""
    state.replace_call(replace(call, state=to))

"""The questions of an agent: what it asks of people, and of systems outside that do a call for it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from catenary_components.ai.messages import object_or_text
from catenary_components.ai.models.wire import as_object
from catenary_components.ai.permission.admission import mark, shown_calls
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.permission.admission import AskedCall
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState


def ask(
    ctx: Context, setup: AgentSetup, state: AgentState, asked: list[AskedCall], waiting: Sequence[ToolCall]
) -> None:
    """Ask about calls; those that wait with them are allowed, and run once all questions are answered."""
    for call in waiting:
        mark(state, call, "allowed")
    for one in asked:
        mark(state, one.call, "asking")
    before = state.question
    _pose(ctx, setup, state, "confirm", shown_calls(asked))
    state.question["calls"] = {**as_object(before.get("calls")), **{one.call.id: dict(one.shown) for one in asked}}
    if "edited" in before:
        state.question["edited"] = before["edited"]
    state.finish_reason = FinishReason.AWAIT_CONFIRM


def hand_out(ctx: Context, setup: AgentSetup, state: AgentState, calls: Sequence[ToolCall]) -> None:
    """Have calls done outside."""
    for call in calls:
        mark(state, call, "submitted")
    shown: list[Json] = [
        {"id": call.id, "name": call.name, "input": object_or_text(call.arguments), "state": "submitted"}
        for call in calls
    ]
    _pose(ctx, setup, state, "external", shown)
    state.finish_reason = FinishReason.AWAIT_EXTERNAL


def _pose(ctx: Context, setup: AgentSetup, state: AgentState, kind: str, calls: list[Json]) -> None:
    now = ctx.clock.time_ms()
    state.question = {
        "id": uuid.uuid4().hex,
        "kind": kind,
        "asked": now,
        "expires": now + round(setup.approval_timeout_s * 1000),
    }
    if setup.expect is not None:
        setup.expect()
    ctx.notify("approval.request", **state.question, toolCalls=calls)

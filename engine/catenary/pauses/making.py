"""The pause of a visit: what is asked in it, since when, and where it waits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catenary.pauses.answers import Pause

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary.message import Message
    from catenary.pauses.answers import Ask


class _Visits(dict[str, int]):
    """How often each node of a run that may pause was visited; lies in the scope of the run at the top."""


class Carried(dict[str, list[int | None]]):
    """When the time of questions is over that another run asked before, by node in order; in the scope of a run."""


def pause_of(ctx: Context, ask: Ask, message: Message) -> Pause:
    """Make the pause of a visit.

    Args:
        ctx: The context of the visit.
        ask: What is asked; secrets in it are masked.
        message: The message that waits.
    """
    run = ctx._run
    assert run is not None
    masked = ctx.chain.engine.masker.text
    ask = replace(ask, title=masked(ask.title), prompt=masked(ask.prompt))
    now = ctx.clock.time_ms()
    expires = None if ask.timeout_s is None else now + round(ask.timeout_s * 1000)
    carried = run.root.scope.get(Carried) if run.parent is None else None
    if carried and carried.get(ctx.node_id):
        expires = carried[ctx.node_id].pop(0)
    return Pause(
        run_id=ctx.run_id,
        chain_id=ctx.chain_id,
        chain_version=ctx.chain.version,
        node_id=ctx.node_id,
        visit=_next_visit(ctx),
        ask=ask,
        message=message,
        since_ms=now,
        expires_ms=expires,
        inside=place_of(ctx),
    )


def place_of(ctx: Context) -> str:
    """Say in what a visit is run, when no later process could go on from there; empty when one could."""
    run = ctx._run
    if run is not None and run.parent is not None:
        return "it waits inside a loop, a group or a chain that another node runs"
    if ctx._crew is not None and ctx._crew.depth:
        return "it waits behind a node that is still sending"
    return ""


def _next_visit(ctx: Context) -> int:
    """Count a visit of a node that may pause, also in a run that nobody watches."""
    assert ctx._run is not None
    scope = ctx._run.root.scope
    visits = scope.get(_Visits)
    if visits is None:
        visits = _Visits()
        scope.set(visits)
    visits[ctx.node_id] = visits.get(ctx.node_id, 0) + 1
    return visits[ctx.node_id]


def shown(pause: Pause) -> dict[str, Any]:
    """Give what the event of a pause carries."""
    written = pause.to_dict()
    for name in ("runId", "chainId", "chainVersion", "nodeId", "message"):
        del written[name]
    return written

"""Each exit of a node as a visit of its own, for the callback that asked for it."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from catenary.message import Message
from catenary.recording import Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary.masking import Masker
    from catenary.runtime.context import Context

_TOLD: Final = frozenset({"message", "data", "error"})

logger = logging.getLogger(__name__)


class Exits:
    """Tells one callback of the exits of the nodes of a run.

    Args:
        callback: Gets a visit with the one message that left; one that sent nothing is told of once, at its end.
        put: Takes what an `async def` callback gave.
    """

    def __init__(self, callback: Callable[[Visit], Any], put: Callable[[Any], None]) -> None:
        self._callback = callback
        self._put = put
        self._open: dict[int, tuple[Visit, float]] = {}
        self._silent: set[int] = set()

    def entered(self, ctx: Context, message: Message) -> None:
        """Take note that a visit begins."""
        step, run = ctx._step, ctx._run
        visit = Visit(
            number=ctx.visit,
            parent=run.parent_visit if run else 0,
            chain_id=step.owner.id,
            chain_version=step.owner.version,
            node_id=step.node_id,
            node_type=step.node.type,
            relation=str(ctx._relation),
            sender=ctx._sender.node_id if ctx._sender else "",
            message=message,
            started_ms=time.time_ns() // 1_000_000,
        )
        self._open[ctx.visit] = visit, time.perf_counter()
        self._silent.add(ctx.visit)

    def logged(self, ctx: Context, name: str, data: Mapping[str, Json]) -> None:
        """Take note of what a node reports."""
        self._open[ctx.visit][0].items.append((name, data))

    def left(self, ctx: Context, message: Message, relation: str, error: BaseException | str | None) -> None:
        """Tell that a message left a node; without a relation, that its visit was cut off."""
        self._silent.discard(ctx.visit)
        self._tell(ctx, [(relation, message)] if relation or error is None else [], error)

    def over(self, ctx: Context) -> None:
        """Tell of a visit that sent nothing, and forget it."""
        if ctx.visit in self._silent:
            self._silent.discard(ctx.visit)
            self._tell(ctx, [], None)
        del self._open[ctx.visit]

    def _tell(self, ctx: Context, sent: list[tuple[str, Message]], error: BaseException | str | None) -> None:
        visit, began = self._open[ctx.visit]
        took = time.perf_counter() - began
        told = replace(visit, sent=sent, error=str(error or ""), duration_s=took, items=list(visit.items))
        masker = ctx._step.owner.engine.masker
        try:
            waiting = self._callback(masker.visit(told))
        except Exception:
            logger.exception("a callback of a run raised", extra={"run_id": ctx.run_id})
            return
        if waiting is not None:
            self._put(waiting)


def masked(masker: Masker, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parts of an event with the secrets in them masked."""
    return {name: _masked(masker, value) if name in _TOLD else value for name, value in parts.items()}


def _masked(masker: Masker, value: Any) -> Any:
    return masker.message(value) if isinstance(value, Message) else masker.value(value)

"""Live debugging: what nodes in debug mode got and gave, told as it happens, in order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from catenary.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary.relation import Relation
    from catenary.runtime.compiled import Step

    Told: TypeAlias = Callable[[str, str, str, Message, Relation | str, BaseException | str | None], Any]

logger = logging.getLogger(__name__)

IN: Final = "IN"
OUT: Final = "OUT"
LOG: Final = "Log"
LINE: Final = "log."
"""What the names of events begin with that are lines of a program: `log.info`, `log.error`."""


class Debugger:
    """Tells callbacks of the visits of nodes in debug mode, for one run and its sub-runs.

    A node is in debug mode when its chain or the chain of the run at the top is, or its own flag says so; an override
    for the run wins over all of them, both ways.

    Args:
        callbacks: Get chain id, flow (`IN`, `OUT` or `Log`), node id, message, relation and error.
        override: True for all nodes, False for none, `None` when the flags decide.
        put: Takes what an `async def` callback gave, to be awaited before the run is over.
    """

    def __init__(
        self, callbacks: tuple[Told, ...], override: bool | None, put: Callable[[Any], None] | None = None
    ) -> None:
        self._callbacks = callbacks
        self._override = override
        self._put = put

    def wants(self, step: Step) -> bool:
        """Tell whether a node is in debug mode."""
        return is_debugged(step) if self._override is None else self._override

    def entered(self, step: Step, message: Message, relation: Relation | str) -> None:
        """Tell that a message reached a node."""
        self._tell(step, IN, message, relation, None)

    def left(self, step: Step, message: Message, relation: Relation | str, error: BaseException | str | None) -> None:
        """Tell that a message left a node, or that nothing did because it failed or was cut off."""
        self._tell(step, OUT, message, relation, error)

    def logged(self, step: Step, name: str, data: Mapping[str, Json]) -> None:
        """Tell what a node reports: its name stands in place of the relation, its data is that of the message.

        Of a line that a program wrote, `info` or `error` stands there, and the line is the data.
        """
        if name.startswith(LINE):
            self._tell(step, LOG, Message(str(data.get("text", ""))), name.removeprefix(LINE), None)
        else:
            self._tell(step, LOG, Message(dict(data)), name, None)

    def _tell(
        self, step: Step, flow: str, message: Message, relation: Relation | str, error: BaseException | str | None
    ) -> None:
        if not self.wants(step):
            return
        for callback in self._callbacks:
            try:
                waiting = callback(step.owner.id, flow, step.node_id, message, relation, error)
            except Exception:
                logger.exception("a debug callback raised", extra={"chain_id": step.owner.id, "node_id": step.node_id})
                continue
            if waiting is not None and self._put is not None:
                self._put(waiting)


def is_debugged(step: Step) -> bool:
    """Tell whether the flags of a chain and a node say that it is in debug mode."""
    return bool(step.owner.definition.debug_mode or step.node.debug_mode)

"""Who is told what becomes of the chains of an engine."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.chain import Chain

logger = logging.getLogger(__name__)

CallT = TypeVar("CallT", bound="Callable[..., Any]")


class Notices:
    """Callbacks, each kind in the order in which they were added. All are called where the change is made.

    Attributes:
        created: Get each version that was made and opened, before it is in service; what they raise refuses it.
        new: Get a chain that was loaded.
        updated: Get a chain that was replaced, and the id of the node when only that was.
        deleted: Get the id of a chain that was taken out of service.
        closed: Get each version whose components have been closed.
    """

    def __init__(self) -> None:
        self.created: list[Callable[[Chain], object]] = []
        self.new: list[Callable[[Chain], object]] = []
        self.updated: list[Callable[[Chain, str], object]] = []
        self.deleted: list[Callable[[str], object]] = []
        self.closed: list[Callable[[Chain], object]] = []

    def tell(self, callbacks: list[CallT], *arguments: object) -> None:
        """Call each one; what one raises is logged, and the others are called all the same."""
        for callback in list(callbacks):
            try:
                callback(*arguments)
            except Exception:
                logger.exception("a callback about chains failed")


def added(callbacks: list[CallT], callback: CallT) -> Callable[[], None]:
    """Add a callback. Returns: a function that takes it off again."""
    callbacks.append(callback)

    def take_off() -> None:
        if callback in callbacks:
            callbacks.remove(callback)

    return take_off

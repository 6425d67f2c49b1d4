"""A call while it runs: what its tool may know of it, and the pieces that it shows on the way."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catenary.component import TimeLimit
    from catenary.jsontext import Json

    Tell = Callable[[Json], Awaitable[None]]


class ToolCallInfo:
    """The call that a tool is run for. A parameter of this type gets it and is not shown to the model.

    Attributes:
        id: The id that the model gave the call; its result is found by it.
        name: The tool.
        attempt: How often it was tried, this time included.
        is_approved: Whether somebody was asked about the call, and allowed it.
        idempotency_key: The same whenever this call is run again, also by another process after a crash; for services
            that do a thing once for each such key.
        limit: Limits the time of a call in which people may be asked; `None` for others.
    """

    __slots__ = ("_loop", "_tell", "attempt", "id", "idempotency_key", "is_approved", "limit", "name")

    def __init__(self, id: str, name: str, *, attempt: int = 1, key: str = "", tell: Tell | None = None) -> None:  # noqa: A002 - the attribute's name
        self.id = id
        self.name = name
        self.attempt = attempt
        self.is_approved = bool(key)
        self.idempotency_key = key or id
        self.limit: TimeLimit | None = None
        self._tell = tell
        self._loop = asyncio.get_running_loop() if tell is not None else None

    async def show(self, piece: Json) -> None:
        """Show a piece to those who listen; the model never sees it. Comes back when it has been dealt with.

        Nothing happens when the call is over already.
        """
        if self._tell is not None:
            await self._tell(piece)

    def show_now(self, piece: Json) -> None:
        """Do the same from a plain function, which runs in a thread of its own; waits there."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self.show(piece), self._loop).result()


CURRENT: Final[ContextVar[ToolCallInfo]] = ContextVar("catenary_tool_call")
"""The call that is being run in this task or thread."""

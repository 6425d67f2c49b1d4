"""Clients that go away while they wait for an answer."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from catenary.http.inprocess import AsgiReceive

_RAISED_BY_OTHERS: Final = (("starlette.requests", "ClientDisconnect"), ("starlette.websockets", "WebSocketDisconnect"))


class ClientGone(Exception):  # noqa: N818 - nobody is there to be told
    """The client has left."""


def is_of_leaving(error: BaseException) -> bool:
    """Tell whether an application raises something only because its client has left, which is no fault of it."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_of_leaving, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    known = tuple(_named(module, name) for module, name in _RAISED_BY_OTHERS)
    return isinstance(error, (ClientGone, ConnectionResetError, *filter(None, known)))


def _named(module: str, name: str) -> type[Exception] | None:
    """Give an exception of a package; `None` when nothing can have raised it, as it was never imported."""
    return getattr(sys.modules.get(module), name, None)


class gone_cancels:  # noqa: N801 - used as a function: `with gone_cancels(receive):`
    """Cancel what runs in the block when the client goes away; `ClientGone` is raised then.

    The server of this package tells by itself; under another one a task waits for it.

    Args:
        receive: That of the ASGI application, which has read the whole request.
    """

    __slots__ = ("_cycle", "_is_gone", "_receive", "_task", "_watching")

    def __init__(self, receive: AsgiReceive) -> None:
        self._receive = receive
        self._cycle: Any = getattr(receive, "__self__", None)
        self._watching: asyncio.Task[None] | None = None
        self._is_gone = False
        self._task: Any = asyncio.current_task()

    def __enter__(self) -> None:
        if not hasattr(self._cycle, "on_gone"):
            self._watching = asyncio.get_running_loop().create_task(self._watch())
        elif self._cycle.is_gone:
            raise ClientGone
        else:
            self._cycle.on_gone = self._leave

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._watching is not None:
            self._watching.cancel()
        else:
            self._cycle.on_gone = None
        if self._is_gone:
            self._task.uncancel()
            if kind is None or issubclass(kind, asyncio.CancelledError):
                raise ClientGone from None

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        self._is_gone = True
        self._task.cancel()

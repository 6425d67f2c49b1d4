"""One writer a session: who comes while it is in use waits in a line, or is sent away."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from catenary_components.ai.sessions.store import SessionBusy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

WhenBusy: TypeAlias = Literal["queue", "fail"]
_Id: TypeAlias = tuple[str, str]
_Waiting: TypeAlias = "tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]"


@dataclass(slots=True)
class _Hold:
    session: _Id
    is_over: bool = False


_held: Final[ContextVar[tuple[_Hold, ...]]] = ContextVar("held_sessions", default=())
"""The sessions that what runs here is part of a call in: waiting for one of them would never end."""


class Turns:
    """The lines before all sessions of a process, first come, first served. Works across threads and event loops."""

    def __init__(self) -> None:
        self._lines: dict[_Id, deque[_Waiting]] = {}  # there is a line for each session in use, mostly an empty one
        self._lock = Lock()

    @asynccontextmanager
    async def take(self, place: str, key: str, when_busy: WhenBusy) -> AsyncGenerator[None]:
        """Have a session for oneself.

        The wait has no limit of its own: it is as long as the calls before it take, and ends with the run that waits.

        Raises:
            SessionBusy: When it is in use and `when_busy` is `fail`, or when the call it is in use by waits for this
                one.
        """
        session = (place, key)
        held = _held.get()
        if any(hold.session == session and not hold.is_over for hold in held):
            raise SessionBusy(
                f"session {key!r} is in use by the very call that this one is part of",
                hint="give the agent that is called another session",
            )
        await self._enter(session, when_busy)
        hold = _Hold(session)
        _held.set((*held, hold))
        try:
            yield
        finally:
            hold.is_over = True  # tasks that outlive the call have it in their context still
            _held.set(held)
            self._leave(session)

    async def _enter(self, session: _Id, when_busy: WhenBusy) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            line = self._lines.get(session)
            if line is None:
                self._lines[session] = deque()
                return
            if when_busy == "fail":
                raise SessionBusy(f"session {session[1]!r} is in use by another call", hint="wait for its answer")
            waiting = (loop, loop.create_future())
            line.append(waiting)
        try:
            await waiting[1]
        except BaseException:
            with self._lock:
                has_turn = waiting not in line
                if not has_turn:
                    line.remove(waiting)
            if has_turn:
                self._leave(session)
            raise

    def _leave(self, session: _Id) -> None:
        with self._lock:
            line = self._lines[session]
            while line:
                loop, turn = line.popleft()
                with suppress(RuntimeError):  # its event loop is closed, and nobody waits there any more
                    loop.call_soon_threadsafe(_give, turn)
                    return
            del self._lines[session]


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


TURNS: Final = Turns()

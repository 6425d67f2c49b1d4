"""One connection that many use: opened by the first, kept while anybody uses it, closed once, by its owner."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from catenary.errors import EngineError, TooSlow
from catenary.reasons import reason_of
from catenary.shared.reconnecting import Reconnecting
from catenary.waiting import awaited

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from catenary.clock import Clock

ResourceT = TypeVar("ResourceT")
ConnectionState: TypeAlias = Literal["none", "connected", "reconnecting", "disconnected"]

RETRY_AFTER_S: Final = 30.0
"""For how long after a failed connect the same error is given without another try, in seconds."""

CHECK_TIMEOUT_S: Final = 10.0
"""A connection that does not answer a check within so many seconds is broken."""


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """How a connection is.

    Args:
        state: `none` before the first use, then `connected`, `reconnecting` while it is made again, or `disconnected`.
        error: What went wrong last; empty while it is connected.
    """

    state: ConnectionState
    error: str = ""


class _Held(Generic[ResourceT]):
    """A connection, and how many use it at this moment."""

    __slots__ = ("resource", "retired", "users")

    def __init__(self, resource: ResourceT) -> None:
        self.resource = resource
        self.users = 0
        self.retired = False


class SharedResource(Generic[ResourceT]):
    """One connection of one owner. Safe to use from many tasks and threads.

    Args:
        connect: Makes the connection; `def` or `async def`.
        disconnect: Closes it; `def` or `async def`.
        check: Raises when the connection is broken; `def` or `async def`.
        clock: Tells when another try may be made.
        blocking: True when a `def connect` waits: where an event loop runs, it is called in a thread.
        told: Is called with the status whenever it has changed, in the task or thread that changed it.
        mask: Gives the text of an error without the secrets in it.
    """

    def __init__(
        self,
        connect: Callable[[], ResourceT | Awaitable[ResourceT]],
        disconnect: Callable[[ResourceT], Awaitable[None] | None],
        check: Callable[[ResourceT], Awaitable[None] | None],
        clock: Clock,
        *,
        blocking: bool = False,
        told: Callable[[ConnectionStatus], None] | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._check = check
        self._clock = clock
        self._blocking = blocking
        self._held: _Held[ResourceT] | None = None
        self._opening: Future[None] | None = None
        self._failure: Exception | None = None
        self._failed_at = 0.0
        self._was_connected = False
        self._closed = False
        self._gate = Lock()
        self._again = Reconnecting(self._connect_again, clock)
        self._tell = told
        self._last_told = ConnectionStatus("none")
        self._mask = mask

    @property
    def status(self) -> ConnectionStatus:
        """How the connection is; reading it connects nothing."""
        failure = self._failure
        error = self._mask(reason_of(failure)) if failure else ""
        if self._held is not None:
            return ConnectionStatus("connected")
        if self._again.is_active or (self._opening is not None and (self._was_connected or error)):
            return ConnectionStatus("reconnecting", error)
        return ConnectionStatus("disconnected" if error or self._was_connected else "none", error)

    def _tell_change(self) -> None:
        if self._tell is not None and (status := self.status) != self._last_told:
            self._last_told = status
            self._tell(status)

    # Using it

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[ResourceT]:
        """Lend the connection: `async with shared.use() as connection:`. The first use connects.

        Raises:
            EngineError: When the owner is closed.
            Exception: What connecting raised; the same again until 30 seconds have gone by.
        """
        held = await self._taken()
        try:
            yield held.resource
        finally:
            if self._given_back(held):
                await _finished(self._disconnect(held.resource))

    @contextmanager
    def use_now(self) -> Generator[ResourceT]:
        """Lend the connection without an event loop: for a `def run`. Raises: as `use`."""
        held = self._taken_now()
        try:
            yield held.resource
        finally:
            if self._given_back(held):
                self._disconnect_now(held.resource)

    async def connect(self) -> None:
        """Connect, when it is not connected. Raises: as `use`."""
        async with self.use():
            pass

    def connect_now(self) -> None:
        """Connect without an event loop. Raises: as `use`."""
        with self.use_now():
            pass

    async def check(self) -> ConnectionStatus:
        """Look whether the connection works, and make it again when it does not, or could not be made.

        One that nobody has asked for stays so: who is not ready is sent no messages, which alone would ask again. A
        look that takes longer than 10 seconds counts as a broken connection.
        """
        held = self._held
        if held is None:
            if self._failure is not None and not self._again.is_active:
                with suppress(Exception):  # it is in the status
                    await self.connect()
            return self.status
        try:
            await self._checked(held.resource)
        except Exception as error:
            await self.drop(error, resource=held.resource)
            try:
                await self.connect()
            except Exception:  # it is in the status, and the next one to use it is told
                return self.status
        return self.status

    async def _checked(self, resource: ResourceT) -> None:
        if self._blocking and not inspect.iscoroutinefunction(self._check):
            checking: Awaitable[Any] | None = asyncio.to_thread(self._check, resource)
        else:
            checking = self._check(resource)
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                await _finished(checking)
        except TimeoutError as error:
            raise TooSlow(f"the connection did not answer within {CHECK_TIMEOUT_S:g} s", retryable=True) from error

    async def drop(self, error: Exception | None = None, *, resource: ResourceT | None = None) -> None:
        """Give the connection up, so that the next use makes another one; who uses it at this moment keeps it.

        Args:
            error: Why it is of no use any more; it is made again in the background then.
            resource: The connection that is of no use; when another one has taken its place, nothing happens.
        """
        held = self._held
        if resource is not None and (held is None or held.resource is not resource):
            return
        held = self._retired()
        self._failure, self._failed_at = error, float("-inf")
        if error is not None and not self._closed:
            self._again.begin()
        self._tell_change()
        if held is not None:
            await self._disconnected(held)

    # Closing

    async def close(self) -> None:
        """Close the connection, once the last one who uses it has given it back. May be awaited again."""
        held = self._closed_down()
        if held is not None:
            await _finished(self._disconnect(held.resource))

    def close_now(self) -> None:
        """Close the connection without an event loop, as `close` does; its `disconnect` must be a plain `def`."""
        held = self._closed_down()
        if held is not None:
            self._disconnect_now(held.resource)

    def _closed_down(self) -> _Held[ResourceT] | None:
        self._closed = True
        self._again.end()
        held = self._retired()
        self._tell_change()
        return held

    def _retired(self) -> _Held[ResourceT] | None:
        """Take the connection out. Returns: the connection when nobody uses it, so that it is to be closed."""
        with self._gate:
            held, self._held = self._held, None
            if held is None:
                return None
            held.retired = True
            return None if held.users else held

    async def _disconnected(self, held: _Held[ResourceT]) -> None:
        try:
            await _finished(self._disconnect(held.resource))
        except Exception as error:  # it was broken before
            self._failure = self._failure or error

    # Taking and giving back

    async def _taken(self, *, at_once: bool = False) -> _Held[ResourceT]:
        while True:
            held, mine, others = self._next(at_once=at_once)
            if held is not None:
                return held
            if mine is None:
                assert others is not None
                await asyncio.wrap_future(others)  # whoever connects may be at it in another thread
                continue
            try:
                self._tell_change()
                made = await self._made()
                if not self._keep(made):
                    await _finished(self._disconnect(made))
            except Exception as error:
                self._note_failure(error)
                raise
            finally:
                self._opened(mine)

    def _taken_now(self) -> _Held[ResourceT]:
        while True:
            held, mine, others = self._next()
            if held is not None:
                return held
            if mine is None:
                assert others is not None
                others.result()
                continue
            try:
                self._tell_change()
                made = self._made_now()
                if not self._keep(made):
                    self._disconnect_now(made)
            except Exception as error:
                self._note_failure(error)
                raise
            finally:
                self._opened(mine)

    async def _connect_again(self) -> None:
        """Connect in the background, whenever the last try was."""
        if self._given_back(await self._taken(at_once=True)):
            raise EngineError("the connection is closed, because its owner is")

    def _next(
        self, *, at_once: bool = False
    ) -> tuple[_Held[ResourceT] | None, Future[None] | None, Future[None] | None]:
        """Give the connection; or a future of one's own, who has to connect then; or that of who connects already."""
        with self._gate:
            if self._closed:
                raise EngineError("the connection is closed, because its owner is")
            if self._held is not None:
                self._held.users += 1
                return self._held, None, None
            if self._opening is not None:
                return None, None, self._opening
            waits = not at_once and self._clock.monotonic() - self._failed_at < RETRY_AFTER_S
            if self._failure and waits:
                raise self._failure.with_traceback(None)
            mine = self._opening = Future()
            mine.set_running_or_notify_cancel()  # so that nobody who waits for it can cancel it
            return None, mine, None

    def _opened(self, mine: Future[None]) -> None:
        self._opening = None
        mine.set_result(None)
        self._tell_change()

    def _keep(self, resource: ResourceT) -> bool:
        """Hold the connection from now on. Returns: False when its owner was closed while it was made."""
        with self._gate:
            if self._closed:
                return False
            self._held = _Held(resource)
        self._was_connected = True
        self._failure = None
        self._again.end()
        return True

    def _note_failure(self, error: Exception) -> None:
        self._failure, self._failed_at = error, self._clock.monotonic()
        if self._was_connected and not self._closed:
            self._again.begin()

    def _given_back(self, held: _Held[ResourceT]) -> bool:
        """Take note that a use is over. Returns: whether the connection is to be closed."""
        with self._gate:
            held.users -= 1
            return held.retired and not held.users

    async def _made(self) -> ResourceT:
        if self._blocking and not inspect.iscoroutinefunction(self._connect):
            made: Any = await asyncio.to_thread(self._connect)
        else:
            made = self._connect()
        return await awaited(made) if inspect.isawaitable(made) else made

    def _made_now(self) -> ResourceT:
        if inspect.iscoroutinefunction(self._connect):
            raise EngineError(
                "the connection is made by an `async def connect`, which needs an event loop",
                hint="use it in an `async def run`",
            )
        made: Any = self._connect()
        return made

    def _disconnect_now(self, resource: ResourceT) -> None:
        closing = self._disconnect(resource)
        if inspect.iscoroutine(closing):
            closing.close()
            raise EngineError("the connection is closed by an `async def disconnect`, which needs an event loop")


async def _finished(result: Awaitable[None] | None) -> None:
    if result is not None:
        await awaited(result)

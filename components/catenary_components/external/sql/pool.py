"""Connections to a server or a file that are made when they are needed, kept, and used again."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from catenary_components.external.sql.failures import connect_failure, driver_errors

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
    from sqlalchemy.pool import ConnectionPoolEntry

    from catenary_components.external.sql.address import Address
    from catenary_components.external.sql.drivers import Driver

_IDLE: Final = 5
"""How many idle connections are kept where nobody says how many there may be."""

_UNASKED_S: Final = 5.0
"""How long a connection may lie idle until it is asked for a sign of life before it is used, in seconds."""

_IDLE_SINCE: Final = "catenary.idle_since"


class Pool:
    """The connections of one database.

    Connections belong to the event loop they were made on: each loop has some of its own, closed when it ends.

    Args:
        address: Where the database is.
        driver: How it is spoken to.
        size: How many connections there may be at once; half of them are kept when idle. 0 is no limit.
    """

    def __init__(self, address: Address, driver: Driver, size: int) -> None:
        self._address = address
        self._driver = driver
        self._size = size
        self._in_doubt_since = 0.0
        self._engines: dict[asyncio.AbstractEventLoop, AsyncEngine] = {}
        self._holders: dict[asyncio.AbstractEventLoop, AsyncGenerator[AsyncEngine]] = {}

    def doubt(self) -> None:
        """Have every connection asked for a sign of life that is idle at this moment: another one was lost."""
        self._in_doubt_since = monotonic()

    async def close(self) -> None:
        """Close all connections; those of other event loops go with their loops."""
        for loop in list(self._holders):
            holder = self._holders.pop(loop)
            if loop is asyncio.get_running_loop():
                await holder.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(holder.aclose(), loop))
            elif not loop.is_closed():
                await asyncio.to_thread(loop.run_until_complete, holder.aclose())

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[AsyncConnection]:
        """Give a connection for the length of a block. Raises: ResourceError: when there is none."""
        from sqlalchemy.exc import SQLAlchemyError

        engine = await self._engine()
        try:
            connection = await engine.connect()
        except (SQLAlchemyError, OSError, *driver_errors(self._address.dialect)) as error:
            raise connect_failure(error, self._address.place) from error
        try:
            yield connection
        finally:
            await finished(connection.close())

    async def _engine(self) -> AsyncEngine:
        loop = asyncio.get_running_loop()
        engine = self._engines.get(loop)
        if engine is None:
            holder = self._held(loop)
            engine = await anext(holder)
            self._holders[loop] = holder
        return engine

    async def _held(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[AsyncEngine]:
        """Keep the connections of a loop.

        A generator, because a loop closes the generators that were begun on it before it ends: so no connection
        outlives its loop.
        """
        engine = self._engines[loop] = self._made_engine()
        try:
            yield engine
        finally:
            self._engines.pop(loop, None)
            self._holders.pop(loop, None)
            await engine.dispose()

    def _made_engine(self) -> AsyncEngine:
        from sqlalchemy import event
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import AsyncAdaptedQueuePool

        driver = self._driver
        most = 1 if self._address.database == ":memory:" and self._address.dialect == "sqlite" else self._size
        kept = max(most // 2, 1) if most else _IDLE
        engine = create_async_engine(
            driver.url,
            async_creator=driver.connect,
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
            poolclass=AsyncAdaptedQueuePool,
            pool_size=kept,
            max_overflow=most - kept if most else -1,
            pool_timeout=None,
            hide_parameters=True,
        )

        def prepare(connection: Any, _record: object) -> None:
            connection.run_async(driver.prepare)

        event.listen(engine.sync_engine, "connect", prepare)
        if self._address.dialect != "sqlite":  # a file does not go away
            event.listen(engine.sync_engine, "checkin", _left)
            event.listen(engine.sync_engine, "checkout", self._ask_if_in_doubt)
        return engine

    def _ask_if_in_doubt(self, connection: Any, record: ConnectionPoolEntry, _user: object) -> None:
        """Look whether an idle connection is still one, without a word to the server where its socket tells."""
        from sqlalchemy.exc import InvalidatePoolError

        idle_since = record.info.get(_IDLE_SINCE)
        if idle_since is None:
            return
        is_fresh = idle_since > self._in_doubt_since and monotonic() - idle_since < _UNASKED_S
        if is_fresh and not self._driver.is_in_doubt(connection.driver_connection):
            return
        try:
            connection.ping()
        except Exception as error:  # whatever it is, another connection is better
            raise InvalidatePoolError from error


def _left(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info[_IDLE_SINCE] = monotonic()


async def finished(work: Coroutine[Any, Any, None]) -> None:
    """Bring something to its end, whether or not it is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:  # it is raised below
            break
    task.result()
    if cancelled is not None:
        raise cancelled

"""Connections to one database, and running statements on them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from catenary.errors import Refused, ResourceError
from catenary_components.external.sql.drivers import LOCK_TIMEOUT_S, driver_for
from catenary_components.external.sql.failures import (
    FileLocked,
    LostConnection,
    NothingBegun,
    driver_errors,
    statement_failure,
)
from catenary_components.external.sql.pool import Pool, finished
from catenary_components.external.sql.values import json_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

    from sqlalchemy.engine import Connection, CursorResult
    from sqlalchemy.ext.asyncio import AsyncConnection

    from catenary.jsontext import Json
    from catenary_components.external.sql.address import Address
    from catenary_components.external.sql.dialects import Dialect

AnyT = TypeVar("AnyT")

_PIECE: Final = 1000
"""How many rows are read at once."""

_AGAIN_S: Final = 0.02
"""How long it takes until a locked file is tried again, in seconds."""

_CLEANUP_S: Final = 3.0
"""Longest time for telling a server that nobody waits for it any more, in seconds."""


class Call(NamedTuple):
    """A statement as the driver takes it, and the values to bind."""

    sql: str
    values: tuple[Any, ...] = ()


class Reading(NamedTuple):
    """How the rows of a statement are read: some at a time, so that too many never fill the memory.

    Attributes:
        most_rows: How many there may be; 0 is no limit.
        may_change: Whether the statement may change something, which is undone when its rows cannot be had.
    """

    most_rows: int = 0
    may_change: bool = False


@dataclass(slots=True)
class Answer:
    """What came of statements.

    Attributes:
        rows: The rows, when they were asked for.
        affected: How many rows were changed; 0 when that is unknown.
        last_id: The id that the last insert has made; 0 when there is none.
    """

    rows: list[dict[str, Json]] = field(default_factory=list[dict[str, "Json"]])
    affected: int = 0
    last_id: Json = 0


class Database:
    """Connections to one database: made when they are needed, kept, and used again. Safe to use from many tasks.

    Connections belong to the event loop they were made on: each loop has some of its own, closed when it ends.

    Args:
        address: Where it is.
        pool_size: How many connections there may be at once; half of them are kept when idle. 0 is no limit.
    """

    def __init__(self, address: Address, pool_size: int = 0) -> None:
        self.address = address
        self.dialect: Dialect = address.dialect
        self.is_lost = False
        self._driver = driver_for(address)
        self._pool = Pool(address, self._driver, pool_size)
        self._stopping: set[asyncio.Task[Any] | None] = set()

    async def check(self) -> None:
        """Ask the database for an answer. Raises: ResourceError: when there is none."""
        await self.run([Call("SELECT 1")])

    async def run(self, calls: Sequence[Call], *, reading: Reading | None = None, is_batch: bool = False) -> Answer:
        """Run statements: one by itself, or several that have an effect together or not at all.

        Cancelled, it comes back when the database has been told, and nothing of it is left.

        Args:
            calls: The statements.
            reading: How the rows of a statement are read, when they are wanted.
            is_batch: True runs them in one transaction.

        Raises:
            ResourceError: When there is no connection, a statement fails, or there are too many rows.
        """
        try:
            return await self._run(calls, reading, is_batch=is_batch)
        except NothingBegun:  # the server had ended the connection, and the word of it was still on its way
            return await self._run(calls, reading, is_batch=is_batch)

    async def _run(self, calls: Sequence[Call], reading: Reading | None, *, is_batch: bool) -> Answer:
        async with self._pool.connection() as connection:
            if is_batch:
                work = self._batch(connection, calls)
            elif reading is not None:
                work = self._rows(connection, calls[0], reading)
            else:
                work = self._single(connection, calls[0])
            # A task of its own: SQLAlchemy would throw a connection away in which it is cancelled, and wait for that.
            task = asyncio.ensure_future(work)
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                await finished(self._stop(connection, task))
                raise

    async def close(self) -> None:
        """Close all connections; those of other event loops go with their loops."""
        await self._pool.close()

    # Running

    async def _single(self, connection: AsyncConnection, call: Call) -> Answer:
        return self._answer(await self._executed(connection, call))

    async def _rows(self, connection: AsyncConnection, call: Call, reading: Reading) -> Answer:
        if not reading.may_change and not self._driver.reads_in_transaction:
            return Answer(await self._read(connection, call, reading.most_rows))
        async with self._transaction(connection, "BEGIN"):
            return Answer(await self._read(connection, call, reading.most_rows))

    async def _read(self, connection: AsyncConnection, call: Call, most: int) -> list[dict[str, Json]]:
        """Run a statement and give its rows. Raises: Refused: when there are more than `most`."""
        result = await self._executed(connection, call, reads=True)
        if not result.returns_rows:
            return []
        names = list(result.keys())
        rows: list[dict[str, Json]] = []
        while True:
            size = min(_PIECE, most + 1 - len(rows)) if most else _PIECE
            piece = await self._asked(connection, connection.run_sync(_fetch, result, size))
            rows += [dict(zip(names, map(json_of, row), strict=True)) for row in piece]
            if most and len(rows) > most:
                await self._give_up(connection, result)
                raise Refused(
                    f"the statement gives more than {most} rows; ask for fewer, as with `limit`, or set `maxRows`"
                )
            if len(piece) < size:
                return rows
            await asyncio.sleep(0)  # a driver that has rows at hand waits for nothing

    async def _give_up(self, connection: AsyncConnection, result: CursorResult[Any]) -> None:
        """Leave the rest of the rows where they are."""
        if self._driver.reads_to_the_end:
            raw = await connection.get_raw_connection()
            self._driver.abort(raw.driver_connection)
            await connection.invalidate()
        else:
            await connection.run_sync(lambda _: result.close())

    async def _batch(self, connection: AsyncConnection, calls: Sequence[Call]) -> Answer:
        total = Answer()
        async with self._transaction(connection, self._driver.begin):
            for number, call in enumerate(calls):
                try:
                    answer = self._answer(await self._executed(connection, call))
                except ResourceError as error:
                    error.args = (f"batch[{number}]: {error}",)
                    raise
                total.affected += answer.affected
                total.last_id = answer.last_id
        return total

    @asynccontextmanager
    async def _transaction(self, connection: AsyncConnection, begin: str) -> AsyncGenerator[None]:
        try:
            await self._told(connection, begin)
        except LostConnection as error:
            await connection.invalidate()
            raise NothingBegun(str(error), retryable=True) from error
        try:
            yield
            await self._told(connection, "COMMIT")
        except ResourceError:
            with suppress(ResourceError):
                await self._told(connection, "ROLLBACK")
            raise

    async def _told(self, connection: AsyncConnection, sql: str) -> None:
        if self.dialect != "postgres":
            await self._executed(connection, Call(sql))
            return
        raw: Any = await connection.get_raw_connection()
        await self._asked(connection, raw.driver_connection.execute(sql))  # SQLAlchemy would prepare it, at a cost

    async def _executed(self, connection: AsyncConnection, call: Call, *, reads: bool = False) -> CursorResult[Any]:
        """Run one statement; one that finds a file locked takes its turn when the file is free."""
        values = tuple(map(self._driver.bound, call.values))
        deadline = asyncio.get_running_loop().time() + LOCK_TIMEOUT_S
        while True:
            try:
                return await self._sent(connection, call.sql, values, reads=reads)
            except FileLocked:
                if asyncio.current_task() in self._stopping or asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(_AGAIN_S)

    async def _sent(
        self, connection: AsyncConnection, sql: str, values: tuple[Any, ...], *, reads: bool
    ) -> CursorResult[Any]:
        if not reads:
            return await self._asked(connection, connection.exec_driver_sql(sql, values))
        options = {"stream_results": True}
        sent = connection.run_sync(lambda sync: sync.exec_driver_sql(sql, values, options))
        return await self._asked(connection, sent)

    async def _asked(self, connection: AsyncConnection, question: Awaitable[AnyT]) -> AnyT:
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        try:
            return await question
        except (SQLAlchemyError, OSError) as error:
            is_lost = isinstance(error, OSError) or (isinstance(error, DBAPIError) and error.connection_invalidated)
            raise self._failure(error, is_lost=is_lost) from error
        except driver_errors(self.dialect) as error:  # it came while rows were read, where SQLAlchemy looks away
            raw = await connection.get_raw_connection()
            is_lost = self._driver.is_closed(raw.driver_connection)
            raise self._failure(error, is_lost=is_lost) from error

    def _failure(self, error: BaseException, *, is_lost: bool) -> ResourceError:
        if is_lost:
            self._pool.doubt()
        return statement_failure(error, self.address.place, is_lost=is_lost)

    def _answer(self, result: CursorResult[Any]) -> Answer:
        """Give what a statement did whose rows are not wanted."""
        rows: list[Any] = list(result.fetchall()) if result.returns_rows else []
        answer = Answer(affected=max(result.rowcount, 0))
        if self.dialect != "postgres":
            answer.last_id = result.lastrowid or 0
        elif rows:
            answer.last_id = json_of(rows[0][0])  # of `INSERT ... RETURNING id`
        return answer

    async def _stop(self, connection: AsyncConnection, task: asyncio.Task[Answer]) -> None:
        """End what runs on a connection whose user has gone."""
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        raw = await connection.get_raw_connection()
        with suppress(Exception):  # the server is gone, too
            async with asyncio.timeout(_CLEANUP_S):
                await self._driver.stop(raw.driver_connection, task)
                await asyncio.wait({task})
        if not task.done():
            self._driver.abort(raw.driver_connection)
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # it has been looked at


def _fetch(_: Connection, result: CursorResult[Any], size: int) -> Sequence[Any]:
    return result.fetchmany(size)

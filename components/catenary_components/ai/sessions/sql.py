"""Sessions in an SQL database: SQLite, PostgreSQL, MySQL and MariaDB."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import ConfigError, ConnectFailed, ResourceError, TooSlow
from catenary.jsontext import dumps, loads
from catenary_components.ai.sessions.store import (
    ANY_VERSION,
    NEW,
    DamagedRecord,
    Record,
    check_key,
    check_version,
    is_set_aside,
)
from catenary_components.external.sql.address import read_address
from catenary_components.external.sql.database import Call, Database, Reading
from catenary_components.external.sql.drivers import driver_for
from catenary_components.external.sql.files import confined
from catenary_components.external.sql.packages import need_packages

if TYPE_CHECKING:
    from catenary.expr import Environment
    from catenary.masking import Masker
    from catenary_components.external.sql.address import Address

TABLE: Final = "catenary_sessions"
_TEXT: Final = {"sqlite": "TEXT", "postgres": "TEXT", "mysql": "LONGTEXT CHARACTER SET utf8mb4"}
_INSERT: Final = {
    "sqlite": "INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING",
    "postgres": "INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING",
    "mysql": "INSERT IGNORE INTO {table} VALUES ({marks})",
}


def open_database(address: str, environment: Environment, masker: Masker) -> SqlStore:
    """Give the sessions in a database.

    Args:
        address: As `dbClient` takes it.
        environment: Says in which folders files may be.
        masker: Learns the password.

    Raises:
        ConfigError: When the address cannot be read, or leads to a file out of the folders.
        EngineError: When a package is missing.
    """
    try:
        need_packages("a session in a database")
        found = confined(read_address(address), environment)
        driver_for(found)
    except (ValueError, OSError, ConfigError) as error:
        text = str(error).replace("dsn: ", "").replace("dsn", "the address")
        hint = "it is memory, files:FOLDER, or the address of a database or of Redis"
        raise ConfigError(f"store: {text}", hint=getattr(error, "hint", "") or hint) from error
    if found.password not in {"", found.user}:
        masker.add(found.password)
    return SqlStore(found)


class SqlStore:
    """A `SessionStore` in the table `catenary_sessions`, which is made when it is missing.

    A row has a fingerprint of the key, the key as JSON text, the version, the state as JSON text.

    Args:
        address: Where the database is.
        timeout_s: Longest time for one operation, with connecting, in seconds.

    Attributes:
        timeout_s: See above; what is set counts from the next operation on.
    """

    def __init__(self, address: Address, *, timeout_s: float = 30.0) -> None:
        self._address = address
        self.timeout_s = timeout_s
        self._database = Database(address)
        self._has_table = False

    @property
    def place(self) -> str:
        """The database."""
        memory = f":{id(self)}" if self._address.database == ":memory:" else ""
        return f"{self._address.dialect}:{self._address.place}{memory}"

    async def load(self, key: str) -> Record | None:
        """Read a row, see `SessionStore.load`."""
        rows = await self._rows(f"SELECT version, state FROM {TABLE} WHERE id = {self._marks(1)}", _id(key))
        if not rows:
            return None
        try:
            return Record(int(rows[0]["version"]), loads(rows[0]["state"]))
        except (TypeError, ValueError, RecursionError) as error:
            raise DamagedRecord(f"it is no session: {error}") from None

    async def save(self, key: str, text: str, expected: int) -> int:
        """Write a row, see `SessionStore.save`."""
        check_key(key)
        while True:
            if expected > NEW and await self._replace(key, text, expected):
                return expected + 1
            found = NEW if expected == NEW else await self._version(key)
            if expected == ANY_VERSION and found and await self._replace(key, text, found):
                return found + 1
            if expected <= NEW and found == NEW and await self._insert(key, text):
                return 1
            check_version(key, expected, await self._version(key))

    async def delete(self, key: str) -> bool:
        """Delete a row, see `SessionStore.delete`."""
        return bool(await self._changed(f"DELETE FROM {TABLE} WHERE id = {self._marks(1)}", _id(key)))

    async def set_aside(self, key: str, suffix: str) -> str:
        """Give a row another key, see `SessionStore.set_aside`."""
        new, name, id_ = (self._mark(number) for number in (1, 2, 3))
        sql = f"UPDATE {TABLE} SET id = {new}, name = {name} WHERE id = {id_}"
        await self._changed(sql, _id(key + suffix), dumps(key + suffix), _id(key))
        return f"{TABLE}: {key + suffix}"

    async def keys(self, prefix: str = "") -> list[str]:
        """Read all keys, see `SessionStore.keys`."""
        rows = await self._rows(f"SELECT name FROM {TABLE}")
        keys = (str(loads(row["name"])) for row in rows)
        return sorted(key for key in keys if key.startswith(prefix) and not is_set_aside(key))

    async def close(self) -> None:
        """Close the connections; the next use connects anew."""
        await self._database.close()

    # Statements

    async def _version(self, key: str) -> int:
        rows = await self._rows(f"SELECT version FROM {TABLE} WHERE id = {self._marks(1)}", _id(key))
        return int(rows[0]["version"]) if rows else NEW

    async def _insert(self, key: str, text: str) -> int:
        sql = _INSERT[self._address.dialect].format(table=TABLE, marks=self._marks(4))
        return await self._changed(sql, _id(key), dumps(key), 1, text)

    async def _replace(self, key: str, text: str, version: int) -> int:
        new, state, id_, there = (self._mark(number) for number in (1, 2, 3, 4))
        sql = f"UPDATE {TABLE} SET version = {new}, state = {state} WHERE id = {id_} AND version = {there}"
        return await self._changed(sql, version + 1, text, _id(key), version)

    async def _rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        return (await self._run(Call(sql, values), Reading())).rows

    async def _changed(self, sql: str, *values: Any) -> int:
        return (await self._run(Call(sql, values))).affected

    async def _run(self, call: Call, reading: Reading | None = None) -> Any:
        try:
            async with asyncio.timeout(self.timeout_s):
                if not self._has_table:
                    await self._make_table()
                    self._has_table = True
                return await self._database.run([call], reading=reading)
        except TimeoutError:
            text = f"the sessions in {self._address.place} did not answer within {self.timeout_s:g} s"
            raise TooSlow(text, retryable=True) from None

    async def _make_table(self) -> None:
        """Make the table unless it is there. Who may use it need not be allowed to make it."""
        look = Call(f"SELECT version FROM {TABLE} WHERE 1 = 0")
        try:
            await self._database.run([look], reading=Reading())
        except ConnectFailed:
            raise
        except ResourceError:
            pass
        else:
            return
        kind = _TEXT[self._address.dialect]
        columns = f"id CHAR(64) PRIMARY KEY, name {kind} NOT NULL, version BIGINT NOT NULL, state {kind} NOT NULL"
        try:
            await self._database.run([Call(f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns})")])
        except ResourceError as error:
            try:
                await self._database.run([look], reading=Reading())
            except ResourceError:
                raise error from None

    def _mark(self, number: int) -> str:
        return {"postgres": f"${number}", "mysql": "%s"}.get(self._address.dialect, "?")

    def _marks(self, count: int) -> str:
        return ", ".join(self._mark(number) for number in range(1, count + 1))


def _id(key: str) -> str:
    """Give the fingerprint of a key: databases compare texts in ways of their own, and limit them."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()

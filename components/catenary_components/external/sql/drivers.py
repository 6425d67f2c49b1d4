"""The drivers: how each connects, what it binds, how it gives values, and how what it runs is stopped."""

from __future__ import annotations

import asyncio
import re
import select
import sqlite3
import ssl
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from catenary.jsontext import dumps, loads
from catenary_components.external.sql.values import bound_of, text_of_bytes, zoned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary_components.external.sql.address import Address

CONNECT_TIMEOUT_S: Final = 10.0
LOCK_TIMEOUT_S: Final = 10.0
_AGAIN_S: Final = 0.02
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|)")
_GO_ONLY: Final = frozenset({
    "allowallfiles", "allowcleartextpasswords", "allowfallbacktoplaintext", "allownativepasswords", "charset",
    "allowoldpasswords", "checkconnliveness", "clientfoundrows", "collation", "columnswithalias", "interpolateparams",
    "loc", "maxallowedpacket", "multistatements", "parsetime", "readtimeout", "rejectreadonly", "serverpubkey",
    "timeout", "tls", "writetimeout",
})  # fmt: skip
_PQ_ONLY: Final = frozenset({
    "binary_parameters", "connect_timeout", "fallback_application_name", "krbsrvname", "krbspn", "passfile",
    "sslcert", "sslinline", "sslkey", "sslmode", "sslrootcert", "sslsni", "target_session_attrs",
})  # fmt: skip


class Driver(ABC):
    """How one database is spoken to.

    Args:
        address: Where it is.

    Attributes:
        url: What SQLAlchemy knows the driver by.
        begin: The statement that begins a transaction that writes.
        reads_in_transaction: Whether rows can be read some at a time in a transaction only.
        reads_to_the_end: Whether a connection is free only when all rows of a statement were read.
    """

    url: ClassVar[str]
    begin: ClassVar[str] = "BEGIN"
    reads_in_transaction: ClassVar[bool] = False
    reads_to_the_end: ClassVar[bool] = False

    def __init__(self, address: Address) -> None:
        self.address = address

    @abstractmethod
    async def connect(self) -> Any:
        """Make a connection of the driver's own kind."""

    async def prepare(self, connection: Any) -> None:  # noqa: B027 - there may be nothing to do
        """Set a connection up, after SQLAlchemy has."""

    @abstractmethod
    async def stop(self, connection: Any, task: asyncio.Task[Any]) -> None:
        """Have a task come to its end that waits for a statement on a connection."""

    def abort(self, connection: Any) -> None:  # noqa: B027 - a file has no server
        """Close a connection at once, for its server does not answer."""

    def is_closed(self, connection: Any) -> bool:  # noqa: ARG002 - for those who need it
        """Tell whether a connection is known to be of no use any more."""
        return False

    def transport(self, connection: Any) -> Any:
        """Give the transport of a connection to a server."""
        raise NotImplementedError

    def is_in_doubt(self, connection: Any) -> bool:
        """Tell whether something has come on a connection that nobody asks anything: mostly its end."""
        transport = self.transport(connection)
        if transport is None or transport.is_closing() or not hasattr(select, "poll"):  # Windows has none
            return True
        ready = select.poll()
        ready.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(ready.poll(0))

    def bound(self, value: Json) -> Any:
        """Give what the driver binds for a value."""
        return bound_of(value)


def driver_for(address: Address) -> Driver:
    """Give the driver for an address. Raises: ValueError: when its options cannot be used."""
    return {"sqlite": Sqlite, "postgres": Postgres, "mysql": MySql}[address.dialect](address)


async def _over(task: asyncio.Future[Any]) -> None:
    """Wait until something is done, however often this is cancelled."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})


class Sqlite(Driver):
    """SQLite by aiosqlite: every connection has a thread of its own."""

    url = "sqlite+aiosqlite://"
    begin = "BEGIN IMMEDIATE"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._mode = address.options.get("mode", "rwc")
        if self._mode not in {"ro", "rw", "rwc", "memory"}:
            raise ValueError("mode must be ro, rw, rwc or memory")

    async def connect(self) -> Any:
        """Open the file, or make a database in memory."""
        import aiosqlite

        path = self.address.database
        is_file = path != ":memory:"
        name = f"{Path(path).as_uri()}?mode={self._mode}" if is_file else path
        # a wait for a lock could not be interrupted, so it is not left to SQLite
        connecting = aiosqlite.connect(name, uri=is_file, timeout=0, isolation_level=None)
        connecting._thread.daemon = True  # a program that closes no engine ends all the same
        opening = asyncio.ensure_future(connecting)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:  # the thread tells this event loop that it is done, and has to find it
            await _over(opening)
            if opening.exception() is None:
                await _over(asyncio.ensure_future(connecting.close()))
            raise

    async def prepare(self, connection: Any) -> None:
        """Have foreign keys hold, which SQLite leaves out unless it is told, and no statement reach other files."""
        await connection.execute("PRAGMA foreign_keys = ON")
        await connection.set_authorizer(_refuse_files)

    async def stop(self, connection: Any, task: asyncio.Task[Any]) -> None:
        """Interrupt the statement; it may just not have begun, so that it takes another time."""
        while not task.done():
            await connection.interrupt()
            await asyncio.wait({task}, timeout=_AGAIN_S)


class MySql(Driver):
    """MySQL and MariaDB by aiomysql."""

    url = "mysql+aiomysql://"
    reads_to_the_end = True

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._ssl = _tls(address.options.get("tls", ""))
        timeout = address.options.get("timeout", "")
        self._timeout_s = _seconds(timeout) if timeout else CONNECT_TIMEOUT_S
        self._setup = _session(address.options)

    async def connect(self) -> Any:
        """Connect, and set what the address says."""
        import aiomysql

        connect = cast("Any", aiomysql).connect  # its types are wrong: options that default to None count as None only
        address = self.address
        where: dict[str, Any] = (
            {"host": address.host, "port": address.port} if address.port else {"unix_socket": address.host}
        )
        return await connect(
            **where,
            user=address.user or None,
            password=address.password,
            db=address.database or None,
            charset=address.options.get("charset", "utf8mb4").partition(",")[0] or "utf8mb4",
            connect_timeout=self._timeout_s,
            init_command=self._setup,
            ssl=self._ssl,
            autocommit=True,
        )

    async def stop(self, connection: Any, task: asyncio.Task[Any]) -> None:
        """Have the server end the statement: it would go on, whether or not somebody is connected."""
        other = await self.connect()
        try:
            while not task.done():
                async with other.cursor() as cursor:
                    await cursor.execute(f"KILL QUERY {int(connection.thread_id())}")
                await asyncio.wait({task}, timeout=_AGAIN_S)
        finally:
            other.close()

    def abort(self, connection: Any) -> None:
        """Close the socket."""
        connection.close()

    def transport(self, connection: Any) -> Any:
        """Give that of its stream; `None` when it is closed."""
        return connection._writer and connection._writer.transport


class Postgres(Driver):
    """PostgreSQL by asyncpg.

    Values go as text and the server makes of them what the column wants, as it does for clients in most languages:
    the driver by itself would refuse `"5"` for a number, and texts for times.
    """

    url = "postgresql+asyncpg://"
    reads_in_transaction = True

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._ssl = _ssl_of(address.options)
        timeout = address.options.get("connect_timeout", "")
        self._timeout_s = _seconds(timeout) if timeout not in {"", "0"} else CONNECT_TIMEOUT_S

    async def connect(self) -> Any:
        """Connect, and set what the address says."""
        import asyncpg

        connect = cast("Any", asyncpg).connect
        address = self.address
        return await connect(
            host=address.host,
            port=address.port,
            user=address.user or None,
            password=address.password or None,
            database=address.database or None,
            ssl=self._ssl,
            timeout=self._timeout_s,
            server_settings={name: value for name, value in address.options.items() if name not in _PQ_ONLY},
        )

    async def prepare(self, connection: Any) -> None:
        """Have values come and go as text."""
        # only in this way does the driver take texts for ranges and composites
        settings = connection._protocol.get_settings()
        for oid, name, schema in await connection.fetch(_COMPOUND_TYPES):
            settings.add_python_codec(oid, name, schema, [], "scalar", _written_for_postgres, str, "text")
        for name, read in _READ_BY_POSTGRES.items():
            await connection.set_type_codec(
                name, schema="pg_catalog", encoder=_written_for_postgres, decoder=read, format="text"
            )
        await connection.set_type_codec(
            "bytea", schema="pg_catalog", encoder=_bytes_of, decoder=text_of_bytes, format="binary"
        )

    async def stop(self, connection: Any, task: asyncio.Task[Any]) -> None:  # noqa: ARG002 - for others
        """Cancel it: the driver tells the server then."""
        task.cancel()

    def abort(self, connection: Any) -> None:
        """Close the socket."""
        connection.terminate()

    def is_closed(self, connection: Any) -> bool:
        """Ask the driver."""
        return connection.is_closed()

    def transport(self, connection: Any) -> Any:
        """Give that of the driver."""
        return connection._transport

    def bound(self, value: Json) -> Any:
        """Leave it as it is: arrays of the server take lists, and `prepare` says how the rest is written."""
        return value


def _refuse_files(action: int, path: str | None, *_: str | None) -> int:
    """Refuse `ATTACH` and `VACUUM INTO`; a plain `VACUUM` attaches a file without a name."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH and path != "" else sqlite3.SQLITE_OK


def _written_for_postgres(value: Any) -> str:
    if isinstance(value, str):
        return value
    return dumps(value)


def _bytes_of(value: Any) -> bytes:
    return value if isinstance(value, bytes) else _written_for_postgres(value).encode()


def _number(text: str) -> Json:
    value = float(text)
    return value if value - value == 0 else {"nan": "NaN", "inf": "+Inf"}.get(text.lower()[:3], "-Inf")


def _time(text: str) -> str:
    return zoned(text.replace(" ", "T", 1))


_READ_BY_POSTGRES: Final[Mapping[str, Callable[[str], Json]]] = {
    "bool": lambda text: text == "t",
    **dict.fromkeys(("int2", "int4", "int8", "oid"), int),
    **dict.fromkeys(("float4", "float8"), _number),
    **dict.fromkeys(("json", "jsonb"), loads),
    **dict.fromkeys(("timestamp", "timestamptz"), _time),
    **dict.fromkeys(("time", "timetz"), zoned),
    **dict.fromkeys(
        ("numeric", "text", "varchar", "bpchar", "char", "name", "uuid", "date", "interval", "inet", "cidr"),
        str,
    ),
    **dict.fromkeys(("macaddr", "money", "bit", "varbit", "xml", "record", "tid", "pg_lsn"), str),
    **dict.fromkeys(("point", "lseg", "line", "box", "path", "polygon", "circle"), str),
}
_COMPOUND_TYPES: Final = """
    SELECT t.oid, t.typname, n.nspname
    FROM pg_catalog.pg_type t
    JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
    WHERE t.typtype IN ('r', 'm') OR (t.typtype = 'c' AND c.relkind = 'c')
"""
"""Ranges, and composites that are no rows of tables, of which there may be many."""


def _ssl_of(options: Mapping[str, str]) -> Any:
    """Give what asyncpg is told about TLS. Raises: ValueError: for a mode that does not exist."""
    mode = options.get("sslmode", "prefer")
    if mode not in {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}:
        raise ValueError("sslmode must be disable, allow, prefer, require, verify-ca or verify-full")
    if mode == "disable":
        return False
    if mode not in {"verify-ca", "verify-full"} and "sslcert" not in options:
        return mode
    context = ssl.create_default_context(cafile=options.get("sslrootcert") or None)
    context.check_hostname = mode == "verify-full"
    if not mode.startswith("verify"):
        context.verify_mode = ssl.CERT_NONE
    if "sslcert" in options:
        context.load_cert_chain(options["sslcert"], options.get("sslkey"))
    return context


def _tls(mode: str) -> ssl.SSLContext | None:
    """Give how MySQL is spoken to with TLS; `None` for plain. Raises: ValueError: for a mode that does not exist."""
    if mode.lower() in {"", "false", "0"}:
        return None
    if mode.lower() not in {"true", "1", "skip-verify", "preferred"}:
        raise ValueError("tls must be true, false, skip-verify or preferred")
    context = ssl.create_default_context()
    if mode.lower() in {"skip-verify", "preferred"}:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError("a timeout in dsn must be like 5s or 500ms")
    return float(found[1]) * {"ms": 0.001, "m": 60.0}.get(found[2], 1.0)


def _session(options: Mapping[str, str]) -> str | None:
    """Give the statement that sets what the address says of the session; its values are SQL, as Go's driver has it."""
    named = {name: value for name, value in options.items() if name not in _GO_ONLY}
    for name in named:
        if not re.fullmatch(r"\w+", name):
            raise ValueError(f"dsn has an option {name!r}, which cannot be the name of a setting")
    return "SET " + ", ".join(f"{name} = {value}" for name, value in named.items()) if named else None

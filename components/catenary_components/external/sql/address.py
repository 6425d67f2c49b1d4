"""Where a database is: the address as Go programs, libpq or SQLAlchemy write it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from catenary_components.external.sql.dialects import dialect_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary_components.external.sql.dialects import Dialect

_URL: Final = re.compile(r"([A-Za-z][\w+.-]*)://")
_PAIRS: Final = re.compile(r"\s*\w+\s*=")
_GO: Final = re.compile(
    r"(?:(?P<user>[^:@/]*)(?::(?P<password>.*))?@)?(?:(?P<net>[a-z0-9]+)(?:\((?P<at>[^)]*)\))?)?"
    r"/(?P<database>[^?/]*)(?:\?(?P<options>.*))?",
    re.DOTALL,
)
_PORTS: Final[dict[Dialect, int]] = {"mysql": 3306, "postgres": 5432, "sqlite": 0}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is, and how to get in.

    Attributes:
        dialect: The kind of database.
        host: The host, or the folder or path of a Unix socket.
        port: The port; 0 for a socket and for a file.
        user: The account; empty for the driver's default.
        password: Its password.
        database: The database; of SQLite the path of the file, or `:memory:`.
        options: What else the address says, by name in lower case.
    """

    dialect: Dialect
    host: str = "127.0.0.1"
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def place(self) -> str:
        """The address without what is secret, for messages to people."""
        if self.dialect == "sqlite":
            return self.database
        where = f"{self.host}:{self.port}" if self.port else self.host
        return f"{where}/{self.database}" if self.database else where


def read_address(dsn: str, driver: str = "") -> Address:
    """Read an address.

    Args:
        dsn: `user:password@tcp(host:port)/database?options` of Go's MySQL driver, a URL such as
            `postgres://user:password@host:port/database`, `host=... dbname=...` of libpq, or for SQLite a path.
        driver: The kind of database by name; if empty, the address tells, and else it is MySQL.

    Raises:
        ValueError: When it cannot be read, or tells of another kind of database than `driver`. The text never quotes
            the address, which may have a password in it.
    """
    dsn = dsn.strip()
    if not dsn:
        raise ValueError("dsn must be the address of the database, and is blank")
    dialect = dialect_of(driver) if driver.strip() else None
    if dsn == ":memory:" or dsn.startswith("file:") or (dialect == "sqlite" and not _URL.match(dsn)):
        told, address = "sqlite", _read_sqlite(dsn.removeprefix("file://").removeprefix("file:"))
    elif match := _URL.match(dsn):
        told = dialect_of(match[1])
        # behind `sqlite://` comes a slash, and then the path: relative, or with a slash of its own
        address = _read_sqlite(dsn[match.end() :].removeprefix("/")) if told == "sqlite" else _read_url(dsn, told)
    elif dialect == "postgres" or (dialect is None and _PAIRS.match(dsn)):
        told, address = "postgres", _read_pairs(dsn)
    else:
        told, address = "mysql", _read_go(dsn)
    if dialect not in {None, told}:
        raise ValueError(f"driverName is {dialect}, and dsn is the address of a {told} database")
    return address


def _read_url(dsn: str, dialect: Dialect) -> Address:
    try:
        parts = urlsplit(dsn)
        port = parts.port
    except ValueError:
        raise ValueError(
            "dsn is no URL; signs such as `@`, `/` and `#` in a password are written as %40, %2F, %23"
        ) from None
    options = {name.lower(): value for name, value in parse_qsl(parts.query, keep_blank_values=True)}
    socket = options.pop("host", "") or options.pop("unix_socket", "")
    host = unquote(parts.hostname or "") or socket or "127.0.0.1"
    is_socket = host.startswith("/")
    return Address(
        dialect,
        host,
        port or (0 if is_socket and dialect == "mysql" else _PORTS[dialect]),
        unquote(parts.username or options.pop("user", "")),
        unquote(parts.password or options.pop("password", "")),
        unquote(parts.path.removeprefix("/")) or options.pop("dbname", ""),
        options,
    )


def _read_pairs(dsn: str) -> Address:
    options: dict[str, str] = {}
    try:
        pairs = shlex.split(re.sub(r"\s*=\s*", "=", dsn))
    except ValueError:
        raise ValueError("dsn has a quote that is not closed") from None
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError("dsn must be `host=... port=... user=... password=... dbname=...`, or a URL")
        options[name.lower()] = value
    port = options.pop("port", "") or "5432"
    if not port.isdigit():
        raise ValueError("the port in dsn is no number")
    host = options.pop("host", "") or options.pop("hostaddr", "") or "127.0.0.1"
    user, password = options.pop("user", ""), options.pop("password", "")
    return Address("postgres", host, int(port), user, password, options.pop("dbname", ""), options)


def _read_go(dsn: str) -> Address:
    match = _GO.fullmatch(dsn)
    if match is None:
        raise ValueError("dsn must be `user:password@tcp(host:port)/database`, or a URL such as `mysql://...`")
    options = {name.lower(): value for name, value in parse_qsl(match["options"] or "", keep_blank_values=True)}
    who = match["user"] or "", match["password"] or ""
    at = match["at"] or ""
    if match["net"] == "unix":
        return Address("mysql", at, 0, *who, unquote(match["database"]), options)
    host, colon, port = at.rpartition(":") if not at.endswith("]") else (at, "", "")
    if not colon:
        host, port = at, ""
    if port and not port.isdigit():
        raise ValueError("the port in dsn is no number")
    return Address(
        "mysql", host.strip("[]") or "127.0.0.1", int(port or 3306), *who, unquote(match["database"]), options
    )


def _read_sqlite(path: str) -> Address:
    path, _, query = path.partition("?")
    options = {name.lower(): value for name, value in parse_qsl(query, keep_blank_values=True)}
    if path in {"", ":memory:"} or options.get("mode") == "memory":
        path = ":memory:"
    return Address("sqlite", "", 0, database=path, options=options)

"""The kinds of databases, and the names they go by."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Dialect: TypeAlias = Literal["mysql", "postgres", "sqlite"]

DIALECTS: Final[tuple[Dialect, ...]] = ("mysql", "postgres", "sqlite")

_NAMES: Final[dict[str, Dialect]] = {
    "mysql": "mysql",
    "mariadb": "mysql",
    "postgres": "postgres",
    "postgresql": "postgres",
    "pgx": "postgres",
    "sqlite": "sqlite",
    "sqlite3": "sqlite",
}


def dialect_of(name: str) -> Dialect:
    """Give the kind of database that a driver's name means, whatever its case; `mysql+aiomysql` is MySQL.

    Raises:
        ValueError: When it is none of those that are known.
    """
    found = _NAMES.get(name.strip().lower().partition("+")[0])
    if found is None:
        raise ValueError(f"the driver {name!r} is not known; the drivers are: {', '.join(DIALECTS)}")
    return found

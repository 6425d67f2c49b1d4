"""What drivers raise, as errors that say what to do and never quote a statement or its values."""

from __future__ import annotations

import re
from typing import Any, Final

from catenary.errors import ConnectFailed, Refused, ResourceError, TooSlow

_CLASS: Final = re.compile(r"^<class '[^']*'>: ")
_NO_TEXT: Final = re.compile("text encoding of .* is not supported")
_ACCESS_STATES: Final = frozenset({"28000", "28P01", "3D000"})
_ACCESS_CODES: Final = frozenset({1044, 1045, 1049, 1698})
_PASSING_STATES: Final = frozenset({"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03"})
_PASSING_CODES: Final = frozenset({1040, 1205, 1213, 1053, 1927})


class LostConnection(ConnectFailed):
    """The connection broke while a statement ran: nobody knows whether it had an effect."""


class NothingBegun(LostConnection):
    """The connection broke before the first statement had begun: there was no effect."""


class FileLocked(ResourceError):  # noqa: N818 - named as the other errors are
    """Another connection writes to the file of SQLite."""


def connect_failure(error: BaseException, place: str) -> ResourceError:
    """Give the error of a connection that was not made."""
    text = text_of_failure(error)
    if _state(error) in _ACCESS_STATES or _code(error) in _ACCESS_CODES:
        hint = "look at the account, the password and the database in dsn"
        return Refused(f"the database at {place} refused: {text}", hint=hint)
    if isinstance(_root(error), TimeoutError):
        return TooSlow(f"the database at {place} did not answer in time", retryable=True)
    return ConnectFailed(f"no connection to the database at {place}: {text}", retryable=True)


def statement_failure(error: BaseException, place: str, *, is_lost: bool) -> ResourceError:
    """Give the error of a statement that failed."""
    text = text_of_failure(error)
    if is_lost:
        hint = "whether the statement had an effect is not known"
        return LostConnection(f"the connection to the database at {place} was lost: {text}", retryable=True, hint=hint)
    if "database is locked" in text or "database table is locked" in text:
        return FileLocked(text, retryable=True)
    if _NO_TEXT.search(text):
        return ResourceError(f"{text}; cast it in the statement, as in `pair::text` or `to_jsonb(pair)`")
    is_passing = _state(error) in _PASSING_STATES or _code(error) in _PASSING_CODES
    return ResourceError(text, retryable=is_passing)


def text_of_failure(error: BaseException) -> str:
    """Give what the database said, without what SQLAlchemy and the drivers put around it."""
    root = _root(error)
    if len(root.args) > 1 and isinstance(root.args[0], int) and isinstance(root.args[1], str):
        return root.args[1]
    text = _CLASS.sub("", str(root)).strip()
    return text or type(root).__name__


def _root(error: BaseException) -> BaseException:
    """Give the driver's own error behind that of SQLAlchemy."""
    found = getattr(error, "orig", None)
    return found if isinstance(found, BaseException) else error


def _state(error: BaseException) -> str:
    return str(getattr(_root(error), "sqlstate", "") or "")


def _code(error: BaseException) -> int:
    args = _root(error).args
    return args[0] if args and isinstance(args[0], int) else 0


def driver_errors(dialect: str) -> tuple[type[Exception], ...]:
    """Give what a driver raises while it connects that is no `OSError`."""
    if dialect == "postgres":
        import asyncpg

        known: Any = asyncpg
        return (known.PostgresError, known.InterfaceError, known.InternalClientError)
    if dialect == "mysql":
        import pymysql

        return (pymysql.MySQLError,)
    import sqlite3

    return (sqlite3.Error,)

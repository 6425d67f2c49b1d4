"""What may follow what was typed: names, functions, and keys of what is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from catenary.cli._session import Session
    from catenary.jsontext import Json

_WORD: Final = re.compile(r"[A-Za-z_$][\w$]*")
_TYPED: Final = re.compile(r"(?P<path>(?:[A-Za-z_$][\w$]*\??\.)*)(?P<start>[\w$]*)$")


def names_of(session: Session) -> dict[str, Json]:
    """Give all names that texts of a session can read, with their values."""
    from catenary.expr.environment import variables

    with_metadata = session.kind in {"template", "document"}
    return variables(session.given.message, session.given, session.environment, with_metadata=with_metadata)


def completions(session: Session, text: str) -> list[str]:
    """Give what the end of `text` may become: names and functions, or after a dot the keys of what is before it."""
    typed = _TYPED.search(text)
    if typed is None:
        return []
    before = text[: typed.start("start")]
    keys = _keys(session, typed["path"]) if typed["path"] else _words(session)
    return [before + key for key in keys if key.startswith(typed["start"])]


def _words(session: Session) -> list[str]:
    from catenary.expr.functions.table import functions_of

    functions = [f"{name}(" for name in functions_of(session.environment)]
    words = ["and", "contains", "endsWith", "false", "in", "let", "matches", "nil", "not", "or", "startsWith", "true"]
    return sorted({*names_of(session), *functions, *words})


def _keys(session: Session, path: str) -> list[str]:
    value: Json = names_of(session)
    for name in path.replace("?.", ".").rstrip(".").split("."):
        value = cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        return []
    return sorted(key for key in cast("dict[str, Json]", value) if _WORD.fullmatch(key))

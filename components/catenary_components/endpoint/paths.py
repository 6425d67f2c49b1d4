"""Paths of routes, with variables: `/devices/:id`, `/devices/{id}`, `/files/*rest`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

_VARIABLE: Final = re.compile(r":(?P<colon>\w[\w.-]*)|\{(?P<braces>\w[\w.-]*)\}")
_REST: Final = re.compile(r"\*(?P<rest>\w[\w.-]*)|\{\*(?P<braces>\w[\w.-]*)\}")


@dataclass(frozen=True, slots=True)
class Path:
    """A path as it is compared.

    Args:
        shape: Its parts: a text for one that is written out, `None` for a variable, `*` for all the rest.
        names: The names of its variables, in order.
        template: As OpenAPI writes it.
    """

    shape: tuple[str | None, ...]
    names: tuple[str, ...]
    template: str

    @classmethod
    def read(cls, text: str) -> Path:
        """Read a path. Raises: ValueError: when it does not begin with `/`, or a variable is none."""
        return _read(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Path:
    if not text.startswith("/"):
        raise ValueError(f"the path {text!r} must begin with '/'")
    if found := re.search(r"[?#\s\x00-\x1f]", text):
        raise ValueError(f"the path {text!r} must not contain {found[0]!r}")
    shape: list[str | None] = []
    names: list[str] = []
    parts = text.split("/")[1:]
    for number, part in enumerate(parts):
        if rest := _REST.fullmatch(part):
            if number != len(parts) - 1:
                raise ValueError(f"the path {text!r} has something behind {part!r}, which stands for all the rest")
            shape.append("*")
            names.append(rest["rest"] or rest["braces"])
        elif variable := _VARIABLE.fullmatch(part):
            shape.append(None)
            names.append(variable["colon"] or variable["braces"])
        else:
            shape.append(_literal(text, part))
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"the path {text!r} has two variables {doubled!r}")
    return Path(tuple(shape), tuple(names), _template(shape, names))


def _literal(text: str, part: str) -> str:
    if part in {".", ".."}:
        raise ValueError(f"the path {text!r} has the part {part!r}, which no request has")
    if part[:1] in {":", "*"} or "{" in part or "}" in part:
        raise ValueError(f"the path {text!r}: {part!r} is no variable; write ':name', '{{name}}' or '*name'")
    return part


def _template(shape: list[str | None], names: list[str]) -> str:
    left = iter(names)
    return "/" + "/".join(quote(part) if part not in {None, "*"} and part else _braces(part, left) for part in shape)


def _braces(part: str | None, names: object) -> str:
    return "" if part == "" else f"{{{next(names)}}}"  # type: ignore[call-overload]

"""The filters of documents: those of Jinja2 that are safe, bounded where they make something, and our functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

import jinja2.filters
from jinja2 import Undefined, pass_environment

from catenary.expr.document.printf import format_text
from catenary.expr.kinds import EvaluationError, bounded_text, is_number, kind_of
from catenary.expr.text import json_text, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jinja2 import Environment as JinjaEnvironment

    from catenary.jsontext import Json

_AS_THEY_ARE: Final = (
    "abs", "count", "d", "dictsort", "filesizeformat", "first", "float", "groupby", "items", "last", "length", "list",
    "map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "unique",
)  # fmt: skip
_OF_TEXTS: Final = ("capitalize", "lower", "title", "trim", "truncate", "upper", "wordcount")
_MAX_WIDTH: Final = 1_000
_MAX_WRAPPED: Final = 10_000


def _width(name: str, value: Json) -> int:
    if isinstance(value, int) and 0 <= value <= _MAX_WIDTH:
        return value
    raise EvaluationError(f"{name} takes a number from 0 to {_MAX_WIDTH}, not {text_of(value)[:40]}")


def _default(value: Json, other: Json = "", boolean: Json = False) -> Json:
    """Give another value for one that is not there, or nil; with `true` also for one that is false or empty."""
    is_absent = value is None or isinstance(value, Undefined) or (boolean and not value)
    return other if is_absent else value


def _center(value: Json, width: Json = 80) -> str:
    return text_of(value).center(_width("center", width))


def _indent(value: Json, width: Json = 4, first: Json = False, blank: Json = False) -> str:
    text = text_of(value)
    margin = width if isinstance(width, str) else " " * _width("indent", width)
    bounded_text(len(text) + len(margin) * (text.count("\n") + 1))
    lines = text.splitlines()
    return "\n".join(
        [margin + line if (line or blank) and (number or first) else line for number, line in enumerate(lines)]
    ) + ("\n" if text.endswith("\n") else "")


@pass_environment
def _join(environment: JinjaEnvironment, items: Iterable[Json], between: Json = "", attribute: Json = None) -> str:
    listed = list(items)
    if attribute is not None:
        getter = jinja2.filters.make_attrgetter(environment, attribute)
        listed = [getter(item) for item in listed]
    texts = ["" if isinstance(item, Undefined) else text_of(item) for item in listed]
    separator = text_of(between)
    bounded_text(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replace(value: Json, old: Json, new: Json, count: Json = None) -> str:
    text, part, other = text_of(value), text_of(old), text_of(new)
    found = text.count(part) if count is None else min(int(count), text.count(part))
    bounded_text(len(text) + found * max(0, len(other) - len(part)))
    return text.replace(part, other, -1 if count is None else int(count))


def _round(value: Json, precision: Json = 0, method: Json = "common") -> float:
    if not is_number(value):
        raise EvaluationError(f"round takes a number, not {kind_of(value)}")
    return float(jinja2.filters.do_round(value, min(_width("round", precision), 300), method))


def _int(value: Json, default: Json = 0, base: Json = 10) -> int:
    return jinja2.filters.do_int(value, default, base)


def _sum(items: Iterable[Json], attribute: Json = None, start: Json = 0) -> Json:
    total = start
    for item in items:
        value = cast("dict[str, Json]", item).get(attribute) if attribute is not None else item
        if not (is_number(value) and is_number(total)):
            raise EvaluationError(f"sum takes numbers, not {kind_of(value)}")
        total += value
    return total


def _batch(items: Iterable[Json], count: Json, fill: Json = None) -> list[list[Json]]:
    listed, size = list(items), max(1, _width("batch", count))
    rows = [listed[at : at + size] for at in range(0, len(listed), size)]
    if rows and fill is not None:
        rows[-1] += [fill] * (size - len(rows[-1]))
    return rows


def _slice(items: Iterable[Json], count: Json, fill: Json = None) -> list[list[Json]]:
    return list(jinja2.filters.sync_do_slice(list(items), max(1, _width("slice", count)), fill))


@pass_environment
def _wordwrap(environment: JinjaEnvironment, value: Json, width: Json = 79) -> str:
    text = text_of(value)
    if len(text) > _MAX_WRAPPED:
        raise EvaluationError(f"wordwrap takes a text of at most {_MAX_WRAPPED} characters")
    return jinja2.filters.do_wordwrap(environment, text, max(1, _width("wordwrap", width)))


def _tojson(value: Json, indent: Json = None) -> str:
    return json_text(value, indent="" if indent is None else " " * _width("tojson", indent))


def _urlencode(value: Json) -> str:
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value).items()
        return "&".join(f"{quote(key, safe='')}={quote(text_of(item), safe='')}" for key, item in pairs)
    return quote(text_of(value), safe="/")


_HTML: Final = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&#34;", ord("'"): "&#39;"}


def _html(value: Json) -> str:
    """Escape for HTML."""
    return text_of(value).translate(_HTML)


def _listed(filter_: Callable[..., Any]) -> Callable[..., Any]:
    """Give a filter whose result is a list where Jinja2's own would be worked off only once."""

    def call(*arguments: Json, **named: Json) -> Json:
        result = filter_(*arguments, **named)
        return list(result) if hasattr(result, "__next__") else result

    for mark in ("jinja_pass_arg",):
        if hasattr(filter_, mark):
            setattr(call, mark, getattr(filter_, mark))
    return call


def _worded(filter_: Callable[..., Any]) -> Callable[..., Any]:
    """Give a filter of texts that takes any value in its text form, which is not Python's."""
    takes_environment = hasattr(filter_, "jinja_pass_arg")

    def call(*arguments: Json, **named: Json) -> Json:
        values = list(arguments)
        at = 1 if takes_environment else 0
        values[at] = "" if isinstance(values[at], Undefined) else text_of(values[at])
        return filter_(*values, **named)

    if takes_environment:
        call.jinja_pass_arg = filter_.jinja_pass_arg  # type: ignore[attr-defined]
    return call


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: _listed(jinja2.filters.FILTERS[name]) for name in _AS_THEY_ARE},
    **{name: _worded(jinja2.filters.FILTERS[name]) for name in _OF_TEXTS},
    "batch": _batch,
    "center": _center,
    "d": _default,
    "default": _default,
    "format": format_text,
    "html": _html,
    "indent": _indent,
    "int": _int,
    "join": _join,
    "replace": _replace,
    "round": _round,
    "slice": _slice,
    "string": text_of,
    "sum": _sum,
    "tojson": _tojson,
    "urlencode": _urlencode,
    "wordwrap": _wordwrap,
}
"""Filters by name; they win over functions of the language with the same name."""

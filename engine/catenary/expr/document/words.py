"""Reasons of failed documents in the language's own words, where Jinja2 lets Python work a value out."""

from __future__ import annotations

import re
from typing import Final

from jinja2.exceptions import TemplateNotFound

from catenary.reasons import reason_of

_KINDS: Final = {
    "NoneType": "nil",
    "Nil": "nil",
    "Undefined": "nil",
    "str": "string",
    "list": "array",
    "tuple": "array",
    "dict": "map",
    "TextMap": "map",
    "datetime": "time",
    "datetime.datetime": "time",
    "timedelta": "duration",
    "datetime.timedelta": "duration",
}
_KIND: Final = r"'([\w.]+)'"
_WORDS: Final = (
    (rf"('\S+') not supported between instances of {_KIND} and {_KIND}", "{0} cannot take {1} and {2}"),
    (rf"argument of type {_KIND} is not .*iterable", "'in' takes a list, a map or a string on the right, not {0}"),
    (
        r"'in <string>' requires string as left operand, not (\w+)",
        "'in' takes a string on the left of a string, not {0}",
    ),
    (rf"(?:bad operand type for (\w+)\(\)): {_KIND}", "{0} cannot take {1}"),
    (rf"{_KIND} object is not iterable", "a list is needed here, not {0}"),
    (rf"{_KIND} object is not reversible", "a list is needed here, not {0}"),
    (r"cannot unpack non-iterable (\w+) object", "a list is needed for several names, not {0}"),
    (r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)", "{0} names, but {1} values"),
    (r"too many values to unpack \(expected (\d+).*\)", "{0} names, but more values"),
    (rf"object of type {_KIND} has no len\(\)", "{0} has no length"),
    (rf"unhashable type: {_KIND}", "{0} cannot be a key"),
    (rf"{_KIND} object has no attribute '\w+'", "a map is needed here, not {0}"),
    (r"Can only get item pairs from a mapping\.", "a map is needed here"),
    (r"argument must be iterable", "a list is needed here"),
    (r"(?:integer )?(?:modulo|division or modulo|division) by zero", "division by zero"),
    (r"could not convert string to float: ('.*')", "{0} is no number"),
    (r"invalid literal for int\(\) with base \d+: ('.*')", "{0} is no whole number"),
    (r"must be (\w+)(?: or None)?, not (\w+)", "{0} is needed here, not {1}"),
    (r"(?:str|dict|list)\.(\w+\(\).*)", "{0}"),
    (r"_(\w+\(\).*)", "{0}"),
)
_PATTERNS: Final = [(re.compile(pattern), words) for pattern, words in _WORDS]
_OF_PYTHON: Final = (TypeError, ValueError, AttributeError, ArithmeticError)


def document_reason(error: BaseException) -> str:
    """Say why a document failed, without its place."""
    if isinstance(error, RecursionError):
        return "the document is nested too deeply"
    if isinstance(error, TemplateNotFound):
        return f"there is no document {error.name!r}"
    text = reason_of(error)
    if isinstance(error, _OF_PYTHON):
        for pattern, words in _PATTERNS:
            if match := pattern.fullmatch(text):
                return words.format(*(_KINDS.get(group, group) for group in match.groups()))
    return text.replace("the expression", "the document")

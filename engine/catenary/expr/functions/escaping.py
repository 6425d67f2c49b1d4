"""Functions that make a value safe to stand within another text: in quotes, in JSON, or in an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from catenary.expr.functions.function import Function, adder
from catenary.expr.kinds import bounded_text
from catenary.expr.text import json_quoted, json_text, text_of

if TYPE_CHECKING:
    from catenary.jsontext import Json

TABLE: Final[dict[str, Function]] = {}
function = adder(TABLE, "Escaping")

_ESCAPES: Final = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


@function("escape", 1, examples=(("""escape('a "b"\\n')""", 'a \\"b\\"\\n'), ("escape(nil)", "")))
def escape(value: Json) -> str:
    """Give the text of a value with a backslash before `\\`, `"`, and in place of line ends and tabs."""
    text = text_of(value).translate(_ESCAPES)
    bounded_text(len(text))
    return text


@function("json", 1, examples=(("json('a \"b\"')", '"a \\"b\\""'), ("json({b: 1.0, a: [nil]})", '{"a":[null],"b":1}')))
def json(value: Json) -> str:
    """Give a value as compact JSON, to stand as a whole: `{"k": ${json(msg.x)}}`."""
    return json_text(value)


@function("jsonEscape", 1, examples=(("""jsonEscape('a "b"\\n')""", 'a \\"b\\"\\n'), ("jsonEscape(1.0)", "1")))
def json_escape(value: Json) -> str:
    """Give the text of a value to stand within quotes of JSON: `{"k": "now: ${jsonEscape(msg.x)}"}`."""
    text = text_of(value)
    bounded_text(len(text))
    return json_quoted(text)[1:-1]


@function(
    "urlEncode",
    1,
    examples=(
        ("urlEncode('a/b c?d=ü')", "a%2Fb%20c%3Fd%3D%C3%BC"),
        ("urlEncode('..')", "%2E%2E"),
        ("urlEncode(7)", "7"),
    ),
)
def url_encode(value: Json) -> str:
    """Give the text of a value to stand within an address, as one part of its path or one value of its query."""
    text = text_of(value)
    if text in {".", ".."}:  # as they are, they would lead to another folder
        return text.replace(".", "%2E")
    bounded_text(3 * len(text))
    return quote(text, safe="", errors="replace")

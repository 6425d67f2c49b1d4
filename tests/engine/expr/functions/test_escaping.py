"""Values within other texts: in quotes, and in JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.errors import TemplateError
from catenary.expr import Document, Template, json_text
from catenary.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

HARD = st.text(
    st.characters() | st.sampled_from("\"'\\/\n\r\t\b\f\x00\x1f\x7f\u2028\u2029\ud800\udfff\U0001f600"), max_size=20
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | HARD,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HARD, inner, max_size=4),
    max_leaves=8,
)


def template(source: str) -> Callable[[Message], str]:
    return Template.compile(source).render


def document(source: str) -> Callable[[Message], str]:
    return Document.compile(source).render


IN_QUOTES = [template('{"a": "<${jsonEscape(msg.v)}>"}'), document('{"a": "<{{ msg.v | jsonEscape }}>"}')]
WHOLE = [
    template('{"a": ${json(msg.v)}}'),
    document('{"a": {{ json(msg.v) }}}'),
    document('{"a": {{ msg.v | tojson }}}'),
]


@pytest.mark.parametrize("render", IN_QUOTES)
@given(HARD)
@settings(max_examples=times(150))
def test_any_text_within_quotes_of_json_reads_back_as_it_was(render: Callable[[Message], str], value: str) -> None:
    text = render(Message({"v": value}))
    assert json.loads(text) == {"a": f"<{value}>"}
    text.encode()  # no half of a surrogate pair is left
    assert not set(text) & set("\u2028\u2029\n\r\t\x00")


@pytest.mark.parametrize("render", WHOLE)
@given(VALUES)
@settings(max_examples=times(150))
def test_any_value_as_json_reads_back_as_it_was(render: Callable[[Message], str], value: Any) -> None:
    text = render(Message({"v": value}))
    assert json.loads(text) == {"a": value}
    text.encode()


@given(VALUES)
@settings(max_examples=times(150))
def test_json_text_can_always_be_sent(value: Any) -> None:
    for text in (json_text(value), json_text(value, indent=" ", escape_html=True)):
        text.encode()
        assert json.loads(text) == value


@pytest.mark.parametrize("render", [template("${escape(msg.v)}"), document("{{ msg.v | escape }}")])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a "b" \\ c', 'a \\"b\\" \\\\ c'),
        ("\n\r\t", "\\n\\r\\t"),
        ("'/\x00\u2028é", "'/\x00\u2028é"),
        (None, ""),
        (1.0, "1"),
        ({"a": "b"}, '{\\"a\\":\\"b\\"}'),
    ],
)
def test_escape_writes_five_characters_with_a_backslash(
    render: Callable[[Message], str], value: Any, text: str
) -> None:
    assert render(Message({"v": value})) == text


def test_values_of_other_kinds_stand_in_json_by_their_text() -> None:
    message = Message({"v": 1.0, "l": [1.0, None]})
    assert (
        Template.compile('"${jsonEscape(msg.v)} ${jsonEscape(msg.l)}${jsonEscape(nil)}"').render(message)
        == '"1 [1,null]"'
    )
    assert Template.compile("${json(msg.v)} ${json(nil)} ${json(true)} x").render(message) == "1 null true x"


@pytest.mark.parametrize("source", ["${json(1/0)}", "${json([0/0])}", "x ${json(-1/0)}"])
def test_what_json_cannot_hold_is_an_error(source: str) -> None:
    with pytest.raises(TemplateError, match="cannot be written as JSON"):
        Template.compile(source).render(Message({}))


def test_text_that_grows_too_long_by_escaping_is_an_error() -> None:
    message = Message({"v": '"' * 600_000})
    with pytest.raises(TemplateError, match="longer than 1000000 characters"):
        Template.compile("${escape(msg.v)}").render(message)


@given(st.text())
def test_what_is_encoded_for_an_address_is_one_part_of_it(text: str) -> None:
    encoded = Template.compile("${urlEncode(msg.v)}").render(Message({"v": text}))
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]*", encoded)
    assert encoded not in {".", ".."}
    assert unquote(encoded) == text.encode("utf-8", "replace").decode()

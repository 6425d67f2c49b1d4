"""The message: a value, lazy, and its wire form."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary import Message, Relation
from catenary.message import metadata_text

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("name", ["data", "type", "data_type", "metadata", "id", "ts", "value", "text", "extra"])
def test_nothing_about_a_message_can_be_set(name):
    with pytest.raises(AttributeError):
        setattr(Message("x"), name, "y")


def test_metadata_is_read_only_and_not_shared_with_the_giver():
    given_metadata = {"k": "v"}
    message = Message("x", metadata=given_metadata)
    given_metadata["k"] = "w"
    assert message.metadata["k"] == "v"
    with pytest.raises(TypeError):
        message.metadata["k"] = "w"
    replacing = {"a": "b"}
    replaced = message.with_metadata(replacing)
    replacing.clear()
    assert dict(replaced.metadata) == {"a": "b"}


def test_changes_give_another_message():
    message = Message("x", "T", "TEXT", {"k": "v"})
    assert message.put("k", "w").metadata["k"] == "w"
    assert message.put("", "w") is message
    assert dict(message.put_all({"a": "b", "": "c"}).metadata) == {"k": "v", "a": "b"}
    assert dict(message.without("k", "z").metadata) == {}
    assert message.with_type("U").type == "U"
    assert message.with_data("y").data == "y"
    assert message.with_data("y", "JSON").data_type == "JSON"
    assert dict(message.with_metadata({}).metadata) == {}
    assert (message.data, message.type, message.data_type, dict(message.metadata)) == ("x", "T", "TEXT", {"k": "v"})


def test_id_and_time_are_made_once_and_shared():
    message = Message("x")
    other = message.put("a", "b").with_data("y").with_type("T").with_data_type("TEXT").without("a")
    assert other.id == message.id
    assert other.ts == message.ts
    assert message.id != Message("x").id
    assert abs(message.ts - Message().ts) < 60_000


def test_given_id_and_time_are_kept():
    assert (Message(id="i", ts=7).id, Message(ts=7).ts) == ("i", 7)
    assert Message(ts=0).ts > 7
    assert Message(ts=-1).ts > 7


def test_json_is_parsed_once_and_shared():
    message = Message('{"a": [1]}')
    assert message.value is message.value
    assert message.put("k", "v").value is message.value
    assert message.data == '{"a": [1]}'


@pytest.mark.parametrize(
    ("data", "data_type", "value"),
    [
        ("", "JSON", {}),
        (" \n", "JSON", {}),
        (b"", "JSON", {}),
        ("{no", "JSON", "{no"),
        ("NaN", "JSON", "NaN"),
        ("Infinity", "JSON", "Infinity"),
        ("[1, -Infinity]", "JSON", "[1, -Infinity]"),
        ("12345678901234567890123", "JSON", 12345678901234567890123),
        ("[-12345678901234567890123]", "JSON", [-12345678901234567890123]),
        ('{"a": 18446744073709551615, "b": 18446744073709551616}', "JSON", {"a": 2**64 - 1, "b": 2**64}),
        ("9007199254740993", "JSON", 2**53 + 1),
        ("12345678901234567890.5", "JSON", 12345678901234567890.5),
        ("{}", "TEXT", "{}"),
        ("{}", "json", "{}"),
        ("", "TEXT", ""),
        (b"\xff", "BINARY", "\ufffd"),
        (b'{"a":1}', "JSON", {"a": 1}),
        (bytearray(b"ab"), "TEXT", "ab"),
        (memoryview(b"ab"), "TEXT", "ab"),
        (None, "JSON", None),
        (0, "JSON", 0),
        ("[" * 5000 + "]" * 5000, "JSON", "[" * 5000 + "]" * 5000),
    ],
)
def test_value_is_what_expressions_see(data, data_type, value):
    message = Message(data, "", data_type)
    assert message.value == value
    assert type(message.value) is type(value)
    assert Message().with_data(data, data_type).value == value


def test_value_as_data_is_written_when_asked_for():
    message = Message({"b": 1, "a": "é<&>"})
    assert message.data == '{"a":"é<&>","b":1}'
    assert message.text == message.data
    assert message.with_data([1]).data == "[1]"
    assert message.with_data(None).data == "null"
    assert Message(2**70).data == str(2**70)


@pytest.mark.parametrize("value", [math.nan, math.inf, [math.nan], {"a": -math.inf}, {1, 2}, object()])
def test_what_is_no_json_cannot_be_written(value):
    with pytest.raises((TypeError, ValueError)):
        _ = Message(value).data


def test_text_of_its_own_kind_is_text():
    message = Message(Relation("x"))
    assert message.data == "x"
    assert Message("").with_data(Relation('{"a":1}')).value == {"a": 1}


def test_another_data_type_reads_the_data_anew():
    assert Message({"a": 1}).with_data_type("TEXT").value == '{"a":1}'
    assert Message('{"a":1}', "", "TEXT").with_data_type("JSON").value == {"a": 1}
    message = Message("x")
    assert message.with_data_type("JSON").value == "x"


@given(data=PLAIN_TEXT, kind=st.sampled_from(["JSON", "TEXT", "other"]), name=PLAIN_TEXT, ts=st.integers(1, 2**53))
def test_text_survives_the_wire(data, kind, name, ts):
    message = Message(data, name, kind, {"k": "v"}, "id", ts)
    back = Message.from_dict(json.loads(json.dumps(message.to_dict())))
    assert back == message
    assert (back.ts, back.data) == (ts, data)


@given(data=st.binary())
def test_bytes_survive_the_wire(data):
    back = Message.from_dict(json.loads(json.dumps(Message(data, "", "BINARY").to_dict())))
    assert (back.data, back.data_type) == (data, "BINARY")


@given(value=JSON_VALUES)
def test_values_survive_the_wire(value):
    back = Message.from_dict(Message(value, "", "JSON").to_dict())
    if value == "" or (isinstance(value, str) and back.value != value):
        return  # a text as JSON data is read as JSON
    assert back.value == value


@pytest.mark.parametrize("text", ["12345678", "deadbeef"])
def test_text_that_looks_like_hex_stays_text(text):
    assert Message.from_dict(Message(text, "", "TEXT").to_dict()).data == text


def test_wire_form_has_the_known_keys():
    message = Message(b"\x00\xff", "T", "BINARY", {"n": 1, "o": {"b": 2, "a": [None]}, "s": "t", "z": None}, "i", 5)
    assert message.to_dict() == {
        "ts": 5,
        "id": "i",
        "dataType": "BINARY",
        "type": "T",
        "data": "00ff",
        "metadata": {"n": "1", "o": '{"a":[null],"b":2}', "s": "t", "z": ""},
    }
    assert Message(b"ab").to_dict()["data"] == "ab"
    assert Message(b"\xff").to_dict()["data"] == "ff"
    assert Message("ab", "", "BINARY").to_dict()["data"] == "6162"


def test_short_wire_form_is_read():
    message = Message.from_dict({})
    assert (message.data, message.type, message.data_type, dict(message.metadata)) == ("", "", "JSON", {})
    assert Message.from_dict({"data": {"a": 1}, "metadata": None, "ts": None}).value == {"a": 1}
    with pytest.raises(ValueError, match="hex"):
        Message.from_dict({"dataType": "BINARY", "data": "xyz"})


def test_messages_are_equal_by_content():
    assert Message("x", id="1") == Message("x", id="1")
    assert Message({"a": 1}, id="1") == Message('{"a":1}', id="1")
    assert Message("x", id="1") != Message("x", id="2")
    assert Message("x", id="1") != "x"
    assert len({Message("x", id="1"), Message("x", id="1")}) == 1


def test_message_is_shown_shortly():
    assert repr(Message("x", "T")) == "Message('x', type='T', data_type='JSON')"
    assert len(repr(Message("x" * 500))) < 120


def test_metadata_text():
    assert [metadata_text(value) for value in ("a", None, 1, True, [1])] == ["a", "", "1", "true", "[1]"]


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ({"ts": "x"}, "'ts' of a message must be a whole number, not 'x'"),
        ({"ts": True}, "'ts' of a message must be a whole number"),
        ({"id": 5}, "'id' of a message must be a text"),
        ({"metadata": [1]}, "'metadata' of a message must be a mapping"),
        ({"dataType": "BINARY", "data": "xy"}, "must be hex digits"),
    ],
)
def test_a_malformed_wire_form_is_told(wire, text):
    with pytest.raises(ValueError, match=text):
        Message.from_dict(wire)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": [float("nan"), 1, None], 2: {3}}, {"2": "{3}", "a": ["nan", 1, None]}),
        (float("-inf"), "-inf"),
        ({"n": 10**5000, "m": 10**4000}, {"n": "a whole number of 16610 bits", "m": 10**4000}),
        ((1, b"x"), [1, "b'x'"]),
    ],
)
def test_what_json_has_no_form_for_is_writable_as_python_shows_it(value, shown):
    message = Message(value, metadata={"n": float("nan"), "t": "text", "m": [1]}).writable()
    assert message.value == shown
    assert dict(message.metadata) == {"n": "nan", "t": "text", "m": [1]}
    assert message.text == (
        shown if isinstance(shown, str) else json.dumps(shown, separators=(",", ":"), sort_keys=True)
    )


def test_data_nested_too_deeply_is_writable_as_a_word():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert Message(deep).writable().value == "a value nested too deeply, of type list"


def test_a_message_that_is_json_is_writable_itself():
    message = Message({"a": 1}, metadata={"n": 2**80, "s": "\ud800"})
    assert message.writable() is message

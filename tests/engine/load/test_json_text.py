"""The JSON reader: the same values as the standard library, the place of each, and errors that say what to do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.errors import ChainSyntaxError
from catenary.load.json_text import parse_json
from catenary.load.places import MAX_DEPTH, Place

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_value_is_that_of_the_standard_library(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_json(text).value == json.loads(text)


@given(st.text(alphabet='{}[]",:\\ntrue1e-.0u \n', max_size=30))
def test_text_is_refused_when_the_standard_library_refuses_it(text):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ChainSyntaxError) as caught:
            parse_json(text)
        assert caught.value.line >= 1
        assert caught.value.column >= 1
    else:
        assert parse_json(text).value == expected


def slice_of(text, value, offset):
    """Read the value at an offset with the standard library."""
    return json.JSONDecoder().raw_decode(text, offset)[0]


@given(VALUES, st.sampled_from([None, 1]))
def test_places_point_at_the_values(value, indent):
    text = json.dumps(value, indent=indent)
    parsed = parse_json(text)

    def look(inner, path):
        assert slice_of(text, inner, parsed.places.values[path]) == inner
        if isinstance(inner, dict):
            for key, item in inner.items():
                assert slice_of(text, key, parsed.places.keys[*path, key]) == key
                look(item, (*path, key))
        elif isinstance(inner, list):
            for index, item in enumerate(inner):
                look(item, (*path, index))

    look(value, ())


def test_places_count_lines_and_characters_from_one():
    places = parse_json('{\r\n "ä": "ö", "b": [1,\n  2]}').places
    assert places.of(()) == Place(1, 1)
    assert places.of_key(("b",)) == Place(2, 12)
    assert places.of(("b", 1)) == Place(3, 3)


def test_place_of_what_is_missing_is_that_of_what_is_around_it():
    places = parse_json('{"a": {"b": 1}}').places
    assert places.of(("a", "c", 3)) == Place(1, 7)
    assert places.of_key(("a", "c")) == Place(1, 7)


def test_integers_keep_all_digits():
    assert parse_json("[12345678901234567890123, -0]").value == [12345678901234567890123, 0]


def test_duplicate_keys_are_reported():
    parsed = parse_json('{"a": 1, "a": 2}')
    assert parsed.duplicates == [(("a",), 9)]
    assert parsed.value == {"a": 2}


@pytest.mark.parametrize(
    ("text", "line", "column", "part", "hint"),
    [
        ("", 1, 1, "empty", "ruleChain"),
        (" \n ", 1, 1, "empty", "ruleChain"),
        ('{"a": 1,}', 1, 8, "another value after ','", "remove the comma"),
        ("[1,\n]", 1, 3, "another value after ','", "remove the comma"),
        ("{'a': 1}", 1, 2, "key in double quotes", "double quotes"),
        ("{a: 1}", 1, 2, "found a", "double quotes"),
        ("{,}", 1, 2, "key in double quotes", ""),
        ("{\"a\": 'b'}", 1, 7, "expected a value", "double quotes"),
        ('{"a" 1}', 1, 6, "expected ':' after the key 'a'", ""),
        ('{"a": True}', 1, 7, "found True", "JSON writes true"),
        ('{"a": None}', 1, 7, "found None", "JSON writes null"),
        ('{"a": NaN}', 1, 7, "found NaN", "double quotes"),
        ('{"a": ,}', 1, 7, "expected a value", "remove the comma"),
        ("// no\n{}", 1, 1, "expected a value", "YAML"),
        ('{\n # no\n"a": 1}', 2, 2, "key in double quotes", "YAML"),
        ('{"a": 1 /* no */}', 1, 9, "expected ',' or '}'", "YAML"),
        ('{"a": 1 "b": 2}', 1, 9, "expected ',' or '}'", "comma is missing"),
        ("[1 2]", 1, 4, "expected ',' or ']'", "comma is missing"),
        ('{"a": [1, 2}', 1, 12, "expected ',' or ']'", "line 1, column 7 is not closed"),
        ('{\n"a": 1', 2, 7, "the end of the text", "line 1, column 1 is not closed"),
        ("{", 1, 2, "the end of the text", "line 1, column 1 is not closed"),
        ('{"a": 1} {}', 1, 10, "expected the end of the text", "one chain"),
        ("{} // no", 1, 4, "expected the end of the text", "YAML"),
        ('{"a": "b\nc"}', 1, 7, "not closed on its line", "\\n"),
        ('{"a": "b', 1, 7, "not closed on its line", "close it"),
        ('{"a": "b\tc"}', 1, 9, "control character '\\t'", "escape"),
        ('{"a": "\\q"}', 1, 8, "'\\\\q' is not an escape", "\\\\"),
        ('{"a": "\\u12x4"}', 1, 8, "is not an escape", "\\\\"),
        ('{"a": 01}', 1, 7, "01 is not a number", "no leading 0"),
        ('{"a": +1}', 1, 7, "expected a value", ""),
        ('{"a": 1.}', 1, 7, "1. is not a number", "both sides"),
        ('{"a": -}', 1, 7, "- is not a number", ""),
        ('{"a": 1e999}', 1, 7, "too large", ""),
        ('{"a": ' + "1" * 4301 + "}", 1, 7, "4301 digits", "as a text"),
    ],
)
def test_error_names_place_and_cure(text, line, column, part, hint):
    with pytest.raises(ChainSyntaxError) as caught:
        parse_json(text, file="chain.json")
    error = caught.value
    assert part in str(error)
    assert (error.line, error.column) == (line, column)
    assert hint in error.hint
    assert error.file == "chain.json"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_limited_without_a_crash(opening, closing):
    deep = opening * MAX_DEPTH + "1" + closing * MAX_DEPTH
    assert parse_json(deep).value
    with pytest.raises(ChainSyntaxError, match="nested more than"):
        parse_json(opening * 100_000)


@pytest.mark.parametrize(("text", "hint"), [('{"a": [', "cut off"), ('{"a": }', "write a value before it")])
def test_a_missing_value_comes_with_a_cure(text, hint):
    with pytest.raises(ChainSyntaxError) as caught:
        parse_json(text)
    assert hint in caught.value.hint

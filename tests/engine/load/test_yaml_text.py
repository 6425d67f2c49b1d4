"""The YAML reader: scalars by the core schema of YAML 1.2, places, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.errors import ChainSyntaxError
from catenary.load.places import MAX_DEPTH, Place
from catenary.load.yaml_text import MAX_ALIASED, parse_yaml

PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]))
KEYS = PRINTABLE.filter(lambda key: len(key) < 50)  # YAML ends a key on one line after 1024 characters
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PRINTABLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


@given(VALUES)
def test_json_is_read_as_yaml_alike(value):
    text = json.dumps(value, indent=1)
    assert parse_yaml(text).value == value


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("true", True),
        ("TRUE", True),
        ("tRue", "tRue"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("12345678901234567890123", 12345678901234567890123),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        ("1:30", "1:30"),
        ("12:30:45", "12:30:45"),
        ("2026-01-02", "2026-01-02"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("! 12", "12"),
    ],
)
def test_scalars_follow_the_core_schema(scalar, value):
    read = parse_yaml(f"a: {scalar}").value["a"]
    assert read == value
    assert type(read) is type(value)


def test_keys_are_texts_as_written():
    assert parse_yaml("1: a\ntrue: b\nnull: c").value == {"1": "a", "true": "b", "null": "c"}


def test_places_point_at_values_and_keys():
    places = parse_yaml("a:\n  - 1\n  - bä: |\n      text\n").places
    assert places.of(("a",)) == Place(2, 3)
    assert places.of(("a", 0)) == Place(2, 5)
    assert places.of_key(("a", 1, "bä")) == Place(3, 5)
    assert places.of(("a", 1, "bä")) == Place(3, 9)


def test_anchors_and_aliases_work():
    assert parse_yaml("a: &x {b: 1}\nc: [*x, *x]").value == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}


def test_an_alias_has_the_place_of_the_alias():
    assert parse_yaml("a: &x {b: 1}\nc: *x").places.of(("c", "b")) == Place(2, 4)


def test_duplicate_keys_are_reported():
    parsed = parse_yaml("a: 1\nb: 2\na: 3")
    assert parsed.duplicates == [(("a",), 10)]


def test_document_markers_are_fine():
    assert parse_yaml("%YAML 1.2\n---\na: 1\n...\n").value == {"a": 1}


def bomb(levels):
    lines = (f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * 10) + "]" for level in range(1, levels))
    return "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(lines)


def test_alias_bomb_is_refused():
    with pytest.raises(ChainSyntaxError, match=f"more than {MAX_ALIASED} values"):
        parse_yaml(bomb(9))


@pytest.mark.parametrize(
    ("text", "line", "column", "part", "hint"),
    [
        ("", 1, 1, "empty", "ruleChain"),
        ("# only a comment", 1, 1, "empty", "ruleChain"),
        ("a:\n\t- 1", 2, 1, "cannot start any token", "tab"),
        ("a: b: c", 1, 5, "mapping values are not allowed", "quotes"),
        ("a: @b", 1, 4, "cannot start any token", "quotes"),
        ("a: [1, 2", 1, 9, "expected ',' or ']'", "indentation"),
        ("a:\n  b: 1\n c: 2", 3, 2, "expected <block end>", "same column"),
        ("a: *x", 1, 4, "no anchor &x", "define it above"),
        ("a: &x [*x]", 1, 8, "inside its own anchor", "contain itself"),
        ("a: 1\n---\nb: 2", 2, 1, "a second document", "one chain"),
        ("? [a]\n: 1", 1, 3, "a key has to be a plain text", "key"),
        ("a: &x {b: 1}\n<<: *x", 2, 1, "merge keys", "write the entries out"),
        ("a: .inf", 1, 4, "not a value of JSON", ""),
        ("a: .NaN", 1, 4, "not a value of JSON", ""),
        ("a: 1e999", 1, 4, "too large", ""),
        ("a: " + "1" * 4301, 1, 4, "4301 digits", ""),
        ("a: !!python/name:os.system x", 1, 4, "the tag tag:yaml.org,2002:python/name:os.system", "remove it"),
        ("a: !own [1]", 1, 4, "the tag !own", "remove it"),
        ("a: !own {b: 1}", 1, 4, "the tag !own", "remove it"),
        ("a: !!int abc", 1, 4, "'abc' is not a value of the tag !!int", "remove"),
        ("a: !!int true", 1, 4, "'true' is not a value of the tag !!int", "remove"),
        ("a: \x07", 1, 4, "the character U+0007 may not stand", "remove"),
        ("a: 'b", 1, 6, "unexpected end", "quotes"),
    ],
)
def test_error_names_place_and_cure(text, line, column, part, hint):
    with pytest.raises(ChainSyntaxError) as caught:
        parse_yaml(text, file="chain.yaml")
    error = caught.value
    assert part in str(error)
    assert (error.line, error.column) == (line, column)
    assert hint in error.hint
    assert error.file == "chain.yaml"


def test_depth_is_limited_without_a_crash():
    assert parse_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH).value
    with pytest.raises(ChainSyntaxError, match="nested more than"):
        parse_yaml("[" * 20_000)
    with pytest.raises(ChainSyntaxError, match="nested more than"):
        parse_yaml("- " * 2_000 + "1")

"""The place of a character inside a text of a document."""

from __future__ import annotations

import pytest

from catenary.load.inside import place_inside
from catenary.load.json_text import parse_json
from catenary.load.places import Place
from catenary.load.yaml_text import parse_yaml


def inside(parse, text, source, position):
    parsed = parse(text)
    return place_inside(parsed.places, ("a",), parsed.value["a"], source, position)


@pytest.mark.parametrize(
    ("text", "source", "position", "place"),
    [
        ('{"a": "bcd"}', "bcd", 2, Place(1, 10)),
        ('{"a": "bcd"}', "cd", 1, Place(1, 10)),
        ('{"a": "bcd"}', "bcd", 3, Place(1, 11)),
        ('{"a": "b\\nd"}', "b\nd", 2, Place(1, 11)),
        ('{"a": "\\ud83d\\ude00d"}', "\U0001f600d", 1, Place(1, 20)),
        ('{"a": "\\u00e4d"}', "äd", 1, Place(1, 14)),
        ('{"a": "bcd"}', "bcd", 9, None),
        ('{"a": "bcd"}', "xyz", 0, None),
    ],
)
def test_place_in_json(text, source, position, place):
    assert inside(parse_json, text, source, position) == place


@pytest.mark.parametrize(
    ("text", "source", "position", "place"),
    [
        ("a: b c d", "b c d", 2, Place(1, 6)),
        ("a: 'b c'", "b c", 2, Place(1, 7)),
        ('a: "b c"', "b c", 2, Place(1, 7)),
        ("a: |\n  b\n  cde\n", "b\ncde\n", 3, Place(3, 4)),
        ("a: |-\n  b\n    c", "b\n  c", 4, Place(3, 5)),
        ("a: |2\n    b\n   c", "  b\n c", 5, Place(3, 4)),
        ("a: >\n  b\n  c\n", "b c\n", 2, None),
        ("a: 'b''c'", "b'c", 2, None),
        ("a: |\n  b\x85  c\n", "b\nc\n", 2, None),
        ("a: |\n  b\x85  c\x85  d", "b\nc\nd", 4, None),
        ("a: |+\n  b\n\n", "b\n\n", 3, Place(4, 1)),
    ],
)
def test_place_in_yaml(text, source, position, place):
    assert inside(parse_yaml, text, source, position) == place

"""What is different between expected and got, and how it is told."""

from __future__ import annotations

import pytest

from catenary.errors import ConfigError
from catenary.testing.chains.matching import ABSENT, differences


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (1, 1),
        ("a", "a"),
        (None, None),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}),
        ({"$any": True}, None),
        ({"a": {"$absent": True}}, {}),
        ({"$type": "number"}, 1.5),
        ({"$type": "text"}, "x"),
        ({"$type": "null"}, None),
        ({"$regex": "^a.c$"}, "abc"),
        ({"$contains": "b"}, "abc"),
        ({"$contains": 2}, [1, 2]),
        ({"$contains": {"a": 1}}, {"a": 1, "b": 2}),
        ({"$exact": {"$gt": 1}}, 2),
        ({"$length": 2}, [1, 2]),
        ({"$length": {"$gt": 1}}, "abc"),
        ({"$approx": 0.3}, 0.1 + 0.2),
        ({"$approx": [10, 0.5]}, 10.4),
        ({"$gt": 1}, 2),
        ({"$ge": 2}, 2),
        ({"$lt": "b"}, "a"),
        ({"$le": 2}, 2),
        ({"$not": 3}, 4),
        ({"$not": {"$type": "text"}}, 4),
        ({"$oneOf": [1, {"$gt": 10}]}, 11),
        ({"$all": [{"$gt": 1}, {"$lt": 5}]}, 3),
    ],
)
def test_same_is_no_difference(expected, got):
    assert differences(expected, got) == []


@pytest.mark.parametrize(
    ("expected", "got", "line"),
    [
        (1, 2, "data: expected 1, got 2"),
        (1, True, "data: expected 1, got true"),
        ("1", 1, "data: expected '1', got 1"),
        ({"a": 1}, {"a": 1, "b": 2}, "b: not expected, got 2"),
        ({"a": {"b": 1}}, {"a": {}}, "a.b: expected 1, got nothing"),
        ([1, 2], [1], "data: expected 2 items, got 1: [1]"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]: expected 2, got 3"),
        ({"$gt": 3}, 3, "data: expected $gt 3, got 3"),
        ({"$gt": 3}, "x", "data: expected $gt 3, got 'x'"),
        ({"$gt": 3}, True, "data: expected $gt 3, got true"),
        ({"$any": True}, ABSENT, "data: expected $any true, got nothing"),
        ({"$absent": True}, 1, "data: expected $absent true, got 1"),
        ({"$regex": "b"}, 1, "data: expected $regex 'b', got 1"),
        ({"$not": 3}, 3, "data: expected $not 3, got 3"),
        ({"$contains": {"a": 1}}, {"a": 2}, "a: expected 1, got 2"),
        ({"$all": [{"$gt": 1}, {"$lt": 5}]}, 7, "data: expected $lt 5, got 7"),
        ({"a": 1}, "text", "data: expected {\"a\":1}, got 'text'"),
    ],
)
def test_each_difference_is_told_with_its_way(expected, got, line):
    assert differences(expected, got) == [line]


def test_all_differences_are_told_at_once():
    assert len(differences({"a": 1, "b": 2, "c": 3}, {"a": 9, "b": 9, "c": 3})) == 2


def test_other_keys_may_be_there_where_a_part_is_asked_for():
    assert differences({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, part=True) == []
    assert differences({"a": {"$exact": {"b": 1}}}, {"a": {"b": 1, "c": 2}}, part=True) == ["a.c: not expected, got 2"]


@pytest.mark.parametrize(
    ("matcher", "text"),
    [
        ({"$gtt": 1}, "there is no matcher '$gtt'"),
        ({"$regex": "("}, "cannot be used here"),
        ({"$type": "float"}, "one of text"),
        ({"$oneOf": 3}, "takes a list"),
        ({"$approx": "x"}, "a number"),
    ],
)
def test_matcher_that_cannot_be_used_is_told(matcher, text):
    with pytest.raises(ConfigError, match=text.replace("$", r"\$")):
        differences(matcher, "x")


def test_hint_names_the_matcher_that_is_spelt_alike():
    with pytest.raises(ConfigError) as caught:
        differences({"$oneof": [1]}, 1)
    assert caught.value.hint == "did you mean '$oneOf'?"

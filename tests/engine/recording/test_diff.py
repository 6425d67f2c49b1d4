"""What differs between two recorded runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.engine.store.records import record, records, visit

from catenary import Message
from catenary.recording import RunRecord
from catenary.recording.diff import MISSING, differences, values
from catenary.runtime.ends import End


def told(left: RunRecord, right: RunRecord) -> list[tuple[Any, ...]]:
    """Give what differs as kind, node, path, left and right."""
    return [(one.kind, one.node_id, one.path, one.left, one.right) for one in differences(left, right)]


@given(records())
def test_a_run_does_not_differ_from_itself(written: RunRecord):
    assert differences(written, written) == []


def test_ids_and_times_do_not_count():
    one = record(message=Message("in", id="1", ts=1), started_ms=1000)
    other = record(message=Message("in", id="2", ts=2), started_ms=2000)
    assert told(one, other) == []


def test_the_order_of_branches_does_not_count():
    visits = [visit(1, node_id="a"), visit(2, node_id="b")]
    others = [visit(1, node_id="b"), visit(2, node_id="a")]
    assert told(record(visits=visits), record(visits=others)) == []


def test_visits_of_the_same_node_belong_together_in_their_order():
    def three(*data: str) -> RunRecord:
        return record(visits=[visit(n, sent=[("Success", Message(text))]) for n, text in enumerate(data, 1)])

    assert told(three("x", "y", "z"), three("x", "Y", "z")) == [("data", "a", "data", "y", "Y")]
    assert told(three("x", "y"), three("x")) == [("visit", "a", "", "a", MISSING)]


def test_visits_inside_others_are_compared_with_those_at_the_same_place():
    def nested(text: str) -> RunRecord:
        inside = visit(2, parent=1, node_id="inner", sent=[("Success", Message(text))])
        return record(visits=[visit(1), inside])

    assert told(nested("x"), nested("y")) == [("data", "inner", "data", "x", "y")]
    assert [one[0] for one in told(nested("x"), record(visits=[visit(1), visit(2, node_id="inner")]))] == [
        "visit",
        "visit",
    ]


def test_data_that_is_passed_on_is_told_once():
    def passed(text: str) -> RunRecord:
        message = Message(text)
        return record(message=message, visits=[visit(n, message=message) for n in (1, 2, 3)])

    assert told(passed("x"), passed("y")) == [("message", "", "data", "x", "y")]


def test_relations_errors_ends_and_status_are_compared():
    message = Message("in")
    one = record(visits=[visit(sent=[("True", message)])], ends=[End("a", "True", message)])
    failed = [visit(sent=[("Failure", message)], error="no luck")]
    other = record(visits=failed, ends=[End("a", "Failure", message)], status="failed", error="a: no luck")
    assert told(one, other) == [
        ("relations", "a", "", ["True"], ["Failure"]),
        ("error", "a", "", "", "no luck"),
        ("end", "a", "", "True", MISSING),
        ("end", "a", "", MISSING, "Failure"),
        ("status", "", "", "completed", "failed"),
        ("error", "", "", "", "a: no luck"),
    ]


def test_chains_metadata_and_types_are_compared():
    one = record(message=Message("1", "T", metadata={"k": "v"}), visits=[])
    other = record(message=Message("1", "U", data_type="TEXT"), chain_id="other", visits=[])
    assert told(one, other) == [
        ("chain", "", "", "c", "other"),
        ("message", "", "data", 1, "1"),
        ("message", "", "dataType", "JSON", "TEXT"),
        ("message", "", "type", "T", "U"),
        ("message", "", "metadata.k", "v", MISSING),
    ]


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, [("a[1].b", 2, 3)]),
        ([1, 2], [1], [("[1]", 2, MISSING)]),
        ([], [None], [("[0]", MISSING, None)]),
        ({"a": None}, {}, [("a", None, MISSING)]),
        ({"a": 1}, [1], [("", {"a": 1}, [1])]),
        (1, 1.0, []),
        (1, True, [("", 1, True)]),
        ("1", 1, [("", "1", 1)]),
    ],
)
def test_values_are_compared_by_structure(left: Any, right: Any, found: list[Any]):
    assert list(values(left, right)) == found

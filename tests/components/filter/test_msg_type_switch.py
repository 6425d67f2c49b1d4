"""`msgTypeSwitch`: the type of a message is the way it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import Chain, End, Engine, Message

Load = Callable[..., Chain]


def end_of(load: Load, connections: str, type_: str) -> End:
    nodes = ["s:msgTypeSwitch", "a:end", "b:end", "other:end"]
    (end,) = load(nodes, connections).run_sync(Message('{"n": 1}', type_)).ends
    return end


@pytest.mark.parametrize(
    ("connections", "type_", "ended_at", "relation"),
    [
        ("s A a, s B b", "A", "a", "A"),
        ("s A a, s B b", "B", "b", "B"),
        ("s A a, s a b, s Default other", "a", "b", "a"),
        ("s A a, s Default other", "a", "other", "Default"),
        ("s A a, s Default other", "Z", "other", "Default"),
        ("s A a", "Z", "s", "Z"),
        ("s A a", "a", "s", "a"),
        ("s Default other", "", "other", "Default"),
        ("s A a", "", "s", ""),
        ("s Default other", "Default", "other", "Default"),
    ],
)
def test_the_relation_is_the_type_in_exact_case_or_the_default_or_the_type_where_the_branch_ends(
    load: Load, connections: str, type_: str, ended_at: str, relation: str
) -> None:
    end = end_of(load, connections, type_)
    assert (end.node_id, end.relation) == (ended_at, relation)


@pytest.mark.parametrize(
    ("name", "connections", "ended_at", "relation"),
    [
        ("Rest", "s Rest other", "other", "Rest"),
        ("Rest", "s Default other", "s", "Z"),
        ("Rest", "s Default a, s Rest other", "other", "Rest"),
        ("", "s Default other", "other", "Default"),
    ],
)
def test_a_property_names_the_default_relation(
    load: Load, engine: Engine, name: str, connections: str, ended_at: str, relation: str
) -> None:
    properties: Any = engine.properties
    properties["defaultRelationType"] = name
    end = end_of(load, connections, "Z")
    assert (end.node_id, end.relation) == (ended_at, relation)


def test_all_connections_of_the_type_are_taken(load: Load) -> None:
    outcome = load(["s:msgTypeSwitch", "a:end", "b:end"], "s A a, s A b").run_sync(Message("{}", "A"))
    assert [end.node_id for end in outcome.ends] == ["a", "b"]


def test_the_message_goes_on_unchanged(load: Load) -> None:
    message = Message('{"b": 1, "a": 2}', "A", metadata={"k": "v"})
    (end,) = load(["s:msgTypeSwitch"]).run_sync(message).ends
    assert end.message is message


def test_any_relation_may_be_connected_without_a_warning(load: Load, engine: Engine) -> None:
    chain = load(["s:msgTypeSwitch", "a:end"], "s POST_TELEMETRY a")
    assert engine.check(chain.to_dict()) == []

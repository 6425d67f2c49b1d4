"""`inclusive`: all conditions that hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import End, Engine, Message

Load = Callable[..., Any]


def cases(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"cases": [{"case": case, "then": then} for case, then in pairs]}


def relations(load: Load, configuration: dict[str, Any], data: Any = '{"t":60}') -> list[str]:
    return [str(end.relation) for end in load([("n:inclusive", configuration)]).run_sync(Message(data)).ends]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("msg.t > 50", "Hot"), ("msg.t > 20", "Warm"), ("msg.t < 0", "Cold")], ["Hot", "Warm"]),
        ([("msg.t > 20", "Warm"), ("msg.t > 50", "Hot")], ["Warm", "Hot"]),
        ([("true", "A"), ("msg.t > 50", "A")], ["A", "A"]),
        ([("msg.t > 80", "Hot")], ["Default"]),
        ([("msg.t", "Number"), ("'true'", "Text")], ["Default"]),
        ([], ["Default"]),
        ([("true", "A"), ("msg.absent > 1", "B"), ("true", "C")], ["Failure"]),
    ],
)
def test_every_case_that_is_true_opens_its_way(load: Load, pairs: list[tuple[str, str]], expected: list[str]) -> None:
    assert relations(load, cases(*pairs)) == expected


@pytest.mark.parametrize(("t", "relation"), [(30, "Case1"), (60, "Case2"), (10, "Default")])
def test_without_cases_the_temperature_is_looked_at(load: Load, t: int, relation: str) -> None:
    assert relations(load, {}, {"temperature": t}) == [relation]


def test_the_message_goes_every_way_unchanged(load: Load) -> None:
    message = Message('{"b": 1, "a": 2}', metadata={"k": "v"})
    ends = load([("n:inclusive", cases(("true", "A"), ("true", "B")))]).run_sync(message).ends
    assert all(end.message is message for end in ends)


def test_a_case_that_fails_tells_what_went_wrong(send: Callable[..., End]) -> None:
    end = send("inclusive", cases(("msg.t > 1", "A")))
    assert "msg.t > 1" in str(end.error)
    assert end.message.metadata["errorMsg"] in str(end.error)


def test_a_join_waits_for_the_ways_that_were_taken(load: Load) -> None:
    nodes = [("i:inclusive", cases(("msg.t > 50", "A"), ("msg.t > 20", "B"), ("msg.t < 0", "C")))]
    nodes += [("j:join", {"mergeToMap": True}), "a:fork", "b:fork", "c:fork"]  # type: ignore[list-item]
    ways = "i A a, i B b, i C c, a Success j, b Success j, c Success j"
    (end,) = load(nodes, ways).run_sync(Message('{"t":60}')).ends
    assert (end.node_id, end.relation, end.message.data) == ("j", "Success", '{"t":60}')


def test_what_is_named_twice_runs_twice(load: Load) -> None:
    chain = load([("n:inclusive", cases(("true", "A"), ("true", "A"))), "l:log"], "n A l")
    assert [end.node_id for end in chain.run_sync(Message("{}")).ends] == ["l", "l"]


def test_a_way_that_is_not_connected_ends_there_beside_the_others(load: Load) -> None:
    chain = load([("n:inclusive", cases(("true", "A"), ("true", "B"))), "l:log"], "n A l, n Default l")
    ends = {(end.node_id, str(end.relation)) for end in chain.run_sync(Message("{}")).ends}
    assert ends == {("l", "Success"), ("n", "B")}


def test_a_case_that_fails_after_one_that_holds_sends_nothing_but_the_failure(load: Load) -> None:
    chain = load([("n:inclusive", cases(("true", "A"), ("msg.x > 1", "B"))), "l:log", "m:log"], "n A l, n Failure m")
    assert [end.node_id for end in chain.run_sync(Message("{}")).ends] == ["m"]


def test_the_name_of_the_default_relation_is_fixed(load: Load, engine: Engine) -> None:
    properties: Any = engine.properties
    properties["defaultRelationType"] = "Rest"
    assert relations(load, {"cases": []}) == ["Default"]


def test_editors_let_the_author_name_its_relations(engine: Engine) -> None:
    form = engine.registry.form("inclusive")
    assert (form["relationTypes"], form["category"]) == ([], "common")

"""`comment`: a note in a chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catenary import End, Engine, Message


def test_the_message_passes_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1}', metadata={"k": "v"})
    end = send("comment", {}, message)
    assert (end.relation, end.message) == ("Success", message)
    assert end.message is message


def test_any_configuration_is_taken_and_kept(engine: Engine) -> None:
    node = {"id": "c", "type": "comment", "configuration": {"text": "see below", "size": [1, {"a": None}]}}
    source: dict[str, Any] = {"ruleChain": {"id": "noted"}, "metadata": {"nodes": [node]}}
    assert engine.check(source) == []
    assert engine.load(source).to_dict()["metadata"]["nodes"][0]["configuration"] == node["configuration"]


def test_it_may_stand_unconnected(engine: Engine) -> None:
    nodes = [{"id": "f", "type": "fork"}, {"id": "c", "type": "comment"}]
    assert engine.check({"ruleChain": {"id": "noted"}, "metadata": {"nodes": nodes}}) == []

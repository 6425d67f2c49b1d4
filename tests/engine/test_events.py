"""Events: their JSON form and the bus."""

from __future__ import annotations

from catenary import Message
from catenary.events import Bus, NodeEvent, NodeFinished, RunCompleted


def head(**more):
    return {"seq": 1, "timestamp": 2, "run_id": "r", "chain_id": "c", **more}


def test_json_form_is_camel_case_with_messages_as_on_the_wire():
    message = Message("x", id="i", ts=3)
    event = NodeFinished(**head(node_id="n", visit=4), relations=("A",), messages=(message,), duration_s=0.5)
    assert event.to_dict() == {
        "seq": 1,
        "type": "node.end",
        "timestamp": 2,
        "runId": "r",
        "chainId": "c",
        "nodeId": "n",
        "visit": 4,
        "parent": 0,
        "relations": ["A"],
        "messages": [message.to_dict()],
        "error": "",
        "durationS": 0.5,
    }


def test_what_a_component_reports_has_the_name_it_gave():
    event = NodeEvent(**head(), dotted="content.delta", data={"text": "x"})
    assert (event.name, event.type) == ("content.delta", "content.delta")
    assert event.to_dict()["type"] == "content.delta"
    assert event.to_dict()["data"] == {"text": "x"}
    assert "dotted" not in event.to_dict()


def test_bus_keeps_its_listeners_until_they_leave():
    bus = Bus()
    heard = []
    leave = bus.subscribe(heard.append)
    bus.subscribe(heard.append)
    assert len(bus.listeners) == 2
    leave()
    leave()
    assert len(bus.listeners) == 1
    assert RunCompleted(**head()).name == "run.complete"

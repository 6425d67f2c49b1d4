"""Recorded runs that are run again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine, Message
from catenary.errors import EngineError
from catenary.recording import MemoryRecorder, RunRecord
from catenary.replay import beginning_of, pinned, replay

if TYPE_CHECKING:
    from collections.abc import Generator

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "sums", "configuration": {"allowCycle": True}},
    "metadata": {
        "nodes": [
            {"id": "double", "type": "exprTransform", "configuration": {"expr": "msg * 2"}},
            {"id": "check", "type": "exprFilter", "configuration": {"expr": "msg < 10"}},
            {"id": "add", "type": "exprTransform", "configuration": {"expr": "msg + 1"}},
        ],
        "connections": [
            {"fromId": "double", "type": "Success", "toId": "check"},
            {"fromId": "check", "type": "True", "toId": "double"},
            {"fromId": "check", "type": "False", "toId": "add"},
        ],
    },
}
CHANGED = copy.deepcopy(CHAIN)
CHANGED["metadata"]["nodes"][2]["configuration"]["expr"] = "msg + 100"


@pytest.fixture
def engine() -> Generator[Engine]:
    with Engine() as engine:
        engine.load(CHAIN)
        yield engine


def recorded(engine: Engine, data: Any, chain: str = "sums") -> RunRecord:
    recorder = MemoryRecorder()
    engine.run_sync(chain, data, recorder=recorder)
    return recorder.records[0]


@pytest.fixture
def record(engine: Engine) -> RunRecord:
    """4 -> 8 -> 16 -> 17."""
    return recorded(engine, 4)


def test_from_the_beginning_it_gives_the_same(engine: Engine, record: RunRecord):
    again = replay(engine, record)
    assert (again.run_sync().message.value, again.differs) == (17, False)


def test_from_a_node_it_begins_with_what_the_node_got_last(engine: Engine, record: RunRecord):
    again = replay(engine, record, "check")
    assert (again.start.message.value, again.start.visits) == (16, (2, 4))
    assert [end.message.value for end in again.run_sync().ends] == [17]


def test_a_visit_is_chosen_by_its_number(engine: Engine, record: RunRecord):
    assert replay(engine, record, "double", visit=3).start.message.value == 8
    assert replay(engine, record, "double", visit=1).start.message.value == 4
    with pytest.raises(EngineError, match=r"visit 2 of run .* is none of node 'double'"):
        replay(engine, record, "double", visit=2)


def test_other_data_may_be_given(engine: Engine, record: RunRecord):
    assert replay(engine, record, "add", message=1000).run_sync().message.value == 1001
    assert replay(engine, record, "add", message=Message(2000)).run_sync().message.value == 2001


def test_the_recorded_version_is_run_when_it_is_asked_for(engine: Engine, record: RunRecord):
    engine.reload(CHANGED)
    present, past = replay(engine, record), replay(engine, record, version="recorded")
    assert (present.run_sync().message.value, present.differs) == (116, True)
    assert (past.run_sync().message.value, past.differs) == (17, False)
    assert engine.run_sync("sums", 4).message.value == 116  # the recorded one takes nobody's place


def test_a_pinned_node_sends_what_it_sent(engine: Engine, record: RunRecord):
    engine.reload(CHANGED)
    assert replay(engine, record, pins=["add"]).run_sync().message.value == 17


def test_visits_of_a_pinned_node_come_in_their_order(engine: Engine, record: RunRecord):
    changed = copy.deepcopy(CHAIN)
    changed["metadata"]["nodes"][0]["configuration"]["expr"] = "msg * 1000"
    engine.reload(changed)
    again = MemoryRecorder()
    replay(engine, record, pins=["double"]).run_sync(recorder=again)
    assert [visit.node_id for visit in again.records[0].visits] == [visit.node_id for visit in record.visits]
    assert again.records[0].ends[0].message.value == 17


def test_visits_before_the_beginning_are_left_out(engine: Engine, record: RunRecord):
    assert replay(engine, record, "double", visit=3, pins=["double"]).run_sync().message.value == 17


def test_what_is_pinned_may_be_given(engine: Engine, record: RunRecord):
    again = replay(engine, record, pins={"check": ("False", 1), "add": [("Success", Message(5)), ("Other", 6)]})
    ends = again.run_sync().ends
    assert [(str(end.relation), end.message.value) for end in ends] == [("Success", 5), ("Other", 6)]


def test_pins_need_no_record():
    with Engine() as engine:
        chain = engine.load(CHAIN).replacing(pinned(None, {"double": ("Success", 50)}))
        assert chain.run_sync(1).message.value == 51
    with pytest.raises(EngineError, match="without a recorded run"):
        pinned(None, ["double"])


def test_a_failure_is_sent_again_with_its_error(engine: Engine):
    failed = recorded(engine, {"no": "number"})
    outcome = replay(engine, failed, pins=["double"]).run_sync()
    assert (outcome.status, str(outcome.error)) == ("failed", failed.error)


def test_outputs_of_nodes_before_are_there():
    chain: dict[str, Any] = {
        "ruleChain": {"id": "outputs"},
        "metadata": {
            "nodes": [
                {"id": "first", "type": "exprTransform", "configuration": {"expr": "'one'"}},
                {"id": "second", "type": "exprTransform", "configuration": {"expr": "'two'"}},
                {"id": "both", "type": "exprTransform", "configuration": {"expr": "first.msg + msg"}},
            ],
            "connections": [
                {"fromId": "first", "type": "Success", "toId": "second"},
                {"fromId": "second", "type": "Success", "toId": "both"},
            ],
        },
    }
    with Engine() as engine:
        engine.load(chain)
        record = recorded(engine, 1, "outputs")
        assert record.ends[0].message.text == "onetwo"
        assert replay(engine, record, "both").run_sync().message.text == "onetwo"
        assert set(beginning_of(record, "second").outputs) == {"first"}


async def test_it_runs_in_an_event_loop(engine: Engine, record: RunRecord):
    assert (await replay(engine, record, "check").run(timeout=60)).message.value == 17


@pytest.mark.parametrize(
    ("node", "pins", "text"),
    [
        ("none", [], "node 'none' was not visited in run"),
        ("double", ["none"], "node 'none' was not visited in run"),
    ],
)
def test_a_node_that_was_not_visited_is_told(engine: Engine, record: RunRecord, node: str, pins: list[str], text: str):
    with pytest.raises(EngineError, match=text) as caught:
        replay(engine, record, node, pins=pins)
    assert "'double', 'check', 'add'" in caught.value.hint


def test_a_node_that_the_version_does_not_have_is_told(engine: Engine, record: RunRecord):
    engine.reload({"ruleChain": {"id": "sums"}, "metadata": {"nodes": [CHAIN["metadata"]["nodes"][0]]}})
    with pytest.raises(EngineError, match="node id=add not found"):
        replay(engine, record, "add")


def test_a_visit_that_was_not_over_cannot_be_pinned(engine: Engine, record: RunRecord):
    record.visits[0].duration_s = None
    with pytest.raises(EngineError, match=r"its visit 1 in run .* was not over"):
        replay(engine, record, pins=["double"])

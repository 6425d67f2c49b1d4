"""Records of runs: one entry for each visit, in order, nested."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.runtime.kit import END, blocking, flow, join, line, load
from tests.engine.runtime.stepping import STEPPING

from catenary import SUCCESS, Message
from catenary.recording import MemoryRecorder, RunRecord, Visit
from catenary.runtime.ends import End


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


def told(record):
    return [
        (visit.number, visit.parent, visit.node_id, [relation for relation, _ in visit.sent]) for visit in record.visits
    ]


async def recorded(chain, message="x", **options):
    recorder = MemoryRecorder()
    await chain.run(message, recorder=recorder, **options)
    (record,) = recorder.records
    return record


async def test_a_record_has_each_visit_in_order_and_how_the_run_ended(engine):
    chain = load(engine, {"a": None, "b": lambda ctx, msg: 1 / 0, "e": END}, ["a b", "b Failure e"])
    record = await recorded(chain, Message("xy"))
    assert told(record) == [(1, 0, "a", ["Success"]), (2, 0, "b", ["Failure"]), (3, 0, "e", [])]
    second = record.visits[1]
    assert (second.sender, second.relation, second.error, second.bytes_in) == ("a", "Success", "division by zero", 2)
    assert second.sent[0][1].metadata["errorMsg"] == "division by zero"
    assert all(visit.duration_s is not None and visit.duration_s >= 0 for visit in record.visits)
    assert (record.status, record.chain_id, record.chain_version) == ("failed", "c", 1)
    assert [end.node_id for end in record.ends] == ["e"]
    assert record.ended_ms is not None
    assert record.ended_ms >= record.started_ms


async def test_a_recorded_run_is_not_observed_and_both_tell_the_same(engine):
    async def sub(ctx, msg):
        ctx.notify("seen", n=ctx.visit)
        await ctx.run_node("b", msg)
        return [SUCCESS, ("Other", msg)]

    nodes = {"a": sub, "b": None, "t": blocking(lambda ctx, msg: SUCCESS), "j": join(), "e": END}
    chain = load(engine, nodes, ["a t", "a j", "a Other j", "t j", "j e"])
    alone = await recorded(chain)
    assert chain._observed is None
    events = []
    both = await recorded(chain, listener=events.append)
    assert sorted(told(alone)) == sorted(told(both))
    assert told(alone)[:2] == [(1, 0, "a", ["Success", "Other"]), (2, 1, "b", ["Success"])]
    assert alone.visits[0].items == [("seen", {"n": 1})]
    starts = [(event.visit, event.node_id) for event in events if event.name == "node.start"]
    assert starts == [(visit.number, visit.node_id) for visit in both.visits]


async def test_sub_runs_are_nested_below_the_visit_they_belong_to(engine):
    async def outer(ctx, msg):
        for _ in range(2):
            await ctx.run_node("b", msg, follow=True)
        return SUCCESS

    record = await recorded(load(engine, {"a": outer, "b": None, "c": None}, ["b c"]))
    ((visit, inside),) = record.nested()
    assert (visit.node_id, [one.visit.node_id for one in inside]) == ("a", ["b", "c", "b", "c"])
    assert [(depth, one.node_id) for depth, one in record.walk()] == [(0, "a"), (1, "b"), (1, "c"), (1, "b"), (1, "c")]


async def test_a_plain_node_knows_its_visit_when_only_a_recorder_looks(engine):
    seen = []

    def node(ctx, msg):
        seen.append((ctx.watched, ctx.visit))
        ctx.notify("tick", at=ctx.visit)
        return SUCCESS

    record = await recorded(load(engine, {"a": node, "b": node}, ["a b"]))
    assert seen == [(True, 1), (True, 2)]
    assert [visit.items for visit in record.visits] == [[("tick", {"at": 1})], [("tick", {"at": 2})]]


async def test_what_is_emitted_on_the_way_is_among_what_was_sent(engine):
    async def node(ctx, msg):
        await ctx.emit("Stream", msg.with_data("1"))
        return SUCCESS, msg.with_data("2")

    record = await recorded(load(engine, {"a": node, "s": None}, ["a Stream s"]))
    assert [(relation, sent.text) for relation, sent in record.visits[0].sent] == [("Stream", "1"), ("Success", "2")]


async def test_a_visit_that_is_cut_off_sends_nothing_and_says_why(engine):
    async def slow(ctx, msg):
        await asyncio.sleep(30)

    async def stubborn(ctx, msg):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return SUCCESS

    for node in (slow, stubborn):
        chain = load(engine, {"a": node}, id=node.__name__)
        record = await recorded(chain, timeout=10)
        assert record.status == "cancelled"
        assert record.visits[0].sent == []
        assert record.visits[0].error == "processing cancelled: context deadline exceeded"


async def test_a_record_grows_while_the_run_lasts(engine):
    recorder, there, gate = MemoryRecorder(), asyncio.Event(), asyncio.Event()

    async def wait(ctx, msg):
        there.set()
        await gate.wait()
        return SUCCESS

    run = asyncio.create_task(load(engine, {"a": None, "w": wait}, ["a w"]).run("x", recorder=recorder))
    await there.wait()
    record = recorder.records[0]
    assert (record.status, record.ended_ms, record.visits[1].duration_s) == ("running", None, None)
    gate.set()
    await run
    assert record.status == "completed"
    assert record.visits[1].duration_s is not None


def test_runs_without_a_loop_are_recorded_too(engine):
    recorder = MemoryRecorder()
    engine.record(recorder)

    async def outer(ctx, msg):
        await ctx.run_node("b", msg)
        return SUCCESS

    load(engine, {"a": flow(outer), "b": None}).run_sync("x")
    assert told(recorder.records[0]) == [(1, 0, "a", ["Success"]), (2, 1, "b", ["Success"])]


async def test_an_engine_records_all_runs_until_it_is_told_to_stop(engine):
    recorder = MemoryRecorder(limit=2)
    chain = load(engine, {"a": None})
    leave, again = engine.record(recorder), engine.record(recorder)
    await chain.run("1")
    leave()
    leave()
    await chain.run("2")
    again()
    await chain.run("3")
    assert [record.message.text for record in recorder.records] == ["1", "2"]


async def test_a_recorder_that_raises_is_logged_and_disturbs_nothing(engine, caplog):
    class Bad:
        def began(self, record):
            raise ValueError("bad")

        def ended(self, record):
            raise ValueError("bad")

    engine.record(Bad())
    assert (await load(engine, {"a": None}).run("x")).ok
    assert caplog.text.count("a recorder raised") == 2


async def test_a_thousand_visits_are_all_there(engine):
    names = [f"n{number}" for number in range(1000)]
    record = await recorded(load(engine, dict.fromkeys(names), line(*names)))
    assert [visit.node_id for visit in record.visits] == names


TEXTS = st.text(max_size=8)
MESSAGES = st.builds(
    Message,
    st.one_of(TEXTS, st.dictionaries(TEXTS, st.integers(-9, 9), max_size=2)),
    TEXTS,
    metadata=st.dictionaries(TEXTS, TEXTS, max_size=2),
)
VISITS = st.builds(
    Visit,
    number=st.integers(1, 9),
    parent=st.integers(0, 9),
    chain_id=TEXTS,
    chain_version=st.integers(1, 9),
    node_id=TEXTS,
    node_type=TEXTS,
    relation=TEXTS,
    sender=TEXTS,
    message=MESSAGES,
    started_ms=st.integers(0, 2**41),
    sent=st.lists(st.tuples(TEXTS, MESSAGES), max_size=2),
    error=TEXTS,
    duration_s=st.none() | st.floats(0, 1e6),
    items=st.lists(st.tuples(TEXTS, st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2)), max_size=2),
)
RECORDS = st.builds(
    RunRecord,
    run_id=TEXTS,
    chain_id=TEXTS,
    chain_version=st.integers(1, 9),
    definition=st.just({"ruleChain": {"id": "c"}}),
    message=MESSAGES,
    started_ms=st.integers(0, 2**41),
    ended_ms=st.none() | st.integers(0, 2**41),
    status=st.sampled_from(["running", "completed", "failed", "paused", "cancelled"]),
    error=TEXTS,
    visits=st.lists(VISITS, max_size=3),
    ends=st.lists(
        st.builds(End, TEXTS, TEXTS, MESSAGES, st.none() | st.builds(ValueError, TEXTS), st.booleans()), max_size=2
    ),
)


@given(RECORDS)
@settings(max_examples=times(60))
def test_records_come_back_from_json_as_they_were(record):
    written = json.loads(json.dumps(record.to_dict()))
    again = RunRecord.from_dict(written)
    assert again == record
    assert again.visits == [Visit.from_dict(visit.to_dict()) for visit in record.visits]


async def test_a_failure_without_an_error_is_told_by_its_text_or_as_such(engine):
    nodes = {"a": lambda ctx, msg: ("Failure", msg.put("errorMsg", "too hot")), "b": lambda ctx, msg: "Failure"}
    record = await recorded(load(engine, nodes, ["a Failure b"]))
    assert [visit.error for visit in record.visits] == ["too hot", "too hot"]
    bare = await recorded(load(engine, {"b": lambda ctx, msg: "Failure"}, id="bare"))
    assert bare.visits[0].error == "failed"


async def test_a_join_that_raises_is_recorded_with_its_first_message(engine):
    def spoiled(ctx, arrivals):
        arrivals.reverse()
        raise ValueError("no")

    chain = load(engine, {"a": None, "b": None, "j": join(spoiled)}, ["a b", "a j", "b j"])
    record = await recorded(chain)
    assert told(record)[-1] == (3, 0, "j", ["Failure"])
    assert record.visits[-1].error == "no"


async def test_a_node_that_cancels_itself_has_failed(engine):
    async def node(ctx, msg):
        raise asyncio.CancelledError

    record = await recorded(load(engine, {"a": node}))
    assert [relation for relation, _ in record.visits[0].sent] == ["Failure"]


async def test_a_run_that_never_began_has_no_record(engine):
    from tests.engine.runtime.kit import Kind

    from catenary import Component, Config, EngineError, register

    @register("t/neverOpens", category="test")
    class NeverOpens(Component[Config]):
        """Cannot be opened."""

        async def open(self, ctx):
            raise ValueError("closed")

        async def run(self, ctx, msg):
            return SUCCESS

    recorder = MemoryRecorder()
    chain = load(engine, {"a": Kind("t/neverOpens")})
    try:
        await chain.run("x", recorder=recorder)
    except EngineError as error:
        assert "cannot be opened" in str(error)
    assert recorder.records == []


async def test_records_and_recorders_can_be_looked_at_and_forgotten(engine):
    recorder = MemoryRecorder()
    await load(engine, {"a": None}).run("x", recorder=recorder)
    assert repr(recorder.records[0]).endswith("chain 'c', completed, 1 visits)")
    assert recorder.records[0] != "something else"
    recorder.clear()
    assert recorder.records == []


async def test_a_run_whose_task_is_cancelled_is_recorded_as_cancelled(engine):
    recorder, there = MemoryRecorder(), asyncio.Event()

    async def wait(ctx, msg):
        there.set()
        await asyncio.sleep(30)

    run = asyncio.create_task(load(engine, {"w": wait}).run("x", recorder=recorder))
    await there.wait()
    run.cancel()
    await asyncio.wait([run])
    record = recorder.records[0]
    assert (record.status, record.visits[0].sent) == ("cancelled", [])
    assert record.visits[0].error == "processing cancelled: context canceled"

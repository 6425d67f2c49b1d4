"""The observed compilation: events of runs."""

from __future__ import annotations

import logging

from tests.engine.runtime.kit import END, join, load

from catenary import SUCCESS, Message
from catenary.events import NodeEvent


async def test_events_of_a_run_come_in_order(engine):
    events = []
    chain = load(engine, {"a": None, "b": lambda ctx, msg: 1 / 0}, ["a b"])
    outcome = await chain.run(Message("x"), listener=events.append)
    assert [(event.seq, event.name, event.node_id, event.visit) for event in events] == [
        (1, "run.start", "", 0),
        (2, "node.start", "a", 1),
        (3, "node.end", "a", 1),
        (4, "node.start", "b", 2),
        (5, "node.end", "b", 2),
        (6, "branch.end", "b", 0),
        (7, "run.error", "", 0),
    ]
    assert {event.run_id for event in events} == {outcome.run_id}
    assert {event.chain_id for event in events} == {"c"}
    assert (events[3].sender, events[3].relation, events[3].message.text) == ("a", "Success", "x")
    assert (events[2].relations, events[2].error) == (("Success",), "")
    assert (events[4].relations, events[4].error) == (("Failure",), "division by zero")
    assert events[5].error == "division by zero"
    assert events[6].code == "run.node-failed"


async def test_visits_tell_all_that_left(engine):
    events = []

    async def node(ctx, msg):
        assert ctx.watched
        ctx.notify("content.delta", text="piece")
        await ctx.emit("Stream", msg.with_data("s"))
        return [SUCCESS, ("Other", msg.with_data("o"))]

    await load(engine, {"a": node}).run(Message("x"), listener=events.append)
    names = [event.name for event in events]
    assert names[:5] == ["run.start", "node.start", "content.delta", "node.emit", "branch.end"]
    own = events[2]
    assert isinstance(own, NodeEvent)
    assert (own.data, own.visit) == ({"text": "piece"}, 1)
    (left,) = [event for event in events if event.name == "node.end"]
    assert left.relations == ("Success", "Other")
    assert [message.text for message in left.messages] == ["x", "o"]


async def test_run_nobody_watches_makes_no_observed_compilation(engine):
    seen = []

    def node(ctx, msg):
        ctx.notify("nothing")
        seen.append((ctx.watched, ctx.visit))
        return SUCCESS

    chain = load(engine, {"a": node})
    await chain.run("x")
    assert chain._observed is None
    assert seen == [(False, 0)]


async def test_end_nodes_and_joins_are_told(engine):
    events = []
    nodes = {"a": None, "j": join(), "e": END}
    await load(engine, nodes, ["a j", "j e"]).run("x", listener=events.append)
    assert [event.node_id for event in events if event.name == "branch.end"] == ["e"]
    assert [event.node_id for event in events if event.name == "node.start"] == ["a", "j", "e"]


async def test_listener_that_raises_is_logged_and_disturbs_nothing(engine, caplog):
    events = []

    def bad(event):
        raise ValueError("listener")

    engine.subscribe(bad)
    with caplog.at_level(logging.ERROR):
        outcome = await load(engine, {"a": None}).run("x", listener=events.append)
    assert outcome.ok
    assert events[-1].name == "run.complete"
    assert "a listener to run events raised" in caplog.text


async def test_paused_and_cancelled_runs_tell_so(engine):
    events = []
    await load(engine, {"a": lambda ctx, msg: "AwaitConfirm"}).run("x", listener=events.append)
    assert events[-1].name == "run.pause"
    await load(engine, {"a": None}, id="d").run("x", timeout=0, listener=events.append)
    assert events[-1].name == "run.cancel"


async def test_subscribers_hear_runs_that_begin_later(engine):
    events = []
    chain = load(engine, {"a": None})
    await chain.run("x")
    unsubscribe = engine.subscribe(events.append)
    await chain.run("x")
    unsubscribe()
    unsubscribe()
    await chain.run("x")
    assert [event.name for event in events].count("run.start") == 1

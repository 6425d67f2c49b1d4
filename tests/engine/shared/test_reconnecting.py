"""A connection that broke: how it comes back, who is told, and what is asked for its health."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest
from tests.engine.shared.database import Kinds, chain, node

from catenary.errors import EngineError
from catenary.events import ConnectionChanged
from catenary.shared import SharedResource
from catenary.testing import FakeClock


@pytest.fixture
def kinds():
    return Kinds()


@pytest.fixture
def clock():
    return FakeClock()


def shared(*nodes):
    return {"ruleChain": {"id": "shared"}, "metadata": {"nodes": list(nodes)}}


async def let_others_go_on():
    for _ in range(10):
        await asyncio.sleep(0)


async def advance(clock, seconds):
    await let_others_go_on()
    clock.advance(seconds)
    await let_others_go_on()


def changes(events):
    return [(event.node_id, event.state, event.error) for event in events if isinstance(event, ConnectionChanged)]


async def connected(engine, *nodes):
    engine.shared.load(shared(*nodes))
    await engine.shared.connect()


async def test_a_broken_connection_is_tried_again_with_ever_longer_waits(kinds, clock):
    async with kinds.engine(clock=clock) as engine:
        await connected(engine, node("l", "link", server="x"))
        kinds.link.error = ConnectionError("gone")
        await engine.shared.get("l").shared.drop(ConnectionError("reset"))
        assert engine.shared.status("l").state == "reconnecting"
        assert kinds.link.tries == 1
        for wait, tries in [(1, 2), (2, 3), (4, 4), (8, 5), (16, 6), (30, 7), (30, 8)]:
            await let_others_go_on()
            assert wait / 2 <= clock.slept[-1] <= wait
            await advance(clock, wait)
            assert kinds.link.tries == tries
            status = engine.shared.status("l")
            assert (status.state, status.error) == ("reconnecting", "gone")
        kinds.link.error = None
        await advance(clock, 30)
        assert engine.shared.status("l").state == "connected"
        await advance(clock, 100)
        assert kinds.link.tries == 9


async def test_meanwhile_users_get_the_error_at_once_and_the_connection_when_it_is_back(kinds, clock):
    async with kinds.engine(clock=clock) as engine:
        await connected(engine, node("l", "link", server="x"))
        made = engine.load(chain(node("a", "link", server="ref://l")))
        kinds.link.error = ConnectionError("gone")
        await engine.shared.get("l").shared.drop(ConnectionError("reset"))
        for _ in range(5):
            assert "gone" in str((await made.run({})).error)
        assert kinds.link.tries == 2
        kinds.link.error = None
        await advance(clock, 1)
        assert (await made.run({})).ok
        assert kinds.link.tries == 3


async def test_the_next_use_does_not_wait_for_the_background(kinds, clock):
    async with kinds.engine(clock=clock) as engine:
        await connected(engine, node("l", "link", server="x"))
        made = engine.load(chain(node("a", "link", server="ref://l")))
        await engine.shared.get("l").shared.drop(ConnectionError("reset"))
        assert (await made.run({})).ok
        await advance(clock, 100)
        assert kinds.link.tries == 2


async def test_a_component_tells_that_a_connection_broke_once_for_all_who_use_it(kinds, clock):
    async with kinds.engine(clock=clock) as engine:
        await connected(engine, node("l", "link", server="x"))
        made = engine.load(chain(node("a", "link", server="ref://l")))
        borrower, owner = made.compiled.by_id["a"].component, engine.shared.get("l")
        ctx = type("Ctx", (), {"chain": made})()
        (link,) = kinds.link.made
        await borrower.broke(ctx, link, ConnectionError("reset"))
        assert engine.shared.status("l").error == "reset"
        assert not link.is_open
        await owner.shared.connect()
        await borrower.broke(ctx, link, ConnectionError("late news"))
        assert engine.shared.status("l").state == "connected"


async def test_a_connection_that_was_given_up_on_purpose_is_not_tried_again(kinds, clock):
    async with kinds.engine(clock=clock) as engine:
        await connected(engine, node("l", "link", server="x"))
        await engine.shared.get("l").shared.drop()
        await advance(clock, 100)
        assert kinds.link.tries == 1
        assert engine.shared.status("l").state == "disconnected"


async def test_a_connection_that_never_was_is_tried_by_those_who_use_it_only(kinds, clock):
    kinds.link.error = ConnectionError("refused")
    async with kinds.engine(clock=clock) as engine:
        made = engine.load(chain(node("a", "link", server="x")))
        assert not (await made.run({})).ok
        await advance(clock, 29)
        assert engine.shared.statuses_of(made)["a"].state == "disconnected"
        assert kinds.link.tries == 1
        kinds.link.error = None
        await advance(clock, 1)
        assert (await made.run({})).ok


async def test_closing_ends_the_tries(kinds, clock):
    async with kinds.engine(clock=clock) as engine:
        await connected(engine, node("l", "link", server="x"))
        await engine.shared.get("l").shared.drop(ConnectionError("reset"))
        await engine.shared.remove("l")
        await advance(clock, 100)
        assert kinds.link.tries == 1


def test_closing_in_another_thread_ends_the_tries(kinds, clock):
    engine = kinds.engine(clock=clock)
    ready, stop = threading.Event(), threading.Event()

    async def work():
        await connected(engine, node("l", "link", server="x"))
        await engine.shared.get("l").shared.drop(ConnectionError("reset"))
        ready.set()
        await asyncio.to_thread(stop.wait, 15)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    assert ready.wait(15)
    resource = engine.shared.get("l").shared
    resource._again.end()
    resource._again.end()
    stop.set()
    thread.join()
    assert resource.status.state == "disconnected"
    engine.close_sync()


async def test_a_connection_that_is_made_while_its_owner_is_closed_is_closed(kinds):
    kinds.link.gate = asyncio.Event()
    async with kinds.engine() as engine:
        engine.shared.load(shared(node("l", "link", server="x")))
        using = asyncio.ensure_future(engine.shared.connect())
        await let_others_go_on()
        await engine.shared.remove("l")
        kinds.link.gate.set()
        with pytest.raises(EngineError, match="its owner is"):
            await using
        assert [link.is_open for link in kinds.link.made] == [False]


def test_a_connection_that_is_made_while_its_owner_is_closed_is_closed_without_a_loop(clock):
    closed: list[str] = []
    resource = SharedResource(lambda: resource.close_now() or "made", closed.append, lambda _: None, clock)
    with pytest.raises(EngineError, match="its owner is"):
        resource.connect_now()
    assert closed == ["made"]


async def test_the_background_leaves_what_was_closed(clock):
    made: list[str] = []

    async def connect() -> str:
        if made:
            await resource.close()
        made.append("x")
        return "x"

    resource = SharedResource(connect, lambda _: None, lambda _: None, clock)
    await resource.connect()
    await resource.drop(ConnectionError("reset"))
    await let_others_go_on()
    await advance(clock, 1)
    assert made == ["x", "x"]
    await advance(clock, 100)
    assert made == ["x", "x"]
    assert resource.status.state == "disconnected"


# Looking at it


async def test_a_check_that_hangs_counts_as_broken(clock, monkeypatch):
    async def hang(_):
        await asyncio.Event().wait()

    monkeypatch.setattr("catenary.shared.resource.CHECK_TIMEOUT_S", 0.01)
    tries: list[int] = []
    resource = SharedResource(lambda: tries.append(1) or object(), lambda _: None, hang, clock)
    await resource.connect()
    assert (await resource.check()).state == "connected"
    assert len(tries) == 2


async def test_a_check_that_waits_runs_in_a_thread(clock):
    threads: list[int] = []
    resource = SharedResource(
        object, lambda _: None, lambda _: threads.append(threading.get_ident()), clock, blocking=True
    )
    await resource.connect()
    assert (await resource.check()).state == "connected"
    assert threads != [threading.get_ident()]


async def test_an_engine_looks_at_its_connections_when_asked_to(kinds, clock):
    async with kinds.engine(clock=clock, check_connections_s=30) as engine:
        made = engine.load(chain(node("own", "link", server="x")))
        await connected(engine, node("l", "link", server="x"))
        await made.run({})
        await let_others_go_on()
        for link in kinds.link.made:
            link.is_open = False
        await advance(clock, 30)
        assert len(kinds.link.made) == 4
        assert engine.shared.health().ok


async def test_an_engine_makes_what_could_not_be_made_before_without_being_used(kinds, clock):
    kinds.link.error = ConnectionError("refused")
    async with kinds.engine(clock=clock, check_connections_s=30) as engine:
        made = engine.load(chain(node("a", "link", server="x"), node("unused", "link", server="y")))
        assert not (await made.run({})).ok
        assert engine.shared.health().problems == ["c/a: disconnected: refused"]
        await advance(clock, 30)
        assert kinds.link.tries == 2
        kinds.link.error = None
        await advance(clock, 30)
        assert engine.shared.health().ok
        assert engine.shared.statuses_of(made)["unused"].state == "none"


# Events and health


async def test_each_change_is_an_event(kinds, clock):
    events = []
    async with kinds.engine(clock=clock) as engine:
        engine.subscribe(events.append)
        kinds.link.error = ConnectionError("refused")
        engine.shared.load(shared(node("l", "link", server="x")))
        for _ in range(2):
            with pytest.raises(ConnectionError):
                await engine.shared.connect()
        kinds.link.error = None
        clock.advance(30)
        await engine.shared.connect()
        await engine.shared.get("l").shared.drop(ConnectionError("reset"))
        await let_others_go_on()
        await advance(clock, 1)
    assert changes(events) == [
        ("l", "disconnected", "refused"),
        ("l", "reconnecting", "refused"),
        ("l", "connected", ""),
        ("l", "reconnecting", "reset"),
        ("l", "connected", ""),
        ("l", "disconnected", ""),
    ]
    first = events[0]
    assert first.to_dict() == {
        "seq": 0,
        "type": "connection.change",
        "timestamp": first.timestamp,
        "runId": "",
        "chainId": "shared",
        "nodeId": "l",
        "visit": 0,
        "parent": 0,
        "state": "disconnected",
        "error": "refused",
    }


async def test_events_and_health_do_not_show_secrets(kinds):
    events = []
    kinds.link.error = ConnectionError("no entry for root:hunter22@db")
    async with kinds.engine() as engine:
        engine.masker.add("hunter22")
        engine.subscribe(events.append)
        engine.shared.load(shared(node("l", "link", server="x")))
        with pytest.raises(ConnectionError):
            await engine.shared.connect()
        assert changes(events) == [("l", "disconnected", "no entry for root:****@db")]
        assert engine.shared.health().problems == ["l: disconnected: no entry for root:****@db"]


def test_health_is_that_of_shared_resources_and_of_all_chains(kinds):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("db", "database", dsn=":memory:"), node("bad", "database", dsn="nowhere")))
        engine.load(chain(node("p", "plain"), name="none"))
        two = [node("own", "database", dsn=":memory:"), node("lost", "database", dsn="ref://nope")]
        engine.load(chain(*two, name="two"))
        engine.load(chain(node("their", "database", dsn="ref://bad"), name="third"))
        assert engine.shared.health().problems == ["two/lost: disconnected: node resource not found id=nope"]
        assert kinds.database.opened == []
        for name in ("two", "third"):
            engine.run_sync(name, {})
        health = engine.shared.health()
        assert not health.ok
        broken = {"state": "disconnected", "error": "unable to open database file"}
        assert health.to_dict() == {
            "ok": False,
            "shared": {"db": {"state": "none", "error": ""}, "bad": broken},
            "chains": {
                "two": {
                    "own": {"state": "connected", "error": ""},
                    "lost": {"state": "disconnected", "error": "node resource not found id=nope"},
                },
                "third": {"their": broken},
            },
        }


def test_an_error_without_a_text_is_told_by_its_kind(kinds, monkeypatch):
    def connect(self, ctx):
        raise sqlite3.OperationalError

    monkeypatch.setattr(kinds.database, "connect", connect)
    with kinds.engine() as engine:
        made = engine.load(chain(node("a", "database", dsn=":memory:")))
        made.run_sync({})
        assert engine.shared.statuses_of(made)["a"].error == "OperationalError"


async def test_what_waits_for_something_cancelled_is_a_connection_that_failed(clock):
    cancels, tries = False, 0

    async def waiting():
        if cancels:
            one = asyncio.ensure_future(asyncio.Event().wait())
            one.cancel()
            await one

    async def connect():
        nonlocal tries
        tries += 1
        await waiting()
        return object()

    resource = SharedResource(connect, lambda _: None, lambda _: waiting(), clock)
    await resource.connect()
    cancels = True
    status = await resource.check()
    assert (status.state, status.error) == ("reconnecting", "something that it waited for was cancelled")
    await advance(clock, 1)
    assert tries == 3
    cancels = False
    await advance(clock, 2)
    assert (resource.status.state, tries) == ("connected", 4)
    await resource.close()


async def test_who_is_cancelled_while_it_connects_is_cancelled(clock):
    began = asyncio.Event()

    async def connect():
        began.set()
        await asyncio.Event().wait()

    resource = SharedResource(connect, lambda _: None, lambda _: None, clock)
    connecting = asyncio.ensure_future(resource.connect())
    await began.wait()
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert resource.status.state == "none"
    await resource.close()

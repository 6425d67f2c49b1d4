"""`ref://ID` in a chain: who connects, who borrows, who closes, and what cannot be borrowed."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.engine.runtime.waiting import turns
from tests.engine.shared.database import Kinds, chain, node

from catenary import ChainDefaults
from catenary.errors import ChainInvalid, EngineError
from catenary.testing import FakeClock


@pytest.fixture
def kinds():
    return Kinds()


def shared(*nodes):
    return {"ruleChain": {"id": "shared"}, "metadata": {"nodes": list(nodes)}}


def test_nodes_of_a_chain_use_one_connection(kinds, tmp_path):
    with kinds.engine() as engine:
        made = engine.load(
            chain(
                node("a", "database", dsn="ref://owner", sql="CREATE TABLE t (x)"),
                node("b", "database", dsn="ref://owner", sql="INSERT INTO t VALUES (7)"),
                node("owner", "database", dsn=str(tmp_path / "db"), sql="SELECT x FROM t"),
            )
        )
        assert kinds.database.opened == []
        assert made.run_sync({}).message.value == [[7]]
        (connection,) = kinds.database.opened
        assert not connection.closed
    assert connection.closed


def test_a_chain_borrows_from_the_engine_and_leaves_it_open(kinds, tmp_path):
    with kinds.engine() as engine:
        assert engine.shared.load(shared(node("db", "database", dsn=str(tmp_path / "db")))) == ["db"]
        for name in ("one", "two"):
            engine.load(chain(node("a", "database", dsn="ref://db"), name=name))
            assert engine.run_sync(name, {}).message.value == [[1]]
            engine.remove(name)
        (connection,) = kinds.database.opened
        assert not connection.closed
    assert connection.closed


def test_the_same_chain_is_looked_at_first(kinds, tmp_path):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("db", "database", dsn="nowhere")))
        made = engine.load(chain(node("a", "database", dsn="ref://db"), node("db", "database", dsn=":memory:")))
        assert made.run_sync({}).ok
        assert engine.shared.status("db").state == "none"


def test_a_borrowed_connection_may_be_borrowed_itself(kinds):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("db", "database", dsn=":memory:"), node("alias", "database", dsn="ref://db")))
        assert engine.load(chain(node("a", "database", dsn="ref://alias"))).run_sync({}).ok
        assert len(kinds.database.opened) == 1
        assert engine.shared.statuses()["alias"].state == "connected"


def test_what_is_not_there_or_of_another_kind_is_a_failure_of_the_node(kinds):
    with kinds.engine() as engine:
        made = engine.load(chain(node("a", "database", dsn=" ref://later ")))
        outcome = made.run_sync({})
        assert outcome.ends[0].relation == "Failure"
        assert "node resource not found id=later" in str(outcome.error)
        engine.shared.load(shared(node("later", "link", server="x")))
        assert "node resource id=later is incompatible" in str(made.run_sync({}).error)


def test_a_node_of_the_chain_without_a_connection_is_refused_at_load(kinds):
    with kinds.engine() as engine, pytest.raises(ChainInvalid, match="not SharedNode id=plain"):
        engine.load(chain(node("a", "database", dsn="ref://plain"), node("plain", "plain")))


def test_the_statuses_of_a_chain_are_those_of_its_own_and_its_borrowed_connections(kinds):
    with kinds.engine() as engine:
        nodes = [
            node("own", "database", dsn=":memory:"),
            node("none", "database", dsn="ref://nope"),
            node("p", "plain"),
            node("theirs", "database", dsn="ref://db"),
        ]
        made = engine.load(chain(*nodes))
        engine.shared.load(shared(node("db", "database", dsn=":memory:")))
        made.run_sync({})
        found = engine.shared.statuses_of(made)
        assert {name: one.state for name, one in found.items()} == {
            "own": "connected",
            "none": "disconnected",
            "theirs": "none",
        }
        assert found["none"].error == "node resource not found id=nope"


def test_what_is_shared_later_is_found_at_run_time(kinds):
    with kinds.engine() as engine:
        made = engine.load(chain(node("a", "database", dsn="ref://db")))
        assert not made.run_sync({}).ok
        engine.shared.load(shared(node("db", "database", dsn=":memory:")))
        assert made.run_sync({}).ok


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_references_in_a_circle_are_refused_at_load(kinds, names):
    nodes = [node(one, "database", dsn=f"ref://{two}") for one, two in zip(names, [*names[1:], names[0]], strict=True)]
    with kinds.engine() as engine, pytest.raises(ChainInvalid, match="references lead in a circle"):
        engine.load(chain(*nodes))


def test_a_wrong_kind_in_the_same_chain_is_refused_at_load(kinds):
    with kinds.engine() as engine, pytest.raises(ChainInvalid, match="node resource id=l is incompatible"):
        engine.load(chain(node("a", "database", dsn="ref://l"), node("l", "link", server="x")))


def test_references_in_a_circle_through_the_engine_are_told(kinds):
    circle = "references lead in a circle: x -> y -> x"
    with kinds.engine() as engine:
        early = engine.load(chain(node("a", "database", dsn="ref://x"), name="early"))
        engine.shared.load(shared(node("x", "database", dsn="ref://y"), node("y", "database", dsn="ref://x")))
        assert circle in str(early.run_sync({}).error)
        with pytest.raises(ChainInvalid, match=circle):
            engine.load(chain(node("a", "database", dsn="ref://x")))


def test_after_a_failed_connect_the_same_error_is_given_for_30_seconds(kinds):
    clock = FakeClock()
    kinds.link.error = ConnectionError("refused")
    with kinds.engine(clock=clock) as engine:
        made = engine.load(chain(node("a", "link", server="x")))
        first, second = made.run_sync({}), made.run_sync({})
        assert [str(outcome.error.__cause__) for outcome in (first, second)] == ["refused", "refused"]
        assert kinds.link.tries == 1
        clock.advance(29)
        made.run_sync({})
        assert kinds.link.tries == 1
        kinds.link.error = None
        clock.advance(1)
        assert made.run_sync({}).ok


async def test_many_messages_at_once_connect_once(kinds):
    kinds.link.gate = asyncio.Event()
    async with kinds.engine() as engine:
        made = engine.load(chain(node("a", "link", server="x")))
        tasks = [asyncio.ensure_future(made.run({})) for _ in range(20)]
        await asyncio.sleep(0)
        kinds.link.gate.set()
        assert all(outcome.ok for outcome in await asyncio.gather(*tasks))
        assert kinds.link.tries == 1


async def test_when_the_one_who_connects_is_cancelled_another_takes_over(kinds):
    kinds.link.gate = asyncio.Event()
    async with kinds.engine() as engine:
        made = engine.load(chain(node("a", "link", server="x")))
        first = asyncio.ensure_future(made.run({}))
        await turns()
        assert kinds.link.tries == 1
        second = asyncio.ensure_future(made.run({}))
        await turns()
        first.cancel()
        kinds.link.gate.set()
        assert (await second).ok
        assert kinds.link.tries == 2


def test_many_threads_connect_once(kinds, tmp_path):
    with kinds.engine() as engine:
        made = engine.load(chain(node("a", "database", dsn=str(tmp_path / "db"))))
        start = threading.Barrier(8)
        ok: list[bool] = []

        def run() -> None:
            start.wait()
            ok.append(made.run_sync({}).ok)

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ok == [True] * 8
        assert len(kinds.database.opened) == 1


def test_reading_a_status_never_connects(kinds):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("db", "database", dsn=":memory:"), node("bad", "database", dsn="nowhere")))
        assert {name: one.state for name, one in engine.shared.statuses().items()} == {"db": "none", "bad": "none"}
        assert kinds.database.opened == []
        made = engine.load(chain(node("a", "database", dsn="ref://db"), node("b", "database", dsn="ref://bad")))
        made.run_sync({})
        assert engine.shared.status("db").state == "connected"
        status = engine.shared.status("bad")
        assert (status.state, status.error) == ("disconnected", "unable to open database file")


async def test_a_broken_connection_is_found_and_made_again(kinds):
    async with kinds.engine() as engine:
        engine.shared.load(shared(node("l", "link", server="x"), node("idle", "link", server="x")))
        async with engine.shared.borrow("l") as link:
            link.is_open = False
        statuses = await engine.shared.check()
        assert {name: one.state for name, one in statuses.items()} == {"l": "connected", "idle": "none"}
        async with engine.shared.borrow("l") as link:
            assert link.is_open
        link.is_open = False
        kinds.link.error = ConnectionError("gone")
        status = (await engine.shared.check())["l"]
        assert (status.state, status.error) == ("reconnecting", "gone")


async def test_checks_come_again_and_again_only_if_asked_for(kinds):
    clock = FakeClock()
    async with kinds.engine(clock=clock) as engine:
        engine.shared.load(shared(node("l", "link", server="x")))
        await engine.shared.connect()
        stop = engine.shared.check_every(10)
        await asyncio.sleep(0)
        kinds.link.made[0].is_open = False
        for _ in range(3):
            clock.advance(10)
            for _ in range(5):
                await asyncio.sleep(0)
        assert len(kinds.link.made) == 2
        stop()


async def test_a_replaced_connection_is_closed_when_its_last_user_is_done(kinds):
    async with kinds.engine() as engine:
        engine.shared.load(shared(node("l", "link", server="x")))
        async with engine.shared.borrow("l") as old:
            assert await engine.shared.reload(shared(node("l", "link", server="y")), "l") == ["l"]
            assert old.is_open
            async with engine.shared.borrow("l") as new:
                assert new is not old
        assert not old.is_open
        assert new.is_open
    assert not new.is_open


async def test_a_resource_that_is_removed_is_closed_and_gone(kinds):
    async with kinds.engine() as engine:
        engine.shared.load(shared(node("l", "link", server="x")))
        await engine.shared.connect()
        await engine.shared.remove("l")
        assert not kinds.link.made[0].is_open
        assert engine.shared.ids() == []
        with pytest.raises(EngineError, match="node resource not found id=l"):
            engine.shared.get("l")


def test_only_what_has_a_connection_can_be_shared(kinds):
    with kinds.engine() as engine:
        with pytest.raises(ChainInvalid, match=r"node 'p' [^:]*: not SharedNode"):
            engine.shared.load(shared(node("l", "link", server="x"), node("p", "plain")))
        assert engine.shared.ids() == []


def test_an_id_is_taken_once(kinds):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("l", "link", server="x")))
        with pytest.raises(EngineError, match="duplicate node id:l"):
            engine.shared.load(shared(node("m", "link", server="x"), node("l", "link", server="x")))
        assert engine.shared.ids() == ["l"]


def test_shared_resources_are_listed_by_type(kinds):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("l", "link", server="x"), node("d", "database", dsn=":memory:")))
        assert engine.shared.ids("test/link") == ["l"]
        assert {kind: [one.id for one in nodes] for kind, nodes in engine.shared.definitions().items()} == {
            "test/link": ["l"],
            "test/database": ["d"],
        }


def test_a_failed_connect_fails_the_load_when_the_engine_connects_at_load(kinds):
    kinds.link.error = ConnectionError("refused")
    with kinds.engine(connect_at_load=True) as engine:
        for bad in (node("a", "database", dsn="nowhere"), node("a", "link", server="x")):
            with pytest.raises(ChainInvalid, match="cannot be opened"):
                engine.load(chain(bad))
        engine.load(chain(node("a", "database", dsn=":memory:")))
        assert len(kinds.database.opened) == 1


async def test_inside_an_event_loop_async_connections_are_made_on_entering_the_engine(kinds):
    engine = kinds.engine(connect_at_load=True)
    engine.load(chain(node("a", "link", server="x")))
    assert kinds.link.made == []
    async with engine:
        assert len(kinds.link.made) == 1


def test_in_a_chain_the_owner_is_closed_after_those_who_borrow(kinds):
    closed: list[str] = []
    disconnect = kinds.database.disconnect
    kinds.database.disconnect = lambda self, one: (closed.append("owner"), disconnect(self, one))[1]
    with kinds.engine() as engine:
        made = engine.load(chain(node("owner", "database", dsn=":memory:"), node("late", "plain")))
        made.compiled.by_id["late"].component.close = lambda: closed.append("late")
        made.run_sync({})
    assert closed == ["late", "owner"]


def test_what_is_borrowed_is_looked_for_when_a_chain_is_checked(kinds):
    with kinds.engine() as engine:
        assert engine.shared.declare(shared(node("db", "database", dsn="x"), node("l", "link", server="y"))) == []
        assert engine.shared.ids() == []
        for address, code in {"db": "", "nope": "chain.unknown-resource", "l": "chain.resource"}.items():
            problems = engine.check(chain(node("a", "database", dsn=f"ref://{address}")))
            assert [one.code for one in problems] == ([code] if code else [])
        open_ended = engine.check(chain(node("a", "database", dsn="ref://${vars.x}")))
        assert [one.code for one in open_ended] == ["chain.unresolved-placeholder"]


def test_a_strict_engine_shares_nodes_that_nothing_leads_to(kinds):
    with kinds.engine(defaults=ChainDefaults(strict=True)) as engine:
        engine.shared.load(shared(node("one", "database", dsn=":memory:"), node("two", "database", dsn="ref://one")))
        assert engine.shared.ids() == ["one", "two"]


# All anew


async def test_all_that_is_loaded_anew_includes_connections_with_other_settings(kinds, tmp_path):
    properties = {"file": "one", "place": str(tmp_path)}
    async with kinds.engine(properties=properties) as engine:
        dsn = "${global.place}/${global.file}"
        engine.shared.load(shared(node("db", "database", dsn=dsn), node("kept", "database", dsn=":memory:")))
        made = engine.load(chain(node("a", "database", dsn="ref://db", sql="PRAGMA database_list")))
        engine.load(chain(node("a", "database", dsn="ref://kept"), name="other"))
        assert made.run_sync({}).message.value[0][2].endswith("one")
        engine.run_sync("other", {})
        old, kept = kinds.database.opened
        properties["file"] = "two"
        async with engine.shared.borrow("db") as held:
            engine.reload_all()
            assert held is old
            assert (await engine.run(made.id, {})).message.value[0][2].endswith("two")
            assert not old.closed
        assert old.closed
        engine.run_sync("other", {})
        assert not kept.closed
        assert len(kinds.database.opened) == 3


async def test_a_connection_is_closed_where_it_was_opened_when_a_thread_loads_all_anew(kinds):
    properties = {"server": "one"}
    async with kinds.engine(properties=properties) as engine:
        engine.shared.load(shared(node("link", "link", server="${global.server}")))
        engine.load(chain(node("a", "link", server="ref://link")))
        await engine.run("c", {})
        properties["server"] = "two"
        await asyncio.to_thread(engine.reload_all)
        async with asyncio.timeout(15):
            while kinds.link.made[0].is_open:  # noqa: ASYNC110 - a connection that is closed tells nobody
                await asyncio.sleep(0.005)
        assert (await engine.run("c", {})).message.value == {"open": True, "link": 1}


def test_connections_that_cannot_be_loaded_anew_stay(kinds):
    properties = {"sql": "SELECT 1"}
    with kinds.engine(properties=properties) as engine:
        one, two = (node(name, "database", dsn=":memory:", sql="${global.sql}") for name in ("one", "two"))
        engine.shared.load(shared(one, two))
        made = engine.load(chain(node("a", "database", dsn="ref://one")))
        assert made.run_sync({}).ok
        properties["sql"] = "${1 +}"
        with pytest.raises(ChainInvalid) as caught:
            engine.reload_all()
        assert [problem.code for problem in caught.value.problems] == ["template.syntax", "template.syntax"]
        assert engine.get(made.id).version == 2
        assert engine.run_sync(made.id, {}).ok
        assert not kinds.database.opened[0].closed


def test_the_id_of_a_shared_resource_is_not_that_of_an_endpoint(kinds):
    with kinds.engine() as engine:
        engine.shared.load(shared(node("db", "database", dsn=":memory:")))
        endpoint = {"id": "db", "type": "schedule"}
        for change in (engine.endpoints.add, engine.endpoints.reload):
            with pytest.raises(EngineError, match="duplicate node id:db"):
                change(endpoint)
        engine.endpoints.add({**endpoint, "id": "timer"})
        with pytest.raises(EngineError, match="duplicate node id:timer"):
            engine.shared.load(shared(node("timer", "database", dsn=":memory:")))
        assert (engine.shared.ids(), list(engine.endpoints.kinds())) == (["db"], ["timer"])


async def test_a_reload_makes_no_connection_of_an_endpoint_nor_the_other_way_round(kinds):
    async with kinds.engine() as engine:
        engine.shared.load(shared(node("db", "database", dsn=":memory:")))
        engine.endpoints.add({"id": "timer", "type": "schedule"})
        with pytest.raises(EngineError, match="duplicate node id:timer"):
            await engine.shared.reload(shared(node("timer", "database", dsn=":memory:")))
        endpoints = {"metadata": {"endpoints": [{"id": "db", "type": "schedule"}]}}
        with pytest.raises(EngineError, match="duplicate node id:db"):
            await engine.shared.reload(endpoints)
        assert (engine.shared.ids(), list(engine.endpoints.kinds())) == (["db"], ["timer"])

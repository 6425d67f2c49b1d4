"""`dbClient` when the database is down, dies, freezes, refuses, or nobody waits for it any more."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.mariadb import MariaDb
from tests.peers.postgres import Postgres
from tests.programs import eventually

from catenary import Engine
from catenary.chain import Chain
from catenary.errors import ChainInvalid, ConnectFailed, NodeError, Refused, ResourceError, TooSlow
from catenary.outcome import Outcome
from catenary.recording import MemoryRecorder
from catenary.shared.resource import RETRY_AFTER_S
from catenary.testing import FakeClock

Peer = Postgres | MariaDb
SLEEP = {"postgresql": "select pg_sleep({})", "mariadb-server": "select sleep({})"}
LONG = 1234
"""Seconds that no test waits for."""

pytestmark = pytest.mark.timeout(60)  # servers are started, killed and started again


@pytest.fixture(params=["postgres", "mariadb"])
def peer(request: pytest.FixtureRequest) -> Peer:
    """One of the servers."""
    server: Peer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a server that is told to stop all the time that it needs."""
    monkeypatch.setattr("catenary_components.external.sql.database._CLEANUP_S", 30.0)


@pytest.fixture
async def engine() -> AsyncGenerator[Engine]:
    """An engine."""
    async with Engine() as one:
        yield one


def load(engine: Engine, dsn: str, sql: str, **options: Any) -> Chain:
    """Load a chain of one node."""
    node = {"id": "db", "type": "dbClient", "configuration": {"dsn": dsn, "sql": sql, **options}}
    return engine.load({"ruleChain": {"id": f"c{len(engine.chains)}"}, "metadata": {"nodes": [node]}})


def pair(engine: Engine, dsn: str, sql: str, limit_ms: int) -> Chain:
    """Load a chain of two nodes with one connection: `db` has all the time it needs, and `hasty` not."""
    settings = {"db": {"dsn": dsn, "sql": sql}, "hasty": {"dsn": "ref://db", "sql": sql, "timeoutMs": limit_ms}}
    nodes = [{"id": one, "type": "dbClient", "configuration": given} for one, given in settings.items()]
    return engine.load({"ruleChain": {"id": "pair"}, "metadata": {"nodes": nodes}})


def cause(outcome: Outcome) -> BaseException:
    """Give what the node raised."""
    assert isinstance(outcome.error, NodeError)
    assert outcome.error.cause is not None
    return outcome.error.cause


async def is_running(peer: Peer) -> bool:
    """Tell whether the server is at the long statement."""
    if isinstance(peer, Postgres):
        asked = f"pg_stat_activity where state = 'active' and query like '%sleep({LONG}%' and pid <> pg_backend_pid()"
    else:
        asked = f"information_schema.processlist where info like '%sleep({LONG}%' and id <> connection_id()"
    return await asyncio.to_thread(peer.sql, f"select count(*) from {asked}") != "0"


async def until(peer: Peer, *, runs: bool) -> None:
    """Wait until the server is at the long statement, or is not any more."""
    deadline = time.monotonic() + 15
    while await is_running(peer) != runs:
        assert time.monotonic() < deadline


async def begun(peer: Peer, chain: Chain, data: Any = None) -> asyncio.Task[Outcome]:
    """Run a chain and come back when the server is at its statement."""
    task = asyncio.ensure_future(chain.run({} if data is None else data))
    await until(peer, runs=True)
    return task


async def test_a_chain_loads_while_the_database_is_down_and_recovers(peer: Peer) -> None:
    peer.kill()
    clock = FakeClock()
    async with Engine(clock=clock) as engine:
        chain = load(engine, peer.dsn, "select 1 as n")
        outcome = await chain.run({})
        assert isinstance(cause(outcome), ConnectFailed)
        assert f"127.0.0.1:{peer.port}" in str(outcome.error)
        peer.start()
        assert not (await chain.run({})).ok  # the same error, without another try
        clock.advance(RETRY_AFTER_S)
        assert (await chain.run({})).message.value == [{"n": 1}]


async def test_a_statement_whose_server_dies_fails_and_the_next_one_connects_again(peer: Peer, engine: Engine) -> None:
    chain = load(engine, peer.dsn, SLEEP[peer.package].format("${msg}"))
    task = await begun(peer, load(engine, peer.dsn, SLEEP[peer.package].format(LONG)))
    assert (await chain.run(0)).ok
    peer.kill()
    lost = cause(await task)
    assert isinstance(lost, ConnectFailed)
    assert "was lost" in str(lost)
    assert lost.retryable
    peer.start()
    assert (await chain.run(0)).ok


async def test_connections_that_died_while_idle_are_made_anew(peer: Peer, engine: Engine) -> None:
    chain = load(engine, peer.dsn, "select 1 as n")
    outcomes = await asyncio.gather(*(chain.run({}) for _ in range(4)))
    assert all(outcome.ok for outcome in outcomes)
    peer.kill()
    peer.start()
    outcomes = await asyncio.gather(*(chain.run({}) for _ in range(4)))
    assert all(outcome.ok for outcome in outcomes), outcomes


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the servers were asked for a sign of life, whose answer is that there is none."""
    from sqlalchemy.dialects.mysql.aiomysql import AsyncAdapt_aiomysql_connection
    from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_connection

    asked: list[str] = []

    def ask(connection: object) -> None:
        asked.append(type(connection).__name__)
        raise ConnectionError

    for kind in (AsyncAdapt_asyncpg_connection, AsyncAdapt_aiomysql_connection):
        monkeypatch.setattr(kind, "ping", ask)
    return asked


WHO = {"postgresql": "select pg_backend_pid() as n", "mariadb-server": "select connection_id() as n"}


async def test_a_connection_in_use_is_not_asked_before_each_statement(
    peer: Peer, engine: Engine, asked: list[str]
) -> None:
    chain = load(engine, peer.dsn, WHO[peer.package])
    first, *others = [(await chain.run({})).message.value for _ in range(5)]
    assert others == [first] * 4
    assert asked == []


async def test_a_connection_that_lay_idle_for_long_is_asked_and_made_anew(
    peer: Peer, engine: Engine, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catenary_components.external.sql.pool._UNASKED_S", 0)
    chain = load(engine, peer.dsn, WHO[peer.package])
    first, second = [(await chain.run({})).message.value for _ in range(2)]
    assert first != second
    assert len(asked) == 2  # connecting uses it once, too


async def test_a_connection_that_the_server_has_ended_is_made_anew(peer: Peer, engine: Engine) -> None:
    chain = load(engine, peer.dsn, WHO[peer.package])
    for _ in range(3):
        number = (await chain.run({})).message.value[0]["n"]
        peer.sql(f"select pg_terminate_backend({number})" if isinstance(peer, Postgres) else f"kill {number}")
        outcome = await chain.run({})  # before the event loop has seen the end
        assert outcome.ok, outcome.error
        assert outcome.message.value != [{"n": number}]


async def test_connections_whose_end_nobody_has_heard_of_yet_are_made_anew_before_anything_begins(
    postgres: Postgres, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catenary_components.external.sql.drivers.Driver.is_in_doubt", lambda *_: False)
    chain = load(engine, postgres.dsn, "select pg_backend_pid() as n, pg_sleep(0.1)")
    before = await asyncio.gather(*(chain.run({}) for _ in range(4)))
    numbers = {outcome.message.value[0]["n"] for outcome in before}
    assert len(numbers) == 4
    for number in numbers:
        postgres.sql(f"select pg_terminate_backend({number}, 15000)")
    after = await asyncio.gather(*(chain.run({}) for _ in range(4)))
    assert all(outcome.ok for outcome in after), after
    assert numbers.isdisjoint(outcome.message.value[0]["n"] for outcome in after)


async def test_a_wrong_password_is_refused_and_told_nowhere(peer: Peer, engine: Engine) -> None:
    recorder = MemoryRecorder()
    engine.record(recorder)
    wrong = "wrong-and-hidden"
    chain = load(engine, peer.dsn.replace(peer.password, wrong), "select '${msg.said}' as said")
    outcome = await chain.run({"said": f"I say {wrong}"})
    refused = cause(outcome)
    assert isinstance(refused, Refused)
    assert not refused.retryable
    assert wrong not in str(outcome.error)
    assert "I say ****" in str(recorder.records[0].to_dict())


async def test_a_host_without_address_is_told(engine: Engine) -> None:
    for dsn in ("postgres://u:p@no-such-host.invalid/d", "u:p@tcp(no-such-host.invalid:3306)/d"):
        failed = cause(await load(engine, dsn, "select 1").run({}))
        assert isinstance(failed, ConnectFailed)
        assert "no-such-host.invalid" in str(failed)


async def test_a_database_that_freezes_is_given_up_in_time_and_used_again_when_it_thaws(
    peer: Peer, engine: Engine
) -> None:
    chain = pair(engine, peer.dsn, "select 1 as n", limit_ms=300)
    assert (await chain.run({})).ok
    peer.freeze()
    began = time.monotonic()
    slow = cause(await chain.run({}, start="hasty"))
    assert time.monotonic() - began < 20  # it would have 30 s
    peer.thaw()
    assert isinstance(slow, TooSlow)
    assert "timeoutMs" in getattr(slow, "hint", "")
    assert (await load(engine, peer.dsn, "select 1 as n").run({})).ok
    assert (await chain.run({})).ok


@pytest.mark.usefixtures("patient")
async def test_a_slow_statement_is_stopped_at_its_limit(peer: Peer, engine: Engine) -> None:
    chain = load(engine, peer.dsn, SLEEP[peer.package].format(LONG), timeoutMs=400)
    assert isinstance(cause(await chain.run({})), TooSlow)
    await until(peer, runs=False)


@pytest.mark.usefixtures("patient")
async def test_cancelled_a_statement_runs_no_longer_and_its_connection_is_free(peer: Peer, engine: Engine) -> None:
    chain = load(engine, peer.dsn, SLEEP[peer.package].format("${msg}"), poolSize=1)
    assert (await chain.run(0)).ok
    node = {
        "id": "db",
        "type": "dbClient",
        "configuration": {"dsn": peer.dsn, "sql": SLEEP[peer.package].format(LONG), "poolSize": 1},
    }
    quick = {"id": "quick", "type": "dbClient", "configuration": {"dsn": "ref://db", "sql": "select 1 as n"}}
    both = engine.load({"ruleChain": {"id": "both"}, "metadata": {"nodes": [node, quick]}})
    tasks = asyncio.all_tasks()
    task = await begun(peer, both)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(peer, runs=False)
    assert asyncio.all_tasks() <= tasks
    async with asyncio.timeout(15):
        assert (await both.run({}, start="quick")).ok


@pytest.mark.usefixtures("patient")
async def test_cancelled_a_batch_leaves_nothing_behind(peer: Peer, engine: Engine) -> None:
    peer.sql("drop table if exists half; create table half (n int)")
    sleep = SLEEP[peer.package].format(LONG).removeprefix("select ")
    condition = f"{sleep} is not null" if isinstance(peer, Postgres) else f"{sleep} = 0"
    sql = f"insert into half (n) select ? from (select 1) one where ? < 2 or {condition}"
    task = await begun(peer, load(engine, peer.dsn, sql, batch="${msg}", params=["${msg}", "${msg}"]), [1, 2])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(peer, runs=False)
    assert peer.sql("select count(*) from half") == "0"


async def test_more_messages_than_connections_wait_for_their_turn(peer: Peer, engine: Engine) -> None:
    chain = load(engine, peer.dsn, "select ${msg} as n", poolSize=2)
    outcomes = await asyncio.gather(*(chain.run(number) for number in range(20)))
    assert all(outcome.ok for outcome in outcomes)


async def test_the_status_of_the_connection_is_told(peer: Peer, engine: Engine) -> None:
    node = {"id": "shop", "type": "dbClient", "configuration": {"dsn": peer.dsn, "sql": "select 1 as n"}}
    engine.shared.load({"ruleChain": {"id": "pool"}, "metadata": {"nodes": [node]}})
    chain = load(engine, "ref://shop", "select 1 as n")
    assert engine.shared.statuses()["shop"].state == "none"
    assert (await chain.run({})).ok
    assert engine.shared.statuses()["shop"].state == "connected"
    peer.kill()
    assert (await engine.shared.check())["shop"].state in {"disconnected", "reconnecting"}
    peer.start()
    await engine.shared.reload({"ruleChain": {"id": "pool"}, "metadata": {"nodes": [node]}})
    assert (await chain.run({})).ok


@pytest.mark.usefixtures("patient")
async def test_a_statement_of_sqlite_is_stopped_and_its_batch_rolled_back(tmp_path: Path) -> None:
    forever = (
        "with recursive c(x) as (select 1 union all select x + 1 from c) select ? from c where ? > 1 or x < 2 limit 1"
    )
    async with Engine(roots=[tmp_path]) as engine:
        dsn = "sqlite:///x.db"
        assert (await load(engine, dsn, "create table half (n int)").run({})).ok
        sql = f"insert into half (n) {forever.replace('where ? > 1 or x < 2', 'where ? < 2 or x < 0')}"
        chain = load(engine, dsn, sql, batch="${msg}", params=["${msg}", "${msg}"], timeoutMs=300, poolSize=1)
        assert isinstance(cause(await chain.run([1, 2])), TooSlow)
        assert (await load(engine, dsn, "select * from half").run({})).message.value == []


async def test_cancelled_while_a_file_of_sqlite_is_opened_it_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_open, opened = threading.Event(), threading.Event(), sqlite3.connect

    def open_slowly(*args: Any, **options: Any) -> Any:
        begun.set()
        may_open.wait(15)
        return opened(*args, **options)

    threads = threading.active_count()
    async with Engine(roots=[tmp_path]) as engine:
        chain = load(engine, "sqlite:///x.db", "select 1 as n")
        monkeypatch.setattr(sqlite3, "connect", open_slowly)
        task = asyncio.ensure_future(chain.run({}))
        await eventually(begun.is_set)
        task.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        assert not task.done()
        may_open.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: threading.active_count() <= threads)


async def test_a_locked_file_of_sqlite_fails_and_may_be_tried_again(tmp_path: Path) -> None:
    async with Engine(roots=[tmp_path]) as engine:
        dsn = "sqlite:///x.db"
        assert (await load(engine, dsn, "create table t (n int)").run({})).ok
        other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
        other.execute("begin exclusive")
        chain = pair(engine, dsn, "insert into t values (1)", limit_ms=500)
        assert isinstance(cause(await chain.run({}, start="hasty")), ResourceError)
        other.execute("rollback")
        other.close()
        assert (await chain.run({})).ok


def test_run_sync_uses_the_database_too(peer: Peer) -> None:
    with Engine() as engine:
        chain = load(engine, peer.dsn, "select 1 as n")
        assert chain.run_sync({}).message.value == [{"n": 1}]
        assert chain.run_sync({}).message.value == [{"n": 1}]


async def test_nothing_of_the_address_is_seen_in_events_and_records(peer: Peer, engine: Engine) -> None:
    recorder, events = MemoryRecorder(), []
    engine.record(recorder)
    engine.subscribe(events.append)
    chain = load(engine, peer.dsn, "select '${msg.said}' as said")
    assert (await chain.run({"said": f"{peer.password} and {peer.dsn}"})).ok
    seen = str(events) + str([record.to_dict() for record in recorder.records])
    seen += repr(chain.compiled.by_id["db"].component.config)
    assert events
    assert peer.password not in seen


async def test_a_missing_package_is_told_with_what_to_install(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from catenary_components.external.sql import packages

    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    with pytest.raises(ChainInvalid, match=r"catenary\[sql\]"):
        load(engine, "sqlite://", "select 1")

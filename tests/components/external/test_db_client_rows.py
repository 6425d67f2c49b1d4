"""`dbClient` and many rows: they are read some at a time, and too many are a failure."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.components.external.test_db_client import KINDS, Bench

from catenary import Engine

pytestmark = pytest.mark.timeout(60)  # the first test of a kind installs and starts its server
COUNT = "with recursive n(i) as (select 1 union all select i + 1 from n where i < {}) select i from n"


@pytest.fixture(params=KINDS)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Bench]:
    """The same for each kind of database, with the empty table `many`."""
    kind = request.param
    dsn = "sqlite:///test.db" if kind == "sqlite" else request.getfixturevalue(kind).dsn
    if kind == "mariadb":
        dsn += "?max_recursive_iterations=100000000"
    async with Engine(roots=[tmp_path]) as engine:
        one = Bench(engine, kind, dsn)
        await one.does("drop table if exists many")
        await one.does("create table many (n int)")
        yield one


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 2500])
async def test_as_many_rows_as_there_may_be_come_whole(bench: Bench, count: int) -> None:
    assert await bench.rows(COUNT.format(count), maxRows=count) == [{"i": number + 1} for number in range(count)]
    assert len(await bench.rows(COUNT.format(count), maxRows=0)) == count


@pytest.mark.parametrize("most", [1, 999, 1000, 2000])
async def test_one_row_more_than_there_may_be_is_a_failure_and_the_connection_stays_of_use(
    bench: Bench, most: int
) -> None:
    chain = bench.load(COUNT.format("${msg.count}"), opType="SELECT", maxRows=most, poolSize=1)
    outcome = await chain.run({"count": most + 1})
    assert f"the statement gives more than {most} rows" in str(outcome.error)
    assert "maxRows" in str(outcome.error)
    assert len((await chain.run({"count": most})).message.value) == most


async def test_a_huge_result_neither_fills_the_memory_nor_is_waited_for(bench: Bench) -> None:
    sql = "select seq from seq_1_to_50000000" if bench.kind == "mariadb" else COUNT.format(50_000_000)
    chain = bench.load(sql, opType="SELECT", maxRows=5000, timeoutMs=15_000)
    tracemalloc.start()
    try:
        outcome = await chain.run({})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "more than 5000 rows" in str(outcome.error)
    assert peak < 20_000_000


async def test_what_a_statement_changed_is_undone_when_it_gives_too_many_rows(bench: Bench) -> None:
    sql = "insert into many (n) values (1), (2), (3) returning n"
    assert not (await bench.run(sql, opType="SELECT", maxRows=2)).ok
    assert await bench.rows("select count(*) as c from many", getOne=True) == {"c": 0}
    assert len(await bench.rows(sql, maxRows=3)) == 3
    assert await bench.rows("select count(*) as c from many", getOne=True) == {"c": 3}


async def test_a_statement_without_rows_gives_an_empty_list(bench: Bench) -> None:
    assert await bench.rows("insert into many (n) values (1)") == []
    assert await bench.rows("select n from many") == [{"n": 1}]


async def test_an_error_behind_the_first_rows_is_a_failure_and_the_connection_stays_of_use(bench: Bench) -> None:
    if bench.kind == "mariadb":
        sql = f"select if(i < 3000, i, (select 1 union select 2)) as i from ({COUNT.format(3000)}) t"
    elif bench.kind == "postgres":
        sql = f"select 1 / (3000 - i) as i from ({COUNT.format(3000)}) t"
    else:
        sql = f"select abs(iif(i < 3000, i, -9223372036854775807 - 1)) as i from ({COUNT.format(3000)}) t"
    chain = bench.load(sql, poolSize=1)
    for _ in range(2):
        told = str((await chain.run({})).error)
        assert "division by zero" in told or "more than 1 row" in told or "integer overflow" in told

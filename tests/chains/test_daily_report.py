"""The report chain by a clock that is told the time: each evening it reports the orders of the day."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from catenary import Engine
from catenary.events import RunCompleted, RunFailed
from catenary.testing import FakeClock

FOLDER = Path(__file__).parents[2] / "chains"
NOON = round(datetime.fromisoformat("2026-05-20T12:00:00+02:00").timestamp() * 1000)


async def run_once(engine: Engine) -> None:
    """Wait until the chain has run once more."""
    over: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def look(event: Any) -> None:
        if isinstance(event, RunCompleted | RunFailed) and not over.done():
            over.set_result(event)

    stop = engine.subscribe(look)
    event = await over
    stop()
    assert isinstance(event, RunCompleted), event


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "orders.db"
    with sqlite3.connect(path) as db:
        db.execute("create table orders (id text primary key, customer text, total real, received text)")
        rows = [
            ("A-1", "Ann", 10, "2026-05-19 15:59:59"),
            ("A-2", "Bob", 20, "2026-05-19 16:00:01"),
            ("A-3", "Ann", 30.5, "2026-05-20 16:00:00"),
            ("A-4", "Eve", 40, "2026-05-20 16:00:01"),
        ]
        db.executemany("insert into orders values (?, ?, ?, ?)", rows)
    db.close()
    return path


async def test_each_evening_the_orders_of_the_day_before_are_reported(database: Path) -> None:
    clock = FakeClock(start_ms=NOON)
    async with Engine(clock=clock) as engine:
        source = (FOLDER / "daily-report.yaml").read_text().replace("orders.db", str(database))
        (database.parent / "daily-report.yaml").write_text(source)
        shutil.copytree(FOLDER / "documents", database.parent / "documents")
        engine.load(database.parent / "daily-report.yaml")
        await engine.endpoints.settled()
        reports: list[Any] = []
        for _ in range(2):
            clock.advance(86_400)
            await run_once(engine)
            reports.append(engine.cache.get("daily-report"))
    assert reports == [
        "Orders: 2, 50.50 EUR\n1. A-2, Bob: 20.00 EUR\n2. A-3, Ann: 30.50 EUR\n",
        "Orders: 1, 40.00 EUR\n1. A-4, Eve: 40.00 EUR\n",
    ]

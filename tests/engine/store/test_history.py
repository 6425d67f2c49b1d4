"""The history of runs: what is recorded is read again, limits hold, and nothing is lost."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from tests.engine.store.records import DEFINITION, parts_of, record, records, visit

from catenary import Message
from catenary.errors import StoreError
from catenary.recording import RunRecord
from catenary.store import Database, History, Limits, outbox

if TYPE_CHECKING:
    from collections.abc import Generator

FOREVER = Limits(max_age_s=None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def history(file: Path) -> Generator[History]:
    with History(file, limits=FOREVER) as history:
        yield history


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[History]:
    with History(tmp_path_factory.mktemp("history") / "history.db", limits=FOREVER) as history:
        yield history


def put(history: History, *written: RunRecord) -> None:
    for one in written:
        history.began(one)
        history.ended(one)
    history.flush()


@given(records())
def test_what_is_recorded_is_read_again_exactly(shared: History, written: RunRecord):
    put(shared, written)
    assert parts_of(shared.store.get(written.run_id)) == parts_of(written)  # type: ignore[arg-type]


def test_messages_that_are_the_same_object_are_written_once(history: History):
    message = Message("x" * 10_000)
    put(history, record("one", message=message, visits=[visit(n, message=message) for n in range(1, 20)]))
    assert history.runs()[0].size_bytes < 20_000


def test_data_that_is_no_json_is_kept_as_python_shows_it(history: History):
    put(history, record("odd", message=Message({"when": datetime(2020, 1, 1, tzinfo=UTC)})))
    assert "datetime.datetime(2020" in history.get("odd").message.text


def test_half_of_a_surrogate_pair_is_kept(history: History):
    put(history, record("odd", message=Message("a\ud800b", metadata={"k": "\udfff"}), error="\ud800"))
    kept = history.get("odd")
    assert (kept.message.data, kept.message.metadata["k"], kept.error) == ("a\ud800b", "\udfff", "\\ud800")


def test_runs_come_newest_first_and_can_be_filtered(history: History):
    put(history, *(record(f"r{n}", started_ms=n * 1000, chain_id="even" if n % 2 == 0 else "odd") for n in range(1, 7)))
    put(history, record("bad", started_ms=9000, chain_id="odd", status="failed", error="no luck"))

    def ids(**query: Any) -> list[str]:
        return [run.run_id for run in history.runs(**query)]

    assert ids() == ["bad", "r6", "r5", "r4", "r3", "r2", "r1"]
    assert ids(limit=2) == ["bad", "r6"]
    assert ids(chain="even") == ["r6", "r4", "r2"]
    assert ids(status="failed") == ["bad"]
    assert ids(since=datetime.fromtimestamp(5, UTC)) == ["bad", "r6", "r5"]
    assert ids(before=datetime.fromtimestamp(2, UTC)) == ["r2", "r1"]
    assert ids(chain="even", since=datetime.fromtimestamp(3, UTC), limit=1) == ["r6"]
    assert ids(chain="none") == []


def test_a_summary_says_what_the_run_came_to(history: History):
    put(history, record("bad", started_ms=1000, ended_ms=3500, status="failed", error="no luck", chain_version=3))
    summary = history.runs()[0]
    assert (summary.status, summary.error, summary.duration_s, summary.visits) == ("failed", "no luck", 2.5, 1)
    assert summary.to_dict()["chainVersion"] == 3


@pytest.mark.parametrize(("asked", "found"), [("abc-1", "abc-1"), ("abd", "abd-1"), ("last", "abd-1"), ("abc", "abc")])
def test_a_run_is_found_by_id_prefix_and_last(history: History, asked: str, found: str):
    put(history, record("abc"), record("abc-1"), record("abc-2"), record("abd-1"))
    assert history.get(asked).run_id == found


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("zzz", "no recorded run has the id 'zzz'"),
        ("", "no recorded run has the id ''"),
        ("ab", "several recorded runs begin with 'ab': ab-2, ab-1"),
        ("a_", "no recorded run"),
        ("%", "no recorded run"),
    ],
)
def test_a_run_that_is_not_meant_clearly_is_an_error(history: History, asked: str, text: str):
    put(history, record("ab-1"), record("ab-2"))
    with pytest.raises(StoreError, match=re.escape(text)):
        history.get(asked)


def test_last_of_an_empty_history_is_an_error(history: History):
    with pytest.raises(StoreError, match="no run is recorded"):
        history.get("last")


def test_a_chain_is_stored_once_for_all_its_runs(file: Path, history: History):
    put(history, record(), record(), record(definition={"metadata": DEFINITION["metadata"], "ruleChain": {}}))
    marks = {run.fingerprint for run in history.runs()}
    assert len(marks) == 2
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM definitions").fetchone() == (2,)


def test_a_run_that_lasts_is_seen_with_what_it_has_done(history: History):
    visits = [visit(1), visit(2, duration_s=None, sent=[])]
    lasting = record("lasting", status="running", ended_ms=None, visits=visits, ends=[])
    history.began(lasting)
    history.flush()
    seen = history.get("lasting")
    assert (seen.status, seen.ended_ms, [one.duration_s for one in seen.visits]) == ("running", None, [0.25, None])
    visits[1] = visit(2)
    visits.append(visit(3))
    lasting.status, lasting.ended_ms = "completed", lasting.started_ms + 5
    history.ended(lasting)
    history.flush()
    assert parts_of(history.get("lasting")) == parts_of(lasting)


def test_what_a_lasting_run_does_is_written_while_it_lasts(history: History):
    visits = [visit(1)]
    history.began(record("lasting", status="running", ended_ms=None, visits=visits))
    history.flush()
    visits.append(visit(2))
    until = time.monotonic() + 15
    while len(history.get("lasting").visits) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_is_written_already_is_not_written_again(file: Path, history: History):
    lasting = record("lasting", status="running", ended_ms=None, visits=[visit(n) for n in range(1, 100)])
    history.began(lasting)
    history.flush()
    first = history.runs()[0].size_bytes
    lasting.status, lasting.ended_ms = "completed", lasting.started_ms + 5
    history.ended(lasting)
    history.flush()
    assert history.runs()[0].size_bytes < first * 1.1


def test_a_record_of_the_same_id_takes_the_place_of_the_one_before(history: History):
    put(history, record("same"))
    put(history, record("same", error="another"))
    assert [run.error for run in history.runs()] == ["another"]


def test_runs_are_deleted(history: History):
    put(history, record("a-1"), record("b-1"))
    assert history.delete("a") == 1
    assert [run.run_id for run in history.runs()] == ["b-1"]
    with pytest.raises(StoreError):
        history.delete("a")


def test_only_the_newest_runs_are_kept(file: Path):
    with History(file, limits=Limits(max_runs=3, max_age_s=None)) as history:
        put(history, *(record(f"r{n}") for n in range(10)))
        assert [run.run_id for run in history.runs()] == ["r9", "r8", "r7"]


def test_a_size_is_kept_and_the_file_shrinks(file: Path):
    with History(file, limits=FOREVER) as history:
        put(history, *(record(f"r{n}", message=Message("x" * 50_000, id="m", ts=1)) for n in range(40)))
        assert history.prune(Limits(max_bytes=200_000, max_age_s=None)) == 37
        assert [run.run_id for run in history.runs()] == ["r39", "r38", "r37"]
    assert file.stat().st_size < 500_000


def test_what_is_too_old_goes(history: History):
    now = int(time.time() * 1000)
    put(history, record("old", started_ms=now - 100_000), record("young", started_ms=now))
    assert history.prune(Limits(max_age_s=50)) == 1
    assert [run.run_id for run in history.runs()] == ["young"]


def test_chains_that_no_run_names_are_forgotten_and_can_come_again(file: Path, history: History):
    put(history, record("a", definition={"n": 1}), record("b"))
    history.delete("a")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM definitions").fetchone() == (1,)
    put(history, record("c", definition={"n": 1}))
    assert history.get("c").definition == {"n": 1}


def test_a_run_that_lasts_is_not_pruned(history: History):
    lasting = record("lasting", status="running", ended_ms=None, started_ms=1)
    history.began(lasting)
    put(history, record("new"))
    history.prune(Limits(max_runs=1, max_age_s=1))
    assert [run.run_id for run in history.runs()] == ["lasting"]


def test_a_record_that_cannot_be_written_harms_no_other(history: History, caplog: pytest.LogCaptureFixture):
    class Broken:
        @property
        def id(self) -> str:
            raise ValueError("broken")

    put(history, record("bad", ends=[Broken()]), record("good"))
    assert [run.run_id for run in history.runs()] == ["good"]
    assert "a run cannot be written to the history" in caplog.text


def test_threads_record_at_the_same_time(history: History):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: put(history, record(f"t{number}")), range(100)))
    assert len(history.runs(limit=None)) == 100


def test_close_writes_what_waits_and_may_be_called_again(file: Path):
    history = History(file, limits=FOREVER)
    for number in range(500):
        history.ended(record(f"r{number}"))
    history.close()
    history.close()
    with History(file) as again:
        assert len(again.runs(limit=None)) == 500


def test_a_run_after_the_close_is_told_and_does_not_raise(history: History, caplog: pytest.LogCaptureFixture):
    history.close()
    history.began(one := record())
    history.ended(one)
    assert history.dropped == 1
    assert "runs are missing in the history" in caplog.text


class Stuck:
    """A lock on the file, held by somebody else."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def end(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


def test_more_runs_than_can_be_written_wait_and_then_are_dropped(file: Path, caplog: pytest.LogCaptureFixture):
    with History(file, limits=FOREVER, max_waiting=5, max_wait_s=0.05) as history:
        put(history, record("first"))
        stuck = Stuck(file)
        for number in range(8):
            history.ended(record(f"r{number}"))
        stuck.end()
        history.flush()
        assert history.dropped == 3
        assert len(history.runs()) == 6
    assert caplog.text.count("runs are missing in the history") == 1


def test_a_run_that_waits_for_room_is_not_lost(file: Path):
    with History(file, limits=FOREVER, max_waiting=1, max_wait_s=60) as history:
        for number in range(20):
            history.ended(record(f"r{number}"))
        history.flush()
        assert (history.dropped, len(history.runs(limit=None))) == (0, 20)


def test_what_could_not_be_written_is_tried_again(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    from catenary.store.sqlite_runs import SqliteRuns

    monkeypatch.setattr(outbox, "RETRY_S", 60.0)  # by then the file is free
    database = Database(file, busy_s=0.05)
    with History(limits=FOREVER, store=SqliteRuns(database, FOREVER)) as history:
        stuck = Stuck(file)
        history.ended(record("kept"))
        with pytest.raises(StoreError, match="in use"):
            history.flush()
        stuck.end()
        history.flush()
        assert [run.run_id for run in history.runs()] == ["kept"]
    assert [entry.levelno for entry in caplog.records] == [logging.WARNING]


PROGRAM = textwrap.dedent("""
    import sys, time
    from catenary.store import Database, History, Limits
    from tests.engine.store.records import record
    Database.__init__.__kwdefaults__["busy_s"] = 60.0  # another one may stand still while it writes
    file, name, count, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    history = History(file, limits=Limits(max_age_s=None))
    for number in range(count):
        one = record(f"{name}-{number}")
        history.began(one)
        if end != "running":
            history.ended(one)
        else:
            one.status, one.ended_ms = "running", None
    if end == "close":
        history.close()
    elif end != "forget":
        history.flush()
        print("written", flush=True)
        number = count
        while True:
            history.ended(record(f"{name}-{number}"))
            number += 1
            time.sleep(0.0005)
""")


def start(file: Path, name: str, count: int, end: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(file), name, str(count), end],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


@pytest.mark.timeout(60)
def test_processes_write_to_one_file_together(file: Path):
    others = [start(file, name, 200, "close") for name in ("a", "b", "c")]
    for other in others:
        other.communicate()
    assert [other.returncode for other in others] == [0, 0, 0]
    with History(file) as history:
        assert len(history.runs(limit=None)) == 600


def test_a_program_that_forgets_to_close_loses_nothing(file: Path):
    other = start(file, "a", 200, "forget")
    other.communicate()
    with History(file) as history:
        assert len(history.runs(limit=None)) == 200


def test_a_process_that_is_killed_loses_its_last_batch_at_most(file: Path):
    other = start(file, "a", 50, "running")
    assert other.stdout is not None
    assert other.stdout.readline() == "written\n"
    threading.Event().wait(0.3)  # it goes on writing, and is hit at any point of that
    other.kill()
    other.communicate()
    with History(file, limits=FOREVER) as history:
        runs = history.runs(limit=None)
        assert {run.status for run in runs if int(run.run_id[2:]) < 50} == {"interrupted"}
        numbers = sorted(int(run.run_id[2:]) for run in runs)
        assert numbers == list(range(len(numbers)))  # without a gap
        assert len(history.runs(status="interrupted", limit=None)) == 50
        assert history.runs(status="running") == []
        put(history, record("after"))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what Python says of forks beside threads
def test_a_forked_process_records_its_own_runs_only(history: History, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outbox, "BATCH_S", 60.0)  # nothing is being written when the process is forked
    history.ended(record("parent"))
    child = os.fork()
    if child == 0:
        try:
            put(history, record("child"))
            history.close()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    history.flush()
    assert sorted(run.run_id for run in history.runs()) == ["child", "parent"]


def test_a_record_that_is_damaged_is_told(file: Path, history: History):
    put(history, record("bad"))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE pieces SET body = '{\"messages\": []'")
    with pytest.raises(StoreError, match="run bad cannot be read"):
        history.get("bad")

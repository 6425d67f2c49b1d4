"""The file of records: opened, brought up to date, written by one thread, read by many."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from catenary.errors import StoreError
from catenary.store import Database

if TYPE_CHECKING:
    from collections.abc import Generator

FIRST = [["CREATE TABLE numbers (n INTEGER)"]]
SECOND = [*FIRST, ["ALTER TABLE numbers ADD COLUMN word TEXT NOT NULL DEFAULT ''"]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "test.db"


@pytest.fixture
def database(file: Path) -> Generator[Database]:
    database = Database(file)
    database.migrate("numbers", FIRST)
    yield database
    database.close()


def insert(number: int):
    return lambda connection: connection.execute("INSERT INTO numbers (n) VALUES (?)", (number,))


def numbers(database: Database) -> list[int]:
    return [row["n"] for row in database.read("SELECT n FROM numbers ORDER BY n")]


def test_what_is_written_is_there_after_it_is_opened_again(file: Path, database: Database):
    database.write(insert(1))
    database.close()
    again = Database(file)
    assert numbers(again) == [1]
    again.close()


def test_a_write_gives_what_the_work_gave(database: Database):
    assert database.write(lambda connection: connection.execute("SELECT 7").fetchone()[0]) == 7


def test_close_writes_what_waits(file: Path, database: Database):
    for number in range(50):
        database.submit(insert(number), within_s=60)
    database.close()
    again = Database(file)
    assert len(numbers(again)) == 50
    again.close()


def test_work_that_fails_harms_no_other(database: Database):
    def broken(connection: sqlite3.Connection) -> None:
        insert(2)(connection)
        raise ValueError("broken")

    waiting = [database.submit(work, within_s=0.2) for work in (insert(1), broken, insert(3))]
    assert [type(one.exception()) for one in waiting] == [type(None), ValueError, type(None)]
    assert numbers(database) == [1, 3]


def test_threads_write_and_read_at_the_same_time(database: Database):
    def work(number: int) -> int:
        database.write(insert(number))
        return len(numbers(database))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert numbers(database) == list(range(40))


def test_a_reader_sees_one_state(database: Database):
    with database.reader() as connection:
        before = connection.execute("SELECT count(*) FROM numbers").fetchone()[0]
        database.write(insert(1))
        assert connection.execute("SELECT count(*) FROM numbers").fetchone()[0] == before
    assert numbers(database) == [1]


def test_tables_are_brought_up_to_date_and_keep_their_rows(file: Path, database: Database):
    database.write(insert(1))
    database.migrate("numbers", SECOND)
    assert [tuple(row) for row in database.read("SELECT n, word FROM numbers")] == [(1, "")]


def test_owners_count_their_versions_apart(database: Database):
    database.migrate("others", [["CREATE TABLE others (n INTEGER)"]])
    database.migrate("numbers", SECOND)
    assert {row["name"]: row["version"] for row in database.read("SELECT * FROM owners")} == {"numbers": 2, "others": 1}


def test_a_version_that_fails_changes_nothing(database: Database):
    with pytest.raises(StoreError):
        database.migrate("numbers", [*FIRST, ["DROP TABLE numbers", "CREATE NONSENSE"]])
    assert numbers(database) == []


def test_tables_of_a_later_version_are_refused(database: Database):
    database.migrate("numbers", SECOND)
    with pytest.raises(StoreError, match="later version of catenary"):
        database.migrate("numbers", FIRST)


def test_a_layout_of_a_later_version_is_refused(file: Path, database: Database):
    database.close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="later version of catenary"):
        Database(file)


def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path):
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (n INTEGER)")
    before = file.read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        Database(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database at all\n" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes):
    file = tmp_path / "broken.db"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="damaged or no SQLite file"):
        Database(file)


def test_a_missing_file_is_told_when_it_must_be_there(tmp_path: Path):
    with pytest.raises(StoreError, match="there is no store at"):
        Database(tmp_path / "none.db", must_exist=True)
    assert not (tmp_path / "none.db").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        Database(tmp_path / "file" / "test.db")


def test_nobody_else_may_read_the_file(file: Path, database: Database):
    database.write(insert(1))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_store_that_another_one_locks_is_told(file: Path, database: Database):
    hurried = Database(file, busy_s=0.1)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is in use"):
            hurried.write(insert(1))
        assert numbers(hurried) == []  # reading needs no lock
        other.execute("ROLLBACK")
    hurried.write(insert(1))
    assert numbers(hurried) == [1]
    hurried.close()


def test_a_closed_store_says_so(database: Database):
    database.close()
    with pytest.raises(StoreError, match="is closed"):
        database.write(insert(1))
    with pytest.raises(StoreError, match="is closed"):
        numbers(database)


def _write_many(file: Path, first: int) -> None:
    database = Database(file, busy_s=60)  # another one may stand still while it writes
    database.migrate("numbers", FIRST)
    for number in range(first, first + 20):
        database.write(insert(number))
    database.close()


@pytest.mark.timeout(60)
def test_processes_make_and_write_one_file_together(file: Path):
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_write_many, args=(file, 100 * number)) for number in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0, 0, 0]
    database = Database(file)
    assert len(numbers(database)) == 60
    database.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what Python says of forks beside threads
def test_a_forked_process_writes_through_a_connection_of_its_own(database: Database):
    database.write(insert(1))
    assert numbers(database) == [1]
    child = os.fork()
    if child == 0:
        try:
            database.write(insert(2))
            database.close()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    database.write(insert(3))
    assert numbers(database) == [1, 2, 3]


def test_a_program_that_forgets_to_close_loses_nothing(file: Path, database: Database):
    program = textwrap.dedent("""
        import sys
        from catenary.store import Database
        database = Database(sys.argv[1])
        for number in range(100):
            database.submit(lambda connection: connection.execute("INSERT INTO numbers (n) VALUES (1)"), within_s=60)
    """)
    subprocess.run([sys.executable, "-c", program, str(file)], check=True)
    assert len(numbers(database)) == 100


def test_a_file_whose_tables_are_not_listed_is_damaged(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.db")
    database.migrate("one", [["CREATE TABLE one (x)"]])
    database.write(lambda connection: connection.execute("DELETE FROM owners"))
    with pytest.raises(StoreError, match="is damaged"):
        database.migrate("one", [["CREATE TABLE one (x)"]])
    database.close()

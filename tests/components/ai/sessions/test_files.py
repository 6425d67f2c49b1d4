"""Sessions as files."""

from __future__ import annotations

import asyncio
import json
import resource
import stat
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from catenary_components.ai.sessions.files import FileStore, file_name
from catenary_components.ai.sessions.store import ANY_VERSION, NEW, DamagedRecord, SessionConflict, SessionError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def small_disk(most_bytes: int) -> Generator[None]:
    """Let the system refuse what makes a file larger than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_session_is_a_json_file_that_the_user_alone_can_read(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "a" / "b")
    await store.save("ann:desk", '{"x":1}', NEW)

    path = store.path_of("ann:desk")
    assert path.name == "ann%3adesk.json"
    assert json.loads(path.read_text()) == {"key": "ann:desk", "version": 1, "state": {"x": 1}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("key", ["..", "../x", "/etc/passwd", "a/../../b", "\\..\\x", ".lock", "x.json", "C:x", "\0"])
def test_no_key_leads_out_of_the_folder(key: str) -> None:
    assert not set(file_name(key)) & set("./\\:\0")


def test_names_differ_where_a_file_system_takes_no_notice_of_case() -> None:
    assert file_name("A") == "%41"
    assert len({file_name("x" * 500), file_name("x" * 501), file_name("X" * 500)}) == 3
    assert len(file_name("x" * 5000)) < 200


async def test_a_full_disk_is_told_and_the_former_record_stays(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.save("k", '"small"', NEW)

    with small_disk(1000), pytest.raises(SessionError, match="could not be saved") as failed:
        await store.save("k", json.dumps("x" * 5000), 1)

    assert "make room" in failed.value.hint
    assert await store.load("k") == (1, "small")
    assert names_in(tmp_path) == [".lock", "k.json"]
    assert await store.save("k", '"later"', 1) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"key":"k","version":1,"sta', "not JSON"),
        ("[]", "no JSON object"),
        ('{"key":"k","version":1}', "not a session of this key"),
        ('{"key":"other","version":1,"state":{}}', "not a session of this key"),
        ('{"key":"k","version":"1","state":{}}', "not a session of this key"),
    ],
)
async def test_a_damaged_file_is_told(tmp_path: Path, content: str, reason: str) -> None:
    store = FileStore(tmp_path)
    store.path_of("k").write_text(content)

    with pytest.raises(DamagedRecord, match=reason):
        await store.load("k")


async def test_a_damaged_file_is_renamed_where_it_can_be_found(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.path_of("k").write_text("{")

    assert await store.keys() == []
    with pytest.raises(SessionConflict):
        await store.save("k", "1", 1)
    where = await store.set_aside("k", ".corrupt-20260101T000000000Z")

    assert where == str(tmp_path / "k.json.corrupt-20260101T000000000Z")
    assert await store.load("k") is None


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileStore(tmp_path / "file" / "folder")

    with pytest.raises(SessionError, match=r"session 'k' could not be saved in .*folder"):
        await store.save("k", "1", NEW)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from catenary_components.ai.sessions.files import FileStore
from catenary_components.ai.sessions.store import SessionConflict

async def main():
    store, done = FileStore(Path(sys.argv[1])), 0
    while done < 40:
        record = await store.load("k")
        try:
            await store.save("k", str((record.value if record else 0) + 1), record.version if record else 0)
            done += 1
        except SessionConflict:
            pass

asyncio.run(main())
"""


@pytest.mark.timeout(60)
def test_of_two_processes_none_loses_what_the_other_has_written(tmp_path: Path) -> None:
    programs = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)]) for _ in range(2)]

    assert [program.wait() for program in programs] == [0, 0]
    assert asyncio.run(FileStore(tmp_path).load("k")) == (80, 80)


ENDLESS = """
import asyncio, json, sys
from pathlib import Path
from catenary_components.ai.sessions.files import FileStore
from catenary_components.ai.sessions.store import ANY_VERSION

async def main():
    store, text = FileStore(Path(sys.argv[1])), json.dumps("x" * 300_000)
    while True:
        print(await store.save("k", text, ANY_VERSION), flush=True)

asyncio.run(main())
"""


@pytest.mark.timeout(60)
def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_record(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    written = 0
    for saves in (1, 3):
        with subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE) as program:
            assert program.stdout is not None
            for _ in range(saves):
                written = int(program.stdout.readline())
            program.kill()

        record = asyncio.run(store.load("k"))
        assert record is not None
        assert record.version >= written
        assert record.value == "x" * 300_000
    assert asyncio.run(store.save("k", "1", ANY_VERSION)) > written


async def test_a_write_that_is_cancelled_is_whole(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    task = asyncio.create_task(store.save("k", json.dumps("x" * 10_000), ANY_VERSION))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await store.save("other", "1", NEW)  # the writer before is through

    record = await store.load("k")
    assert record is None or record.value == "x" * 10_000

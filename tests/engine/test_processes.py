"""Programs of the machine: real ones, to their end, too long, too loud, cancelled, and with what they start."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.programs import eventually, is_buried, pids_in, runs
from tests.skipping import SKIPPING, skip

from catenary import processes
from catenary.errors import Refused, ResourceError, TooSlow
from catenary.processes import ProgramOptions, clean_environment, run_program


@pytest.fixture(scope="module")
def anyio_backend():
    return SKIPPING


def sh(script, **options):
    options.setdefault("max_output_bytes", 1_000_000)
    return run_program(["sh", "-c", script], ProgramOptions(environment=clean_environment(), **options))


async def overdue(script, pids, count=1):
    """Start programs, and have their time over when so many have noted their ids; give the ids, and what is said."""
    task = asyncio.ensure_future(sh(script, timeout_s=600))
    found = await pids_in(pids, count)
    while not task.done():
        skip(600)
        await asyncio.sleep(0.01)
    with pytest.raises(TooSlow) as caught:
        await task
    return found, str(caught.value)


async def test_a_program_gives_both_outputs_and_its_status():
    ended = await sh("echo out; echo err >&2; exit 3")
    assert (ended.code, ended.stdout, ended.stderr, ended.text) == (3, b"out\n", b"err\n", "exit status 3")


async def test_a_signal_that_ended_a_program_is_named():
    assert (await sh("kill -9 $$")).text == "signal: SIGKILL"
    assert (await sh("kill -40 $$")).text == "signal: 40"


async def test_a_program_reads_nothing():
    assert (await sh("cat; echo end")).stdout == b"end\n"


async def test_arguments_are_never_read_by_a_shell():
    options = ProgramOptions(environment=clean_environment(), max_output_bytes=100)
    assert (await run_program(["echo", "$HOME; `id`", "a  b"], options)).stdout == b"$HOME; `id` a  b\n"


async def test_secrets_of_this_process_are_not_handed_down(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "s3cret")
    monkeypatch.setenv("LC_TIME", "C")
    assert b"s3cret" not in (await sh("env")).stdout
    assert "LC_TIME" in clean_environment()
    assert clean_environment(["SOME_TOKEN"])["SOME_TOKEN"] == "s3cret"


@pytest.mark.parametrize(
    ("command", "folder", "text"),
    [
        (["no-such-program"], None, "there is no such program"),
        (["sh"], Path("/nowhere"), "there is no folder '/nowhere'"),
        (["/etc/passwd"], None, "Permission denied"),
        (["sh", "a\0b"], None, "null byte"),
    ],
)
async def test_what_cannot_be_started_is_told(command, folder, text):
    options = ProgramOptions(folder=folder, environment=clean_environment())
    with pytest.raises(ResourceError, match=f"'{command[0]}' cannot be started: .*{text}"):
        await run_program(command, options)


async def test_megabytes_of_output_arrive_whole():
    ended = await sh("head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2", max_output_bytes=8_000_000)
    assert (len(ended.stdout), len(ended.stderr)) == (5_000_000, 3_000_000)


async def test_a_program_that_writes_too_much_is_ended():
    with pytest.raises(Refused, match="the output of 'sh' is larger than 1000 bytes; it was ended"):
        await sh("yes", max_output_bytes=1000)


async def test_output_that_nobody_keeps_has_no_limit():
    ended = await sh("head -c 5000000 /dev/zero; seq 10000 >&2", max_output_bytes=None)
    assert ended.stdout == b""
    assert ended.stderr.endswith(b"9999\n10000\n")
    assert len(ended.stderr) == 4096


async def test_lines_are_heard_as_they_come(tmp_path):
    heard = []

    def hear(*line):
        heard.append(line)
        if len(heard) == 2:
            (tmp_path / "go").touch()

    wait = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done"
    await sh(rf"echo a; echo b >&2; {wait}; printf 'Gr\303\274\303\237e\r\nend'", max_output_bytes=None, heard=hear)
    assert sorted(heard[:2]) == [(1, "a"), (2, "b")]
    assert heard[2:] == [(1, "Grüße"), (1, "end")]


async def test_the_last_line_is_heard_also_when_somebody_else_holds_the_output_open(tmp_path):
    heard = []
    other = (
        f"setsid sh -c 'echo $$ > {tmp_path}/pids; exec sleep 600' & until [ -s {tmp_path}/pids ]; do sleep 0.01; done"
    )
    await sh(f"{other}; printf end", heard=lambda _, line: heard.append(line))
    assert heard == ["end"]
    (pid,) = await pids_in(tmp_path / "pids", 1)
    os.kill(pid, signal.SIGKILL)


async def test_a_line_without_an_end_is_heard_in_pieces():
    heard = []
    await sh("head -c 300000 /dev/zero", heard=lambda _, line: heard.append(len(line)))
    assert sum(heard) == 300_000
    assert len(heard) > 1


async def test_a_program_that_takes_too_long_is_ended_with_what_it_started(tmp_path):
    script = f"sleep 600 & echo $! >> {tmp_path}/pids; echo $$ >> {tmp_path}/pids; wait"
    pids, said = await overdue(script, tmp_path / "pids", 2)
    assert said == "'sh' took longer than 600 s and was ended"
    await eventually(lambda: not any(map(runs, pids)))


async def test_a_program_is_asked_to_end_before_it_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "GRACE_S", 600)
    script = f"trap 'echo tidy > {tmp_path}/left; exit' TERM; echo $$ > {tmp_path}/pids; sleep 600 & wait"
    task = asyncio.ensure_future(sh(script))
    await pids_in(tmp_path / "pids", 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "left").read_text() == "tidy\n"


async def test_cancelling_leaves_no_process_not_even_of_those_that_do_not_listen(tmp_path):
    note = f"echo $$ >> {tmp_path}/pids"
    deaf = tmp_path / "deaf.sh"
    deaf.write_text(f"trap '' TERM; {note}; while :; do sleep 1; done")
    script = f"{note}; sh {deaf} & sh -c 'sh {deaf} & wait' & wait"
    task = asyncio.ensure_future(sh(script))
    pids = await pids_in(tmp_path / "pids", 3)
    assert all(map(runs, pids))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: not any(map(runs, pids)))


@pytest.mark.parametrize("times", [1, 3])
async def test_cancelling_while_a_program_starts_leaves_no_process(tmp_path, times):
    task = asyncio.ensure_future(sh(f"echo $$ > {tmp_path}/pids; exec sleep 600"))
    for _ in range(times):
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if (tmp_path / "pids").exists():
        assert not runs(int((tmp_path / "pids").read_text() or 0))


async def test_cancelling_twice_kills_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "GRACE_S", 600)
    task = asyncio.ensure_future(sh(f"trap '' TERM; echo $$ > {tmp_path}/pids; while :; do sleep 1; done"))
    (pid,) = await pids_in(tmp_path / "pids", 1)
    task.cancel()
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not runs(pid)


async def test_what_writes_elsewhere_and_does_not_mind_being_asked_is_killed_too(tmp_path):
    script = f"exec >/dev/null 2>&1; (trap '' TERM; exec sleep 600) & echo $! > {tmp_path}/pids; sleep 600"
    [pid], _ = await overdue(script, tmp_path / "pids")
    await eventually(lambda: not runs(pid))


async def test_what_a_program_leaves_running_is_ended_with_it(tmp_path):
    ended = await sh(f"sleep 600 & echo $! > {tmp_path}/pids; echo done")
    assert ended.stdout == b"done\n"
    (pid,) = await pids_in(tmp_path / "pids", 1)
    await eventually(lambda: not runs(pid))


async def test_what_moved_to_another_session_is_left_alone_and_not_waited_for(tmp_path):
    wait = f"until [ -s {tmp_path}/pids ]; do sleep 0.01; done"
    ended = await sh(f"setsid sh -c 'echo $$ > {tmp_path}/pids; exec sleep 600' & {wait}; echo done")
    assert ended.stdout == b"done\n"
    (pid,) = await pids_in(tmp_path / "pids", 1)
    assert runs(pid)
    os.kill(pid, signal.SIGKILL)


async def test_an_ended_program_is_buried(tmp_path):
    [pid], _ = await overdue(f"echo $$ > {tmp_path}/pids; exec sleep 600", tmp_path / "pids")
    await eventually(lambda: is_buried(pid))


async def test_many_programs_at_once():
    ended = await asyncio.gather(*(sh(f"echo {number}") for number in range(40)))
    assert [one.stdout for one in ended] == [f"{number}\n".encode() for number in range(40)]

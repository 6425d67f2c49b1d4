"""`catenary run --lines`: each line a run."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from catenary.cli._input import Source
from catenary.cli._lines import LineRunner, read_in_thread
from catenary.cli._progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]

LINES = '{"t": 1}\r\n\n{"t": 50}\n   \n{"t": 3}'


async def results_of(rounds: list[int], *, jobs: int) -> list[tuple[str, int]]:
    written: list[tuple[str, int]] = []

    async def run(line: bytes, number: int) -> str:
        for _ in range(rounds[number - 1]):
            await asyncio.sleep(0)
        return line.decode()

    lines = (str(number).encode() for number in range(1, len(rounds) + 1))
    await LineRunner(run, lambda result, number: written.append((result, number)), jobs=jobs).all(lines)
    return written


@pytest.mark.parametrize("jobs", [1, 2, 50])
async def test_results_come_in_the_order_of_the_lines(jobs: int) -> None:
    rounds = [60, 0, 20, 0, 40] * 4
    assert await results_of(rounds, jobs=jobs) == [(str(n), n) for n in range(1, 21)]


async def test_no_more_than_so_many_run_at_once() -> None:
    now = most = 0

    async def run(_line: bytes, _number: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1

    await LineRunner(run, lambda _r, _n: None, jobs=3).all(iter([b"x"] * 30))
    assert most == 3


async def test_results_behind_a_slow_first_one_do_not_pile_up() -> None:
    started: list[int] = []
    gate = asyncio.Event()

    async def run(_line: bytes, number: int) -> None:
        started.append(number)
        if number == 1:
            await gate.wait()

    running = asyncio.create_task(LineRunner(run, lambda _r, _n: None, jobs=2).all(iter([b"x"] * 100)))
    await asyncio.sleep(0.1)
    assert len(started) < 12
    gate.set()
    await running
    assert len(started) == 100


async def test_a_result_is_written_before_the_next_line_comes() -> None:
    written: list[int] = []
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    def lines() -> Iterator[bytes]:
        yield b"1"
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(seen.wait(), 15), loop).result()
        yield b"2"

    def write(_result: None, number: int) -> None:
        written.append(number)
        seen.set()

    async def run(_line: bytes, _number: int) -> None:
        return None

    await LineRunner(run, write, jobs=8).all(lines())
    assert written == [1, 2]


async def test_an_error_of_the_input_comes_after_the_results_before_it() -> None:
    written: list[int] = []

    def lines() -> Iterator[bytes]:
        yield b"1"
        raise OSError("gone")

    async def run(_line: bytes, _number: int) -> None:
        return None

    with pytest.raises(OSError, match="gone"):
        await LineRunner(run, lambda _r, number: written.append(number), jobs=2).all(lines())
    assert written == [1]


async def test_cancelling_writes_what_is_done_and_stops_the_rest() -> None:
    written: list[int] = []
    stopped: list[int] = []
    last = asyncio.Event()

    async def run(_line: bytes, number: int) -> None:
        if number == 5:
            last.set()
        if number == 2:
            try:
                await asyncio.sleep(60)
            finally:
                stopped.append(number)

    running = asyncio.create_task(
        LineRunner(run, lambda _r, number: written.append(number), jobs=8).all(iter([b"x"] * 5))
    )
    await last.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (written, stopped) == ([1, 3, 4, 5], [2])


async def test_the_reading_thread_stops_when_nobody_wants_more() -> None:
    taken: list[int] = []

    def lines() -> Iterator[bytes]:
        for number in range(10_000):
            taken.append(number)
            yield b"x"

    reading = read_in_thread(lines())
    assert await anext(reading) == b"x"
    await reading.aclose()
    await asyncio.sleep(0.05)
    assert len(taken) < 200


def test_lines_are_cut_wherever_the_input_comes_in_pieces() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(3)

    source = Source(stdin=True)
    import unittest.mock

    with unittest.mock.patch.object(
        sys, "stdin", unittest.mock.Mock(buffer=unittest.mock.Mock(raw=Slow(LINES.encode())))
    ):
        assert list(source.lines()) == [b'{"t": 1}', b'{"t": 50}', b'{"t": 3}']


# On the command line


def test_each_line_is_a_run(call: Call, hot: Path) -> None:
    result = call("run", hot, "--lines", "-", stdin=LINES)
    assert result.exit_code == 0
    assert result.stdout == '{"t": 1}\n{"t": 50}\n{"t": 3}\n'
    assert result.stderr == "3 runs done\n"


def test_jsonl_has_one_outcome_a_line(call: Call, hot: Path) -> None:
    out = call("run", hot, "--lines", "-d", LINES, "--format", "jsonl").stdout
    outcomes = [json.loads(line) for line in out.splitlines()]
    assert [outcome["ends"][0]["relation"] for outcome in outcomes] == ["False", "True", "False"]
    assert len({outcome["runId"] for outcome in outcomes}) == 3


@pytest.mark.parametrize(("data", "count"), [(LINES, 3), ("\n", 0)])
def test_json_is_a_list(call: Call, hot: Path, data: str, count: int) -> None:
    assert len(json.loads(call("run", hot, "--lines", "-d", data, "--format", "json").stdout)) == count


def test_a_line_that_fails_is_named_and_the_others_run(call: Call, hot: Path) -> None:
    result = call("run", hot, "--lines", "--trace", "-d", '{"t": 1}\n{"t": "x"}\n{"t": 3}')
    assert result.exit_code == 1
    assert result.stdout == '{"t": 1}\n{"t": 3}\n'
    assert "error: line 2: node 'hot'" in result.stderr
    assert "line 3: > hot (exprFilter)" in result.stderr


def test_a_line_that_is_no_text_stops_with_a_usage_error(call: Call, hot: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b'{"t": 1}\n\xff\n')
    result = call("run", hot, "--lines", "-f", data)
    assert result.exit_code == 2
    assert result.stdout == '{"t": 1}\n'


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_jobs_is_a_positive_number(call: Call, hot: Path, jobs: str) -> None:
    assert call("run", hot, "--lines", "-", "--jobs", jobs).exit_code == 2


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_keep_what_is_done(chain_file: Callable[..., Path], number: signal.Signals, exit_code: int) -> None:
    chain = chain_file([("s", "sleep", {})])
    code = (
        "import asyncio, sys\nfrom catenary import Component, register\nfrom catenary.cli import main\n"
        "@register('sleep', category='test')\nclass Sleep(Component):\n"
        "    async def run(self, ctx, msg):\n"
        "        print('begun', msg.text, file=sys.stderr, flush=True)\n"
        "        await asyncio.sleep(float(msg.text))\n        return 'Success'\n"
        "main(['run', sys.argv[1], '--lines', '-', '--format', 'json', '--jobs', '2'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(chain)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("0\n60\n0\n61\n")  # and the input stays open: somebody may write more
        process.stdin.flush()
        first = process.stdout.readline()
        told: list[str] = []  # the last line gets its place when the one before it has ended
        while not told or told[-1] not in {"", "begun 61\n"}:
            told.append(process.stderr.readline())
        process.send_signal(number)
        out, err = process.stdout.read(), process.stderr.read()
        process.wait(15)
    assert process.returncode == exit_code, (told, err)
    assert len(json.loads(first + out)) == 2
    assert "2 runs done" in err
    assert "Traceback" not in err
    assert "Fatal" not in err


# The bar


@pytest.mark.parametrize("total", [2, None])
def test_a_terminal_gets_a_bar(total: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress(lambda: total)
    with progress:
        for _ in range(2):
            with progress.aside():
                pass
            progress.step()
    progress.tell_total()
    assert "runs" in terminal.getvalue()
    assert ("2/2" in terminal.getvalue()) is (total == 2)
    assert terminal.getvalue().endswith("2 runs done\n")


def test_runs_that_were_not_reached_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress(lambda: 5)
    progress.step()
    progress.tell_total()
    assert "1 of 5 runs done" in capsys.readouterr().err


def test_lines_are_counted_for_the_bar(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text(LINES)
    assert Source(file=str(file)).count_lines() == 3
    assert Source(stdin=True).count_lines() is None
    assert Source(file=os.devnull).count_lines() is None

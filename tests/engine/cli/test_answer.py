"""`catenary answer` and runs that wait, in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catenary import Engine
from catenary.cli import main
from catenary.cli._waiting import command_of

CHAIN = """
ruleChain: {id: pay}
metadata:
  nodes:
    - id: approve
      type: wait
      configuration:
        title: Payment
        prompt: "Pay ${msg.amount} EUR?"
        relations: [Approved, Rejected]
        answerers: [ann]
        use: merge
    - id: paid
      type: exprTransform
      configuration: {mapping: {paid: msg.amount, by: metadata._answerer, site: "'${global.site}'"}}
  connections:
    - {fromId: approve, toId: paid, type: Approved}
"""
LOOP = """
ruleChain: {id: loop}
metadata:
  nodes:
    - {id: each, type: for, configuration: {range: "[1, 2]", do: ask}}
    - {id: ask, type: wait}
  connections: []
"""
pytestmark = pytest.mark.timeout(90)  # each starts programs, which takes most of its time
Start = Callable[..., "tuple[subprocess.Popen[str], str]"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def start(tmp_path: Path, store: Path) -> Generator[Start]:
    """Start a chain in a process of its own; gives it when it waits, with the id of its run."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str, *options: str) -> tuple[subprocess.Popen[str], str]:
        file = tmp_path / "chain.yaml"
        file.write_text(text)
        arguments = [
            "run",
            str(file),
            "-d",
            '{"amount": 5}',
            "--store",
            str(store),
            "--set",
            "global.site=north",
            *options,
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "catenary", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(process)
        assert process.stderr is not None
        told = ""
        while "answer with:" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        found = re.search(r"[0-9a-f-]{36}", told)
        assert found, told
        return process, found[0]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def catenary(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(part) for part in arguments])


async def test_the_command_that_is_told_has_all_that_the_run_was_given() -> None:
    given = {"env_files": ("site.yaml",), "settings": ("global.key=s3cret", "global.n:=1"), "chains": ("more",)}
    async with Engine() as engine:
        asked = asyncio.Event()
        engine.pauses.on_open(lambda _: asked.set())
        run = asyncio.create_task(engine.load(CHAIN).run({"amount": 5}))
        await asked.wait()
        (pause,) = engine.pauses
        told = command_of(pause, {**given, "store": "s.db"})
        run.cancel()
    assert told.endswith(
        "--relation Approved --as ann --properties site.yaml --chains more "
        "--set global.key=VALUE --set global.n:=VALUE --store s.db"
    )


def test_another_process_answers(start: Start, store: Path) -> None:
    process, run_id = start(CHAIN)
    listed = catenary("answer", "--store", store)
    assert "Pay 5 EUR?" in listed.stdout
    assert f"catenary answer {run_id} approve --relation Approved --as ann --store {store}" in listed.stdout
    refused = catenary("answer", run_id, "approve", "--as", "bob", "--store", store)
    assert (refused.exit_code, "'bob' may not answer here" in refused.stderr) == (5, True)
    wrong = catenary("answer", run_id, "approve", "--as", "ann", "--relation", "Maybe", "--store", store)
    assert (wrong.exit_code, "relation 'Maybe' is none of" in wrong.stderr) == (1, True)
    given = catenary("answer", run_id[:8], "approve", "--as", "ann", "-d", '{"amount": 4}', "--store", store)
    assert (given.exit_code, given.stderr) == (0, "answered; the process of the run goes on\n")
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, json.loads(out)) == (0, {"paid": 4, "by": "ann", "site": "north"})
    again = catenary("answer", run_id, "approve", "--as", "ann", "--store", store)
    assert (again.exit_code, "was answered already by ann" in again.stderr) == (1, True)
    assert "nothing waits" in catenary("answer", "--store", store).stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_run_goes_on_when_its_process_is_gone(start: Start, store: Path, how: signal.Signals) -> None:
    process, run_id = start(CHAIN)
    process.send_signal(how)
    out, told = process.communicate(timeout=30)
    killed = how == signal.SIGKILL
    assert (process.returncode, out) == (-9 if killed else 6, "")
    assert killed or f"catenary answer {run_id} approve" in told
    answer = ["answer", run_id, "approve", "--as", "ann", "--store", store, "--set", "global.site=south"]
    given = catenary(*answer)
    assert given.exit_code == 0, given.stderr
    assert json.loads(given.stdout) == {"paid": 5, "by": "ann", "site": "south"}
    assert "the process of the run is gone: it goes on here as run" in given.stderr
    assert catenary(*answer).exit_code == 1


def test_what_waits_in_a_loop_is_interrupted_and_cannot_go_on(start: Start, store: Path) -> None:
    process, run_id = start(LOOP)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    given = catenary("answer", run_id, "ask", "--store", store)
    assert (given.exit_code, "its run was stopped" in given.stderr) == (1, True)


def test_what_waits_in_a_loop_of_a_killed_process_is_refused_with_the_reason(start: Start, store: Path) -> None:
    process, run_id = start(LOOP)
    process.kill()
    process.communicate(timeout=30)
    given = catenary("answer", run_id, "ask", "--visit", "1", "--store", store)
    assert given.exit_code == 1
    assert "the process of its run is gone, and it waits inside a loop" in given.stderr


def test_the_list_is_also_json(start: Start, store: Path) -> None:
    _, run_id = start(CHAIN)
    (one,) = json.loads(catenary("answer", run_id, "--store", store, "--format", "json").stdout)
    shown: dict[str, Any] = {name: one[name] for name in ("runId", "nodeId", "visit", "held", "relations")}
    assert shown == {
        "runId": run_id,
        "nodeId": "approve",
        "visit": 1,
        "held": True,
        "relations": ["Approved", "Rejected"],
    }


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    given = catenary("answer", "x", "y", "--store", tmp_path / "none.db")
    assert given.exit_code == 1
    assert "there is no store" in given.stderr


def statuses(store: Path, *options: str) -> dict[str, str]:
    listed = json.loads(catenary("runs", "--store", store, "--json", *options).stdout)
    return {run["runId"]: run["status"] for run in listed}


def test_a_run_that_waits_is_paused_in_the_history(start: Start, store: Path) -> None:
    process, run_id = start(CHAIN, "--record")
    deadline = time.monotonic() + 30
    while run_id not in statuses(store) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert statuses(store, "--status", "paused") == {run_id: "paused"}
    process.kill()
    process.communicate()
    assert statuses(store) == {run_id: "paused"}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_recorded_run_that_went_on_as_another_one_says_so(start: Start, store: Path, how: signal.Signals) -> None:
    process, run_id = start(CHAIN, "--record")
    deadline = time.monotonic() + 30
    while run_id not in statuses(store) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(how)
    process.communicate(timeout=30)
    assert catenary("answer", run_id, "approve", "--as", "ann", "--store", store).exit_code == 0
    listed = json.loads(catenary("runs", "--store", store, "--json").stdout)
    new_id = listed[0]["runId"]
    assert [(run["runId"], run["status"], run["resumedAs"]) for run in listed] == [
        (new_id, "completed", ""),
        (run_id, "resumed", new_id),
    ]
    assert statuses(store, "--status", "resumed") == {run_id: "resumed"}
    assert statuses(store, "--status", "paused") == {}
    assert statuses(store, "--status", "interrupted") == {}
    assert f"as {new_id}" in catenary("runs", "--store", store).stdout
    assert f"went on as run {new_id}" in catenary("trace", run_id, "--store", store).stdout
    written = json.loads(catenary("trace", run_id, "--store", store, "--json").stdout)
    assert (written["status"], written["resumedAs"]) == ("resumed", new_id)


def test_a_run_that_was_not_recorded_goes_on_without_a_record_unless_asked(start: Start, store: Path) -> None:
    for options, count in (((), 0), (("--record",), 1)):
        process, run_id = start(CHAIN)
        process.kill()
        process.communicate()
        assert catenary("answer", run_id, "approve", "--as", "ann", "--store", store, *options).exit_code == 0
        assert len(statuses(store)) == count


def test_the_trace_of_a_run_that_waits_says_so(start: Start, store: Path) -> None:
    process, run_id = start(CHAIN, "--record")
    deadline = time.monotonic() + 30
    while "waits for an answer" not in catenary("trace", run_id, "--store", store).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    told = catenary("trace", run_id, "--store", store).stdout
    assert "   Paused, in " in told
    assert "processing paused" not in told


def test_a_run_that_goes_on_here_finds_the_chains_that_it_runs(start: Start, store: Path, tmp_path: Path) -> None:
    add = "\n    - {id: add, type: flow, configuration: {targetId: tax, extend: true}}\n  connections:\n"
    chain = CHAIN.replace("\n  connections:\n", f"{add}    - {{fromId: paid, type: Success, toId: add}}\n")
    (tmp_path / "tax.yaml").write_text(
        "ruleChain: {id: tax}\nmetadata: {nodes: [{id: t, type: exprTransform, configuration: {expr: msg.paid * 2}}]}"
    )
    process, run_id = start(chain, "--chains", str(tmp_path))
    process.kill()
    process.communicate(timeout=30)
    answer = ["answer", run_id, "approve", "--as", "ann", "--store", store, "--set", "global.site=south"]
    given = catenary(*answer, "--chains", tmp_path)
    assert (given.exit_code, given.stdout) == (0, "10\n"), given.stderr

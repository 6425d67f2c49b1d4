"""Processes that end in the middle: what was approved is run once, and at most once more when it was under way."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.components.ai.permission.asking import approve, deny, wants

from catenary import Engine, Message
from catenary.cli import main
from catenary.errors import PauseError
from catenary.testing import Reply, ScriptedModel, ToolCall
from catenary_components.ai.tools.live import ToolCallInfo

pytestmark = pytest.mark.timeout(60)  # programs that start, up to three of them one after the other

PROGRAM = """
import asyncio, json, os, signal, sys, time
import catenary_components.ai.agent
from catenary import Engine, Message
from catenary_components.ai.tools.live import ToolCallInfo

folder, *rest = sys.argv[1:]

def send(to: str, call: ToolCallInfo) -> str:
    with open(f"{folder}/sent.txt", "a") as file:
        file.write(f"{to} {call.idempotency_key}\\n")
    if to == os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"sent to {to}"

async def main():
    engine = Engine(roots=[folder])
    engine.tool(send)
    engine.pauses.keep_in(f"{folder}/records.db")
    engine.load(f"{folder}/chain.json")
    if rest:
        await engine.answer(rest[0], "agent", data=json.loads(rest[1]))
    else:
        paused = await engine.run("c", Message("write", data_type="TEXT"))
        print(paused.run_id, flush=True)
        time.sleep(60)

for _ in range(int(os.environ["TIMES"]) - 1):
    if not os.fork():
        break
    os.wait()
asyncio.run(main())
"""


class Processes:
    """Runs an agent here, and the same one in processes that are killed."""

    def __init__(self, bench: Any, folder: Path, **options: Any) -> None:
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)
        settings = {"url": f"{bench.url}/v1", "key": "k", "model": "m", "tools": ["send"], "permission": "default"}
        nodes = [{"id": "agent", "type": "ai/agent", "configuration": {**settings, **options}}]
        (folder / "chain.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes}}))

    def _start(self, *arguments: str, dies: str = "", times: int = 1) -> subprocess.Popen[str]:
        command = [sys.executable, str(self.folder / "program.py"), str(self.folder), *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DIES": dies, "TIMES": str(times)}
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    @asynccontextmanager
    async def engine(self) -> AsyncGenerator[Engine]:
        """The same in this process."""

        def send(to: str, call: ToolCallInfo) -> str:
            with (self.folder / "sent.txt").open("a") as file:
                file.write(f"{to} {call.idempotency_key}\n")
            return f"sent to {to}"

        async with Engine(roots=[self.folder]) as engine:
            engine.tool(send)
            engine.pauses.keep_in(self.folder / "records.db")
            engine.load(self.folder / "chain.json")
            yield engine

    async def ask(self) -> str:
        """Have the agent ask. Returns: its run."""
        async with self.engine() as engine:
            return (await engine.run("c", Message("write", data_type="TEXT"))).run_id

    def ask_and_be_killed(self) -> str:
        """Have the agent ask in a process that is killed while it waits. Returns: its run."""
        with self._start() as process:
            assert process.stdout is not None
            run_id = process.stdout.readline().strip()
            process.kill()
        assert process.returncode == -signal.SIGKILL
        return run_id

    def answer_and_die(self, run_id: str, *answers: Any, at: str, times: int = 1) -> None:
        """Answer in a process that dies in the middle of a call; or in several, one after the other."""
        with self._start(run_id, json.dumps(list(answers)), dies=at, times=times) as process:
            process.wait(timeout=45)
        assert process.returncode == -signal.SIGKILL

    async def answer(self, run_id: str, *answers: Any) -> str:
        """Answer. Returns: what it comes to."""
        async with self.engine() as engine:
            outcome = await engine.answer(run_id, "agent", data=list(answers))
            assert outcome is not None
            return outcome.message.text

    @property
    def sent(self) -> list[list[str]]:
        """What was sent: to whom, and by which key."""
        file = self.folder / "sent.txt"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(params=["run", "session", "session in memory"])
def processes(bench: Any, tmp_path: Path, request: Any) -> Processes:
    stores = {"session": f"files:{tmp_path / 'sessions'}", "session in memory": "memory"}
    store = stores.get(request.param)
    return Processes(bench, tmp_path, session={"key": "s", "store": store} if store else None)


async def test_another_process_goes_on_after_the_first_was_killed(bench: Any, processes: Processes) -> None:
    bench.model.add(wants(c1="ann", c2="bob"), "done")
    run_id = processes.ask_and_be_killed()
    assert processes.sent == []
    assert await processes.answer(run_id, approve("c1"), deny("c2", note="not him")) == "done"
    assert [to for to, _ in processes.sent] == ["ann"]
    told = {one["tool_call_id"]: one["content"] for one in bench.last if one["role"] == "tool"}
    assert told == {"c1": "sent to ann", "c2": "Permission denied by user: not him"}
    with pytest.raises(PauseError, match="was answered already"):
        await processes.answer(run_id, approve("c1"))
    assert len(processes.sent) == 1


async def test_a_call_in_the_middle_of_which_the_process_dies_is_begun_once_more_with_the_same_key(
    bench: Any, processes: Processes
) -> None:
    bench.model.add(wants(c1="ann"), "done")
    run_id = await processes.ask()
    processes.answer_and_die(run_id, approve("c1"), at="ann")
    listed = CliRunner().invoke(main, ["answer", "--store", str(processes.folder / "records.db")]).stdout
    assert "its process ended in the middle of the answer" in listed
    assert await processes.answer(run_id, deny("c1")) == "done"  # the first answer counts
    first, second = processes.sent
    assert first == second
    assert first[1] != "c1"
    assert bench.last[-1]["content"] == "sent to ann"


async def test_a_call_whose_process_dies_each_time_is_begun_twice_at_most(bench: Any, processes: Processes) -> None:
    bench.model.add(wants(c1="ann"), "done")
    run_id = await processes.ask()
    processes.answer_and_die(run_id, approve("c1"), at="ann", times=2)
    assert await processes.answer(run_id, approve("c1")) == "done"
    assert len(processes.sent) == 2
    assert bench.last[-1]["content"].startswith("[ERROR] The program ended 2 times while this tool ran")


async def test_a_call_that_was_run_is_not_run_again_though_another_one_killed_the_process(
    bench: Any, tmp_path: Path
) -> None:
    processes = Processes(bench, tmp_path, tools=[{"name": "send", "serial": True}])
    bench.model.add(wants(c1="ann", c2="bob"), "done")
    run_id = await processes.ask()
    processes.answer_and_die(run_id, approve("c1"), approve("c2"), at="bob")
    assert await processes.answer(run_id, approve("c1"), approve("c2")) == "done"
    assert [to for to, _ in processes.sent] == ["ann", "bob", "bob"]
    assert [one["content"] for one in bench.last if one["role"] == "tool"] == ["sent to ann", "sent to bob"]


@pytest.mark.parametrize("nothing", [("", "TEXT"), ({"answers": []}, "JSON")])
async def test_a_session_in_the_middle_of_approved_calls_goes_on_when_nothing_is_said_to_it(
    bench: Any, tmp_path: Path, nothing: Any
) -> None:
    processes = Processes(bench, tmp_path, session={"key": "s", "store": f"files:{tmp_path / 'sessions'}"})
    bench.model.add(wants(c1="ann"), "done")
    processes.answer_and_die(await processes.ask(), approve("c1"), at="ann")
    async with processes.engine() as engine:
        data, data_type = nothing
        done = await engine.run("c", Message(data, data_type=data_type))
    assert (done.message.text, len(processes.sent)) == ("done", 2)
    assert bench.last[-1]["content"] == "sent to ann"


async def test_something_new_that_is_said_to_it_runs_nothing_more_and_forgets_no_result(
    bench: Any, tmp_path: Path
) -> None:
    processes = Processes(
        bench,
        tmp_path,
        tools=[{"name": "send", "serial": True}],
        session={"key": "s", "store": f"files:{tmp_path / 'sessions'}"},
    )
    bench.model.add(wants(c1="ann", c2="bob"), "done")
    processes.answer_and_die(await processes.ask(), approve("c1"), approve("c2"), at="bob")
    async with processes.engine() as engine:
        await engine.run("c", Message("hello?", data_type="TEXT"))
    assert len(processes.sent) == 2
    assert [one["content"] for one in bench.last[-3:]] == [
        "sent to ann",
        "[ERROR] Previous tool execution failed or was interrupted. Tool: send",
        "hello?",
    ]


async def test_a_chain_that_is_a_tool_gets_the_key_of_an_approved_call(bench: Any) -> None:
    expression = 'metadata.idempotencyKey == nil ? "none" : "a key of " + string(len(metadata.idempotencyKey))'
    node = {"id": "key", "type": "exprTransform", "configuration": {"expr": expression}}
    bench.engine.load({"ruleChain": {"id": "keyed", "root": False}, "metadata": {"nodes": [node]}})
    tool = {"type": "rulechain", "name": "send", "targetId": "keyed", "description": "Send."}
    bench.load(wants(c1="ann"), "done", wants(c2="bob"), "done", tools=[tool], permission="default")
    paused = await bench.say()
    await bench.engine.answer(paused.run_id, "agent", data=[approve("c1")])
    assert bench.last[-1]["content"] == "a key of 32"


async def test_a_chain_that_is_a_tool_gets_no_metadata_with_other_calls(bench: Any) -> None:
    node = {"id": "key", "type": "exprTransform", "configuration": {"expr": "string(len(metadata))"}}
    bench.engine.load({"ruleChain": {"id": "keyed", "root": False}, "metadata": {"nodes": [node]}})
    tool = {"type": "rulechain", "name": "send", "targetId": "keyed", "description": "Send."}
    bench.load(wants(c1="ann"), "done", tools=[tool])
    await bench.say()
    assert bench.last[-1]["content"] == "0"


# At a shell


@pytest.fixture
def catenary(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line."""
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_an_agents_question_is_answered_at_a_shell(outlet: Any, catenary: Any, tmp_path: Path) -> None:
    outlet.app = ScriptedModel(
        [Reply(tool_calls=[ToolCall("write", {"path": "note.txt", "content": "bolts"}, "c1")]), "done"]
    )
    write = {"type": "builtin", "name": "write", "config": {"workDir": str(tmp_path)}}
    Processes(outlet, tmp_path, tools=[write], approvers=["ann"])
    store = ("--store", str(tmp_path / "records.db"))
    asked = catenary("run", str(tmp_path / "chain.json"), "-d", "hi", *store)
    assert asked.exit_code == 6
    found = re.search(r"answer with: catenary answer (\S+) agent", asked.stderr)
    assert found is not None
    answer = ("answer", found[1], "agent", *store)
    assert "Run write?" in catenary("answer", *store).stdout
    (listed,) = json.loads(catenary("answer", *store, "--format", "json").stdout)
    assert listed["details"]["toolCalls"][0]["suggestedRules"][0]["match"] == "note.txt"
    refused = catenary(*answer, "--relation", "Approve")
    assert (refused.exit_code, "may not answer here; these may: ann" in refused.stderr) == (5, True)
    wrong = catenary(*answer, "--as", "ann", "-d", json.dumps([approve("c9")]))
    assert (wrong.exit_code, "there is no call c9 that waits for an answer" in wrong.stderr) == (1, True)
    assert not (tmp_path / "note.txt").exists()
    done = catenary(*answer, "--as", "ann", "-d", json.dumps([approve("c1")]))
    assert (done.exit_code, done.stdout.strip()) == (0, "done")
    assert (tmp_path / "note.txt").read_text() == "bolts"
    again = catenary(*answer, "--as", "ann", "--relation", "Approve")
    assert (again.exit_code, "was answered already" in again.stderr) == (1, True)


def test_a_part_of_the_answers_at_a_shell_leaves_the_rest_to_be_answered(
    outlet: Any, catenary: Any, tmp_path: Path
) -> None:
    calls = [ToolCall("write", {"path": f"{n}.txt", "content": "x"}, f"c{n}") for n in (1, 2)]
    outlet.app = ScriptedModel([Reply(tool_calls=calls), "done"])
    Processes(outlet, tmp_path, tools=[{"type": "builtin", "name": "write", "config": {"workDir": str(tmp_path)}}])
    store = ("--store", str(tmp_path / "records.db"))
    asked = catenary("run", str(tmp_path / "chain.json"), "-d", "hi", *store)
    run_id = re.search(r"answer with: catenary answer (\S+) agent", asked.stderr)
    assert run_id is not None
    part = catenary("answer", run_id[1], "agent", *store, "-d", json.dumps([deny("c1")]))
    assert part.exit_code == 6
    rest = re.search(r"answer with: catenary answer (\S+) agent", part.stderr)
    assert rest is not None
    done = catenary("answer", rest[1], "agent", *store, "--relation", "Approve")
    assert (done.exit_code, done.stdout.strip()) == (0, "done")
    assert [file.name for file in sorted(tmp_path.glob("*.txt"))] == ["2.txt"]


def test_the_command_that_is_shown_answers_the_question_as_it_stands(
    outlet: Any, catenary: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shed.py").write_text("def lock(door: str) -> str:\n    '''Lock a door.'''\n    return f'{door} is locked'\n")
    model = outlet.app = ScriptedModel([Reply(tool_calls=[ToolCall("lock", {"door": "back"}, "c1")]), "done"])
    Processes(outlet, tmp_path, tools=["lock"])
    asked = catenary("run", "chain.json", "-d", "hi", "--store", "records.db", "--tools", "shed.py")
    shown = re.search(r"answer with: catenary (.*)", asked.stderr)
    assert shown is not None
    assert shown[1].endswith("--relation Approve --tools shed.py --store records.db")
    done = catenary(*shlex.split(shown[1]))
    assert (done.exit_code, done.stdout.strip()) == (0, "done")
    assert model.requests[1].messages[-1]["content"] == "back is locked"

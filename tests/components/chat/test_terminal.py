"""`catenary chat` at a terminal: prompts, interruptions, commands."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

_PROGRAM = """
import sys
from catenary.cli import main
from catenary_components.chat.command import chat
main.add_command(chat)
main(["chat", *sys.argv[1:]])
"""
CHAT = [sys.executable, "-c", _PROGRAM]
PROMPT = "you> "

SLOW = """
from catenary.testing import Reply, ScriptedModel
from catenary.http.inprocess import register_mock
from catenary_components.ai import Agent

pieces = [f"piece{n} " for n in range(400)]
register_mock("slow", ScriptedModel([Reply(pieces=pieces, piece_delay_s=0.05), "I go on."], default="again"))
agent = Agent("Slow", model="mock:slow")
"""


class Terminal:
    """A conversation at a terminal of its own."""

    def __init__(self, *args: str, cwd: Path) -> None:
        self._side, other = pty.openpty()
        path = os.pathsep.join([*filter(None, sys.path), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [*CHAT, *args],
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=cwd,
            env={
                **os.environ,
                "TERM": "dumb",
                "NO_COLOR": "1",
                "PYTHONPATH": path,
                "CATENARY_DATA_DIR": str(cwd / "data"),
            },
            start_new_session=True,
        )
        os.close(other)

    def wait_for(self, text: str) -> str:
        """Read until a text has come, and give all that came."""
        seen, end = "", time.monotonic() + 30
        while text not in seen:
            ready, _, _ = select.select([self._side], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"waited for {text!r}, got {seen!r}"
            seen += os.read(self._side, 65536).decode()
        return seen.replace("\r", "")

    def wait_until_it_sleeps(self) -> None:
        """Wait until it waits for a key: what comes while readline is at work on one is seen at the next key only."""
        stat, end = Path(f"/proc/{self.process.pid}/stat"), time.monotonic() + 30
        looks = 0
        while looks < 10:  # one alone may meet it as it waits for a lock
            looks = looks + 1 if stat.read_text().rpartition(")")[2].split()[0] == "S" else 0
            assert time.monotonic() < end, "it is still at work"
            time.sleep(0.01)

    def type(self, keys: str) -> None:
        os.write(self._side, keys.encode())

    def ask(self, line: str) -> str:
        """Type a line, and give what comes up to the next prompt."""
        self.type(line + "\r")
        seen = self.wait_for(f"\n{PROMPT}")
        return seen.partition("\n")[2].removesuffix(PROMPT)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        self.type("\x04")
        return self.process.wait(timeout=30)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._side)


Open = Callable[..., Terminal]
pytestmark = pytest.mark.timeout(90)  # each test starts programs


@pytest.fixture
def open_chat(tmp_path: Path) -> Generator[Open]:
    opened: list[Terminal] = []

    def start(*args: str) -> Terminal:
        terminal = Terminal(*args, cwd=tmp_path)
        opened.append(terminal)
        terminal.wait_for(PROMPT)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def slow(tmp_path: Path, open_chat: Open) -> Terminal:
    (tmp_path / "slow.py").write_text(SLOW)
    return open_chat("slow.py:agent")


def test_a_new_user_can_talk_without_a_key_and_ctrl_d_ends(open_chat: Open) -> None:
    chat = open_chat()
    assert "I am a mock model" in chat.ask("hello")
    assert '* calculator(expression="3 * 4")' in chat.ask("what is 3 * 4?")
    assert chat.end() == 0


def test_ctrl_c_interrupts_an_answer_and_keeps_what_was_said(slow: Terminal) -> None:
    slow.type("Count.\r")
    slow.wait_for("piece3")
    slow.interrupt()
    assert "interrupted; what was said so far is kept" in slow.wait_for(f"\n{PROMPT}")
    said = slow.ask("/history")
    assert "user: Count." in said
    assert "assistant: piece0 piece1 piece2" in said
    assert "piece399" not in said
    assert slow.ask("And now?") == "I go on.\n"
    assert slow.end() == 0


def test_a_second_ctrl_c_ends_a_turn_that_the_agent_cannot_end(tmp_path: Path, open_chat: Open) -> None:
    nodes = [
        {"id": "a", "type": "ai/agent", "configuration": {"model": "mock:chat"}},
        {"id": "wait", "type": "delay", "configuration": {"delayMs": 600_000}},
    ]
    connections = [{"fromId": "a", "toId": "wait", "type": "Success"}]
    chain = {"ruleChain": {"id": "slow"}, "metadata": {"nodes": nodes, "connections": connections}}
    (tmp_path / "slow.json").write_text(json.dumps(chain))
    chat = open_chat("slow.json")
    chat.type("hello\r")
    chat.wait_for("I know very little.")
    chat.interrupt()
    chat.wait_until_it_sleeps()
    chat.interrupt()
    assert "interrupted; the turn was ended at once" in chat.wait_for(f"\n{PROMPT}")
    assert chat.end() == 0


def test_ctrl_c_at_the_prompt_drops_what_was_typed(slow: Terminal) -> None:
    slow.type("half a")
    slow.wait_for("half a")
    slow.wait_until_it_sleeps()
    slow.interrupt()
    slow.wait_for(f"\n{PROMPT}")
    assert "nothing was said yet" in slow.ask("/history")


def test_a_backslash_goes_on_in_the_next_line(open_chat: Open) -> None:
    chat = open_chat()
    chat.type("one\\\r")
    chat.wait_for("...> ")
    assert "two" in chat.ask("two")
    assert "user: one\ntwo" in chat.ask("/history")


def test_slash_exit_ends(open_chat: Open) -> None:
    chat = open_chat()
    chat.type("/exit\r")
    assert chat.process.wait(timeout=30) == 0


def test_a_session_is_gone_on_with_by_another_process(open_chat: Open) -> None:
    first = open_chat("--session", "ann")
    first.ask("remember me")
    assert first.end() == 0
    assert "user: remember me" in open_chat("--session", "ann").ask("/history")


def test_commands_are_completed(open_chat: Open) -> None:
    chat = open_chat()
    chat.type("/hist\t\r")
    assert "nothing was said yet" in chat.wait_for(f"\n{PROMPT}")


ASKING = """
from catenary.testing import ScriptedModel, calls
from catenary.http.inprocess import register_mock
from catenary_components.ai import Agent

opened = []

def door(to: str = "front") -> str:
    "Open a door."
    return f"opened {to}"

def told(request):
    last = request.messages[-1]
    if last["role"] != "tool":
        return calls("door") if "door" in last["content"] else calls("weather") if "sky" in last["content"] else "Hm."
    return "It said: " + last["content"]

register_mock("asking", ScriptedModel(default=told))
weather = {"type": "external", "name": "weather", "description": "Look at the sky.", "readOnly": True}
agent = Agent("Porter", model="mock:asking", tools=[door, weather], max_repeats=0)
"""
QUESTION = "May door({}) run? [y]es, [N]o, [a]lways, [e]dit, or why not: "


@pytest.fixture
def porter(tmp_path: Path, open_chat: Open) -> Terminal:
    (tmp_path / "asking.py").write_text(ASKING)
    return open_chat("asking.py:agent")


def asked(chat: Terminal, line: str = "Open the door.", question: str = QUESTION) -> str:
    chat.type(line + "\r")
    return chat.wait_for(question)


def test_an_approval_is_given_at_the_prompt_and_what_is_not_said_is_no(porter: Terminal) -> None:
    assert "no rule allows it" in asked(porter)
    porter.type("x\r")
    assert "y: it runs." in porter.wait_for(QUESTION)
    assert porter.ask("y") == "* door()\n  door: opened front\nIt said: opened front\n"
    for no in ("", "n", "No"):
        asked(porter)
        assert porter.ask(no).endswith("It said: Permission denied by user\n")
    asked(porter)
    assert porter.ask("not at night").endswith("It said: Permission denied by user: not at night\n")


def test_always_lets_the_same_call_pass_in_this_session(porter: Terminal) -> None:
    asked(porter)
    porter.ask("a")
    assert "It said: opened front" in porter.ask("The door again.")
    porter.ask("/new other")
    asked(porter)
    assert "denied" in porter.ask("n")


def test_a_rule_that_was_accepted_is_listed_and_can_be_taken_back(porter: Terminal) -> None:
    assert porter.ask("/rules") == "no rule was accepted in this session\n"
    asked(porter)
    porter.ask("a")
    assert porter.ask("/rules").startswith("1  allow door")
    assert porter.ask("/rules revoke 2") == "there is no rule 2; /rules lists them\n"
    assert porter.ask("/rules revoke").startswith("there is no rule without a number;")
    assert porter.ask("/rules all").startswith("there is no /rules all;")
    assert porter.ask("/rules revoke 1").startswith("no longer: allow door")
    assert porter.ask("/rules") == "no rule was accepted in this session\n"
    asked(porter)
    assert "denied" in porter.ask("n")


def test_the_arguments_can_be_edited_and_what_does_not_fit_is_asked_for_again(porter: Terminal) -> None:
    asked(porter)
    porter.type("e\r")
    porter.wait_for("arguments> {}")
    porter.type("\x15[1]\r")
    assert "arguments are a JSON object, as in {}" in porter.wait_for("arguments> [1]")
    porter.type("\x15{to\r")
    assert "this is not JSON" in porter.wait_for("arguments> {to")
    porter.type('\x15{"to": ["a"]}\r')
    assert "error: " in porter.wait_for(QUESTION)
    porter.type("e\r")
    porter.wait_for("arguments> {}")
    assert "It said: opened back" in porter.ask('\x15{"to": "back"}')


def test_ctrl_c_or_ctrl_d_at_a_question_takes_it_back_and_the_conversation_goes_on(porter: Terminal) -> None:
    asked(porter)
    porter.wait_until_it_sleeps()
    porter.interrupt()
    porter.wait_for(f"\n{PROMPT}")
    assert porter.ask("Well?") == "Hm.\n"
    asked(porter)
    porter.type("\x04")
    porter.wait_for(f"\n{PROMPT}")
    assert porter.ask("Well?") == "Hm.\n"
    assert porter.end() == 0


def test_the_result_of_a_call_that_is_done_outside_is_typed(porter: Terminal) -> None:
    for result, shown in (("rain", "rain"), ("!no window", "no window")):
        asked(porter, "Look at the sky.", "result of weather> ")
        assert porter.ask(result) == f"It said: {shown}\n"  # and what was typed is not shown again


def test_a_question_that_was_left_open_is_asked_when_the_session_is_gone_on_with(
    tmp_path: Path, open_chat: Open
) -> None:
    (tmp_path / "asking.py").write_text(ASKING)
    first = open_chat("asking.py:agent", "--session", "ann")
    asked(first)
    first.process.kill()
    first.process.wait()
    second = open_chat("asking.py:agent", "--session", "ann")
    assert "a question of this session is open" in asked(second, "Are you there?")
    said = second.ask("y")
    assert "It said: opened front" in said
    assert said.endswith("Hm.\n")


INSIDE = """
from catenary.testing import ScriptedModel, calls
from catenary.http.inprocess import register_mock

def door() -> str:
    "Open the door."
    return "opened"

register_mock("outer", ScriptedModel([calls("helper", q="?"), "All done.", calls("helper", q="!"), "Never mind."]))
register_mock("inner", ScriptedModel([calls("door"), "It is open.", calls("door")]))
"""


def test_an_agent_inside_another_chain_asks_at_the_prompt_too(tmp_path: Path, open_chat: Open) -> None:
    helper = {"type": "rulechain", "name": "helper", "targetId": "helper", "description": "helps"}
    inner = {"model": "mock:inner", "tools": ["door"], "permission": "default"}
    for name, settings in (("desk", {"model": "mock:outer", "tools": [helper], "maxRepeats": 0}), ("helper", inner)):
        node = {"id": name, "type": "ai/agent", "configuration": settings}
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"ruleChain": {"id": name}, "metadata": {"nodes": [node]}}), "utf-8"
        )
    (tmp_path / "tools.py").write_text(INSIDE)
    chat = open_chat("desk.json", "--chains", "helper.json", "--tools", "tools.py")
    asked(chat)
    said = chat.ask("y")
    assert "door: opened" in said
    assert said.endswith("All done.\n")
    asked(chat)
    chat.wait_until_it_sleeps()
    chat.interrupt()
    assert "Never mind." in chat.wait_for(f"\n{PROMPT}")
    assert chat.end() == 0

"""`catenary eval` without an expression at a terminal: the conversation."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from catenary.cli._completion import completions
from catenary.cli._given import Given
from catenary.cli._repl import Repl
from catenary.cli._session import Session
from catenary.expr import Environment
from catenary.message import Message

if TYPE_CHECKING:
    from collections.abc import Generator

CATENARY = [sys.executable, "-c", "from catenary.cli import main; main()"]


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, *args: str) -> None:
        self._side, other = pty.openpty()
        self.process = subprocess.Popen(
            [*CATENARY, *args],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(other)
        self.wait_for("> ")

    def wait_for(self, text: str) -> str:
        """Read until a text has come, and give all that came."""
        seen, end = "", time.monotonic() + 15
        while text not in seen:
            ready, _, _ = select.select([self._side], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"waited for {text!r}, got {seen!r}"
            seen += self._read()
        return seen

    def _read(self) -> str:
        try:
            return os.read(self._side, 65536).decode()
        except OSError:  # the process is gone
            raise AssertionError("the process has ended") from None

    def wait_until_it_sleeps(self) -> None:
        """Wait until it waits for a key: what comes while readline is at work on one is seen at the next key only."""
        stat, end = Path(f"/proc/{self.process.pid}/stat"), time.monotonic() + 15
        while stat.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < end, "it is still at work"

    def type(self, keys: str) -> None:
        os.write(self._side, keys.encode())

    def ask(self, line: str) -> str:
        """Type a line, and give what comes up to the next prompt."""
        self.type(line + "\r")
        seen = self.wait_for("\n> ")
        return seen.replace("\r", "").partition("\n")[2].removesuffix("> ")

    def end(self) -> int:
        self.type("\x04")
        code = self.process.wait(timeout=15)
        os.close(self._side)
        return code


@pytest.fixture
def terminal() -> Generator[Terminal]:
    opened = Terminal("eval", "-d", '{"t": 41, "total": {"net": 1}}', "-m", "site=north")
    try:
        yield opened
    finally:
        if opened.process.poll() is None:
            opened.process.kill()
            opened.process.wait()


def test_expressions_are_answered_and_ctrl_d_ends(terminal: Terminal) -> None:
    assert terminal.ask("msg.t + 1") == "42\n"
    assert terminal.ask("") == ""
    assert terminal.end() == 0


def test_an_error_does_not_end_it(terminal: Terminal) -> None:
    said = terminal.ask("msg.t +")

    assert "found the end" in said
    assert "^" in said
    assert terminal.ask("1") == "1\n"


def test_ctrl_c_drops_what_was_typed(terminal: Terminal) -> None:
    terminal.type("1 + ")
    terminal.wait_for("1 + ")  # the echo
    terminal.wait_until_it_sleeps()
    terminal.process.send_signal(signal.SIGINT)
    terminal.wait_for("\n> ")

    assert terminal.ask("7") == "7\n"


def test_ctrl_c_during_an_evaluation_does_not_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    talking = session()
    monkeypatch.setattr(talking, "one", interrupted)

    assert Repl(talking)._answer("1")
    assert capsys.readouterr().err == "interrupted\n"


def test_a_name_is_completed(terminal: Terminal) -> None:
    terminal.type("msg.tot\t")

    assert terminal.ask(".net").endswith("1\n")


def test_the_line_before_comes_back(terminal: Terminal) -> None:
    terminal.ask("msg.t")
    terminal.type("\x10")  # as the arrow does

    assert terminal.ask(" * 2").endswith("82\n")


def test_commands_change_the_message(terminal: Terminal) -> None:
    assert terminal.ask(':data {"t": 1}') == '{"t": 1}\n'
    assert terminal.ask("msg.t") == "1\n"
    assert terminal.ask(":meta kind=a=b") == "site=north\nkind=a=b\n"
    assert terminal.ask("metadata.kind") == '"a=b"\n'
    assert terminal.ask(":type T") == "T\n"
    assert terminal.ask("type") == '"T"\n'
    assert terminal.ask(":var n:=2") == ""
    assert terminal.ask("vars.n") == "2\n"


def test_commands_tell_what_there_is(terminal: Terminal) -> None:
    for command in (":data", ":meta", ":names", ":functions", ":explain", ":quit"):
        assert command in terminal.ask(":help")
    assert '"site":"north"' in terminal.ask(":names")
    assert terminal.ask(":functions upper").startswith("upper(")
    assert "did you mean 'upper'" in terminal.ask(":functions uper")
    assert "runs as" in terminal.ask(":explain msg.t")


def test_modes_change_what_a_line_is(terminal: Terminal) -> None:
    assert terminal.ask(":mode template") == "template\n"
    assert terminal.ask("t=${msg.t}") == '"t=41"\n'
    assert terminal.ask(":raw") == "values are shown as text\n"
    assert terminal.ask("t=${msg.t}") == "t=41\n"
    assert terminal.ask(":mode js") == "js\n"
    assert terminal.ask("return msg.t") == "41\n"
    assert "it is one of" in terminal.ask(":mode x")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (":nope", "there is no command :nope"),
        (":hlp", "did you mean ':help'?"),
        (":dta", "did you mean ':data'?"),
        (":data @/nowhere", "cannot read /nowhere"),
        (":data @", "no file name"),
        (":meta x", "has no '='"),
        (":var x:=[", "not JSON"),
        (":explain", "write :explain EXPRESSION"),
        (":", "there is no command"),
    ],
)
def test_wrong_commands_are_told(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert Repl(session())._answer(line)
    assert said in capsys.readouterr().err


def test_quit_ends(terminal: Terminal) -> None:
    terminal.type(":quit\r")

    assert terminal.process.wait(timeout=15) == 0


# Completion


def session(kind: str = "expression") -> Session:
    given = Given(Message({"name": 1, "nested": {"deep": 1, "two words": 2}}, metadata={"site": "n"}), {})
    return Session(Environment(vars={"limit": 1}), given, kind, raw=False, form="text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("msg.n", ["msg.name", "msg.nested"]),
        ("msg.nested.", ["msg.nested.deep"]),
        ("msg?.nested?.d", ["msg?.nested?.deep"]),
        ("vars.", ["vars.limit"]),
        ("metadata.", ["metadata.site"]),
        ("msg.name.", []),
        ("msg.absent.x", []),
        ("upp", ["upper("]),
        ("metad", ["metadata"]),
        ("zzz", []),
        ("site", []),
    ],
)
def test_names_are_completed_by_what_is_there(typed: str, found: list[str]) -> None:
    assert completions(session(), typed) == found


def test_metadata_keys_complete_in_templates() -> None:
    assert "site" in completions(session("template"), "si")

"""How commands are found, loaded and told apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from catenary.cli import _commands, _group, main
from catenary.cli._commands import Entry, find_all_entries, find_entries, summary_of
from catenary.errors import ChainError, EngineError, Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

COMMANDS = {"check", "components", "demo", "docs", "draw", "eval", "render", "run", "schema"}


def install(folder: Path, entries: str, name: str = "other") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)


def group_of(**entries: str) -> _group.CommandGroup:
    group = _group.CommandGroup("catenary")
    group._entries = {name: entry for name, value in entries.items() if (entry := Entry.of(name, value))}
    return group


def raising(error: Exception) -> click.Group:
    group = group_of()

    @group.command("fail")
    def fail() -> None:
        raise error

    return group


def test_help_lists_all_commands(call: Callable[..., Result]) -> None:
    result = call("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout
    assert "cannot be loaded" not in result.stdout


def test_no_arguments_show_the_help(call: Callable[..., Result]) -> None:
    result = call()
    assert result.exit_code == 2
    assert "Commands:" in result.output


def test_the_version_is_told(call: Callable[..., Result]) -> None:
    from catenary import __version__

    assert call("--version").stdout == f"catenary {__version__}\n"


def test_an_unknown_command_gets_a_guess(call: Callable[..., Result]) -> None:
    result = call("chekc")
    assert result.exit_code == 2
    assert "there is no command 'chekc'; did you mean 'check'?" in result.stderr


def test_an_unknown_option_is_a_usage_error(call: Callable[..., Result]) -> None:
    assert call("--nonsense").exit_code == 2


def test_help_imports_no_command_and_no_component() -> None:
    code = (
        "import sys\nfrom catenary.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "bad = {'pydantic', 'yaml', 'httpx', 'asyncio', 'catenary_components', 'catenary.cli.run'}\n"
        "bad |= {'importlib.metadata'}\n"
        "sys.exit(str(bad & set(sys.modules)) if bad & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_quick_and_full_search_find_the_same() -> None:
    assert find_entries() == find_all_entries()


def test_a_package_elsewhere_on_the_path_brings_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path,
        "[x]\nno = a:b\n\n[catenary.commands]\n# a comment\nhello = hello_cli:hello [server, js]\nbad = oops\n",
    )
    (tmp_path / "broken-1.dist-info").mkdir()
    (tmp_path / "hello_cli.py").write_text(
        '"""`hello`: greet."""\nimport click\n\n@click.command()\ndef hello():\n    click.echo("hi")\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find_entries()
    assert found["hello"] == Entry("hello", "hello_cli", "hello", ("server", "js"))
    assert "bad" not in found
    assert "run" in found
    group = group_of(hello="hello_cli:hello")
    assert "Greet." in CliRunner().invoke(group, ["--help"]).output
    assert CliRunner().invoke(group, ["hello"]).output == "hi\n"


def test_the_first_of_two_with_one_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        install(tmp_path, f"[catenary.commands]\nx = {name}:x\n", name)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing.zip")])
    assert find_entries()["x"].module == "a"


def test_what_the_quick_search_misses_is_found_when_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_group, "find_all_entries", lambda: {"x": Entry("x", "catenary.cli.schema", "schema")})
    assert "JSON Schema" in CliRunner().invoke(group_of(), ["x", "--help"]).output


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("missing_package.cli:x", "install the package that has 'missing_package'"),
        ("missing_package.cli:x [server]", "pip install 'catenary[server]'"),
        ("catenary.cli.run:nothing", "has no attribute 'nothing'"),
    ],
)
def test_a_command_that_cannot_be_loaded_says_why_and_disturbs_no_other(value: str, sentence: str) -> None:
    group = group_of(x=value, schema="catenary.cli.schema:schema")
    result = CliRunner().invoke(group, ["x", "--any", "option"])
    assert result.exit_code == 1
    assert "the command 'x' cannot be loaded" in result.output
    assert sentence in result.output
    assert CliRunner().invoke(group, ["schema", "--help"]).exit_code == 0


def test_help_says_what_cannot_be_loaded() -> None:
    result = CliRunner().invoke(group_of(x="missing_package.cli:x"), ["--help"])
    assert result.exit_code == 0
    assert "cannot be loaded" in result.output


def test_a_bug_in_a_command_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "buggy_cli.py").write_text('"""Buggy."""\n1 / 0\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    group = group_of(buggy="buggy_cli:x")
    assert CliRunner().invoke(group, ["--help"]).exit_code == 0
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(group, ["buggy"], catch_exceptions=False)


@pytest.mark.parametrize(
    "source", ["", "import click\n", '""', None, '"""\n'], ids=["empty", "no text", "two quotes", "no file", "open"]
)
def test_no_summary_where_a_module_has_none(
    source: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if source is not None:
        (tmp_path / "plain_cli.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert summary_of(Entry("x", "plain_cli", "x")) == ""


def test_no_summary_of_a_name_that_is_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> Any:
        raise ValueError

    monkeypatch.setattr("importlib.util.find_spec", refuse)
    assert summary_of(Entry("x", "never_imported", "x")) == ""


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            ChainError("no chain", file="c.json", line=2, column=3, hint="look"),
            3,
            "error: c.json:2:3: chain.error: no chain\n  hint: look",
        ),
        (EngineError("closed"), 1, "error: closed\n"),
        (Refused("no key"), 5, "error: no key\n"),
        (click.ClickException("plain"), 1, "Error: plain\n"),
        (click.UsageError("wrong"), 2, "Error: wrong\n"),
        (click.Abort(), 130, "interrupted\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),  # type: ignore[list-item]
    ],
)
def test_errors_become_a_sentence_and_an_exit_code(error: Exception, code: int, text: str) -> None:
    result = CliRunner().invoke(raising(error), ["fail"])
    assert result.exit_code == code
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_a_bug_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(raising(ZeroDivisionError()), ["fail"], catch_exceptions=False)


def test_a_reader_that_went_away_is_no_error_to_tell() -> None:
    result = CliRunner().invoke(raising(BrokenPipeError(32, "Broken pipe")), ["fail"])
    assert (result.exit_code, result.stderr) == (1, "")


def test_a_reader_that_goes_away_at_the_end_is_no_error_either(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def flush() -> None:
        raise BrokenPipeError

    monkeypatch.setattr(_group, "_flush", flush)
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.stderr) == (1, "")
    with (tmp_path / "out").open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        _group._drop_output()
        stdout.write("lost")
    assert (tmp_path / "out").read_text() == ""


def test_sigterm_ends_a_command_with_143() -> None:
    group = group_of()

    @group.command("wait")
    def wait() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

    before = signal.getsignal(signal.SIGTERM)
    assert CliRunner().invoke(group, ["wait"]).exit_code == 143
    assert signal.getsignal(signal.SIGTERM) == before


def test_without_standalone_mode_errors_come_through() -> None:
    with pytest.raises(EngineError):
        raising(EngineError("x")).main(["fail"], standalone_mode=False)


def test_the_command_line_works_in_a_thread_too() -> None:
    import threading

    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(CliRunner().invoke(main, ["--version"]).exit_code))
    thread.start()
    thread.join()
    assert codes == [0]


def test_sigterm_unwinds(tmp_path: Path) -> None:
    code = (
        "import os, signal, time, click\nfrom catenary.cli._group import CommandGroup\n"
        "group = CommandGroup('catenary')\n"
        "@group.command('x')\ndef x():\n"
        "    try:\n        os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)\n"
        "    finally:\n        click.echo('cleaned up')\n"
        "group(['x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "cleaned up\n", "")


def test_a_closed_pipe_ends_quietly() -> None:
    code = "from catenary.cli import main; main(['components', '--format', 'json'])"
    pipe = f'{sys.executable} -c "{code}" | head -c 1'
    done = subprocess.run(pipe, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[", "")


def test_commands_with_no_name_of_an_attribute_are_left_out() -> None:
    assert Entry.of("x", "module") is None
    assert _commands.GROUP == "catenary.commands"


@pytest.mark.parametrize(
    ("command", "closing", "code", "said"),
    [
        ("components end", ">&-", 0, ""),
        ("check -", "<&-", 2, "Error: there is nothing to read: stdin is closed\n"),
        ("--help", ">/dev/full", 1, "error: No space left on device\n"),
        ("schema", ">/dev/full", 1, "error: No space left on device\n"),
        ("--help", ">/dev/full 2>&1", 1, ""),
    ],
)
def test_streams_that_are_closed_or_full_are_told_in_a_sentence(
    command: str, closing: str, code: int, said: str
) -> None:
    if "full" in closing and not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("this system has no /dev/full")
    script = f'{sys.executable} -c "from catenary.cli import main; main()" {command} {closing}'
    done = subprocess.run(script, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


def test_what_listeners_cannot_write_is_raised_once_and_after_the_run() -> None:
    from catenary.cli.live import Writers

    heard: list[Any] = []

    def write(event: Any) -> None:
        heard.append(event)
        raise BrokenPipeError

    writers = Writers([write])
    writers.raise_for_error()
    for event in range(3):
        writers(event)  # type: ignore[arg-type]
    with pytest.raises(BrokenPipeError):
        writers.raise_for_error()
    assert heard == [0]


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "catenary", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[0]) == (0, "catenary")

"""`catenary run`: one message."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from catenary import Component, NodeFailure, register
from catenary.component import registered

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from click.testing import Result

    Call = Callable[..., Result]
    Shown = Callable[[str], Path]

CATENARY = [sys.executable, "-c", "from catenary.cli import main; main()"]


class Pieces(Component):
    """Send pieces by `Stream`, then the whole by `Success`."""

    async def run(self, ctx, msg):
        for piece in ("one ", "two"):
            await ctx.emit("Stream", msg.with_data(piece).put("chunk", "true"))
        await ctx.emit("Stream", msg.with_data("").put("stream_completed", "true"))
        return "Success", msg.with_data("one two").put("full_content", "true")


class Pause(Component):
    """Pause."""

    relations = ()

    def run(self, ctx, msg):
        return "AwaitConfirm"


class Bytes(Component):
    """Answer with bytes, or with half a character."""

    def run(self, ctx, msg):
        return "Success", msg.with_data(b"\x00\xff" if msg.text == "bytes" else "\ud83d")


class Sleep(Component):
    """Sleep as many seconds as the data says."""

    async def run(self, ctx, msg):
        import asyncio

        seconds = float(msg.text)
        if seconds < 0:
            raise NodeFailure("negative")
        await asyncio.sleep(seconds)
        return "Success"


@pytest.fixture(autouse=True)
def _registered() -> Generator[None]:
    """Have the components of this file while its tests run, and only then."""
    types = {"stream": Pieces, "pause": Pause, "bytes": Bytes, "sleep": Sleep}
    for name, component in types.items():
        register(f"testCli/{name}", category="test")(component)
    yield
    for name in types:
        del registered[f"testCli/{name}"]


# Where the data comes from


def test_the_answer_is_on_stdout_and_nothing_on_stderr(call: Call, hot: Path) -> None:
    result = call("run", hot, "-d", '{"t": 41}')
    assert (result.exit_code, result.stdout, result.stderr) == (0, '{"t": 41}\n', "")


def test_data_from_a_file(call: Call, hot: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text('\ufeff{"t": 7}\n')
    assert call("run", hot, "-f", data).stdout == '{"t": 7}\n\n'


@pytest.mark.parametrize("dash", [["-"], ["-f", "-"], ["-d", "@-"]])
def test_data_from_stdin(call: Call, hot: Path, dash: list[str]) -> None:
    assert call("run", hot, *dash, stdin='{"t": 7}').stdout == '{"t": 7}\n'


def test_an_at_sign_names_a_file_and_two_begin_a_text(call: Call, hot: Path, shown: Shown, tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text('{"t": 7}')
    assert call("run", hot, "-d", f"@{data}").stdout == '{"t": 7}\n'
    assert call("run", shown("data"), "-d", "@@ann hello").stdout == "@ann hello\n"
    assert call("run", shown("data"), "-d", "@@").stdout == "@\n"
    assert call("run", shown("data"), "-d", "a@b").stdout == "a@b\n"


@pytest.mark.parametrize(
    ("data", "warned"),
    [("{t: 1}", True), ('[{"a": 1]', True), ("[" * 5000, True), ("warm", False), ('{"t": 1}', False)],
)
def test_data_that_looks_like_json_and_is_none_is_warned_of(call: Call, shown: Shown, data: str, warned: bool) -> None:
    stderr = call("run", shown("1"), "-d", data).stderr
    assert stderr.startswith("warning: the data is no JSON, so msg is a text: ") == warned
    assert stderr.count("\n") == warned
    assert call("run", shown("1"), "-d", data, "--data-type", "TEXT").stderr == ""


def test_without_data_the_message_is_empty(call: Call, shown: Shown) -> None:
    assert call("run", shown("data")).stdout == "\n"


@pytest.mark.parametrize(
    "args",
    [
        ["-d", "1", "-"],
        ["-d", "1", "-f", __file__],
        ["-f", __file__, "-"],
        ["x"],
        ["--lines"],
        ["-f", "/nowhere"],
        ["-d", "@"],
        ["-d", "@/nowhere"],
        ["-d", "@-", "-"],
    ],
)
def test_data_is_named_once(call: Call, hot: Path, args: list[str]) -> None:
    result = call("run", hot, *args)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_file_that_vanished_is_told(hot: Path) -> None:
    import click

    from catenary.cli._input import Source

    with pytest.raises(click.UsageError, match="cannot read /nowhere/x: No such file"):
        next(Source(file="/nowhere/x").chunks())


def test_text_that_is_not_utf_8_is_refused(call: Call, hot: Path) -> None:
    result = call("run", hot, "-", stdin=b"ab\xff")
    assert result.exit_code == 2
    assert "byte 3" in result.stderr
    assert "BINARY" in result.stderr


# What the message is


def test_type_metadata_and_data_type_are_given(call: Call, shown: Shown) -> None:
    chain = shown("[type, dataType, metadata.a, metadata.b, msg]")
    result = call("run", chain, "-d", "{}", "--type", "T", "--data-type", "text", "-m", "a=1", "-m", "b=x=y ")
    assert json.loads(result.stdout) == ["T", "TEXT", "1", "x=y ", "{}"]


def test_a_message_that_a_node_keeps_is_no_answer(call: Call, chain_file: Callable[..., Path], tmp_path: Path) -> None:
    chain = chain_file([("wait", "delay", {"delayMs": 200, "overwrite": True})])
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"n":1}\n{"n":2}\n{"n":3}\n')
    result = call("run", chain, "--lines", "-f", str(lines))
    assert (result.exit_code, result.stdout) == (0, '{"n":3}\n')
    assert [line for line in result.stderr.splitlines() if "no answer" in line] == [
        "line 1: no answer: node 'wait' sent nothing on",
        "line 2: no answer: node 'wait' sent nothing on",
    ]
    result = call("run", chain, "--lines", "-f", str(lines), "--trace")
    assert "line 1: = wait ends here\n" in result.stderr


def test_binary_input_is_bytes_and_goes_out_as_they_are(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("end", "end", {})])
    result = call("run", chain, "-", "--data-type", "BINARY", stdin=b"\x00\xff\n")
    assert result.stdout_bytes == b"\x00\xff\n"
    result = call("run", chain, "-", "--data-type", "BINARY", "--format", "json", stdin=b"\x00\xff")
    assert json.loads(result.stdout)["ends"][0]["message"]["data"] == "00ff"


@pytest.mark.parametrize("pair", ["novalue", "=x", " =x", "x" * 100])
def test_metadata_wants_a_key_and_a_value(call: Call, hot: Path, pair: str) -> None:
    result = call("run", hot, "-m", pair)
    assert result.exit_code == 2
    assert "Invalid value for '-m'" in result.stderr
    assert "x" * 50 not in result.stderr


def test_an_unknown_data_type_is_a_usage_error(call: Call, hot: Path) -> None:
    assert call("run", hot, "--data-type", "XML").exit_code == 2


# Formats


def test_json_is_exactly_the_outcome(call: Call, hot: Path) -> None:
    outcome = json.loads(call("run", hot, "-d", '{"t": 41}', "--format", "json", "-m", "k=v").stdout)
    assert list(outcome) == ["runId", "status", "ok", "error", "ends"]
    assert [outcome["status"], outcome["ok"], outcome["error"]] == ["completed", True, None]
    (end,) = outcome["ends"]
    assert list(end) == ["nodeId", "relation", "error", "gated", "message"]
    assert [end["nodeId"], end["relation"], end["error"], end["gated"]] == ["end", "True", None, False]
    message = end["message"]
    assert list(message) == ["ts", "id", "dataType", "type", "data", "metadata"]
    assert message["data"] == '{"t": 41}'
    assert message["metadata"] == {"k": "v"}


def test_jsonl_is_one_line(call: Call, hot: Path) -> None:
    out = call("run", hot, "-d", '{"t": "ü"}', "--format", "jsonl").stdout
    assert out.count("\n") == 1
    outcome = json.loads(out)
    assert outcome["status"] == "failed"
    assert "ü" in out


def test_text_has_the_data_of_each_answer(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file(
        [("f", "fork", {}), ("a", "exprTransform", {"expr": "1"}), ("b", "exprTransform", {"expr": "2"})],
        [("f", "Success", "a"), ("f", "Success", "b")],
    )
    assert sorted(call("run", chain).stdout.split()) == ["1", "2"]


def test_text_has_what_is_gated_when_there_is_nothing_else(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("f", "exprFilter", {"expr": "true"}), ("end", "end", {})], [("f", "False", "end")])
    assert call("run", chain, "-d", "here").stdout == "here\n"


def test_a_stream_is_written_once(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("run", chain_file([("s", "testCli/stream", {})]))
    assert result.stdout == "one two\n"


def test_an_answer_after_a_stream_is_written_too(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file(
        [("s", "testCli/stream", {}), ("t", "exprTransform", {"expr": "5"}), ("end", "end", {})],
        [("s", "Stream", "end"), ("s", "Success", "t"), ("t", "Success", "end")],
    )
    assert call("run", chain).stdout == "one two\n5\n"
    outcome = json.loads(call("run", chain, "--format", "json").stdout)
    assert [end["relation"] for end in outcome["ends"]] == ["Stream", "Stream", "Stream", "Success"]


@pytest.mark.parametrize(("data", "out"), [("bytes", b"\x00\xff"), ("half", b"\\ud83d\n")])
def test_what_no_encoding_has_is_written_somehow(
    call: Call, chain_file: Callable[..., Path], data: str, out: bytes
) -> None:
    assert call("run", chain_file([("b", "testCli/bytes", {})]), "-d", data).stdout_bytes == out


# How it ends


def test_a_failed_run_exits_with_1_and_its_error(call: Call, hot: Path) -> None:
    result = call("run", hot, "-d", '{"t": "warm"}')
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: node 'hot' (exprFilter): ")
    assert "Traceback" not in result.stderr


def test_a_run_that_takes_too_long_exits_with_1(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("run", chain_file([("s", "testCli/sleep", {})]), "-d", "60", "--timeout", "50ms", "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["status"] == "cancelled"
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize("timeout", ["0", "-1", "soon", "nan", "5 parsecs", ""])
def test_a_timeout_is_a_length_of_time(call: Call, hot: Path, timeout: str) -> None:
    result = call("run", hot, "--timeout", timeout)
    assert result.exit_code == 2
    assert "--timeout" in result.stderr


def test_a_paused_run_exits_with_6(call: Call, chain_file: Callable[..., Path]) -> None:
    assert call("run", chain_file([("p", "testCli/pause", {})])).exit_code == 6


def test_a_kernel_error_comes_with_its_hint(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("a", "exprFilter", {"expr": "true"})], [("a", "True", "a")], allowCycle=True, maxVisits=5)
    result = call("run", chain)
    assert result.exit_code == 1
    assert "  hint: " in result.stderr


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_cancel_the_run_and_let_it_clean_up(
    chain_file: Callable[..., Path], number: signal.Signals, exit_code: int
) -> None:
    sleepy = chain_file([("s", "functions", {"functionName": "x"})])
    code = (
        "import asyncio, os, signal, sys\nfrom catenary import Component, register\nfrom catenary.cli import main\n"
        "@register('sleep', category='test')\nclass Sleep(Component):\n"
        "    async def run(self, ctx, msg):\n"
        "        try:\n            print('asleep', flush=True)\n            await asyncio.sleep(60)\n"
        "        finally:\n            print('awake', flush=True)\n"
        "main(['run', sys.argv[1], '--trace'])"
    )
    sleepy.write_text(sleepy.read_text().replace("functions", "sleep"))
    with subprocess.Popen(
        [sys.executable, "-c", code, str(sleepy)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asleep\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=15)
    assert process.returncode == exit_code, err
    assert out == "awake\n"
    assert ("interrupted" in err) is (exit_code == 130)
    assert "Traceback" not in err


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os.kill(os.getpid(), N)\nprint('goes on')\nawait asyncio.sleep(60)", "goes on\n"),
        ("os.kill(os.getpid(), N)\nos.kill(os.getpid(), N)\nprint('goes on')", ""),
    ],
)
def test_a_signal_waits_for_the_component_and_a_second_one_does_not(
    chain_file: Callable[..., Path], number: signal.Signals, exit_code: int, body: str, said: str
) -> None:
    lines = "\n        ".join(body.split("\n"))
    code = (
        "import asyncio, os, sys\nfrom catenary import Component, register\nfrom catenary.cli import main\n"
        f"N = {int(number)}\n@register('struck', category='test')\nclass Struck(Component):\n"
        f"    async def run(self, ctx, msg):\n        {lines}\n"
        "main(['run', sys.argv[1]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(chain_file([("s", "struck", {})]))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (exit_code, said), done.stderr
    assert "Traceback" not in done.stderr


# Chains that are none


@pytest.mark.parametrize("target", ["/nowhere/chain.json", "/tmp"])
def test_a_file_that_is_none_is_a_usage_error(call: Call, target: str) -> None:
    result = call("run", target)
    assert result.exit_code == 2
    assert target in result.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"ruleChain": '),
        ("a.json", b"\x00\x01\x02\xff\xfe"),
        ("a.yaml", b"a: [b\nc: }"),
        ("a.json", b"[]"),
        ("a.json", b""),
        ("a.yaml", b"just text"),
        ("noending", b"\x89PNG\r\n\x1a\n\x00\x00"),
        ("a.json", b"[" * 5000),
    ],
)
def test_a_file_that_is_no_chain_exits_with_3_and_names_the_place(
    call: Call, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    result = call("run", path, "-d", "{}")
    assert (result.exit_code, result.stdout) == (3, "")
    assert str(path) in result.stderr
    assert "Traceback" not in result.stderr


def test_all_problems_are_told_at_once_without_warnings(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("a", "exprFiltr", {}), ("b", "exprFilter", {"expr": "1 +", "other": 1})], [("a", "True", "c")])
    result = call("run", chain)
    assert result.exit_code == 3
    for text in ("chain.unknown-type", "did you mean 'exprFilter'?", "expression.syntax", "chain.unknown-node"):
        assert text in result.stderr
    assert "other" not in result.stderr


def test_a_missing_property_is_told_with_both_ways_to_set_it(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("run", chain_file([("a", "ai/agent", {"url": "${global.models.url}", "model": "m"})]))
    assert result.exit_code == 3
    assert "--set global.models.url=VALUE" in result.stderr
    assert "CATENARY_GLOBAL__MODELS__URL" in result.stderr


# What a chain logs, and traces


def test_what_a_chain_logs_is_on_stderr(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("run", chain_file([("note", "log", {"jsScript": "return 'seen ' + msg.a;"})]), "-d", '{"a": 1}')
    assert (result.stdout, result.stderr) == ('{"a": 1}\n', "info note: seen 1\n")


def test_a_trace_tells_what_travelled_where(call: Call, hot: Path) -> None:
    result = call("run", hot, "-d", '{"t": 41}', "--trace")
    assert result.stdout == '{"t": 41}\n'
    lines = result.stderr.splitlines()
    assert lines[0].endswith("of chain 'test': {\"t\": 41}")
    assert lines[1] == '> hot (exprFilter): {"t": 41}'
    assert lines[2].startswith("< hot by True in ")
    assert lines[3:] == ["= end ends by True", "the run completed"]


def test_the_program_itself_runs_a_chain(hot: Path) -> None:
    done = subprocess.run([*CATENARY, "run", str(hot), "-"], input=b'{"t": 50}', capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"t": 50}\n', b"")


def test_an_interrupt_ends_the_wait_for_input(hot: Path) -> None:
    code = (
        "import sys; from catenary.cli import _lines, main\nread = _lines.read_in_thread\n"
        "def told(lines): print('waits', flush=True); return read(lines)\n"
        "_lines.read_in_thread = told\nmain(['run', sys.argv[1], '-', '--trace'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(hot)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == "interrupted"


def test_a_line_that_is_no_text_is_named(call: Call, hot: Path) -> None:
    result = call("run", hot, "--lines", "-", stdin=b'{"t": 1}\n\xff\n')
    assert result.exit_code == 2
    assert "line 2: the data is not UTF-8" in result.stderr
    assert result.stdout == '{"t": 1}\n'


def test_the_error_of_a_node_comes_with_its_hint(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("run", chain_file([("f", "for", {"range": "msg.items", "do": "f"})]), "-d", '{"items": 5}')
    assert "error: node 'f' (for): must array slice or struct type\n  hint: range 'msg.items' gave 5," in result.stderr

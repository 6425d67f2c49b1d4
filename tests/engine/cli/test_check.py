"""`catenary check`: what is wrong with chains, and where."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]


@pytest.fixture
def wrong(chain_file: Callable[..., Path]) -> Path:
    return chain_file([("a", "exprFilter", {"expr": "1 +", "colour": "red"})], [("a", "True", "b")])


def test_a_chain_without_problems_prints_nothing_on_stdout(call: Call, hot: Path) -> None:
    result = call("check", hot)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 file checked: no errors, no warnings\n"


def test_each_problem_has_its_place_code_text_and_hint(call: Call, wrong: Path) -> None:
    result = call("check", wrong)
    assert result.exit_code == 3
    lines = result.stdout.splitlines()
    problems = [line for line in lines if line.startswith(f"{wrong}:")]
    assert len(problems) == 3
    for line in problems:
        number, column, code, text = line.removeprefix(f"{wrong}:").split(":", 3)
        assert int(number) > 1
        assert int(column) > 1
        assert code.startswith((" expression.", " config.", " chain."))
        assert text.strip()
    assert any(line.startswith("  hint: ") for line in lines)
    assert result.stderr == "1 file checked: 2 errors, 1 warning\n"


def test_warnings_are_marked_and_do_not_count_as_errors(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("a", "exprFilter", {"expr": "true", "colour": 1})])
    result = call("check", chain)
    assert result.exit_code == 0
    assert "(warning)" in result.stdout
    strict = call("check", "--strict", chain)
    assert strict.exit_code == 3
    assert "(warning)" not in strict.stdout


def test_several_files_are_all_checked(call: Call, wrong: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("ruleChain: [")
    result = call("check", broken, wrong)
    assert result.exit_code == 3
    assert f"{broken}:1:" in result.stdout
    assert "chain.syntax" in result.stdout
    assert f"{wrong}:" in result.stdout
    assert result.stderr.startswith("2 files checked: ")


def test_json_has_all_problems(call: Call, wrong: Path) -> None:
    result = call("check", "--format", "json", wrong)
    assert result.exit_code == 3
    problems = json.loads(result.stdout)
    assert {problem["severity"] for problem in problems} == {"error", "warning"}
    assert set(problems[0]) == {"code", "text", "hint", "file", "line", "column", "severity"}


def test_stdin_is_checked_by_a_dash(call: Call, wrong: Path) -> None:
    result = call("check", "-", stdin=wrong.read_text())
    assert result.exit_code == 3
    assert "<stdin>:" in result.stdout
    assert call("check", "-", stdin=b"\xff").exit_code == 2


@pytest.mark.parametrize("args", [[], ["/nowhere.json"], ["--watch", "-"], ["--format", "xml", __file__]])
def test_wrong_usage_exits_with_2(call: Call, args: list[str]) -> None:
    assert call("check", *args).exit_code == 2


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"{" * 3000, b"a: &a [*a]", b'{"a": 1, "a": 2}', b"- 1\n"])
def test_garbage_is_told_with_a_place(call: Call, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    result = call("check", path)
    assert result.exit_code == 3
    assert f"{path}:1:" in result.stdout
    assert "Traceback" not in result.output


def test_properties_can_be_given(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("a", "restApiCall", {"url": "${global.url}"})])
    assert "global.url" in call("check", chain).stdout
    assert call("check", chain, "--set", "global.url=http://127.0.0.1/").stdout == ""


def test_no_component_is_opened(call: Call, chain_file: Callable[..., Path]) -> None:
    assert call("check", chain_file([("a", "ai/agent", {"url": "http://127.0.0.1:1/v1", "model": "m"})])).exit_code == 0


def _write_folder(folder: Path) -> None:
    chain = {"ruleChain": {"id": "one"}, "metadata": {"nodes": [{"id": "a", "type": "nope"}]}}
    (folder / "sub").mkdir()
    (folder / "a.json").write_text(json.dumps(chain))
    (folder / "sub" / "b.json").write_text(json.dumps(chain))
    (folder / "off.json").write_text(json.dumps({**chain, "ruleChain": {"id": "off", "disabled": True}}))
    (folder / "a.test.json").write_text('{"ruleChain": 1}')
    (folder / "package.json").write_text('{"name": "x"')


def test_folder_stands_for_the_chains_in_it(call: Call, tmp_path: Path) -> None:
    _write_folder(tmp_path)
    result = call("check", "--format", "json", tmp_path)
    assert result.exit_code == 3
    problems = [(problem["file"], problem["code"]) for problem in json.loads(result.stdout)]
    assert problems == [
        (str(tmp_path / "a.json"), "chain.unknown-type"),
        (str(tmp_path / "sub" / "b.json"), "chain.unknown-type"),
        (str(tmp_path / "sub" / "b.json"), "chain.duplicate-id"),
    ]
    assert result.stderr.startswith("2 files checked: 3 errors")


def test_watch_checks_again_when_a_file_changes_until_it_is_interrupted(hot: Path) -> None:
    command = [sys.executable, "-m", "catenary", "check", "--watch", str(hot)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == "1 file checked: no errors, no warnings\n"
        assert "watching" in process.stderr.readline()
        changed = hot.with_suffix(".new")
        changed.write_text(hot.read_text().replace('"exprFilter"', '"exprFilters"'))
        changed.replace(hot)  # at once: nobody reads half of it
        assert "exprFilters" in process.stdout.readline()
        assert process.stderr.readline().startswith("1 file checked: 1 error")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=15)
        assert process.returncode == 130


def test_what_endpoints_take_in_and_where_it_goes_is_listed(call: Call, tmp_path: Path) -> None:
    chain = tmp_path / "orders.yaml"
    chain.write_text("""\
ruleChain: {id: orders}
metadata:
  nodes: [{id: price, type: log}, {id: list, type: log}]
  endpoints:
    - id: web
      type: http
      routers:
        - {params: [POST], from: {path: /orders}}
        - {params: [GET], from: {path: /orders}, to: {path: ":list"}}
    - {id: clock, type: schedule, routers: [{from: {path: "@daily"}, to: {path: "chain:report"}}]}
""")
    result = call("check", chain)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        f"{chain}: web (http): POST /orders -> price",
        f"{chain}: web (http): GET /orders -> list",
        f"{chain}: clock (schedule): @daily -> chain:report",
        "1 file checked: no errors, no warnings",
    ]
    assert call("check", "--format", "json", chain).stderr == "1 file checked: no errors, no warnings\n"

"""`catenary draw`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catenary.cli import main

CHAIN = {
    "ruleChain": {"id": "c"},
    "metadata": {
        "nodes": [{"id": "a", "type": "log"}, {"id": "b", "type": "end"}],
        "connections": [{"fromId": "a", "toId": "b", "type": "Success"}],
    },
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(CHAIN))
    return path


def call(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["draw", *map(str, args)])


def test_svg_goes_to_stdout(file: Path) -> None:
    result = call(file)

    assert result.exit_code == 0
    assert result.stdout.startswith("<svg ")
    assert result.stdout.endswith("</svg>\n")
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("name", "begins"), [("c.svg", "<svg "), ("c.mmd", "flowchart LR"), ("c.mermaid", "flowchart LR")]
)
def test_the_name_of_the_output_says_what_is_written(file: Path, name: str, begins: str) -> None:
    output = file.with_name(name)
    result = call(file, "-o", output)

    assert result.exit_code == 0
    assert result.stdout == ""
    assert begins in output.read_text(encoding="utf-8")[:60]


def test_another_suffix_is_wrong_usage(file: Path) -> None:
    result = call(file, "-o", file.with_name("c.png"))

    assert result.exit_code == 2
    assert "must end in .svg, .html or .mmd" in result.stderr


def test_a_folder_that_is_not_there_is_told_in_a_sentence(file: Path) -> None:
    result = call(file, "-o", file.parent / "nowhere" / "c.svg")

    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_a_chain_with_errors_is_drawn_as_far_as_it_goes(file: Path) -> None:
    file.write_text(json.dumps({**CHAIN, "metadata": {"nodes": [{"id": "a", "type": "nothing/known"}]}}))

    assert "nothing/known" in call(file).stdout


def test_what_is_no_chain_is_an_invalid_chain(file: Path) -> None:
    file.write_text('{"metadata": {"nodes": 3}}')

    assert call(file).exit_code == 3


def test_a_large_chain_is_announced_before_it_is_drawn(tmp_path: Path) -> None:
    nodes = [{"id": f"n{i}", "type": "log"} for i in range(1600)]
    large = tmp_path / "large.json"
    large.write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes}}))
    result = call(large)
    assert result.exit_code == 0
    assert result.stderr == "drawing 1600 nodes, which takes a moment\n"
    assert result.stdout.startswith("<svg")

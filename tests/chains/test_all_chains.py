"""What holds for every chain of the repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from catenary.cli import main

FOLDER = Path(__file__).parents[2] / "chains"
CHAINS = sorted(
    path for path in FOLDER.iterdir() if path.suffix in {".json", ".yaml"} and path.suffixes[0] == path.suffix
)


@pytest.mark.parametrize("path", CHAINS, ids=lambda path: path.name)
def test_it_has_no_problem_but_unset_properties(path: Path) -> None:
    result = CliRunner().invoke(main, ["check", "--format", "json", str(path)])
    assert {problem["code"] for problem in json.loads(result.stdout)} <= {"chain.unresolved-placeholder"}


@pytest.mark.parametrize("path", CHAINS, ids=lambda path: path.name)
def test_it_has_a_sample_message_and_a_chapter(path: Path) -> None:
    assert json.loads((FOLDER / f"{path.stem}.input.json").read_text())
    assert f"## {path.name}\n" in (FOLDER / "README.md").read_text()

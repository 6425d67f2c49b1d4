"""`catenary docs build`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catenary.cli import main


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*args: str) -> Result:
    return CliRunner().invoke(main, ["docs", "build", *args])


def test_check_names_the_files_that_differ(checkout: Path) -> None:
    assert call().exit_code == 0
    assert call("--check").exit_code == 0
    (checkout / "docs/reference/events.md").write_text("edited")
    (checkout / "docs/reference/old.md").touch()
    result = call("--check")

    assert result.exit_code == 1
    assert result.stdout == "docs/reference/events.md: different\ndocs/reference/old.md: left over\n"
    assert (checkout / "docs/reference/events.md").read_text() == "edited"


def test_it_is_wrong_usage_outside_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call()

    assert result.exit_code == 2
    assert "no docs folder here" in result.stderr

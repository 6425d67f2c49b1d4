"""`catenary new component`: what it writes passes as it is, and is found by engines once it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from catenary.cli import main
from catenary.errors import EngineError
from catenary.scaffold import Names, component_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Call = Callable[..., Result]

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "package"
    result = CliRunner().invoke(main, ["new", "component", "acme/doorState", "--into", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


def run(folder: Path, *args: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    roots = [str(ROOT / "engine"), str(ROOT / "components"), *([str(path)] if path else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(roots), "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        [sys.executable, "-m", *args], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def need(module: str) -> None:
    """Skip a test for which a tool of the developers is not installed."""
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


@pytest.mark.timeout(90)
def test_its_tests_and_those_of_its_chain_pass(package: Path) -> None:
    result = run(package, "pytest", "-p", "no:cacheprovider", "-vv")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "door_state.test.yaml" in result.stdout
    assert "test_it_does_what_every_component_should" in result.stdout


def test_a_linter_finds_nothing(package: Path) -> None:
    need("ruff")
    for check in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        result = run(package, "ruff", *check, ".")
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.timeout(90)
def test_a_type_checker_finds_nothing(package: Path) -> None:
    need("pyright")
    result = run(package, "pyright", "--pythonpath", sys.executable)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.timeout(90)
def test_once_installed_it_is_found_by_its_entry_point(package: Path, tmp_path: Path) -> None:
    need("hatchling")
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    installed = run(package, "pip", "install", *options, "--target", str(tmp_path), ".")
    assert installed.returncode == 0, installed.stderr
    shown = run(package, "catenary", "components", "acme/doorState", path=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("acme/doorState")
    ran = run(package, "catenary", "run", "chains/door_state.yaml", "--data", '{"name": "Ann"}', path=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Hello Ann" in ran.stdout


@pytest.mark.parametrize(
    ("type_name", "project", "module", "name"),
    [
        ("dedupe", "catenary-dedupe", "catenary_dedupe", "Dedupe"),
        ("acme/doorState", "acme-door-state", "acme_door_state", "DoorState"),
        ("a/b/HTTPCall", "a-b-httpcall", "a_b_httpcall", "Httpcall"),
    ],
)
def test_names_are_made_of_the_type(type_name: str, project: str, module: str, name: str) -> None:
    marks = Names.of(type_name).marks
    assert (marks["PROJECT"], marks["MODULE"], marks["CLASS"]) == (project, module, name)
    files = component_files(Names.of(type_name))
    assert f"src/{module}/__init__.py" in files
    assert not [path for path, text in files.items() if "@@" in path + text]


@pytest.mark.parametrize("type_name", ["", "1a", "a b", "a/", "x-y", "acme/class", "acme/test"])
def test_what_cannot_be_a_name_is_refused(type_name: str) -> None:
    with pytest.raises(EngineError, match="is no name for a component"):
        Names.of(type_name)


@pytest.mark.parametrize("package", ["My Pkg!", "class", "1st", "../up", "json", "catenary"])
def test_what_cannot_be_imported_is_no_name_of_a_package(package: str) -> None:
    with pytest.raises(EngineError, match="is no name for a package"):
        Names.of("acme/doorState", project=package)


def test_a_wrong_name_is_wrong_usage(call: Call, tmp_path: Path) -> None:
    for wrong in (("acme/2x",), ("acme/x", "--category", 'a "b"'), ("acme/x", "--package", "json")):
        result = call("new", "component", *wrong, "--into", tmp_path / "new")
        assert (result.exit_code, "is no name for a" in result.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_and_no_name_is_taken_twice(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x", encoding="utf-8")
    assert call("new", "component", "acme/x", "--into", tmp_path).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    result = call("new", "component", "jsFilter", "--into", tmp_path / "other")
    assert result.exit_code == 2
    assert "'jsFilter' already" in result.stderr

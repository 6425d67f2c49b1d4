"""The example package: installed, its component is found by its entry point, and the tests of its chain pass."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "examples" / "component_package"
CATENARY = [sys.executable, "-W", "error", "-c", "from catenary.cli import main; main()"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what an installer leaves there: a link to the package, and its entry points."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    facts = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["catenary.components"]
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (facts / "entry_points.txt").write_text(f"[catenary.components]\n{lines}")
    (folder / "shop_door").symlink_to(PACKAGE / "src" / "shop_door")
    return folder


def catenary(site: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    command = [*CATENARY, *args]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.timeout(60)
def test_its_component_is_found(installed: Path) -> None:
    shown = catenary(installed, "components", "shop/doorChange")
    assert shown.returncode == 0, shown.stderr
    assert "shop/doorChange" in shown.stdout
    assert catenary(installed, "check", str(PACKAGE / "chains" / "doors.yaml")).returncode == 0


@pytest.mark.timeout(60)
def test_the_tests_of_its_chain_pass(installed: Path) -> None:
    tested = catenary(installed, "test", str(PACKAGE / "chains"))
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert tested.stderr.startswith("1 passed")

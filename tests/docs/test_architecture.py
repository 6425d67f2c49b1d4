"""The map of the code is true: what it names is there, and no package is missing on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTS = ("engine", "components", "server", "benchmarks")
MAP = (ROOT / "docs/architecture.md").read_text("utf-8")
FILES = [
    path.relative_to(ROOT).as_posix()
    for root in ROOTS
    for path in (ROOT / root).rglob("*")
    if "__pycache__" not in path.parts
]
NAMED = re.findall(r"`([\w./*-]+(?:\.(?:py|js|json|yaml)|/))`", MAP)
PACKAGES = [Path(file).parent for file in FILES if file.endswith("/__init__.py") and not file.startswith("benchmarks/")]


@pytest.mark.parametrize("name", sorted(set(NAMED)))
def test_what_the_map_names_is_there(name: str) -> None:
    pattern = re.escape(name.rstrip("/")).replace(r"\.\.\.", ".*").replace(r"\*", "[^/]*")

    assert any(re.search(f"(?:^|/){pattern}$", file) for file in [*ROOTS, *FILES])


@pytest.mark.parametrize("package", sorted({package.as_posix() for package in PACKAGES}))
def test_a_package_is_on_the_map(package: str) -> None:
    assert re.search(rf"[`/]{re.escape(Path(package).name)}[`/]", MAP)

"""Every snippet of the README and of the guides does what the page says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.docs.snippets import Runner, snippets_of

from catenary.component import registered
from catenary.registry import Registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Registry().types()  # those that are installed are there before any page adds its own
    before = dict(registered)
    runner = Runner(tmp_path, ROOT)
    try:
        for snippet in snippets_of(page):
            try:
                runner.run(snippet)
            except Exception as error:
                error.add_note(f"in {page.name}, line {snippet.line}")
                raise
    finally:
        runner.close()
        registered.clear()
        registered.update(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_guide_is_there() -> None:
    guides = "quick-start authoring-a-chain language writing-a-component embedding agents architecture dependencies"

    assert {f"{guide}.md" for guide in guides.split()} <= {page.name for page in PAGES}


def test_every_dependency_is_accounted_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[<>=~! ]", requirement)[0] for requirement in wanted} - {"catenary"}

    assert {name for name in names if not re.search(rf"\| .*\b{name}\b.* \|", page)} == set()
    assert {name for name in project["optional-dependencies"] if f"| `{name}` |" not in page} == set()

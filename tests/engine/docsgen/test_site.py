"""The generated files as a whole: complete, the same every time, and compared with what is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from catenary.docsgen import Change, compare, write
from catenary.registry import Registry

ROOT = Path(__file__).parents[3]


def made_with(seed: str) -> dict[str, str]:
    """Make the pages in a process of their own: tests register components that are not part of the project."""
    program = (
        "import json, pathlib, sys; from catenary.docsgen import pages; from catenary.registry import Registry; "
        "print(json.dumps(pages(pathlib.Path(sys.argv[1]), Registry())))"
    )
    command = [sys.executable, "-c", program, str(ROOT)]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
    )
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return made_with("1")


def standard_types() -> list[str]:
    registry = Registry()
    return [name for name in registry.types() if registry.get(name).__module__.startswith("catenary_components")]


def test_packages_bring_pages_of_their_own_which_the_index_lists(made: dict[str, str]) -> None:
    assert "### POST /api/v1/chains/{chainId}/run" in made["docs/reference/api.md"]
    assert "| [The HTTP API](api.md) | What `catenary serve` answers |" in made["docs/reference/README.md"]


def test_each_component_has_a_page_and_a_row_in_the_catalogue(made: dict[str, str]) -> None:
    catalogue = made["docs/reference/components/README.md"]
    for name in standard_types():
        page = made[f"docs/reference/components/{name.replace('/', '-')}.md"]
        assert f"# `{name}`" in page
        assert "## Options" in page
        assert ("## Relations" in page) != ("## Routers" in page)
        assert f"[`{name}`]" in catalogue


def test_pages_are_the_same_every_time(made: dict[str, str]) -> None:
    assert made_with("2") == made


def test_links_between_the_pages_lead_somewhere(made: dict[str, str]) -> None:
    for name, text in made.items():
        for link in re.findall(r"\]\(([^)#:]+)\)", text) if name.endswith(".md") else []:
            target = os.path.normpath(Path(name).parent / link)
            assert target in made or (ROOT / target).is_file(), f"{name} links to {link}"


def test_the_schema_knows_every_component(made: dict[str, str]) -> None:
    schema = made["docs/reference/chain.schema.json"]

    assert json.loads(schema)["$schema"]
    assert all(json.dumps(name) in schema for name in standard_types())


def test_chains_and_topologies_are_drawn(made: dict[str, str]) -> None:
    names = {"intent-router", "sensor-alarm", "agent-react"}

    assert {f"docs/images/{name}.svg" for name in names} <= made.keys()
    assert "docs/images/second-opinion.svg" not in made, "one node alone is no picture"


def test_each_picture_is_shown_on_a_page(made: dict[str, str]) -> None:
    pages = [ROOT / "README.md", ROOT / "chains/README.md", *(ROOT / "docs").glob("*.md")]
    texts = "".join(page.read_text("utf-8") for page in pages)

    assert [name for name in made if name.endswith(".svg") and f"images/{Path(name).name})" not in texts] == []


def test_tables_have_as_many_cells_in_each_row(made: dict[str, str]) -> None:
    for name, text in made.items():
        width = 0
        for line in text.splitlines() if name.endswith(".md") else []:
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith(("| ", "|---")) else 0
            assert cells in {0, width} or not width, f"{name}: {line}"
            width = cells


def test_writing_makes_files_fresh_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    wanted = {"docs/reference/a.md": "A\n", "docs/reference/b/c.md": "C\n"}

    assert [change.kind for change in write(tmp_path, wanted)] == ["missing", "missing"]
    assert write(tmp_path, wanted) == []
    assert compare(tmp_path, wanted) == []


def test_what_differs_is_named(tmp_path: Path) -> None:
    wanted = {"docs/reference/a.md": "A\n", "docs/reference/b.md": "B\n"}
    write(tmp_path, wanted)
    (tmp_path / "docs/reference/a.md").write_text("edited\n")
    (tmp_path / "docs/reference/old.md").write_text("of a component that is gone\n")

    changes = [Change("docs/reference/a.md", "different"), Change("docs/reference/old.md", "left over")]
    assert compare(tmp_path, wanted) == changes
    assert write(tmp_path, wanted) == changes
    assert compare(tmp_path, wanted) == []


def test_pages_written_by_hand_are_left_alone(tmp_path: Path) -> None:
    guide = tmp_path / "docs" / "guide.md"
    guide.parent.mkdir()
    guide.write_text("by hand\n")
    write(tmp_path, {"docs/reference/a.md": "A\n"})

    assert guide.read_text() == "by hand\n"

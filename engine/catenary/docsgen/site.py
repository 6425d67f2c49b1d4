"""All generated files of `docs/`: make them, write them, or tell which differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, Literal

from catenary.docsgen.chain import chain_page
from catenary.docsgen.commands import command_pages
from catenary.docsgen.components import component_pages
from catenary.docsgen.errors import error_pages
from catenary.docsgen.events import event_page
from catenary.docsgen.functions import function_page
from catenary.docsgen.language import language_page
from catenary.docsgen.markdown import page, table
from catenary.docsgen.pictures import picture_pages

if TYPE_CHECKING:
    from pathlib import Path

    from catenary.registry import Registry

GROUP: Final = "catenary.reference"
"""The entry-point group by which a package names a function that gives more pages of the reference, by file name."""

_REFERENCE: Final = "docs/reference"
_IMAGES: Final = "docs/images"


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is not as the code would have it: `missing`, `different`, or `left over` from something removed."""

    path: str
    kind: Literal["missing", "different", "left over"]


def pages(root: Path, registry: Registry) -> dict[str, str]:
    """Give the text of all generated files of a checkout, by path below `root`; the same text for the same code."""
    others = _pages_of_packages()
    found = {
        "README.md": _index(others),
        "functions.md": function_page(),
        "language.md": language_page(),
        "events.md": event_page(),
        "chain.schema.json": json.dumps(registry.chain_schema(), ensure_ascii=False, indent=2) + "\n",
    }
    found.update(others)
    folders = {"components": component_pages(registry), "errors": error_pages(), "commands": command_pages()}
    for folder, inside in folders.items():
        found.update({f"{folder}/{name}": text for name, text in inside.items()})
    images = picture_pages(root, registry)
    return {
        "docs/chain-reference.md": chain_page(),
        **{f"{_REFERENCE}/{name}": text for name, text in found.items()},
        **{f"{_IMAGES}/{name}": text for name, text in images.items()},
    }


def compare(root: Path, wanted: dict[str, str]) -> list[Change]:
    """Give what differs between the files below `root` and `wanted`. Other files in `docs/reference` are left over."""
    changes: list[Change] = []
    for name, text in sorted(wanted.items()):
        path = root / name
        if not path.is_file():
            changes.append(Change(name, "missing"))
        elif path.read_bytes() != text.encode():
            changes.append(Change(name, "different"))
    present = (path.relative_to(root).as_posix() for path in (root / _REFERENCE).rglob("*") if path.is_file())
    return [*changes, *(Change(name, "left over") for name in sorted(present) if name not in wanted)]


def write(root: Path, wanted: dict[str, str]) -> list[Change]:
    """Make the files below `root` equal to `wanted`. Returns: what had to be changed."""
    changes = compare(root, wanted)
    for change in changes:
        path = root / change.path
        if change.kind == "left over":
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted[change.path].encode())
    return changes


def _pages_of_packages() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.update(entry.load()())
    return found


def _index(others: dict[str, str]) -> str:
    rows = [
        ("[The keys of a chain](../chain-reference.md)", "everything that may stand in a chain"),
        ("[Components](components/README.md)", "what nodes can be: options, relations, examples"),
        ("[Operators, names and limits](language.md)", "what expressions are made of"),
        ("[Functions](functions.md)", "what expressions and templates can call"),
        ("[Command line](commands/README.md)", "the commands and their options"),
        ("[Errors](errors/README.md)", "every code: meaning, usual cause, cure"),
        ("[Events](events.md)", "what a run tells while it runs"),
        *((f"[{title}]({name})", text) for name, title, text in map(_headed, others.items())),
        ("[chain.schema.json](chain.schema.json)", "JSON Schema of the chain language, for editors"),
    ]
    return page("Reference", "Everything here is made from the code.", table(("Page", "What is in it"), rows))


def _headed(named: tuple[str, str]) -> tuple[str, str, str]:
    """Give the name of a page, its title, and its first sentence."""
    name, text = named
    lines = [line for line in text.splitlines() if line and not line.startswith("<!--")]
    return name, lines[0].removeprefix("# "), lines[1].partition(".")[0]

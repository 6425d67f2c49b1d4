"""Find the commands that installed packages bring, without importing them."""
# ruff: noqa: PTH118, PTH120, PTH123, PTH208
# pathlib and dataclasses are not used: their import would make the help a third slower.

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = "catenary.commands"
"""The entry-point group by which a package names its commands: `name = module:attribute`."""

_ENTRY = re.compile(r"\s*([\w.]+)\s*:\s*(\w+)\s*(?:\[([^\]]*)\])?\s*")
_FIRST_LINE = re.compile(r'\s*[rRuU]?"""(.+?)(?:"""|$)')


class Entry(NamedTuple):
    """One command as an entry point names it.

    Args:
        name: What is typed.
        module: The module to import.
        attribute: The click command in it.
        extras: The extras of the package that the command needs.
    """

    name: str
    module: str
    attribute: str
    extras: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, value: str) -> Entry | None:
        """Read the value of an entry point; `None` when it does not name an attribute of a module."""
        match = _ENTRY.fullmatch(value)
        if match is None:
            return None
        extras = tuple(extra.strip() for extra in (match[3] or "").split(",") if extra.strip())
        return cls(name, match[1], match[2], extras)


def find_entries() -> dict[str, Entry]:
    """Give the commands of all packages installed in folders, by name; of two with one name, the first in `sys.path`.

    The files are read here and not through `importlib.metadata`, whose import alone takes as long as that of click.
    What lies in other places (zip files, importers of one's own) is found by `find_all_entries`.
    """
    found: dict[str, Entry] = {}
    for folder in dict.fromkeys(sys.path):
        for text in _entry_point_texts(folder or "."):
            for name, value in _section(text):
                entry = Entry.of(name, value)
                if entry is not None:
                    found.setdefault(name, entry)
    return found


def find_all_entries() -> dict[str, Entry]:
    """Give the commands of all packages, wherever they are installed. Slower than `find_entries`."""
    from importlib.metadata import entry_points

    read = (Entry.of(point.name, point.value) for point in entry_points(group=GROUP))
    return {entry.name: entry for entry in read if entry is not None}


def summary_of(entry: Entry) -> str:
    """Give the first line of the command's module, read from its source; empty when it cannot be read."""
    from importlib.util import find_spec

    top, *inner = entry.module.split(".")
    try:
        spec = sys.modules[top].__spec__ if top in sys.modules else find_spec(top)
    except (ImportError, ValueError):
        return ""
    folders = (spec.submodule_search_locations if inner else [os.path.dirname(spec.origin or "")]) if spec else None
    for folder in folders or ():
        for path in _sources(os.path.join(folder, *(inner or [top]))):
            line = _first_line(path)
            if line:
                return line.removeprefix(f"`{entry.name}`: ").strip()
    return ""


def _sources(stem: str) -> tuple[str, str]:
    return f"{stem}.py", os.path.join(stem, "__init__.py")


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as source:
            match = _FIRST_LINE.match(source.readline())
    except (OSError, UnicodeDecodeError):
        return ""
    return match[1] if match else ""


def _entry_point_texts(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # a zip file, or a folder that is not there
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                    yield file.read()
            except (OSError, UnicodeDecodeError):
                continue


def _section(text: str) -> Iterator[tuple[str, str]]:
    """Give the entries of the commands' section of an `entry_points.txt`."""
    if GROUP not in text:
        return
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and line and line[0] not in "#;":
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()

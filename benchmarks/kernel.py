"""Measure catenary against hand-written Python and against other libraries, in one run: see `README.md` beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import nodes  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the components
import peers
from command import EFFORTS, read_options, show
from rows import Bench
from rows.message import has_orjson
from table import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measuring import Effort
    from peers import Peer

GROUPS: Final = {
    "A": "message",
    "B": "hops",
    "C": "split",
    "D": "loop",
    "X": "expression",
    "E": "memory",
    "F": "extras",
}


def main() -> None:
    """Measure, print the table, and write JSON if asked to."""
    options = read_options(__doc__, GROUPS)
    found, missing = peers.find()
    rows: list[Row] = []
    for letter in options.only:
        print(f"measuring {letter} ({GROUPS[letter]}) ...", file=sys.stderr)
        rows += measured([letter], EFFORTS[options.effort], found)
        if letter == "A" and has_orjson():
            rows += _without_orjson(options.effort)
    versions = [f"{peer.name} {peer.version}" for peer in found] + [f"{name} not installed" for name in missing]
    show(rows, options, [peer.name for peer in found], versions)


def measured(letters: Sequence[str], effort: Effort, found: Sequence[Peer]) -> list[Row]:
    """Measure some groups in this process."""
    bench = Bench(effort, found)
    return [row for letter in letters for row in import_module(f"rows.{GROUPS[letter]}").rows(bench)]


def _without_orjson(effort_name: str) -> list[Row]:
    """Measure group A with the JSON of the standard library, in a process that has no orjson."""
    program = Path(__file__).with_name("without_orjson.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        subprocess.run([sys.executable, str(program), str(file), effort_name], check=True)
        return [Row.from_dict(written) for written in json.loads(file.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    main()

"""Measure catenary against hand-written Python and against other libraries, in one run: see `README.md` beside it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nodes  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the components
import peers
from measuring import QUICK, THOROUGH
from rows import REFERENCE_HOP_US, Bench
from rows.message import has_orjson
from table import Row, figure, rendered

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
EFFORTS: Final = {"quick": QUICK, "thorough": THOROUGH}


def main() -> None:
    """Measure, print the table, and write JSON if asked to."""
    options = _options()
    effort_name = "quick" if options.quick else "thorough"
    found, missing = peers.find()
    rows: list[Row] = []
    for letter in options.only:
        print(f"measuring {letter} ({GROUPS[letter]}) ...", file=sys.stderr)
        rows += measured([letter], EFFORTS[effort_name], found)
        if letter == "A" and has_orjson():
            rows += _without_orjson(effort_name)
    if options.json:
        written = {"machine": _machine(), "effort": effort_name, "rows": [row.to_dict() for row in rows]}
        Path(options.json).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    versions = [f"{peer.name} {peer.version}" for peer in found] + [f"{name} not installed" for name in missing]
    _print(rows, [peer.name for peer in found], versions, effort_name)


def measured(letters: Sequence[str], effort: Effort, found: Sequence[Peer]) -> list[Row]:
    """Measure some groups in this process."""
    bench = Bench(effort, found)
    return [row for letter in letters for row in import_module(f"rows.{GROUPS[letter]}").rows(bench)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test of some seconds; its figures mean little")
    parser.add_argument("--json", metavar="FILE", help="write all rows to this file as well")
    parser.add_argument("--only", metavar="A,B..", default=",".join(GROUPS), help="the groups of rows to measure")
    options = parser.parse_args()
    chosen = {name.strip().upper() for name in options.only.split(",") if name.strip()}
    unknown = sorted(chosen - GROUPS.keys())
    if unknown:
        parser.error(f"--only {unknown[0]}: there is no such group; there are {', '.join(GROUPS)}")
    options.only = [letter for letter in GROUPS if letter in chosen]
    return options


def _without_orjson(effort_name: str) -> list[Row]:
    """Measure group A with the JSON of the standard library, in a process that has no orjson."""
    program = Path(__file__).with_name("without_orjson.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        subprocess.run([sys.executable, str(program), str(file), effort_name], check=True)
        return [Row.from_dict(written) for written in json.loads(file.read_text(encoding="utf-8"))]


def _machine() -> dict[str, Any]:
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }


def _print(rows: list[Row], peer_names: list[str], versions: list[str], effort_name: str) -> None:
    machine = _machine()
    print(f"{machine['python']}, {machine['system']}, {machine['cpus']} CPUs; {', '.join(versions)}")
    print("us: microseconds of CPU time a message. Medians of repeats that take turns; garbage collection is on.\n")
    print(rendered(rows, peer_names))
    speeds = [row.speed for row in rows if row.unit == "us"]
    if speeds:
        lowest, highest = min(speeds), max(speeds)
        print(
            f"\na hand-written awaited hop took {figure(lowest * REFERENCE_HOP_US)} to"
            f" {figure(highest * REFERENCE_HOP_US)} us here, and {REFERENCE_HOP_US} us on the machine of the goals:\n"
            f"`scaled` is the figure divided by {lowest:.2f} to {highest:.2f}. A ratio decides where the goal has one."
        )
    judged = [row.is_reached for row in rows if row.is_reached is not None]
    remark = " (quick: that says little)" if effort_name == "quick" else ""
    print(f"{sum(judged)} of {len(judged)} goals reached{remark}")


if __name__ == "__main__":
    main()

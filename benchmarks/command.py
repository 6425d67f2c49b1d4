"""What the benchmark programs share: their options, the table, and the lines around it."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from measuring import QUICK, THOROUGH
from rows import REFERENCE_HOP_US
from table import figure, rendered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table import Row

EFFORTS: Final = {"quick": QUICK, "thorough": THOROUGH}


def read_options(description: str | None, groups: Mapping[str, str]) -> argparse.Namespace:
    """Read the command line: `effort` is the name of the effort, `only` the letters of groups, `json` a file."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a smoke test of some seconds; its figures mean little")
    parser.add_argument("--json", metavar="FILE", help="write all rows to this file as well")
    parser.add_argument("--only", metavar="A,B..", default=",".join(groups), help="the groups of rows to measure")
    options = parser.parse_args()
    chosen = {name.strip().upper() for name in options.only.split(",") if name.strip()}
    unknown = sorted(chosen - groups.keys())
    if unknown:
        parser.error(f"--only {unknown[0]}: there is no such group; there are {', '.join(groups)}")
    options.only = [letter for letter in groups if letter in chosen]
    options.effort = "quick" if options.quick else "thorough"
    return options


def machine() -> dict[str, Any]:
    """Tell what this was measured on."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }


def show(rows: Sequence[Row], options: argparse.Namespace, peer_names: Sequence[str], versions: Sequence[str]) -> None:
    """Print the table, and write JSON if asked to."""
    here = machine()
    if options.json:
        written = {"machine": here, "effort": options.effort, "rows": [row.to_dict() for row in rows]}
        Path(options.json).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print(f"{here['python']}, {here['system']}, {here['cpus']} CPUs; {', '.join(versions)}")
    print("us: microseconds of CPU time a message. Medians of repeats that take turns; garbage collection is on.\n")
    print(rendered(list(rows), list(peer_names)))
    speeds = [row.speed for row in rows if row.unit == "us"]
    if speeds:
        lowest, highest = min(speeds), max(speeds)
        print(
            f"\na hand-written awaited hop took {figure(lowest * REFERENCE_HOP_US)} to"
            f" {figure(highest * REFERENCE_HOP_US)} us here, and {REFERENCE_HOP_US} us on the machine of the goals:\n"
            f"`scaled` is the figure divided by {lowest:.2f} to {highest:.2f}. A ratio decides where the goal has one."
        )
    judged = [row.is_reached for row in rows if row.is_reached is not None]
    remark = " (quick: that says little)" if options.effort == "quick" else ""
    print(f"{sum(judged)} of {len(judged)} goals reached{remark}")

"""Measure large chains, many chains, and what watching and reloading cost, in one run: see `README.md` beside it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

import nodes  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the components
from command import EFFORTS, read_options, show
from rows import Bench

if TYPE_CHECKING:
    from table import Row

GROUPS: Final = {"S": "scale", "W": "watching", "R": "reloading"}


def main() -> None:
    """Measure, print the table, and write JSON if asked to."""
    options = read_options(__doc__, GROUPS)
    bench = Bench(EFFORTS[options.effort])
    rows: list[Row] = []
    for letter in options.only:
        print(f"measuring {letter} ({GROUPS[letter]}) ...", file=sys.stderr)
        rows += import_module(f"rows.{GROUPS[letter]}").rows(bench)
    show(rows, options, [], [])


if __name__ == "__main__":
    main()

"""Measure the language against hand-written Python and against other evaluators: see `README.md` beside it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

from command import EFFORTS, read_options, show
from peers import evaluators
from rows import Bench

GROUPS: Final = {
    "L": "formula",
    "P": "predicate",
    "T": "template",
    "S": "script",
    "C": "compiling",
}


def main() -> None:
    """Measure, print the table, and write JSON if asked to."""
    options = read_options(__doc__, GROUPS)
    bench = Bench(EFFORTS[options.effort])
    rows = []
    for letter in options.only:
        print(f"measuring {letter} ({GROUPS[letter]}) ...", file=sys.stderr)
        rows += import_module(f"rows.{GROUPS[letter]}").rows(bench)
    names, versions = evaluators.installed()
    show(rows, options, names, versions)


if __name__ == "__main__":
    main()

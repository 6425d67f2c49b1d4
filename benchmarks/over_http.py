"""Measure catenary as a service and as a client of services, by HTTP: see `README.md` beside it.

Not called `http.py`: a module of that name beside the others would stand in the way of Python's own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

from command import EFFORTS, read_options, show
from rows import Bench

if TYPE_CHECKING:
    from table import Row

GROUPS: Final = {"H": "endpoint", "C": "calling"}


def main() -> None:
    """Measure, print the table, and write JSON if asked to."""
    options = read_options(__doc__, GROUPS)
    bench = Bench(EFFORTS[options.effort])
    rows: list[Row] = []
    for letter in options.only:
        print(f"measuring {letter} ({GROUPS[letter]}) ...", file=sys.stderr)
        rows += import_module(f"rows.{GROUPS[letter]}").rows(bench)
    peer_names = sorted({name for row in rows for name in row.peers})
    show(rows, options, peer_names, ["starlette and uvicorn by hand"])


if __name__ == "__main__":
    main()

"""Measure group A without orjson and write its rows as JSON: `kernel.py` starts this as a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Hide orjson, then measure; the other libraries stay away, for some of theirs need it."""
    file, effort_name = sys.argv[1:]
    hidden: dict[str, object] = sys.modules  # type: ignore[assignment]  # None stands for a module that is not there
    hidden["orjson"] = None
    import kernel  # imports catenary, so it must come after

    rows = kernel.measured(["A"], kernel.EFFORTS[effort_name], [])
    Path(file).write_text(json.dumps([row.to_dict() for row in rows]), encoding="utf-8")


if __name__ == "__main__":
    main()

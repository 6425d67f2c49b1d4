"""`python -m catenary`: the command line, where the script `catenary` is not on the path."""

from __future__ import annotations

from catenary.cli import main

main(prog_name="catenary")

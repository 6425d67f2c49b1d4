"""What a checker says about a file that was just written, so that the model can put it right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.component import option
from catenary.errors import CatenaryError
from catenary.processes import ProgramOptions, clean_environment, run_program
from catenary_components.ai.tools.builtin.paths import PathOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary_components.ai.tools.builtin.paths import PathPolicy

MAX_ERRORS: Final = 10
"""Lines that are passed on."""

_TIMEOUT_S: Final = 30.0
_MOST_BYTES: Final = 1024 * 1024
_LINE: Final = 300


class DiagnosticOptions(PathOptions):
    """Where a file tool may go, and what looks at the files it has changed."""

    diagnostics: dict[str, list[str]] = option(
        {},
        help="By the ending of files, a program that checks one: its words, `{path}` among them. What it says when it "
        "ends with an error is added to the result, up to 10 lines.",
        examples=[{".py": ["python3", "-m", "py_compile", "{path}"]}],
    )


async def diagnosed(programs: Mapping[str, Sequence[str]], policy: PathPolicy, real: str) -> str:
    """Check a file that was written; give what is added to the result, which is nothing when all is well."""
    words = programs.get(Path(real).suffix)
    if not words:
        return ""
    command = [word.replace("{path}", real) for word in words]
    options = ProgramOptions(
        folder=Path(policy.work),
        environment=clean_environment(),
        timeout_s=_TIMEOUT_S,
        max_output_bytes=_MOST_BYTES,
    )
    try:
        ended = await run_program(command, options)
    except CatenaryError as error:
        return f"\nDiagnostics: {error}"
    if ended.code == 0:
        return ""
    lines = [
        line for line in (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").splitlines() if line.strip()
    ]
    telling = [line for line in lines if re.search(r"error|:\d+|line \d+", line, re.IGNORECASE)] or lines
    return "\nDiagnostics:\n" + "\n".join(line[:_LINE] for line in telling[:MAX_ERRORS])

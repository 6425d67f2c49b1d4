"""The errors of scripts, worded the same for all engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from catenary.errors import ScriptError

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from catenary.expr.script.engine import ScriptLimits

Limit: TypeAlias = Literal["time", "memory", "stack"]
"""What stops a script."""

_LONGEST_TEXT = 100_000  # of an error: engines put whole names into theirs

LINES_BEFORE_SOURCE = 3
"""Lines that an engine puts before the first line of a script."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """An engine stopped a script: it ran into a limit, or not even its error could be told.

    Args:
        reason: Which limit; `"error"` for anything else.
        text: What the engine says.
    """

    reason: Limit | Literal["error"]
    text: str = ""

    @classmethod
    def by(cls, limits: Mapping[str, Limit], text: str) -> Stopped | None:
        """Say which limit stands behind what an engine says; `None` when it is none of `limits`."""
        reason = limits.get(text)
        return None if reason is None else cls(reason)


@dataclass(frozen=True, slots=True)
class Places:
    """How an engine writes places in a script.

    Args:
        frame: Finds line and column in the first line of a stack that is about the script.
        syntax: Finds them in the stack of an error of syntax.
        lines_before: Lines that the engine counts before the first one of the script.
    """

    frame: re.Pattern[str]
    syntax: re.Pattern[str]
    lines_before: int = LINES_BEFORE_SOURCE


def limit_error(stopped: Stopped, limits: ScriptLimits, source: str) -> ScriptError:
    """Give the error for a script that ran into a limit."""
    hint = ""
    text = stopped.text
    if stopped.reason == "time":
        text = f"execution timeout: the script ran longer than {limits.timeout_s:g} s"
        hint = "look for a loop that never ends, or raise the time limit of scripts"
    elif stopped.reason == "memory":
        text = f"out of memory: the script took more than {limits.memory_bytes / 2**20:g} MiB"
        hint = "look for a list or text that keeps growing, or raise the memory limit of scripts"
    elif stopped.reason == "stack":
        text = "stack overflow: functions of the script call each other too deeply"
        hint = "look for a recursion that never ends"
    return ScriptError(text or "the script threw an empty text", source=source, hint=hint)


def thrown_error(text: str, stack: str, source: str, places: Places) -> ScriptError:
    """Give the error for what a script threw: its text is that of what was thrown."""
    line, column, position = _place(places.frame, stack, source, places.lines_before)
    hint = f"line {line}, column {column} of the script: `{_excerpt(source, line)}`" if line else ""
    shown = text[:_LONGEST_TEXT] or "the script threw an empty text"
    return ScriptError(shown, source=source, position=position, hint=hint)


def syntax_error(text: str, stack: str, source: str, places: Places) -> ScriptError:
    """Give the error for a source that does not compile."""
    line, column, position = _place(places.syntax, stack, source, places.lines_before)
    at = f" at line {line}, column {column}" if line else ""
    return ScriptError(
        f"the script is not valid{at}: {text}: `{_excerpt(source, line)}`",
        source=source,
        position=position,
        hint="correct the script; it is the body of a JavaScript function",
    )


def deep_error(source: str) -> ScriptError:
    """Give the error for a result that no JSON reader takes."""
    return ScriptError("the script returned a value that is nested too deeply", source=source)


def _place(pattern: re.Pattern[str], stack: str, source: str, before: int) -> tuple[int, int, int]:
    """Give line and column (from 1) and the offset in the source at the top of a stack; `(0, 0, -1)` if unknown."""
    found = pattern.search(stack)
    lines = source.split("\n")
    if found is None or int(found[1]) <= before:
        return 0, 0, -1
    line = min(int(found[1]) - before, len(lines))
    column = min(int(found[2]), len(lines[line - 1]) + 1)
    return line, column, sum(len(text) + 1 for text in lines[: line - 1]) + column - 1


def _excerpt(source: str, line: int) -> str:
    text = source.split("\n")[max(line, 1) - 1].strip()
    return text if len(text) <= 80 else f"{text[:77]}..."

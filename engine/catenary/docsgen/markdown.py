"""Small pieces of Markdown."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catenary.jsontext import Json

NOTE: Final = "<!-- Written by `catenary docs build` from the code; changes here are lost. -->"

_SECTION: Final = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$")
_ENTRY: Final = re.compile(r"^    (\S[^:]*): (.*)$")


def page(title: str, *parts: str) -> str:
    """Give a page: the note that it is made, the title, and its parts with a line between them."""
    return "\n\n".join([NOTE, f"# {title}", *(part.strip("\n") for part in parts if part.strip())]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table; empty without rows."""
    lines = [f"| {' | '.join(cell(text) for text in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines])


def cell(text: str) -> str:
    """Give a text as it can stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Give a text as code in a line."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}" if text else ""


def json_code(value: Json) -> str:
    """Give a value as JSON in a line."""
    return code(json.dumps(value, ensure_ascii=False))


def fenced(text: str, language: str = "") -> str:
    """Give a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def of_docstring(subject: object) -> str:
    """Give a docstring as Markdown: its `Args:` and their like become lists. Empty without a docstring of its own."""
    text = inspect.cleandoc(getattr(subject, "__doc__", None) or "")
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        section = _SECTION.match(line)
        entry = _ENTRY.match(line) if inside else None
        if section:
            inside = True
            lines += [f"**{section[1]}**", ""]
        elif entry:
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif inside and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            inside = inside and not line.strip()
            lines.append(line)
    return "\n".join(lines)


def file_name(name: str) -> str:
    """Give the name of a page: `ai/agent` has its page in `ai-agent.md`."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name) + ".md"

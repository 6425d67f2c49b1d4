"""`${...}` in texts: finding them, and the pass over a node's configuration when a chain is loaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from catenary.errors import TemplateError
from catenary.expr.environment import find_path
from catenary.expr.problems import syntax_problem
from catenary.expr.text import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json

# Neither may look twice at what it passed over: texts are long, and come from anybody.
_PLACEHOLDER = re.compile(r"\$\{\s*(global|vars|secrets|ruleChain)\.([^{}\s][^{}]*)\}")
_INSIDE = re.compile(
    r"""[^'"`{}/]+|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`[^`]*`|//[^\n]*|/\*.*?(?:\*/|\Z)|.""", re.DOTALL
)


def split_parts(source: str) -> list[tuple[str, int, int]]:
    """Cut a text at its `${...}`.

    Quotes, raw texts, comments and inner braces are understood. A `${` after which no brace closes is plain text.

    Returns:
        `(text before, start of the expression, its end)` for each part; for the text behind the last one, start and
        end are -1.

    Raises:
        TemplateError: When a quote within a part is not closed.
    """
    parts: list[tuple[str, int, int]] = []
    at = 0
    while (start := source.find("${", at)) >= 0:
        end = _closing(source, start + 2)
        if end < 0:
            if "}" not in source[start:]:
                break
            raise syntax_problem(
                TemplateError,
                "a '${' is not closed",
                source=source,
                position=start,
                hint="A brace or a quote within it is not closed.",
            )
        parts.append((source[at:start], start + 2, end))
        at = end + 1
    parts.append((source[at:], -1, -1))
    return parts


def _closing(source: str, at: int) -> int:
    """Give where the brace is that closes the expression which begins at `at`; -1 when there is none."""
    depth = 0
    while match := _INSIDE.match(source, at):
        text = match.group()
        if text == "{":
            depth += 1
        elif text == "}":
            if depth == 0:
                return at
            depth -= 1
        elif text in {"'", '"', "`"}:
            return -1
        at = match.end()
    return -1


def resolve_placeholders(value: Json, environment: Environment) -> Json:
    """Replace `${global.x}`, `${vars.x}`, `${secrets.x}`, `${ruleChain.x}` in a configuration, at any depth.

    Only plain paths are replaced, whose keys may hold dots; what is found goes in as text and is not looked at
    again. What is not found, and any longer expression, stays as written. Keys of maps stay as they are.
    """
    if isinstance(value, str):
        return "".join(text for text, _ in resolved_pieces(value, environment)) if "${" in value else value
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value)
        return {key: resolve_placeholders(entry, environment) for key, entry in entries.items()}
    if isinstance(value, list):
        return [resolve_placeholders(element, environment) for element in cast("list[Json]", value)]
    return value


def resolved_pieces(source: str, environment: Environment) -> Iterator[tuple[str, str]]:
    """Give a text in pieces.

    Returns:
        `(text, name)` for each: what the placeholder `name`, such as `global.site`, stands for; or text as it was
        written, with an empty name.
    """
    at = 0
    for match in _PLACEHOLDER.finditer(source):
        path = match[2].rstrip()
        found, value = find_path(environment.root(match[1]), path)
        if found:
            yield source[at : match.start()], ""
            yield text_of(value), f"{match[1]}.{path}"
            at = match.end()
    yield source[at:], ""

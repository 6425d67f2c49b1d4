"""A rendered node as text to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json

_LONGEST = 100


def lines_of(node: dict[str, Any]) -> Iterator[str]:
    """Give what was told about a node line by line."""
    yield f"{click.style(node['id'], bold=True)} ({node['type']})"
    for problem in node.get("problems", ()):
        yield f"  {_error(problem['text'])}"
        if problem["hint"]:
            yield f"    hint: {problem['hint']}"
    for option in node["options"]:
        yield from _option_lines(option)
    if "error" in node:
        yield f"  would send nothing: {node['error']['text']}"
        if node["error"]["hint"]:
            yield f"    hint: {node['error']['hint']}"
    elif node.get("sends"):
        yield "  would send"
        yield from _value_lines(node["sends"], "    ")


def _option_lines(option: dict[str, Any]) -> Iterator[str]:
    kind = "" if option["kind"] == "value" else f" ({option['kind']})"
    head = f"  {click.style(option['option'], fg='cyan')}{kind}"
    text = _shown(option)
    if text is None:
        yield head
    elif "\n" in text:
        yield head
        yield from (f"    | {line}" for line in text.split("\n"))
    else:
        yield f"{head}: {text}"
    if option["kind"] in {"expression", "python"}:
        yield f"    {option['source']}"
    for part in option.get("parts", ()):
        yield from _part_lines(part)
    if not any("error" in part for part in option.get("parts", ())):
        yield from _notes(option, "    ")


def _shown(option: dict[str, Any]) -> str | None:
    if "text" in option:
        text: str = option["text"]
        return text if text and isinstance(option.get("value"), str) else _compact(option["value"])
    if "partial" in option:
        return option["partial"]
    return _compact(option["value"]) if "value" in option else None


def _part_lines(part: dict[str, Any]) -> Iterator[str]:
    if part["kind"] == "text":
        yield f"    {_quoted(part['text'])}"
        return
    if part["kind"] == "placeholder":
        origin = f", from {part['source']}" if part["source"] else ""
        yield f"    ${{{part['name']}}} = {_quoted(part['text'])}{origin}, put in when the chain is loaded"
        return
    value = f" = {_compact(part['value'])}" if "value" in part else ""
    yield f"    ${{{_short(part['source'])}}}{value}"
    yield from _notes(part, "      ")


def _notes(told: dict[str, Any], indent: str) -> Iterator[str]:
    """Give the files that were read, the outputs that are missing, and the error."""
    for file in told.get("files", ()):
        yield f"{indent}read from {file}"
    for node in told.get("missingOutputs", ()):
        yield f"{indent}the output of {node!r} is not given; add --output {node}=DATA"
    if "unset" in told:
        yield f"{indent}{told['unset']} is not set and counts as empty text"
    if "error" in told:
        yield from _error_lines(told["error"], indent)


def _error_lines(error: dict[str, Any], indent: str) -> Iterator[str]:
    first, *rest = error["shown"].split("\n")
    yield f"{indent}{_error(first)}"
    yield from (f"{indent}{line}" for line in rest)
    if error["hint"]:
        yield f"{indent}  hint: {error['hint']}"


def _value_lines(value: Json, indent: str) -> Iterator[str]:
    """Give a value as an indented outline: texts of several lines stay readable, unlike in JSON."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            yield from _item_lines(f"{key}:", item, indent)
    elif isinstance(value, list):
        for item in cast("list[Json]", value):
            yield from _item_lines("-", item, indent)


def _item_lines(label: str, item: Json, indent: str) -> Iterator[str]:
    if isinstance(item, (dict, list)) and item:
        yield f"{indent}{label}"
        yield from _value_lines(item, f"{indent}  ")
    elif isinstance(item, str) and "\n" in item:
        yield f"{indent}{label}"
        yield from (f"{indent}  | {line}" for line in item.split("\n"))
    else:
        yield f"{indent}{label} {item if isinstance(item, str) else _compact(item)}"


def _error(text: str) -> str:
    return f"{click.style('error', fg='red', bold=True)}: {text}"


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    return _compact(_short(text))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

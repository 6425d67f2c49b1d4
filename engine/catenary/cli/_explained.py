"""An explained expression as text to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_READS: Final = {
    "variables": "variables",
    "nodes": "outputs of nodes",
    "metadataKeys": "keys of the metadata",
    "functions": "functions",
    "methods": "methods",
    "unknown": "unknown names, which are nil",
    "unknownFunctions": "unknown functions, which fail",
}


def lines_of(explanation: dict[str, Any], result: dict[str, Any]) -> Iterator[str]:
    """Give an explanation, and what the text came to, as lines to read."""
    for part in explanation["parts"]:
        if explanation["kind"] == "template":
            yield f"${{{part['source']}}} at {part['line']}:{part['column']}"
        yield from _part_lines(part)
    if result["ok"]:
        yield "result"
        yield f"  {result.get('json') or result['text']}  ({result['kind']})"
    times = explanation.get("times")
    if times:
        yield "time"
        yield f"  compiled in {times['compileUs']:g} µs"
        if "evaluateUs" in times:
            yield f"  evaluated in {times['evaluateUs']:g} µs, the shortest of many"


def _part_lines(part: dict[str, Any]) -> Iterator[str]:
    yield "tree"
    width = max(len(f"{row['line']}:{row['column']}") for row in part["tree"])
    for row in part["tree"]:
        yield f"  {row['line']}:{row['column']}".ljust(width + 4) + row["branch"] + row["node"]
    if part["reads"]:
        yield "reads"
    for kind, names in part["reads"].items():
        yield f"  {_READS[kind]}: {', '.join(names)}"
    if part.get("folded"):
        yield "worked out in advance"
        yield from (f"  {one['text']} is {one['value']}" for one in part["folded"])
    for title, key in (("lowered to Python", "lowered"), ("runs as", "closure")):
        if key in part:
            yield title
            yield from (f"  {line}" for line in part[key].splitlines())

"""Write a diagram as Mermaid text, which many sites and editors draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.drawing.palette import INK, tint_of
from catenary.drawing.text import printable

if TYPE_CHECKING:
    from catenary.drawing.diagram import Box, Diagram, Shape

_SHAPES: Final[dict[Shape, tuple[str, str]]] = {
    "box": ("[", "]"),
    "join": ("{{", "}}"),
    "end": ("([", "])"),
    "chain": ("[[", "]]"),
    "missing": ("[", "]"),
}


def mermaid(diagram: Diagram) -> str:
    """Write a diagram as a Mermaid flowchart, the same text for the same diagram."""
    names = {box.id: f"n{index}" for index, box in enumerate(diagram.boxes)}
    heading = diagram.name or diagram.id
    lines = ["---", f'title: "{_quoted(heading)}"', "---"] if heading else []
    lines.append("flowchart LR")
    lines += [f"  {names[box.id]}{_shown(box)}" for box in diagram.boxes]
    if diagram.entry:
        lines += ["  start(( ))", f"  start --> {names[diagram.entry]}", f"  style start fill:{INK},stroke:{INK}"]
    for port in diagram.ports:
        for target in port.targets:
            lines.append(f'  {names[port.source]} -->|"{_escaped(port.label)}"| {names[target]}')
    for category in sorted({box.category for box in diagram.boxes}):
        tint = tint_of(category)
        members = ",".join(names[box.id] for box in diagram.boxes if box.category == category)
        lines.append(f"  classDef {_class(category)} fill:{tint.soft},stroke:{tint.strong},color:{INK}")
        lines.append(f"  class {members} {_class(category)}")
    lines += [f"  style {names[box.id]} stroke-dasharray:5 4" for box in diagram.boxes if not box.reached]
    return "\n".join(lines) + "\n"


def _shown(box: Box) -> str:
    left, right = _SHAPES[box.shape]
    parts = [f"<b>{_escaped(box.name or box.id)}</b>", *([_escaped(box.id)] if box.name else []), _escaped(box.type)]
    return f'{left}"{"<br/>".join(parts)}"{right}'


def _escaped(text: str) -> str:
    """Give a text as Mermaid shows it unchanged: everything that it or HTML reads as a sign becomes its number."""
    plain = (character.isalnum() or character in " .,:_-/" for character in text)
    return "".join(c if ok else f"#{ord(c)};" for c, ok in zip(printable(text), plain, strict=True)) or " "


def _quoted(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _class(category: str) -> str:
    """Give a name for a category that cannot be one of Mermaid's own words."""
    return "kind_" + "".join(character if character.isalnum() else "_" for character in category)

"""Write a diagram as Mermaid text, which many sites and editors draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.drawing.palette import FAILURE_LINE, INK, tint_of
from catenary.drawing.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.drawing.diagram import Box, Diagram, Shape
    from catenary.drawing.overlay import Overlay

_SHAPES: Final[dict[Shape, tuple[str, str]]] = {
    "box": ("[", "]"),
    "join": ("{{", "}}"),
    "end": ("([", "])"),
    "chain": ("[[", "]]"),
    "missing": ("[", "]"),
    "endpoint": ("[/", "/]"),
}


def mermaid(diagram: Diagram, overlay: Overlay | None = None) -> str:
    """Write a diagram as a Mermaid flowchart, the same text for the same diagram and the same run."""
    names = {box.id: f"n{index}" for index, box in enumerate(diagram.boxes)}
    heading = diagram.name or diagram.id
    lines = ["---", f'title: "{_quoted(heading)}"', "---"] if heading else []
    lines.append("flowchart LR")
    lines += [f"  {names[box.id]}{_shown(box, overlay)}" for box in diagram.boxes]
    if diagram.mark:
        lines += ["  start(( ))", f"  start --> {names[diagram.mark]}", f"  style start fill:{INK},stroke:{INK}"]
    for port in diagram.ports:
        for target in port.targets:
            taken = overlay.taken(port, target) if overlay else 0
            label = port.label + (f" {taken}x" if taken else "")
            arrow = "-.->" if port.inner or (overlay and not taken and not port.incoming) else "==>" if taken else "-->"
            lines.append(f'  {names[port.source]} {arrow}|"{_escaped(label)}"| {names[target]}')
    for category in sorted({box.category for box in diagram.boxes}):
        tint = tint_of(category)
        members = ",".join(names[box.id] for box in diagram.boxes if box.category == category)
        lines.append(f"  classDef {_class(category)} fill:{tint.soft},stroke:{tint.strong},color:{INK}")
        lines.append(f"  class {members} {_class(category)}")
    lines += [f"  style {names[box.id]} stroke-dasharray:5 4" for box in diagram.boxes if not box.reached]
    if overlay is not None:
        lines += _styles_of_run(diagram, overlay, names)
    return "\n".join(lines) + "\n"


def _styles_of_run(diagram: Diagram, overlay: Overlay, names: Mapping[str, str]) -> Iterator[str]:
    """Give what makes boxes pale that a run did not visit, and marks those that failed in it."""
    for box in diagram.boxes:
        count = overlay.nodes.get(box.id)
        if count is None and box.shape != "endpoint":
            yield f"  style {names[box.id]} opacity:0.4"
        elif count is not None and count.failed:
            yield f"  style {names[box.id]} stroke:{FAILURE_LINE},stroke-width:4px"


def _shown(box: Box, overlay: Overlay | None) -> str:
    left, right = _SHAPES[box.shape]
    parts = [f"<b>{_escaped(box.name or box.id)}</b>", *([_escaped(box.id)] if box.name else []), _escaped(box.type)]
    count = overlay.nodes.get(box.id) if overlay else None
    if count is not None:
        parts.append(_escaped(count.label))
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

"""Write a laid-out picture as SVG: dark text on its own light ground, so that it reads on light and dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from catenary.drawing.outline import curve, polygon
from catenary.drawing.palette import (
    FAILURE_INK,
    FAILURE_LINE,
    FRAME,
    GROUND,
    INK,
    LINE,
    PALE_INK,
    PALE_LINE,
    TAKEN,
    relation_tint,
    tint_of,
)
from catenary.drawing.sizes import (
    ARROW,
    LABEL_HEIGHT,
    MARGIN,
    SMALL,
    TITLE,
    TITLE_ROOM,
    label_room,
    text_room,
    title_lines,
)
from catenary.drawing.sizes import LINE as LINE_HEIGHT
from catenary.drawing.text import fit, printable, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.drawing.diagram import Box, Diagram, Port
    from catenary.drawing.overlay import Count, Overlay
    from catenary.drawing.placing import Layout, Placed
    from catenary.drawing.routes import Line

_SANS: Final = "Segoe UI, Helvetica Neue, Helvetica, Arial, sans-serif"
_MONO: Final = "SFMono-Regular, Consolas, Liberation Mono, Menlo, monospace"
_SLANT: Final = 12.0
_RUN_ROOM: Final = 16.0
UNREACHED: Final = "not reached from the first node"


def svg(layout: Layout, overlay: Overlay | None = None, *, titled: bool = True) -> str:
    """Write a picture as an SVG document, the same text for the same picture.

    Args:
        layout: The picture.
        overlay: A run to be shown on it: what it did not take is pale, what it took has counts, times and errors.
        titled: False to leave out what stands above the chain, for pages that say it themselves.
    """
    top = 0.0 if titled else TITLE_ROOM
    if titled and overlay is not None:
        top = -_RUN_ROOM
    width, height = layout.width, layout.height - top
    heading = heading_of(layout.diagram)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 {top:g} {width:g} {height:g}" role="img" font-family="{_SANS}">'
        ),
        f"<title>{_text(heading)}</title>",
        f"<desc>{_text(_description(layout.diagram))}</desc>",
        _tag("rect", x=0.5, y=top + 0.5, width=width - 1, height=height - 1, rx=10, fill=GROUND, stroke=FRAME),
        *(_titles(layout, overlay, top) if titled else ()),
        *_lines(layout, overlay),
        *_start(layout),
        *(part for box, at in layout.boxes for part in _box(box, at, overlay)),
        *(part for port, at in layout.labels for part in _label(port, at, overlay)),
        *_legend(layout),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def heading_of(diagram: Diagram) -> str:
    """Give what stands above the picture: the name of the chain, else its id."""
    return diagram.name or diagram.id or "A chain without a name"


def _description(diagram: Diagram) -> str:
    nodes = ", ".join(f"{box.id} ({box.type})" for box in diagram.boxes)
    ways = "; ".join(f"{port.source} by {port.label} to {', '.join(port.targets)}" for port in diagram.ports)
    return f"Nodes: {nodes or 'none'}. Connections: {ways or 'none'}."


def _titles(layout: Layout, overlay: Overlay | None, top: float) -> Iterator[str]:
    room = layout.width - 2 * MARGIN
    yield _write(heading_of(layout.diagram), MARGIN, top + MARGIN + 8, size=16, room=room)
    if overlay is not None:
        yield _write(overlay.heading, MARGIN, top + MARGIN + 26, size=SMALL, room=room, colour=PALE_INK)


def _lines(layout: Layout, overlay: Overlay | None) -> Iterator[str]:
    """Draw the lines, those of failures first and those that a run took last, so that others lie above them."""
    taken = {line: _taken(line, overlay) for line in layout.lines}
    lines = sorted(layout.lines, key=lambda line: (taken[line] is True, not line.failure))
    tips: dict[tuple[float, float], str] = {}
    for line in lines:
        path = curve(line.points, ARROW - 3 if line.arrow else 0)
        colour = FAILURE_LINE if line.failure else LINE
        look: dict[str, str | float] = {"stroke": colour, "stroke_width": 1.6}
        if taken[line] is not None:
            colour = (FAILURE_INK if line.failure else TAKEN) if taken[line] else PALE_LINE
            look = {"stroke": colour, "stroke_width": 2.6 if taken[line] else 1.2}
        if line.inner:
            look["stroke_dasharray"] = "2 4"
        yield _tag("path", d=path, fill="none", **look)
        if line.arrow:
            tips[line.points[-1]] = colour
    for (x, y), colour in tips.items():
        yield _arrow(x, y, colour)


def _taken(line: Line, overlay: Overlay | None) -> bool | None:
    """Tell whether a run took a line; `None` without a run, and where that is not known: in front of the first node."""
    if overlay is None or all(port.incoming for port, _ in line.ways):
        return None
    return any(overlay.taken(port, target) for port, target in line.ways)


def _start(layout: Layout) -> Iterator[str]:
    if layout.start is None:
        return
    x, y = layout.start
    yield _tag("path", d=f"M{x - 38:.1f} {y:.1f}H{x - ARROW + 2:.1f}", stroke=INK, stroke_width=2, fill="none")
    yield _tag("circle", cx=x - 40, cy=y, r=6, fill=INK)
    yield _arrow(x, y, INK)


def _arrow(x: float, y: float, colour: str) -> str:
    points = f"{x - 0.5:.1f},{y:.1f} {x - ARROW:.1f},{y - 4.5:.1f} {x - ARROW:.1f},{y + 4.5:.1f}"
    return _tag("polygon", points=points, fill=colour)


def _box(box: Box, at: Placed, overlay: Overlay | None) -> Iterator[str]:
    tint = tint_of(box.category)
    count = overlay.nodes.get(box.id) if overlay else None
    pale = ' opacity="0.45"' if overlay and count is None and box.shape != "endpoint" else ""
    if pale:
        yield _under(at, at.height / 2 if box.shape == "end" else 8.0)
    yield f"<g data-node={quoteattr(printable(box.id))}{pale}><title>{_text(_tooltip(box, count))}</title>"
    yield from _outline(box, at, FAILURE_INK if count and count.failed else tint.strong, tint.soft)
    titles = title_lines(box)
    rows = len(titles) + 1 + bool(box.name)
    middle = at.left + at.width / 2
    room = text_room(at.width, box.shape)
    y = at.top + (at.height - rows * LINE_HEIGHT) / 2 + 13
    for line in titles:
        yield _write(line, middle, y, size=TITLE, room=room * 1.08, middle=True)
        y += LINE_HEIGHT
    if box.name:
        yield _write(box.id, middle, y, size=SMALL, colour=PALE_INK, monospace=True, room=room, middle=True)
        y += LINE_HEIGHT
    yield _write(box.type, middle, y, size=SMALL, colour=tint.strong, room=room, middle=True)
    if count is not None:
        yield from _badge(count, at)
    yield "</g>"


def _under(at: Placed, radius: float) -> str:
    """Cover the lines below something pale."""
    return _tag("rect", x=at.left, y=at.top, width=at.width, height=at.height, rx=min(radius, 26.0), fill=GROUND)


def _badge(count: Count, at: Placed) -> Iterator[str]:
    """Write what a run did at a node on the upper edge of its box."""
    colour = FAILURE_INK if count.failed else TAKEN
    width = width_of(count.label, SMALL) + 14
    left = at.left + at.width - width + 8
    yield _tag("rect", x=left, y=at.top - 10, width=width, height=LABEL_HEIGHT, rx=LABEL_HEIGHT / 2, fill=colour)
    yield _write(count.label, left + width / 2, at.top + 3, size=SMALL, colour=GROUND, room=width, middle=True)


def _tooltip(box: Box, count: Count | None) -> str:
    name = f"{box.name} [{box.id}]" if box.name else box.id
    told = f"{name}: {box.type}" + ("" if box.reached else f", {UNREACHED}")
    if count is not None:
        told += f"; {count.told}"
    return told + (f"; {count.error}" if count and count.error else "")


def _outline(box: Box, at: Placed, strong: str, soft: str) -> Iterator[str]:
    look = {"fill": soft, "stroke": strong, "stroke_width": 1.5}
    if not box.reached or box.shape == "missing":
        look["stroke_dasharray"] = "5 4"
    if box.shape == "join":
        yield _tag("polygon", points=polygon(at, _SLANT), stroke_linejoin="round", **look)
        return
    radius = at.height / 2 if box.shape == "end" else 8.0
    yield _tag("rect", x=at.left, y=at.top, width=at.width, height=at.height, rx=min(radius, 26.0), **look)
    if box.shape in {"end", "chain"}:
        inner = {"x": at.left + 3.5, "y": at.top + 3.5, "width": at.width - 7, "height": at.height - 7}
        yield _tag("rect", **inner, rx=max(min(radius, 26.0) - 3.5, 0), fill="none", stroke=strong, stroke_width=0.8)


def _label(port: Port, at: Placed, overlay: Overlay | None) -> Iterator[str]:
    tint = tint_of("endpoint") if port.incoming else relation_tint(port.relations)
    taken = overlay.taken(port) if overlay else 0
    pale = ' opacity="0.45"' if overlay and not taken and not port.incoming else ""
    if pale:
        yield _under(at, LABEL_HEIGHT / 2)
    yield f"<g{pale}><title>{_text(port.label)}{f', {_times(taken)}' if taken else ''}</title>"
    yield _tag(
        "rect", x=at.left, y=at.top, width=at.width, height=at.height, rx=LABEL_HEIGHT / 2, fill=tint.soft,
        stroke=tint.strong, stroke_width=0.7,
    )  # fmt: skip
    middle = at.left + at.width / 2
    yield _write(
        port.label, middle, at.top + 12.8, size=SMALL, colour=tint.strong, room=label_room(at.width), middle=True
    )
    yield "</g>"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _legend(layout: Layout) -> Iterator[str]:
    """Say what the colours mean, and the dashes when there are any; as far as there is room."""
    x, y = MARGIN, layout.height - 22.0
    used = sorted({box.category for box, _ in layout.boxes})
    entries = [(name, tint_of(name).strong, tint_of(name).soft, False) for name in used]
    if any(not box.reached for box, _ in layout.boxes):
        entries.append((UNREACHED, PALE_INK, GROUND, True))
    for name, strong, soft, dashed in entries:
        wide = width_of(name, SMALL)
        if x + 18 + wide > layout.width - MARGIN / 2:
            return
        dash = {"stroke_dasharray": "3 2"} if dashed else {}
        yield _tag(
            "rect", x=x, y=y - 9, width=12, height=11, rx=2.5, fill=soft, stroke=strong, stroke_width=1.2, **dash
        )
        yield _write(name, x + 18, y, size=SMALL, colour=PALE_INK, room=wide + 1)
        x += wide + 38


def _write(
    text: str,
    x: float,
    y: float,
    *,
    size: float,
    room: float,
    colour: str = INK,
    monospace: bool = False,
    middle: bool = False,
) -> str:
    shown = fit(printable(text), size, room, monospace=monospace)
    look: dict[str, str | float] = {"x": x, "y": y, "font_size": size, "fill": colour}
    if size > SMALL:
        look["font_weight"] = 600
    if monospace:
        look["font_family"] = _MONO
    if middle:
        look["text_anchor"] = "middle"
    return f"{_tag('text', **look)[:-2]}>{_text(shown)}</text>"


def _tag(name: str, **attributes: str | float) -> str:
    written = (f"{key.replace('_', '-')}={quoteattr(_shown(value))}" for key, value in attributes.items())
    return f"<{name} {' '.join(written)}/>"


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 1):g}"


def _text(text: str) -> str:
    return escape(printable(text))

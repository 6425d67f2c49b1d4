"""A quick layout for chains too large for a careful one: boxes in the order in which they are reached, in rows."""

from __future__ import annotations

from collections import deque
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

from catenary.drawing.placing import Layout, Placed
from catenary.drawing.routes import Line
from catenary.drawing.sizes import MARGIN, TITLE_ROOM, box_size

if TYPE_CHECKING:
    from catenary.drawing.diagram import Box, Diagram

LARGE: Final = 1500
"""From this many boxes on, a picture is laid out quickly: the careful layout takes seconds by then."""

_GAP_X: Final = 70.0
_GAP_Y: Final = 34.0
_TOP: Final = MARGIN + TITLE_ROOM
_LEGEND_ROOM: Final = 34.0


def place_quickly(diagram: Diagram) -> Layout:
    """Lay a picture out in rows from left to right; connections are drawn straight, without their labels."""
    ordered = _in_order(diagram)
    columns = max(1, ceil(sqrt(len(ordered) / 2)))
    width = max((box_size(box, 0)[0] for box in ordered), default=0.0)
    height = max((box_size(box, 0)[1] for box in ordered), default=0.0)
    places: dict[str, Placed] = {}
    for index, box in enumerate(ordered):
        row, column = divmod(index, columns)
        places[box.id] = Placed(
            MARGIN + 44.0 + column * (width + _GAP_X), _TOP + row * (height + _GAP_Y), width, height
        )
    rows = ceil(len(ordered) / columns)
    first = places.get(diagram.mark)
    return Layout(
        diagram,
        round(2 * MARGIN + 44.0 + columns * (width + _GAP_X)),
        round(_TOP + rows * (height + _GAP_Y) + _LEGEND_ROOM + MARGIN / 2),
        tuple((box, places[box.id]) for box in ordered),
        (),
        tuple(_lines(diagram, places)),
        (first.left, first.top + first.height / 2) if first else None,
    )


def _in_order(diagram: Diagram) -> list[Box]:
    following: dict[str, list[str]] = {}
    for port in diagram.ports:
        following.setdefault(port.source, []).extend(port.targets)
    boxes = {box.id: box for box in diagram.boxes}
    found: dict[str, Box] = {}
    for start in [diagram.entry, *boxes]:
        waiting = deque([start])
        while waiting:
            name = waiting.popleft()
            if name in boxes and name not in found:
                found[name] = boxes[name]
                waiting.extend(following.get(name, ()))
    return list(found.values())


def _lines(diagram: Diagram, places: dict[str, Placed]) -> list[Line]:
    lines: list[Line] = []
    for port in diagram.ports:
        start = places[port.source]
        out = start.left + start.width, start.top + start.height / 2
        for target in port.targets:
            end = places[target]
            points = (out, (end.left, end.top + end.height / 2))
            lines.append(Line(points, arrow=True, failure=port.is_failure, ways=((port, target),)))
    return lines

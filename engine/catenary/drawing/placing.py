"""Give everything in a picture its place: boxes, labels and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary.drawing.heights import set_heights
from catenary.drawing.layers import groups_of
from catenary.drawing.routes import Line, Router
from catenary.drawing.rows import Row, landscape_width, rows_of, set_x
from catenary.drawing.sizes import BEND_HEIGHT, LABEL_HEIGHT, LANE, MARGIN, ROW_WIDTH, TITLE_ROOM, box_size, label_width

if TYPE_CHECKING:
    from catenary.drawing.diagram import Box, Diagram, Port
    from catenary.drawing.layers import Group, Unit

_LEGEND_ROOM: Final = 34.0
_ROW_GAP: Final = 30.0
_LEAST_WIDTH: Final = 420.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A rectangle of the picture, in pixels from its upper left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture of which every part has its place.

    Args:
        boxes: The boxes with their places.
        labels: The ports with the places of their labels.
        lines: The connections; those that run together are one line.
        start: Where the mark of the first node points to; `None` without nodes.
    """

    diagram: Diagram
    width: float
    height: float
    boxes: tuple[tuple[Box, Placed], ...]
    labels: tuple[tuple[Port, Placed], ...]
    lines: tuple[Line, ...]
    start: tuple[float, float] | None


def place(diagram: Diagram, *, landscape: bool = False) -> Layout:
    """Lay a picture out: in columns from left to right, broken into rows where it gets too wide.

    A very large one is laid out quickly, as `place_quickly` does it.

    Args:
        diagram: What to lay out.
        landscape: True for rows so wide that all of it has the shape of a screen; they fit a printed page otherwise.
    """
    from catenary.drawing.grid import LARGE, place_quickly

    if len(diagram.boxes) >= LARGE:
        return place_quickly(diagram)
    ports: dict[str, list[Port]] = {}
    for port in diagram.ports:
        ports.setdefault(port.source, []).append(port)
    groups = groups_of(diagram)
    for group in groups:
        _measure(group, ports)
    row_width = landscape_width(groups, ports) if landscape else ROW_WIDTH
    rows = [row for group in groups for row in rows_of(group, ports, row_width)]
    router = Router(rows)
    for row in rows:
        set_x(row, MARGIN + router.margin_lanes * LANE, diagram.mark)
    bottom = _stack(rows, router)
    units = [unit for group in groups for column in group.columns for unit in column if unit.box]
    heights = {port: height for unit in units for port, height in unit.port_heights().items()}
    lines = router.lines(heights)
    width = max([row.right for row in rows] + [_LEAST_WIDTH - MARGIN]) + MARGIN
    width = max([width] + [x + MARGIN for line in lines for x, _ in line.points])
    return Layout(
        diagram,
        round(width),
        round(bottom + _LEGEND_ROOM + MARGIN / 2),
        tuple((unit.box, Placed(unit.left, unit.top, unit.width, unit.height)) for unit in units if unit.box),
        tuple(_label(unit, port, heights[port]) for unit in units for port in unit.ports),
        tuple(lines),
        next(((unit.left, unit.middle) for unit in units if diagram.mark and _id(unit) == diagram.mark), None),
    )


def _measure(group: Group, ports: dict[str, list[Port]]) -> None:
    for column in group.columns:
        for unit in column:
            unit.width, unit.height = 0.0, BEND_HEIGHT
            if unit.box:
                unit.width, unit.height = box_size(unit.box, len(ports.get(unit.box.id, ())))
        widest = max(unit.width for unit in column)
        for unit in column:
            unit.width = widest
    set_heights(group.columns)


def _stack(rows: list[Row], router: Router) -> float:
    """Put the rows below each other, with room for the lanes between them. Returns: the bottom."""
    top = MARGIN + TITLE_ROOM
    for row in rows:
        units = [unit for column in row.columns for unit in column]
        shift = top - min(unit.top for unit in units)
        for unit in units:
            unit.top += shift
        row.top = top
        row.height = max(unit.top + unit.height for unit in units) - top
        top = router.set_corridor(row, top + row.height + LANE) + _ROW_GAP
    return top - _ROW_GAP


def _label(unit: Unit, port: Port, height: float) -> tuple[Port, Placed]:
    return port, Placed(unit.right + 9.0, height - LABEL_HEIGHT / 2, label_width(port), LABEL_HEIGHT)


def _id(unit: Unit) -> str:
    return unit.box.id if unit.box else ""

"""The outlines that SVG draws: lines with rounded corners and level curves, and the six corners of a join."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.drawing.placing import Placed

Point = tuple[float, float]

_CORNER: Final = 7.0


def curve(points: Sequence[Point], short: float = 0.0) -> str:
    """Give the path through points as `Line` describes it; it ends `short` pixels before the last one."""
    if short:
        (x, y), before = points[-1], points[-2]
        points = [*points[:-1], (max(x - short, before[0]) if before[0] <= x else x, y)]
    path = [f"M{_at(points[0])}"]
    for index, (start, end) in enumerate(itertools.pairwise(points)):
        if start[0] != end[0] and start[1] != end[1]:
            bend = (start[0] + end[0]) / 2
            path.append(f"C{_at((bend, start[1]))} {_at((bend, end[1]))} {_at(end)}")
            continue
        following = points[index + 2] if index + 2 < len(points) else None
        path.append(_straight(start, end, following))
    return "".join(path)


def _straight(start: Point, end: Point, following: Point | None) -> str:
    """Give a straight piece, and the rounded corner behind it where the line turns."""
    if following is None or not _turns(start, end, following):
        return f"L{_at(end)}"
    radius = min(_CORNER, _length(start, end) / 2, _length(end, following) / 2)
    return f"L{_at(_towards(end, start, radius))}Q{_at(end)} {_at(_towards(end, following, radius))}"


def _turns(start: Point, corner: Point, end: Point) -> bool:
    level_first, level_then = start[1] == corner[1], corner[1] == end[1]
    upright_first, upright_then = start[0] == corner[0], corner[0] == end[0]
    return (level_first and upright_then and not level_then) or (upright_first and level_then and not level_first)


def _length(start: Point, end: Point) -> float:
    return abs(start[0] - end[0]) + abs(start[1] - end[1])


def _towards(start: Point, end: Point, distance: float) -> Point:
    whole = _length(start, end)
    part = distance / whole if whole else 0.0
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def polygon(at: Placed, slant: float) -> str:
    """Give the corners of a box with pointed sides."""
    right, bottom, middle = at.left + at.width, at.top + at.height, at.top + at.height / 2
    corners = (
        (at.left, middle),
        (at.left + slant, at.top),
        (right - slant, at.top),
        (right, middle),
        (right - slant, bottom),
        (at.left + slant, bottom),
    )
    return " ".join(_at(corner).replace(" ", ",") for corner in corners)


def _at(point: Point) -> str:
    return f"{round(point[0], 1):g} {round(point[1], 1):g}"

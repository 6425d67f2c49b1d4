"""Find the way of every connection. Lines keep to the gutters between columns and to the corridors below rows, where
no box is: what leads on is a curve through one gutter; what leads back or to the next row turns into lanes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from catenary.drawing.sizes import LANE, MARGIN

if TYPE_CHECKING:
    from catenary.drawing.diagram import Port
    from catenary.drawing.layers import Unit
    from catenary.drawing.rows import Row

_UNDER_BOX: Final = 14.0
_BACK_BELOW_MIDDLE: Final = 13.0
_BEFORE_CORRIDOR: Final = 6.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points. Between points of the same height, and above each other, it is straight with rounded
    corners; else it is a curve that begins and ends level. With an `arrow` the last point is at the edge of a box.
    `failure` is true when nothing but `Failure` takes this line; `ways` are the connections that run on it, each as
    its port and the id of its target."""

    points: tuple[tuple[float, float], ...]
    arrow: bool
    back: bool = False
    failure: bool = False
    ways: tuple[tuple[Port, str], ...] = ()

    @property
    def inner(self) -> bool:
        """True when nothing but nodes that run others takes this line."""
        return bool(self.ways) and all(port.inner for port, _ in self.ways)


class Router:
    """Gives lanes to the connections of a picture, and then their lines.

    Made before anything has its x, so that gutters can make room for lanes; `set_corridor` is called for one row after
    the other when their columns have their x, and `lines` when everything has its place.
    """

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self._row_of = {unit: row for row in rows for column in row.columns for unit in column}
        self._index = {row: index for index, row in enumerate(rows)}
        self._units = {unit.box.id: unit for unit in self._row_of if unit.box}
        self._back = [(port, self._units[target]) for row in rows for port, target in _back_of(row, rows)]
        self._margin: list[Unit] = []
        self._heights: dict[tuple[Row, Unit, bool], float] = {}
        self._reserve_back()
        self._reserve_turns()

    @property
    def margin_lanes(self) -> int:
        """How many lanes lead up beside the rows."""
        return len(self._margin)

    def _reserve_back(self) -> None:
        for port, target in self._back:
            source = self._units[port.source]
            _add(self._row_of[source].after(source).departures, target)
            _add(self._row_of[target].before(target).arrivals, target)
            if self._row_of[source] is not self._row_of[target]:
                _add(self._margin, target)

    def _reserve_turns(self) -> None:
        for row in self._rows:
            turning = self._turning(row)
            row.gutters[-1].departures.extend(reversed(turning))
            for target in turning:
                _add(self._row_of[target].gutters[0].arrivals, target)

    def _turning(self, row: Row) -> list[Unit]:
        """Give the units at the start of the next row to which connections of this row lead."""
        following = self._index[row] + 1
        if following == len(self._rows) or self._rows[following].group is not row.group:
            return []
        return [unit for unit in self._rows[following].columns[0] if unit.before]

    def set_corridor(self, row: Row, top: float) -> float:
        """Give heights to the lanes below a row. Returns: the bottom of the last."""
        spans: list[tuple[float, float, Unit]] = []
        for target in dict.fromkeys(target for _, target in self._back):
            ends = self._back_span(row, target)
            if ends:
                spans.append((min(ends), max(ends), target))
        spans.sort(key=lambda span: span[1] - span[0])
        lanes: list[list[tuple[float, float]]] = []
        lane: list[tuple[float, float]] | None
        for start, end, target in spans:
            lane = next((lane for lane in lanes if all(end + LANE < a or b + LANE < start for a, b in lane)), None)
            if lane is None:
                lane = []
                lanes.append(lane)
            lane.append((start, end))
            self._heights[row, target, True] = top + _BEFORE_CORRIDOR + lanes.index(lane) * LANE
        height = top + _BEFORE_CORRIDOR + len(lanes) * LANE
        for target in reversed(self._turning(row)):
            self._heights[row, target, False] = height
            height += LANE
        return height

    def _back_span(self, row: Row, target: Unit) -> list[float]:
        """Give the x of everything that a lane back to `target` below `row` has to connect."""
        sources = [unit for unit in self._sources(target) if self._row_of[unit] is row]
        ends = [row.after(unit).out_x(target) for unit in sources]
        home = self._row_of[target]
        away = any(self._row_of[unit] is not home for unit in self._sources(target))
        if row is home:
            ends.append(row.before(target).in_x(target))
        if ends and away:
            ends.append(self._margin_x(target))
        return ends

    def _sources(self, target: Unit) -> list[Unit]:
        return [self._units[port.source] for port, other in self._back if other is target]

    def _margin_x(self, target: Unit) -> float:
        return MARGIN + self._margin.index(target) * LANE

    def lines(self, heights: dict[Port, float]) -> list[Line]:
        """Give the lines. `heights` says at which y messages leave by a port."""
        found: dict[tuple[Port | Unit, Unit], Line] = {}
        mixed: set[tuple[Port | Unit, Unit]] = set()
        ways: dict[tuple[Port | Unit, Unit], list[tuple[Port, str]]] = {}
        hops = [hop for row in dict.fromkeys(self._rows) for hop in row.group.hops.items()]
        for (port, target), way in hops:
            for unit, following in itertools.pairwise(way):
                key = (unit if unit.box is None else port, following)
                if key not in found:
                    found[key] = self._on(unit, following, heights[port] if unit.box else unit.middle)
                ways.setdefault(key, []).append((port, target))
                if not port.is_failure:
                    mixed.add(key)
        onward = [replace(line, failure=key not in mixed, ways=tuple(ways[key])) for key, line in found.items()]
        return [*onward, *self._lines_back(heights)]

    def _on(self, unit: Unit, following: Unit, height: float) -> Line:
        row = self._row_of[unit]
        end = (following.left, following.middle)
        start = (unit.right - _UNDER_BOX, height) if unit.box else (unit.left, height)
        gutter = row.after(unit)
        other = self._row_of[following]
        if other is row:
            bend = ((gutter.label_end, height), (gutter.curve_end, following.middle))
            return Line((start, *bend, end), following.box is not None)
        level = self._heights[row, following, False]
        out_x, in_x = gutter.out_x(following), other.gutters[0].in_x(following)
        turns = ((out_x, height), (out_x, level), (in_x, level), (in_x, following.middle))
        return Line((start, *turns, end), following.box is not None)

    def _lines_back(self, heights: dict[Port, float]) -> list[Line]:
        lines: list[Line] = []
        for port, target in self._back:
            source = self._units[port.source]
            row, home = self._row_of[source], self._row_of[target]
            out_x, in_x = row.after(source).out_x(target), home.before(target).in_x(target)
            level, home_level = self._heights[row, target, True], self._heights[home, target, True]
            points = [(source.right - _UNDER_BOX, heights[port]), (out_x, heights[port]), (out_x, level)]
            if row is not home:
                margin = self._margin_x(target)
                points += [(margin, level), (margin, home_level)]
            height = target.middle + _BACK_BELOW_MIDDLE
            points += [(in_x, home_level), (in_x, height), (target.left + _inset(target), height)]
            way = (port, target.box.id if target.box else "")
            lines.append(Line(tuple(points), arrow=True, back=True, failure=port.is_failure, ways=(way,)))
        return lines


def _back_of(row: Row, rows: list[Row]) -> list[tuple[Port, str]]:
    """Give the connections of a row's group that lead back, once for each group."""
    first = next(other for other in rows if other.group is row.group)
    return row.group.back if first is row else []


def _inset(unit: Unit) -> float:
    """Give how far the left edge is set in where connections that lead back arrive."""
    return {"join": 5.0, "end": 4.0}.get(unit.box.shape, 0.0) if unit.box else 0.0


def _add(units: list[Unit], unit: Unit) -> None:
    if unit not in units:
        units.append(unit)

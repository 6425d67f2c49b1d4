"""Break the columns of a picture into rows that fit a page, and give columns and the gutters between them their x."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

from catenary.drawing.sizes import ARROW, LANE, ROW_WIDTH, START_ROOM, label_width

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.drawing.diagram import Port
    from catenary.drawing.layers import Group, Unit

_AFTER_LABEL: Final = 22.0
_LEAST_CURVE: Final = 34.0
_MOST_CURVE: Final = 100.0
_STRETCH: Final = 1.2  # a picture this much wider than a row is not broken
_LANDSCAPE: Final = 1.7
_LEAST_LANDSCAPE: Final = 1500.0
_CORRIDOR: Final = 70.0  # the usual room between two rows, for the lines from one to the next


@dataclass(slots=True, eq=False)
class Gutter:
    """The room between two columns: labels first, then lanes for what turns off here, then curves, then lanes for what
    comes in here, then arrow heads. `departures` and `arrivals` hold the targets of what uses the lanes."""

    labels: float = 0.0
    curve: float = 0.0
    room: float = 0.0
    departures: list[Unit] = field(default_factory=list["Unit"])
    arrivals: list[Unit] = field(default_factory=list["Unit"])
    label_end: float = 0.0
    curve_end: float = 0.0
    end: float = 0.0

    def set_x(self, start: float, *, last: bool) -> None:
        """Lay the gutter out from `start` on."""
        self.label_end = start + self.labels
        curves = self.label_end + self.curve
        if not self.curve:
            curves += (len(self.departures) + 0.5) * LANE
        else:
            curves = max(curves, self.label_end + (len(self.departures) + 1) * LANE)
        self.curve_end = curves + self.room
        self.end = self.curve_end + (0.0 if last else len(self.arrivals) * LANE + ARROW + 4.0)

    def out_x(self, target: Unit) -> float:
        """Give the x of the lane by which connections to `target` leave the gutter."""
        return self.label_end + (self.departures.index(target) + 0.5) * LANE

    def in_x(self, target: Unit) -> float:
        """Give the x of the lane by which connections to `target` come into the gutter."""
        return self.end - ARROW - 4.0 - (self.arrivals.index(target) + 0.5) * LANE


@dataclass(slots=True, eq=False)
class Row:
    """Some columns of a group, side by side; `gutters[i]` is left of column `i`, the last one right of all."""

    group: Group
    columns: list[list[Unit]]
    gutters: list[Gutter]
    top: float = 0.0
    height: float = 0.0
    right: float = 0.0

    def after(self, unit: Unit) -> Gutter:
        """Give the gutter to the right of a unit of this row."""
        return self.gutters[unit.column - self.columns[0][0].column + 1]

    def before(self, unit: Unit) -> Gutter:
        """Give the gutter to the left of a unit of this row."""
        return self.gutters[unit.column - self.columns[0][0].column]


def rows_of(group: Group, ports: Mapping[str, list[Port]], row_width: float = ROW_WIDTH) -> list[Row]:
    """Break a group into rows of about the same width, where few connections are cut."""
    wide = [_column_width(column, ports) for column in group.columns]
    total = sum(wide)
    if total <= row_width * _STRETCH:
        return [_row(group, group.columns, ports)]
    room = total / ceil(total / row_width) + max(wide) / 2
    rows: list[Row] = []
    start = 0
    while start < len(wide):
        end = _row_end(wide, start, room)
        if end < len(wide):
            end = min(
                range(max(start + (end - start + 1) // 2, start + 1), end + 1),
                key=lambda index: (sum(bool(unit.before) for unit in group.columns[index]), -index),
            )
        rows.append(_row(group, group.columns[start:end], ports))
        start = end
    return rows


def landscape_width(groups: list[Group], ports: Mapping[str, list[Port]]) -> float:
    """Give the width of rows by which a picture has about the shape of a screen; small ones stay in one row."""
    area = 0.0
    for column in (column for group in groups for column in group.columns):
        height = max(unit.top + unit.height for unit in column) - min(unit.top for unit in column)
        area += _column_width(column, ports) * (height + _CORRIDOR)
    return max(_LEAST_LANDSCAPE, sqrt(area * _LANDSCAPE))


def _column_width(column: list[Unit], ports: Mapping[str, list[Port]]) -> float:
    return column[0].width + _label_room(column, ports) + 60.0


def _row_end(wide: list[float], start: int, room: float) -> int:
    end = start
    used = 0.0
    while end < len(wide) and (end == start or used + wide[end] <= room):
        used += wide[end]
        end += 1
    return end


def _row(group: Group, columns: list[list[Unit]], ports: Mapping[str, list[Port]]) -> Row:
    gutters = [Gutter()]
    for index, column in enumerate(columns):
        gutter = Gutter(labels=_label_room(column, ports))
        if index + 1 < len(columns):
            spread = max((abs(a.middle - b.middle) for a in column for b in a.after), default=0.0)
            gutter.curve = min(_LEAST_CURVE + spread * 0.14, _MOST_CURVE)
        gutters.append(gutter)
    return Row(group, columns, gutters)


def _label_room(column: list[Unit], ports: Mapping[str, list[Port]]) -> float:
    labels = [label_width(port) for unit in column if unit.box for port in ports.get(unit.box.id, ())]
    return max(labels) + _AFTER_LABEL if labels else 0.0


def set_x(row: Row, left: float, entry: str) -> None:
    """Lay the columns and gutters of a row out from `left` on."""
    gutter = row.gutters[0]
    has_entry = any(unit.box is not None and unit.box.id == entry for unit in row.columns[0])
    gutter.room = START_ROOM if has_entry else 0.0
    gutter.set_x(left, last=False)
    for index, column in enumerate(row.columns):
        for unit in column:
            unit.left = row.gutters[index].end
        row.gutters[index + 1].set_x(row.gutters[index].end + column[0].width, last=index + 1 == len(row.columns))
    row.right = row.gutters[-1].curve_end

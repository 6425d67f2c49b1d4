"""How far down each unit of a column stands: near its neighbours, in order, and without touching the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.drawing.layers import Unit

_ROUNDS: Final = 24
_SNAP: Final = 16.0
_BOX_GAP: Final = 26.0
_BEND_GAP: Final = 12.0


def set_heights(columns: list[list[Unit]]) -> float:
    """Set `top` of all units, from 0 on. Returns: the height of the whole."""
    for column in columns:
        _settle(column, [0.0] * len(column))
    for number in range(_ROUNDS):
        forth = number % 2 == 0
        for column in columns if forth else reversed(columns):
            _settle(column, [_wanted(unit, forth=forth, both=number >= _ROUNDS // 2) for unit in column])
    for column in columns:
        _straighten(column)
    units = [unit for column in columns for unit in column]
    highest = min(unit.top for unit in units)
    for unit in units:
        unit.top -= highest
    return max(unit.top + unit.height for unit in units)


def _wanted(unit: Unit, *, forth: bool, both: bool) -> float:
    """Give the `top` at which the connections of a unit would be straight, as far as they agree."""
    before, after = _level_before(unit), _level_after(unit)
    levels = before + after if both else (before or after) if forth else (after or before)
    return sum(levels) / len(levels) - unit.height / 2 if levels else unit.top


def _level_before(unit: Unit) -> list[float]:
    """Give the heights at which connections come; a bend that goes on from another keeps to that one."""
    if unit.box is None and any(other.box is None for other in unit.before):
        return [other.middle for other in unit.before if other.box is None]
    levels: list[float] = []
    for other in unit.before:
        leaving = other.port_heights()
        own = [leaving[port] for port, following in other.ports.items() if unit in following]
        levels += own or [other.middle]
    return levels


def _level_after(unit: Unit) -> list[float]:
    """Give the heights at which the middle would have to be for what follows."""
    if unit.box is None:
        return [other.middle for other in unit.after]
    leaving = unit.port_heights()
    return [
        other.middle - (leaving[port] - unit.middle) for port, following in unit.ports.items() for other in following
    ]


def _settle(column: list[Unit], wanted: list[float]) -> None:
    """Move units as little as possible from where they want to be, keeping order and gaps (pooled neighbours)."""
    offsets: list[float] = []
    at = 0.0
    for index, unit in enumerate(column):
        if index:
            at += column[index - 1].height + _gap(column[index - 1], unit)
        offsets.append(at)
    pools: list[tuple[float, float, int]] = []
    for unit, place, offset in zip(column, wanted, offsets, strict=True):
        weight = _weight(unit)
        total, heavy, count = (place - offset) * weight, weight, 1
        while pools and pools[-1][0] / pools[-1][1] > total / heavy:
            other, weight, size = pools.pop()
            total, heavy, count = total + other, heavy + weight, count + size
        pools.append((total, heavy, count))
    index = 0
    for total, heavy, count in pools:
        for _ in range(count):
            column[index].top = total / heavy + offsets[index]
            index += 1


def _straighten(column: list[Unit]) -> None:
    """Move units a little where that makes a connection straight and nothing touches: a slight bend looks odd."""
    for index, unit in enumerate(column):
        steps = [level - unit.middle for level in _level_before(unit)]
        step = min(steps, key=abs, default=0.0)
        above = column[index - 1] if index else None
        below = column[index + 1] if index + 1 < len(column) else None
        has_room = above is None or unit.top + step >= above.top + above.height + _gap(above, unit) / 2
        has_room &= below is None or unit.top + step + unit.height + _gap(unit, below) / 2 <= below.top
        if abs(step) <= _SNAP and has_room:
            unit.top += step


def _weight(unit: Unit) -> float:
    """Give how much it counts that a unit gets its way: a long line shows every step."""
    inner = unit.box is None and any(other.box is None for other in unit.before + unit.after)
    return 4.0 if inner else 1.0


def _gap(above: Unit, below: Unit) -> float:
    return _BOX_GAP if above.box and below.box else _BEND_GAP

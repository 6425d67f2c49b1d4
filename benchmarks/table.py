"""Rows of results: a figure, what it is compared with, and the goal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Goal:
    """What a row is to reach.

    Attributes:
        ratio: At most this many times the hand-written program. It decides where there is one.
        figure: At most this figure, on the machine that the goals were written on.
    """

    ratio: float | None = None
    figure: float | None = None

    def __str__(self) -> str:
        parts = [f"<= {self.ratio:g}x" if self.ratio else "", f"<= {self.figure:g}" if self.figure else ""]
        return ", ".join(part for part in parts if part)


@dataclass(slots=True)
class Row:
    """One line of the table.

    Attributes:
        group: The letter by which `--only` chooses it.
        title: What is measured.
        ours: The figure of catenary, in `unit`.
        floor: That of the hand-written program; None where there is none.
        ratio: How many times the floor.
        peers: The figures of other libraries, by name.
        unit: `us` (microseconds of CPU time a message), `KiB` or `ms`.
        against: What `floor` is, where it is no hand-written program doing the same.
        speed: How many times slower this machine was, in these moments, than the one the goals were written on.
    """

    group: str
    title: str
    ours: float
    floor: float | None = None
    ratio: float | None = None
    peers: dict[str, float] = field(default_factory=dict[str, float])
    goal: Goal = field(default_factory=Goal)
    unit: str = "us"
    against: str = ""
    speed: float = 1.0

    @property
    def scaled(self) -> float:
        """The figure as it would be on the machine the goals were written on; sizes stay as they are."""
        return self.ours / self.speed if self.unit != "KiB" else self.ours

    @property
    def is_reached(self) -> bool | None:
        """Whether the goal is reached; None where there is no goal."""
        if self.goal.ratio is not None and self.ratio is not None:
            return self.ratio <= self.goal.ratio
        return self.scaled <= self.goal.figure if self.goal.figure is not None else None

    def to_dict(self) -> dict[str, Any]:
        """Give the row as JSON."""
        return {**asdict(self), "scaled": self.scaled, "reached": self.is_reached}

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Row:
        """Read what `to_dict` wrote."""
        parts = {key: value for key, value in written.items() if key not in {"scaled", "reached", "goal"}}
        return cls(**parts, goal=Goal(**written["goal"]))


def figure(value: float | None) -> str:
    """Write a figure with three digits that count."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def rendered(rows: list[Row], peer_names: list[str]) -> str:
    """Give the rows as a Markdown table, which reads well as plain text too."""
    head = ["", "work", "unit", "catenary", "by hand", "ratio", "scaled", "goal", "reached", *peer_names]
    lines = [head, *(_cells(row, peer_names) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    written = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    written.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(written)


def _cells(row: Row, peer_names: list[str]) -> list[str]:
    reached = {True: "yes", False: "NO", None: ""}[row.is_reached]
    title = f"{row.title} (against {row.against})" if row.against else row.title
    return [
        row.group,
        title,
        row.unit,
        figure(row.ours),
        figure(row.floor),
        f"{row.ratio:.2f}x" if row.ratio is not None else "-",
        figure(row.scaled) if row.goal.figure is not None else "",
        str(row.goal),
        reached,
        *(figure(row.peers.get(name)) for name in peer_names),
    ]

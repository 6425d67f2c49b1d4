"""What one evaluation may use up."""

from __future__ import annotations

from time import monotonic, thread_time
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.kinds import EvaluationError, bounded_integer, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json

UNITS: Final = 1_000_000
"""Units of one evaluation: one for each element that a predicate is put to, or that is made, or for 64 characters."""

SECONDS: Final = 5.0
"""Processor time that predicates may take: one step of them may itself look through a long list."""

FREE_S: Final = 0.01
"""So long on the clock nobody asks for processor time, which takes as long as a short expression does."""

_FLAT: Final = frozenset({str, int, float, bool, type(None)})


class Budget:
    """Counts the work of one evaluation of an expression that has predicates or `let`.

    All of it is done in one thread, whose processor time counts, but for the first 10 ms on the clock. The clock is
    looked at first, as that costs less: before it has come so far, no thread has used up as much.
    """

    __slots__ = ("began", "deadline", "left")
    began: float  # processor time; there once it was asked for

    def __init__(self) -> None:
        self.left = UNITS
        self.deadline = 0.0  # not known before somebody asks for it

    def enter(self, name: str, items: Json) -> list[Json]:
        """Pay for all steps of a predicate, and give the list it is put to.

        Raises:
            EvaluationError: When `items` is no list, or there are too few units left.
        """
        if items.__class__ is not list and not isinstance(items, list | tuple):
            raise EvaluationError(f"{name}() takes a list, not {kind_of(items)}")
        elements = cast("list[Json]", items)
        self.spend(len(elements))
        return elements

    def timed(self, items: list[Json]) -> Iterator[Json]:
        """Give the elements one by one. Raises: EvaluationError: when there is no more time."""
        if not self.deadline:
            self.deadline = monotonic() + FREE_S
        deadline = self.deadline
        for item in items:
            if monotonic() > deadline:
                deadline = self.prolong(SECONDS, "expression")
            yield item

    def prolong(self, seconds: float, what: str) -> float:
        """Go on when less processor time was used than time has passed, as on a machine that stood still.

        Returns:
            When to look again.

        Raises:
            EvaluationError: When all the time was used.
        """
        now = thread_time()
        if not hasattr(self, "began"):
            self.began = now
        left = seconds - (now - self.began)
        if left <= 0:
            raise EvaluationError(f"time budget exceeded: the {what} takes longer than {seconds:g} s")
        self.deadline = monotonic() + left
        return self.deadline

    def spend(self, units: int) -> None:
        """Use up some units. Raises: EvaluationError: when there are no more."""
        self.left -= units
        if self.left < 0:
            raise EvaluationError("memory budget exceeded: the expression makes or visits too many values")

    def charge(self, value: Json) -> Json:
        """Pay for a value that was made, and give it back."""
        kind = value.__class__
        if kind is list or kind is dict:
            self._charge_deep(value)
            return value
        return self.charge_shallow(value)

    def charge_shallow(self, value: Json) -> Json:
        """Pay for a value by its own length: for one whose elements were paid for when they were made."""
        kind = value.__class__
        if kind is str or kind is bytes:
            self.spend(1 + (len(value) >> 6))
        elif kind is int:
            self.spend(bounded_integer(value).bit_length() >> 6)
        return value

    def _charge_deep(self, value: Json) -> None:
        """Pay for all elements at any depth: a list that holds the same list twice costs twice."""
        self.spend(1 + len(value))
        elements = cast("dict[str, Json]", value).values() if isinstance(value, dict) else cast("list[Json]", value)
        if _FLAT.issuperset(map(type, elements)):
            return
        for element in elements:
            if element.__class__ is list or element.__class__ is dict:
                self._charge_deep(element)

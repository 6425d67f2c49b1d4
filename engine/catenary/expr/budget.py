"""What one evaluation may use up."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.operators import EvaluationError, bounded_integer

if TYPE_CHECKING:
    from catenary.jsontext import Json

UNITS: Final = 1_000_000
"""Units of one evaluation: one for a step of a predicate, an element made, or 64 characters made."""


SECONDS: Final = 5.0
"""How long predicates may be evaluated: one step of them may itself look through a long list."""


class Budget:
    """Counts the work of one evaluation of an expression that has predicates or `let`."""

    __slots__ = ("deadline", "left")

    def __init__(self) -> None:
        self.left = UNITS
        self.deadline = monotonic() + SECONDS

    def step(self) -> None:
        """Use up what one step of a predicate takes. Raises: EvaluationError: when there is no more, or no time."""
        self.spend(1)
        if monotonic() > self.deadline:
            raise EvaluationError(f"time budget exceeded: the expression takes longer than {SECONDS:g} s")

    def spend(self, units: int) -> None:
        """Use up some units. Raises: EvaluationError: when there are no more."""
        self.left -= units
        if self.left < 0:
            raise EvaluationError("memory budget exceeded: the expression makes or visits too many values")

    def charge(self, value: Json) -> Json:
        """Pay for a value that was made, and give it back."""
        kind = value.__class__
        if kind is str or kind is bytes:
            self.spend(1 + (len(value) >> 6))
        elif kind is int:
            bounded_integer(value)
        elif kind is list or kind is dict:
            self._charge_deep(value)
        return value

    def charge_shallow(self, value: Json) -> Json:
        """Pay for a value by its own length: for one whose elements were paid for when they were made."""
        kind = value.__class__
        if kind is str or kind is bytes:
            self.spend(1 + (len(value) >> 6))
        return bounded_integer(value)

    def _charge_deep(self, value: Json) -> None:
        """Pay for all elements at any depth: a list that holds the same list twice costs twice."""
        self.spend(1 + len(value))
        for element in (
            cast("dict[str, Json]", value).values() if isinstance(value, dict) else cast("list[Json]", value)
        ):
            if element.__class__ is list or element.__class__ is dict:
                self._charge_deep(element)

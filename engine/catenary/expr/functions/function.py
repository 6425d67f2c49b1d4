"""What a function of the language is, and how one is added to the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json

    Examples: TypeAlias = tuple[tuple[str, Json], ...]

Call = TypeVar("Call", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Function:
    """One function that expressions may call.

    Attributes:
        name: How expressions call it.
        call: What is called. When `counted`, it gets the `Budget` of the evaluation before the arguments; when
            `contextual`, the context of the run, or `None`.
        least: The smallest number of arguments.
        most: The largest number of arguments; `None` is any.
        doc: One sentence for the reference.
        family: The heading it stands under in the reference.
        takes: The kinds that each argument may have, as in `("array", "number|string")`; "." is any. The last one
            goes for all further arguments; empty when nothing is known.
        examples: Expressions, each with its value; that of a time or a duration is its text.
        counted: True for a function that loops over a predicate.
        picks: True for a function that gives back a part of what it got, and makes nothing.
        contextual: True for a function that asks the context of the run.
    """

    name: str
    call: Callable[..., Any]
    least: int
    most: int | None
    doc: str
    family: str = "Of the host program"
    takes: tuple[str, ...] = ()
    examples: Examples = ()
    counted: bool = False
    picks: bool = False
    contextual: bool = False

    def kinds_of(self, index: int) -> frozenset[str]:
        """Give the kinds the argument at `index` may have; empty when it may have any."""
        kinds = self.takes[min(index, len(self.takes) - 1)] if self.takes else "."
        return frozenset() if kinds == "." else frozenset(kinds.split("|"))


def adder(table: dict[str, Function], family: str) -> Callable[..., Callable[[Call], Call]]:
    """Give a decorator that puts functions of one family into `table`; the doc is the first line of the docstring."""

    def function(
        name: str,
        least: int,
        most: int | None = -1,
        *,
        examples: Examples,
        takes: str = "",
        counted: bool = False,
        picks: bool = False,
        contextual: bool = False,
    ) -> Callable[[Call], Call]:
        def decorate(call: Call) -> Call:
            doc = (call.__doc__ or "").strip().split("\n")[0]
            table[name] = Function(
                name,
                call,
                least,
                least if most == -1 else most,
                doc,
                family,
                tuple(takes.split()),
                examples,
                counted=counted,
                picks=picks,
                contextual=contextual,
            )
            return call

        return decorate

    return function

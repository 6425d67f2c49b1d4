"""What a function of the language is, and how one is added to the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Call = TypeVar("Call", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Function:
    """One function that expressions may call.

    Attributes:
        name: How expressions call it.
        call: What is called. When `counted`, it gets the `Budget` of the evaluation before the arguments.
        least: The smallest number of arguments.
        most: The largest number of arguments; `None` is any.
        doc: One sentence for the reference.
        counted: True for a function that loops over a predicate.
        picks: True for a function that gives back a part of what it got, and makes nothing.
    """

    name: str
    call: Callable[..., Any]
    least: int
    most: int | None
    doc: str
    counted: bool = False
    picks: bool = False


def adder(table: dict[str, Function]) -> Callable[..., Callable[[Call], Call]]:
    """Give a decorator that puts functions into `table`; the doc is the first line of the docstring."""

    def function(
        name: str, least: int, most: int | None = -1, *, counted: bool = False, picks: bool = False
    ) -> Callable[[Call], Call]:
        def decorate(call: Call) -> Call:
            doc = (call.__doc__ or "").strip().split("\n")[0]
            limit = least if most == -1 else most
            table[name] = Function(name, call, least, limit, doc, counted=counted, picks=picks)
            return call

        return decorate

    return function

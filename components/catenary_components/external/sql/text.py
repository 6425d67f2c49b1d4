"""`SqlText`: the option that holds a statement; what its `${...}` stand for never becomes part of the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from catenary import Template
from catenary.errors import TemplateError
from catenary.expr import Environment
from catenary.expr.placeholders import split_parts
from catenary.expr.problems import syntax_problem

if TYPE_CHECKING:
    from catenary.jsontext import Json

EDGE: Final = "\x00"
"""Stands around the number of a slot; no database takes this character in a statement."""


class SqlText(Template):
    """A statement with `${...}` parts, each of which is to become a bound value.

    Attributes:
        marked: The statement with a numbered slot in the place of each part.
        slots: The parts, by number.
        starts: Where each part begins in the statement, in characters.
    """

    __slots__ = ("marked", "slots", "starts")
    marked: str
    slots: tuple[Template, ...]
    starts: tuple[int, ...]

    @classmethod
    def compile(cls, source: Json, environment: Environment | None = None) -> Self:
        """Compile a statement. Raises: TemplateError: when it is no text, is blank, or a part cannot be compiled."""
        if not isinstance(source, str) or not source.strip():
            raise TemplateError("sql can not empty", source=str(source or ""), position=0, hint="write a statement")
        if EDGE in source:
            raise syntax_problem(
                TemplateError, "a statement has no NUL character", source=source, position=source.index(EDGE)
            )
        text = super().compile(source, environment)
        pieces = split_parts(source)
        text.starts = tuple(start - 2 for _, start, _ in pieces[:-1])
        text.slots = tuple(
            Template.compile(source[start - 2 : end + 1], environment or Environment()) for _, start, end in pieces[:-1]
        )
        text.marked = "".join(
            before if start < 0 else f"{before}{EDGE}{number}{EDGE}" for number, (before, start, _) in enumerate(pieces)
        )
        return text

    def offset(self, marked: int) -> int:
        """Give where something stands in the statement that stands at `marked` in the text with slots."""
        before = self.marked[:marked]
        numbers = before.split(EDGE)[1::2]
        if not numbers:
            return marked
        last = int(numbers[-1])
        slot = f"{EDGE}{last}{EDGE}"
        behind = before.rfind(slot) + len(slot)
        end = self.starts[last] + len(str(self.slots[last].source))
        return end + marked - behind

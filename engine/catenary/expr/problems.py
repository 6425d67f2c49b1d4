"""The error of a text that cannot be compiled: what is wrong, and where in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.text_places import excerpt, place

if TYPE_CHECKING:
    from catenary.errors import ExpressionError


def syntax_problem(
    kind: type[ExpressionError], text: str, *, source: str, position: int, hint: str = ""
) -> ExpressionError:
    """Make the error of a text that cannot be compiled, with an excerpt of the place."""
    line, column = place(source, position)
    return kind(
        f"{text} (line {line}, column {column})\n{excerpt(source, position)}",
        source=source,
        position=position,
        hint=hint,
    )

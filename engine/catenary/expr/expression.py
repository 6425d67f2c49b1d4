"""`Expression`: a formula over a message, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from catenary.expr.environment import Environment
from catenary.expr.formula import Formula
from catenary.expr.program import compile_program

if TYPE_CHECKING:
    from catenary.expr.program import Program
    from catenary.jsontext import Json


class Expression(Formula):
    """A formula such as `msg.t > 40 && metadata.kind == 'a'`. Safe to use from many tasks at once.

    `${...}` around parts is decoration and has no meaning.

    Attributes:
        program: What the text was compiled to.
    """

    __slots__ = ("program",)
    format = "catenary-expression"

    def __init__(self, source: str, program: Program) -> None:
        super().__init__(source, program.call, program.references)
        self.program = program

    @property
    def is_range(self) -> bool:
        """True when the expression as a whole is a range `a..b` of whole numbers."""
        return self.program.is_range

    @classmethod
    def compile(cls, source: str, environment: Environment | None = None) -> Self:
        """Compile an expression.

        Raises:
            ExpressionError: When it cannot be compiled, with position and hint.
        """
        return cls(source, compile_program(source, environment or Environment()))

    @classmethod
    def read(cls, value: Json, environment: Environment) -> Self:
        """Compile what stands in a configuration. Raises: ExpressionError: when it is wrong."""
        if isinstance(value, bool):
            return cls.compile("true" if value else "false", environment)
        return super().read(value, environment)

"""`Expression`: a formula over a message, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from catenary.errors import ExpressionError
from catenary.expr.environment import Environment
from catenary.expr.program import compile_program
from catenary.expr.validation import text_schema, validator_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    from catenary.expr.program import Program
    from catenary.jsontext import Json
    from catenary.message import Message


class Expression:
    """A formula such as `msg.t > 40 && metadata.kind == 'a'`. Safe to use from many tasks at once.

    `${...}` around parts is decoration and has no meaning.

    Attributes:
        source: The text it was compiled from.
        call: The bare closure `(msg, ctx=None) -> value`: what `evaluate` calls, for those in a hurry.
        node_references: The ids of the nodes whose outputs it reads.
    """

    __slots__ = ("call", "node_references", "program", "source")
    call: Callable[..., Json]

    def __init__(self, source: str, program: Program) -> None:
        self.source = source
        self.program = program
        self.call = program.call
        self.node_references = program.references

    @classmethod
    def compile(cls, source: str, environment: Environment | None = None) -> Self:
        """Compile an expression.

        Raises:
            ExpressionError: When it cannot be compiled, with position and hint.
        """
        return cls(source, compile_program(source, environment or Environment()))

    def evaluate(self, msg: Message, ctx: object = None) -> Json:
        """Give the value for a message. Raises: ExpressionError: naming expression, position and reason."""
        return self.call(msg, ctx)

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same text."""
        return isinstance(other, Expression) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    @classmethod
    def __get_pydantic_core_schema__(cls, source_type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Compile while settings are read, with the environment in the validation context."""
        return validator_schema(cls, _read)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text of an expression."""
        return text_schema("catenary-expression")


def _read(value: Json, environment: Environment) -> Expression:
    if isinstance(value, bool):
        return Expression.compile("true" if value else "false", environment)
    if isinstance(value, str | int | float):
        return Expression.compile(str(value), environment)
    raise ExpressionError("an expression is written as text", hint="Put it into quotes.")

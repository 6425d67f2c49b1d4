"""`Formula`: what expressions are, in whatever language they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from catenary.errors import ExpressionError
from catenary.expr.validation import text_schema, validator_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json
    from catenary.message import Message


class Formula:
    """A value of a message, compiled from text. Safe to use from many tasks at once.

    Attributes:
        source: The text it was compiled from.
        call: The bare closure `(msg, ctx=None) -> value`: what `evaluate` calls, for those in a hurry.
        node_references: The ids of the nodes whose outputs it reads.
    """

    __slots__ = ("call", "node_references", "source")
    call: Callable[..., Json]
    format: ClassVar[str]
    """What JSON Schema calls the text."""

    def __init__(self, source: str, call: Callable[..., Json], node_references: frozenset[str]) -> None:
        self.source = source
        self.call = call
        self.node_references = node_references

    @classmethod
    def compile(cls, source: str, environment: Environment | None = None) -> Self:
        """Compile a text.

        Raises:
            ExpressionError: When it cannot be compiled, with position and hint.
        """
        raise NotImplementedError

    def evaluate(self, msg: Message, ctx: object = None) -> Json:
        """Give the value for a message. Raises: ExpressionError: naming expression, position and reason."""
        return self.call(msg, ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same text."""
        return type(other) is type(self) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    @classmethod
    def read(cls, value: Json, environment: Environment) -> Self:
        """Compile what stands in a configuration: text, or a number. Raises: ExpressionError: when it is wrong."""
        if isinstance(value, str | int | float):
            return cls.compile(str(value), environment)
        raise ExpressionError("an expression is written as text", hint="Put it into quotes.")

    @classmethod
    def __get_pydantic_core_schema__(cls, source_type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Compile while settings are read, with the environment in the validation context."""
        return validator_schema(cls, cls.read)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text of an expression."""
        return text_schema(cls.format)

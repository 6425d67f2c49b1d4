"""Keys: what limits, caches and the like tell messages apart by."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from catenary.errors import EngineError
from catenary.jsontext import dumps
from catenary.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catenary.chain import Chain
    from catenary.component import Context
    from catenary.expr import Expression
    from catenary.jsontext import Json
    from catenary.message import Message

KeySource: TypeAlias = "str | Callable[[Context, Message], Json] | None"
"""An expression, or a function of context and message; None gives all messages the same key."""


class Key:
    """Gives the key of a message as text.

    Args:
        source: An expression such as `metadata.tenant`, or a function; None for one key for all.
        owner: What the key is of, for errors.

    Raises:
        ExpressionError: When the expression is wrong.
    """

    def __init__(self, source: KeySource, owner: str) -> None:
        self.source = source
        self._owner = owner
        self._compiled: WeakKeyDictionary[Chain, Expression] = WeakKeyDictionary()
        self.reads(())

    def reads(self, node_ids: Iterable[str]) -> frozenset[str]:
        """Give which of these nodes the expression names, to read what they sent."""
        if not isinstance(self.source, str):
            return frozenset()
        from catenary.expr import Environment, Expression

        return Expression.compile(self.source, Environment(nodes=frozenset(node_ids))).node_references

    def of(self, ctx: Context, message: Message) -> str:
        """Give the key. Raises: EngineError: when it cannot be had from this message."""
        source = self.source
        if source is None:
            return ""
        try:
            value = self._expression(source, ctx.chain).evaluate(message, ctx) if isinstance(source, str) else None
            if not isinstance(source, str):
                value = source(ctx, message)
            return value if isinstance(value, str) else dumps(value)
        except Exception as error:
            told = reason_of(error)
            hint = "the program that runs the chain asks for this key; a key should be there for every message"
            raise EngineError(f"the key of {self._owner} cannot be had: {told}", hint=hint) from error

    def _expression(self, source: str, chain: Chain) -> Expression:
        expression = self._compiled.get(chain)
        if expression is None:
            from catenary.expr import Expression

            expression = self._compiled[chain] = Expression.compile(source, chain.environment)
        return expression

"""Keys: what limits, caches and the like tell messages apart by."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from catenary.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

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

    Raises:
        ExpressionError: When the expression is wrong.
    """

    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._compiled: WeakKeyDictionary[Chain, Expression] = WeakKeyDictionary()
        if isinstance(source, str):
            from catenary.expr import Expression

            Expression.compile(source)

    def of(self, ctx: Context, message: Message) -> str:
        """Give the key. Raises: ExpressionError: when it cannot be had from this message."""
        source = self._source
        if source is None:
            return ""
        value = self._expression(source, ctx.chain).evaluate(message, ctx) if isinstance(source, str) else None
        if not isinstance(source, str):
            value = source(ctx, message)
        return value if isinstance(value, str) else dumps(value)

    def _expression(self, source: str, chain: Chain) -> Expression:
        expression = self._compiled.get(chain)
        if expression is None:
            from catenary.expr import Expression

            expression = self._compiled[chain] = Expression.compile(source, chain.environment)
        return expression

"""`exprFilter`: let a message choose between `True` and `False` by an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import field_validator

from catenary import FAILURE, FALSE, TRUE, Expression
from catenary.component import Component, Config, Context, Example, option, register

from ._shared import not_blank

if TYPE_CHECKING:
    from catenary import Message, Relation


class ExprFilterConfig(Config):
    """Settings of one `exprFilter` node."""

    expr: Expression = option(
        help="The condition.", examples=["msg.temperature > 50", "metadata.productType == 'test' && msg.n in 1..5"]
    )

    _is_not_blank = field_validator("expr", mode="before")(not_blank)


@register("exprFilter", category="filter", since="0.1", label="Expression filter")
class ExprFilter(Component[ExprFilterConfig]):
    """Let a message choose between `True` and `False` by an expression.

    `True` is chosen only when the result is the boolean true: 1 and `'true'` count as `False`. An expression that
    fails on a message, such as `msg.t > 50` where `t` is absent, leaves by `Failure`. The message goes on unchanged.
    """

    relations = (TRUE, FALSE, FAILURE)
    pure = True
    examples = (
        Example(
            "messages part at a limit",
            config={"expr": "msg.temperature > 50"},
            inputs=[{"temperature": 60}, {"temperature": 40}],
            leaves_by=["True", "False"],
        ),
        Example(
            "only true is true", config={"expr": "msg.n"}, inputs=[{"n": True}, {"n": 1}], leaves_by=["True", "False"]
        ),
        Example(
            "a value that is not there cannot be compared",
            config={"expr": "msg.t > 50"},
            inputs=[{}],
            leaves_by=["Failure"],
        ),
    )

    def __init__(self, config: ExprFilterConfig) -> None:
        super().__init__(config)
        self._holds = config.expr.call

    def run(self, ctx: Context, msg: Message) -> Relation:
        return TRUE if self._holds(msg, ctx) is True else FALSE

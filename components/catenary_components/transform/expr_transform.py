"""`exprTransform`: make a payload out of one expression, or an object out of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import field_validator

from catenary import FAILURE, SUCCESS, Expression
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.message import JSON

from ._shared import ALWAYS_JSON, blank_is_absent, json_value, with_payload

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json


class ExprTransformConfig(Config):
    """Settings of one `exprTransform` node."""

    expr: Expression | None = option(None, help="The payload, as one expression; it wins over `mapping`.")
    mapping: dict[str, Expression] = option(
        {}, help="An object as payload: an expression for each key.", examples=[{"celsius": "(msg.f - 32) / 1.8"}]
    )

    _blank_is_absent = field_validator("expr", mode="before")(blank_is_absent)


@register("exprTransform", category="transform", since="0.1", label="Expression transform")
class ExprTransform(Component[ExprTransformConfig]):
    """Make a payload out of one expression, or an object out of several.

    The result of `expr` becomes the payload as text, and the data type stays. The results of `mapping` become one JSON
    object in which they keep their types, and the data type becomes `JSON`. With neither the payload is `{}`. When one
    expression fails, or its result is nothing that JSON can hold, the message leaves by `Failure` unchanged.
    """

    relations = (SUCCESS, FAILURE)
    pure = True
    examples = (
        Example(
            "results keep their types",
            config={"mapping": {"tmp": "msg.t", "name": "upper(msg.n)", "none": "msg.absent"}},
            inputs=[{"t": 60, "n": "a"}],
            leaves_by=["Success"],
            data=['{"name":"A","none":null,"tmp":60}'],
        ),
        Example(
            "one expression gives the whole payload",
            config={"expr": "msg.t * 2"},
            inputs=[{"t": 60}],
            leaves_by=["Success"],
            data=["120"],
        ),
        Example(
            "one failure is enough",
            config={"mapping": {"a": "msg.t", "b": "msg.t + 1"}},
            inputs=[{"t": "x"}],
            leaves_by=["Failure"],
        ),
    )

    def __init__(self, config: ExprTransformConfig) -> None:
        super().__init__(config)
        self._whole = config.expr.call if config.expr is not None else None
        self._parts = [(key, expression.call) for key, expression in config.mapping.items()]

    def run(self, ctx: Context, msg: Message) -> Emission:
        if self._whole is not None:
            return SUCCESS, with_payload(msg, self._whole(msg, ctx))
        values: dict[str, Json] = {}
        for key, call in self._parts:
            value = call(msg, ctx)
            values[key] = value if value.__class__ in ALWAYS_JSON else json_value(value, key)
        return SUCCESS, msg.with_data(values, JSON)

"""`exprTransform`: make a payload out of one expression, or an object out of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from pydantic import field_validator

from catenary import FAILURE, SUCCESS, Expression
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import json_text, text_of
from catenary.jsontext import loads
from catenary.message import JSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary import Message
    from catenary.jsontext import Json

_ALWAYS_JSON: Final = frozenset((str, int, bool, type(None)))
_LARGE: Final = 1e21  # from here on JSON writes an exponent


class ExprTransformConfig(Config):
    """Settings of one `exprTransform` node."""

    expr: Expression | None = option(None, help="The payload, as one expression; it wins over `mapping`.")
    mapping: dict[str, Expression] = option(
        {}, help="An object as payload: an expression for each key.", examples=[{"celsius": "(msg.f - 32) / 1.8"}]
    )

    @field_validator("expr", mode="before")
    @classmethod
    def _blank_is_absent(cls, value: Json) -> Json:
        return None if isinstance(value, str) and not value.strip() else value


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
            return SUCCESS, _with_payload(msg, self._whole(msg, ctx))
        values: dict[str, Json] = {}
        for key, call in self._parts:
            value = call(msg, ctx)
            # Checked here, where the input is at hand, and not when somebody reads the payload.
            kind = value.__class__
            if kind is float and -_LARGE < value < _LARGE and not value.is_integer():
                values[key] = value
            else:
                values[key] = value if kind in _ALWAYS_JSON else _checked(key, value)
        return SUCCESS, msg.with_data(values, JSON)


def _with_payload(msg: Message, value: Json) -> Message:
    if isinstance(value, dict | list) and msg.data_type == JSON:
        return msg.with_data(_json_value(value))  # written as text only when somebody asks for it
    return msg.with_data(text_of(value))


def _checked(key: str, value: Json) -> Json:
    try:
        return _json_value(value)
    except Exception as error:
        raise ValueError(f"mapping {key!r}: {error}") from error


def _json_value(value: Json) -> Json:
    """Give a result as JSON holds it: whole floats as integers, times as text.

    Raises:
        ValueError: When JSON cannot hold it.
    """
    if value.__class__ in _ALWAYS_JSON:
        return value
    if isinstance(value, float) and abs(value) < _LARGE:
        return int(value) if value.is_integer() else value
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in cast("Sequence[Json]", value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Json, Json]", value)):
        return {key: _json_value(item) for key, item in cast("Mapping[str, Json]", value).items()}
    return loads(json_text(value))

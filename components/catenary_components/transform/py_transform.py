"""`pyTransform`: make another message by Python expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import field_validator

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import PythonExpression, text_of
from catenary.message import JSON

from ._shared import blank_is_absent, json_value, with_payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary import Message
    from catenary.jsontext import Json

    Parts = list[tuple[str, Callable[..., Json]]]


class PyTransformConfig(Config):
    """Settings of one `pyTransform` node."""

    expr: PythonExpression | None = option(
        None,
        help="The payload, as one Python expression; it wins over `mapping`.",
        examples=["[x.t for x in msg.items if x.t is not None]"],
    )
    mapping: dict[str, PythonExpression] = option(
        {}, help="An object as payload: a Python expression for each key.", examples=[{"total": "sum(msg.values)"}]
    )
    metadata: dict[str, PythonExpression] = option(
        {}, help="Metadata to add: a Python expression for each key; results are stored as text."
    )
    msg_type: PythonExpression | None = option(None, help="The message type, as a Python expression.")
    data_type: PythonExpression | None = option(
        None, help="The data type, as a Python expression; empty text leaves it as it is.", examples=["'TEXT'"]
    )

    _blank_is_absent = field_validator("expr", "msg_type", "data_type", mode="before")(blank_is_absent)


@register("pyTransform", category="transform", since="0.1", label="Python transform")
class PyTransform(Component[PyTransformConfig]):
    """Make another message by Python expressions, which are written as for `pyFilter`.

    The result of `expr` becomes the payload as text, lists and maps as JSON, and the data type stays. The results of
    `mapping` become one JSON object in which they keep their types, and the data type becomes `JSON`. With neither the
    payload stays. `metadata`, `msgType` and `dataType` set those parts of the message; what is not named stays.

    All expressions see the message that came. When one of them fails, or its result is nothing that JSON can hold (a
    set, for one: `sorted(...)` makes a list of it), the message leaves by `Failure` unchanged.
    """

    relations = (SUCCESS, FAILURE)
    pure = True
    examples = (
        Example(
            "results keep their types",
            config={"mapping": {"hot": "[x.id for x in msg.items if x.t > 50]", "count": "len(msg.items)"}},
            inputs=[{"items": [{"id": "a", "t": 60}, {"id": "b", "t": 20}]}],
            leaves_by=["Success"],
            data=['{"count":2,"hot":["a"]}'],
        ),
        Example(
            "one expression gives the whole payload",
            config={"expr": "f'{msg.name.title()}: {msg.t:.1f} degrees'", "dataType": "'TEXT'"},
            inputs=[{"name": "boiler", "t": 60}],
            leaves_by=["Success"],
            data=["Boiler: 60.0 degrees"],
        ),
        Example(
            "one failure is enough",
            config={"mapping": {"a": "msg.t", "b": "msg.t + 1"}},
            inputs=[{"t": "x"}],
            leaves_by=["Failure"],
        ),
    )

    def __init__(self, config: PyTransformConfig) -> None:
        super().__init__(config)
        self._whole = config.expr.call if config.expr is not None else None
        self._mapping: Parts = [(key, expression.call) for key, expression in config.mapping.items()]
        self._metadata: Parts = [(key, expression.call) for key, expression in config.metadata.items() if key]
        self._type = config.msg_type.call if config.msg_type is not None else None
        self._data_type = config.data_type.call if config.data_type is not None else None

    def run(self, ctx: Context, msg: Message) -> Emission:
        made = msg
        if self._whole is not None:
            made = with_payload(made, _no_set(self._whole(msg, ctx)))
        elif self._mapping:
            made = made.with_data({key: json_value(call(msg, ctx), key) for key, call in self._mapping}, JSON)
        if self._data_type is not None:
            data_type = text_of(self._data_type(msg, ctx))
            made = made.with_data_type(data_type) if data_type else made
        if self._type is not None:
            made = made.with_type(text_of(self._type(msg, ctx)))
        if self._metadata:
            made = made.put_all({key: text_of(_no_set(call(msg, ctx))) for key, call in self._metadata})
        return SUCCESS, made


def _no_set(value: Json) -> Json:
    if isinstance(value, set):
        raise TypeError("a set cannot be written as JSON; sorted(...) makes a list of it")
    return value

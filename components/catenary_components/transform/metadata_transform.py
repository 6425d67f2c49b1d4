"""`metadataTransform`: write metadata from expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, SUCCESS, Expression, Message
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json


class MetadataTransformConfig(Config):
    """Settings of one `metadataTransform` node."""

    mapping: dict[str, Expression] = option(
        {},
        help="An expression for each key; an empty key is ignored.",
        examples=[{"level": "msg.t > 50 ? 'hot' : 'usual'", "receivedAt": "ts"}],
    )
    is_new: bool = option(
        False, help="True when the results are all the metadata there is; else they are added to what is there."
    )


@register("metadataTransform", category="transform", since="0.1", label="Metadata transform")
class MetadataTransform(Component[MetadataTransformConfig]):
    """Write metadata from expressions.

    Results are stored as text: lists and maps as compact JSON, nil as empty text. All expressions see the metadata
    that came, not each other's results. When one of them fails, the message leaves by `Failure` and no key is
    written. Payload, type and data type stay. `isNew` without a mapping takes all metadata away.
    """

    relations = (SUCCESS, FAILURE)
    pure = True
    examples = (
        Example(
            "a value of the payload becomes metadata",
            config={"mapping": {"device": "msg.deviceId", "level": "msg.t > 50 ? 'hot' : 'usual'"}},
            inputs=[{"deviceId": "a", "t": 60}],
            leaves_by=["Success"],
        ),
        Example(
            "one failure is enough",
            config={"mapping": {"a": "1", "b": "msg.absent + 1"}},
            inputs=[{}],
            leaves_by=["Failure"],
        ),
    )

    def __init__(self, config: MetadataTransformConfig) -> None:
        super().__init__(config)
        self._parts: list[tuple[str, Callable[..., Json]]] = [
            (key, expression.call) for key, expression in config.mapping.items() if key
        ]

    def run(self, ctx: Context, msg: Message) -> Emission:
        written: dict[str, Json] = {}
        for key, call in self._parts:
            value = call(msg, ctx)
            written[key] = value if value.__class__ is str else _text(key, value)
        return SUCCESS, msg.with_metadata(written) if self.config.is_new else msg.put_all(written)


def _text(key: str, value: Json) -> str:
    try:
        return text_of(value)
    except Exception as error:
        raise ValueError(f"mapping {key!r}: {error}") from error

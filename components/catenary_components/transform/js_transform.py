"""`jsTransform`: make another message by a JavaScript function."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from catenary import BINARY, FAILURE, JSON, SUCCESS
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import Script, ScriptFunction, text_of
from catenary.jsontext import dumps

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json

_UNCHANGED: Final = "return {'msg':msg,'metadata':metadata,'msgType':msgType,'dataType':dataType};"
_TAKE_APART: Final = Path(__file__).with_suffix(".js").read_text("utf-8")
_TEXT, _VALUE, _BYTES = 1, 2, 3  # forms of a payload; js_transform.js has the same


class JsTransformConfig(Config):
    """Settings of one `jsTransform` node."""

    js_script: Annotated[Script, ScriptFunction("Transform", finish=_TAKE_APART, blank_is_text=True)] = option(
        _UNCHANGED,
        help="The body of `function Transform(msg, metadata, msgType, dataType)`, which returns an object with any of "
        "the keys `msg`, `metadata`, `msgType`, `dataType`; a blank one changes nothing.",
        examples=[
            "msg.celsius = (msg.fahrenheit - 32) / 1.8; return {msg};",
            "metadata.site = msg.site; return {metadata, msgType: 'alarm'};",
        ],
    )
    blocking: bool = option(
        False, help="Run the script in a thread, so that a slow one holds up no other message of the event loop."
    )


@register("jsTransform", category="transform", since="0.1", label="Script transform")
class JsTransform(Component[JsTransformConfig]):
    """Make another message by a JavaScript function.

    The function returns an object; what it leaves out stays as it is, and `metadata` replaces all metadata. As `msg`,
    an object or list becomes JSON with sorted keys, a string is taken as it is, numbers and booleans become text,
    nothing becomes empty text, and a `Date` its RFC 3339 text. A typed array of bytes becomes those bytes, and so does
    a list of numbers from 0 to 255 where the data type is `BINARY`, or `TEXT`. Values of metadata become text, objects
    among them JSON. NaN, functions and promises in an object are refused, for JSON cannot hold them.

    A script that throws, or returns no object, sends the message unchanged by `Failure`. `msg` is the parsed payload
    and the script's own; empty JSON is empty text here. Integers beyond 2^53 lose digits in the script, and have them
    all again in the result where the script left them alone. A blank script, or the default one, passes the message on
    byte by byte.
    """

    relations = (SUCCESS, FAILURE)
    examples = (
        Example(
            "a value is worked out and added",
            config={"jsScript": "msg.celsius = (msg.fahrenheit - 32) / 1.8; return {msg};"},
            inputs=[{"fahrenheit": 212}],
            leaves_by=["Success"],
            data=['{"celsius":100,"fahrenheit":212}'],
        ),
        Example(
            "only numbers of a binary message are bytes",
            config={"jsScript": "return {msg: [72, 105]};"},
            inputs=[{}],
            leaves_by=["Success"],
            data=["[72,105]"],
        ),
        Example(
            "only an object says what becomes of the message",
            config={"jsScript": "return msg.items;"},
            inputs=[{"items": [1]}],
            leaves_by=["Failure"],
            data=['{"items":[1]}'],
        ),
    )

    def __init__(self, config: JsTransformConfig) -> None:
        super().__init__(config)
        self.blocking = config.blocking
        self._call = None if config.js_script.source.strip() in {"", _UNCHANGED} else config.js_script.call

    def run(self, ctx: Context, msg: Message) -> Emission:
        if self._call is None:
            return SUCCESS
        form, payload, metadata, message_type, data_type = self._call(msg, ctx)
        if data_type.__class__ is not str:
            data_type = text_of(data_type)
        if form == _VALUE and (data_type or msg.data_type) == JSON:
            msg = msg.with_data(payload, JSON)
        elif form:
            msg = _with_payload(msg, form, payload, data_type or msg.data_type)
        elif data_type:
            msg = msg.with_data_type(data_type)
        if metadata is not None:
            msg = msg.with_metadata(_as_texts(metadata))
        if message_type is not None:
            msg = msg.with_type(text_of(message_type))
        return SUCCESS, msg


def _as_texts(metadata: dict[str, Json]) -> dict[str, str]:
    metadata.pop("", None)
    for value in metadata.values():
        if value.__class__ is not str:
            return {key: text_of(value) for key, value in metadata.items()}
    return metadata


def _with_payload(msg: Message, form: int, payload: Json, data_type: str) -> Message:
    if form == _TEXT:
        payload = text_of(payload)
    elif form == _VALUE:
        payload = dumps(payload)  # as a value it would be read as JSON
    else:
        payload = bytes(payload)
        if data_type != BINARY:
            payload = _text_if_text(payload)
    return msg.with_data(payload, data_type)


def _text_if_text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw

"""What is done with messages before they go to their target, and with answers: processors, by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from catenary.errors import EngineError
from catenary.load.names import did_you_mean
from catenary.message import BINARY, JSON, TEXT, metadata_text
from catenary.relation import STREAM

if TYPE_CHECKING:
    from catenary.endpoints.exchange import Exchange
    from catenary.endpoints.router import Processor, Router
    from catenary.jsontext import Json

_BAD: Final = 400
_BROKEN: Final = 500
_PLAIN: Final = "text/plain; charset=utf-8"
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_STATUS: Final = re.compile(r"[2-5][0-9]{2}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_OF_THE_CONNECTION: Final = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of a request that must not come back in its answer, of which they would not be true."""


class Processors:
    """The processors of an engine by name: those that come with it, and those of the host.

    Attributes:
        incoming: Those for `from.processors` and for the `processors` of an endpoint.
        outgoing: Those for `to.processors`.
    """

    def __init__(self) -> None:
        self.incoming: dict[str, Processor] = dict(_INCOMING)
        self.outgoing: dict[str, Processor] = dict(_OUTGOING)

    def add(self, name: str, processor: Processor) -> None:
        """Add a processor for both sides, or put it in the place of the one with this name."""
        self.incoming[name] = processor
        self.outgoing[name] = processor

    def get_incoming(self, name: str) -> Processor:
        """Give a processor of messages. Raises: EngineError: when there is none of this name."""
        return _found(self.incoming, name)

    def get_outgoing(self, name: str) -> Processor:
        """Give a processor of answers. Raises: EngineError: when there is none of this name."""
        return _found(self.outgoing, name)


def _found(known: dict[str, Processor], name: str) -> Processor:
    processor = known.get(name)
    if processor is None:
        hint = did_you_mean(name, known, "the processors are: " + ", ".join(sorted(known)))
        raise EngineError(f"processor not found: {name}", hint=hint)
    return processor


def headers_to_metadata(router: Router, exchange: Exchange) -> None:
    """Put the headers into the metadata, under names such as `X-Abc-Def`."""
    del router
    exchange.message = exchange.message.put_all(exchange.headers)


def set_json_data_type(router: Router, exchange: Exchange) -> None:
    """Call the data JSON, and the answer too."""
    del router
    _set_type(exchange, JSON, "application/json")


def set_text_data_type(router: Router, exchange: Exchange) -> None:
    """Call the data text, and the answer too."""
    del router
    _set_type(exchange, TEXT, _PLAIN)


def set_binary_data_type(router: Router, exchange: Exchange) -> None:
    """Call the data bytes, and the answer too."""
    del router
    _set_type(exchange, BINARY, "application/octet-stream")


def _set_type(exchange: Exchange, data_type: str, content_type: str) -> None:
    exchange.message = exchange.message.with_data_type(data_type)
    exchange.answer.set_header("Content-Type", content_type)


def to_hex(router: Router, exchange: Exchange) -> None:
    """Make the data a text of lower-case hex digits, two for each byte."""
    del router
    data = exchange.message.data
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    exchange.message = exchange.message.with_data(raw.hex(), TEXT)


def response_to_body(router: Router, exchange: Exchange) -> None:
    """Answer with the data of the message; after a failure with its text, and status 400 unless it has a worse one."""
    del router
    answer = exchange.answer
    if answer.error is not None:
        if answer.status is None or answer.status < _BAD:
            answer.status = _BAD
        answer.body = answer.reason
        answer.set_header("Content-Type", _PLAIN)
    elif answer.message is not None:
        answer.body = answer.message.data
        if answer.message.data_type == JSON:
            answer.set_default_header("Content-Type", "application/json")


def metadata_to_headers(router: Router, exchange: Exchange) -> None:
    """Send the metadata of the message as headers, but those that stand as the address of the request had them.

    Names that no header can have, and headers that belong to a connection or a body, are left out; control characters
    in values become blanks.
    """
    del router
    for name, value in _added(exchange).items():
        if _NAME.fullmatch(name) and name[0] != "_" and name.lower() not in _OF_THE_CONNECTION:
            exchange.answer.set_header(name, _CONTROL.sub(" ", metadata_text(value)).strip())


def metadata_to_status(router: Router, exchange: Exchange) -> bool | None:
    """Answer with the status in the metadata `statusCode`, 200 to 599; after a failure only with one from 400 on.

    What is no status is answered with 500 and a text that says so. One that stands as the address of the request had
    it does not count.
    """
    del router
    answer = exchange.answer
    value = _added(exchange).get("statusCode")
    if value is None or answer.relation == STREAM:
        return None
    text = metadata_text(value)
    if not _STATUS.fullmatch(text):
        answer.status = _BROKEN
        answer.body = f"the metadata statusCode is {text!r:.60}, which is no status from 200 to 599"
        answer.set_header("Content-Type", _PLAIN)
        return False
    if answer.error is None or int(text) >= _BAD:
        answer.status = int(text)
    return None


def _added(exchange: Exchange) -> dict[str, Json]:
    """Give the metadata of an answer without what the sender of the message has put there.

    Whoever makes somebody follow a link must not choose what headers that one is answered with.
    """
    message, given = exchange.answer.message, exchange.original.metadata
    return {} if message is None else {name: one for name, one in message.metadata.items() if one != given.get(name)}


_INCOMING: Final[dict[str, Processor]] = {
    "headersToMetadata": headers_to_metadata,
    "setJsonDataType": set_json_data_type,
    "setTextDataType": set_text_data_type,
    "setBinaryDataType": set_binary_data_type,
    "toHex": to_hex,
}
_OUTGOING: Final[dict[str, Processor]] = {
    "responseToBody": response_to_body,
    "metadataToHeaders": metadata_to_headers,
    "metadataToStatus": metadata_to_status,
}

"""The body of a request: read within its limit, and made the data of a message."""

from __future__ import annotations

import codecs
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from catenary.json_schema import problems
from catenary.jsontext import loads
from catenary_components.endpoint.leaving import ClientGone
from catenary_components.endpoint.uploads import form_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.http.inprocess import AsgiEvent, AsgiReceive
    from catenary.jsontext import Json

_JSON: Final = b"application/json"
_MAX_PROBLEMS: Final = 5
_MULTIPART: Final = b"multipart/form-data"


class BodyRefused(Exception):  # noqa: N818 - an answer to the client, not a fault
    """A request that cannot be made a message; the text is what the client is told."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def read_body(
    event: AsgiEvent, receive: AsgiReceive, max_bytes: int, headers: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """Read a body from its first piece on.

    Args:
        event: What `receive` gave first.
        receive: Gives the other pieces.
        max_bytes: The longest body; 0 is no limit.
        headers: Those of the request: a length that is too long is refused before it comes.

    Raises:
        BodyRefused: When it is too long.
        ClientGone: When the client left in the middle of it.
    """
    limit = max_bytes or float("inf")
    told = next((value for name, value in headers if name == b"content-length"), b"0")
    if told.isdigit() and int(told) > limit:
        raise _too_long(max_bytes)
    pieces: list[bytes] = []
    count = 0
    while True:
        if event["type"] != "http.request":
            raise ClientGone
        piece: bytes = event.get("body", b"")
        count += len(piece)
        if count > limit:
            raise _too_long(max_bytes)
        pieces.append(piece)
        if not event.get("more_body"):
            return b"".join(pieces)
        event = await receive()


def refuse_misfit(body: bytes, content_type: bytes, schema: Mapping[str, Json]) -> None:
    """Refuse a body that is no JSON, or does not fit its schema.

    Raises:
        BodyRefused: Status 415 for another content type, 400 for all else.
    """
    if not content_type.lower().startswith(_JSON):
        raise BodyRefused(415, "the body must be application/json")
    try:
        value = loads(body)
    except (ValueError, RecursionError):
        raise BodyRefused(400, "the body is no JSON") from None
    wrong = list(islice(problems(value, schema), _MAX_PROBLEMS))
    if wrong:
        raise BodyRefused(400, "the body does not fit: " + "; ".join(wrong))


def message_parts(body: bytes, content_type: bytes) -> tuple[Any, str]:
    """Give data and data type of a body: JSON, text, bytes that are no text, or a form with files.

    Raises:
        BodyRefused: When the form cannot be read, or has too many parts.
    """
    kind = content_type.lower()
    if kind.startswith(_MULTIPART):
        try:
            return form_of(body, content_type), "JSON"
        except ValueError as error:
            raise BodyRefused(400, str(error)) from None
    data_type = "JSON" if kind.startswith(_JSON) else "TEXT"
    try:
        return body.decode("utf-8" if data_type == "JSON" else _charset(kind)), data_type
    except (UnicodeDecodeError, LookupError):
        return body, data_type


def _charset(content_type: bytes) -> str:
    if b"charset=" not in content_type:
        return "utf-8"
    name = content_type.partition(b"charset=")[2].partition(b";")[0].strip(b" \"'").decode("latin-1")
    info = codecs.lookup(name)
    return info.name if getattr(info, "_is_text_encoding", True) else "utf-8"


def _too_long(max_bytes: int) -> BodyRefused:
    return BodyRefused(413, f"the body is longer than {max_bytes} bytes")

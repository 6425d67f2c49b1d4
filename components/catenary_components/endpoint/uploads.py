"""Forms with files (`multipart/form-data`), as JSON."""

from __future__ import annotations

import re
from base64 import b64encode
from email.message import Message as MimeHead
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from catenary.jsontext import Json

_MAX_PARTS: Final = 1000
_MAX_HEAD_BYTES: Final = 16 * 1024
_TEXT: Final = re.compile(r"text/|application/(?:.*\+)?(?:json|xml)\b")


def form_of(body: bytes, content_type: bytes) -> dict[str, Json]:
    """Give a form as JSON: a text for each field, an object for each file; a list where a name comes several times.

    A file is `{"filename", "contentType", "size", "encoding", "content"}`. The content of texts is text, with
    `encoding` `utf-8`; of all others it is `base64`.

    Raises:
        ValueError: When it is no such form, or has more than 1000 parts; the text is for who sent it.
    """
    found: dict[str, list[Json]] = {}
    for head, content in _parts(body, _boundary(content_type)):
        name = head.get_param("name", "", "content-disposition")
        if not isinstance(name, str) or not name:
            raise ValueError("a part of the form has no name")
        found.setdefault(name, []).append(_value(head, content))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _boundary(content_type: bytes) -> bytes:
    head = MimeHead()
    head["content-type"] = content_type.decode("latin-1")
    boundary = head.get_param("boundary", "")
    if not isinstance(boundary, str) or not 0 < len(boundary) <= 200:
        raise ValueError("the content type of the form has no boundary")
    return boundary.encode("latin-1")


def _parts(body: bytes, boundary: bytes) -> Any:
    """Give head and content of each part."""
    delimiter = b"\r\n--" + boundary
    pieces = (b"\r\n" + body).split(delimiter, _MAX_PARTS + 1)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise ValueError(
            f"the form has more than {_MAX_PARTS} parts"
            if len(pieces) > _MAX_PARTS
            else "the form does not end with its boundary"
        )
    for piece in pieces[1:-1]:
        head, blank, content = piece.lstrip(b" \t").removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not blank or len(head) > _MAX_HEAD_BYTES:
            raise ValueError("a part of the form has no head, or one that is too long")
        yield HeaderParser().parsestr(head.decode("utf-8", "replace")), content


def _value(head: MimeHead, content: bytes) -> Json:
    filename = head.get_param("filename", None, "content-disposition")
    if filename is None:
        return content.decode("utf-8", "replace")
    kind = head.get("content-type", "application/octet-stream")
    text = _text(content) if _TEXT.match(kind.lower()) else None
    return {
        "filename": filename[2] if isinstance(filename, tuple) else filename,
        "contentType": kind,
        "size": len(content),
        "encoding": "base64" if text is None else "utf-8",
        "content": b64encode(content).decode() if text is None else text,
    }


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None

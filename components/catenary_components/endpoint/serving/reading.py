"""The parts of reading a request that need no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import httptools

if TYPE_CHECKING:
    from catenary_components.endpoint.serving.connection import HttpConnection


class RequestRefused(Exception):  # noqa: N818 - an answer to the client, not a fault
    """What came is no request that could be handed on; the text is what the client is told."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def parser_for(connection: HttpConnection) -> Any:
    """Make a parser that calls a connection."""
    parser = httptools.HttpRequestParser(connection)
    # What comes behind a request that asked for closing is read as another request, and never answered.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def scope_of(
    connection: HttpConnection, method: str, version: str, url: bytes, headers: list[tuple[bytes, bytes]]
) -> dict[str, Any]:
    """Give the scope of a request, as ASGI wants it."""
    path, raw_path, query = parts_of(url)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": version,
        "method": method,
        "scheme": connection.scheme,
        "path": path,
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "server": connection.local,
        "client": connection.client,
        "state": {},
    }


def parts_of(url: bytes) -> tuple[str, bytes, bytes]:
    """Give path, path as written and query of the address in a request line."""
    if url[:1] == b"/":
        raw_path, _, query = url.partition(b"?")
    elif url == b"*":
        raw_path, query = url, b""
    else:
        parsed = httptools.parse_url(url)
        raw_path, query = parsed.path or b"/", parsed.query or b""
    path = raw_path.decode("ascii")
    return unquote(path) if "%" in path else path, raw_path, query


def pair(name: Any) -> tuple[str, Any] | None:
    """Give the first two parts of a socket's name; `None` for one without address and port."""
    return cast("tuple[str, Any]", name[:2]) if isinstance(name, tuple) else None

"""Answers that no chain gives: not found, not allowed, too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary_components.endpoint.cors import asks_first, refusal_headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catenary.http.inprocess import AsgiEvent, AsgiSend
    from catenary_components.endpoint.cors import Cors
    from catenary_components.endpoint.routing import Route

TEXT_TYPE = (b"content-type", b"text/plain; charset=utf-8")


async def answer(
    send: AsgiSend, status: int, body: bytes | str = b"", headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a whole answer; a body without a type is text."""
    content = body.encode() if isinstance(body, str) else body
    head = list(headers)
    if content and not any(name == b"content-type" for name, _ in head):
        head.append(TEXT_TYPE)
    if status != 204:
        head.append((b"content-length", b"%d" % len(content)))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": content})


async def deny(
    scope: AsgiEvent, send: AsgiSend, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer the handshake of a WebSocket by a status: 403 where the server can tell no other."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": text})
        return
    await send({"type": "websocket.http.response.start", "status": status, "headers": [TEXT_TYPE, *headers]})
    await send({"type": "websocket.http.response.body", "body": text.encode()})


async def no_route(scope: AsgiEvent, send: AsgiSend, methods: Mapping[str, Route], rules: Sequence[Cors]) -> None:
    """Answer a request that no route is for: 404; 405 when the path is there for other methods.

    Args:
        scope: The request.
        send: What takes the answer.
        methods: What the path is there for.
        rules: Which pages may call any route of the server.
    """
    if scope["type"] == "websocket":
        await deny(scope, send, 404, "404 page not found")
        return
    allowed = {method for method in methods if method != "WEBSOCKET"}
    if not allowed:
        pages = refusal_headers(scope, rules)
        if pages and asks_first(scope):
            await answer(send, 204, b"", pages)
        else:
            await answer(send, 404, "404 page not found", pages)
        return
    allowed |= {"OPTIONS"} | ({"HEAD"} if "GET" in allowed else set())
    head = [(b"allow", ", ".join(sorted(allowed)).encode()), *_pages(scope, methods)]
    if scope["method"] == "OPTIONS":
        await answer(send, 204, b"", head)
    else:
        await answer(send, 405, "405 method not allowed", head)


def _pages(scope: AsgiEvent, methods: Mapping[str, Route]) -> list[tuple[bytes, bytes]]:
    """Give the headers by which a browser lets a page of another server call a route, or see that there is none."""
    asked = next((value for name, value in scope["headers"] if name == b"access-control-request-method"), b"")
    method = asked.decode("latin-1").upper()
    route = methods.get(method) or (methods.get("GET") if method == "HEAD" else None)
    if route is None or not asks_first(scope):
        return refusal_headers(scope, [one.cors for one in methods.values() if one.cors is not None])
    return [] if route.cors is None else route.cors.preflight(scope["headers"])

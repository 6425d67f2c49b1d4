"""From an HTTP request to a message, and from its answer to an HTTP answer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from catenary import Message
from catenary.endpoints import Exchange, Headers
from catenary.jsontext import dumps
from catenary_components.endpoint import plain
from catenary_components.endpoint.bodies import BodyRefused, message_parts, read_body, refuse_misfit
from catenary_components.endpoint.guarding import KeyCheck
from catenary_components.endpoint.leaving import ClientGone, gone_cancels
from catenary_components.endpoint.openapi import operation_of, schema_of
from catenary_components.endpoint.query import metadata_of, read_query
from catenary_components.endpoint.routing import Route
from catenary_components.endpoint.sse import EventStream, takes_events

if TYPE_CHECKING:
    from catenary.endpoints import Answer, Router
    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend
    from catenary_components.endpoint.http import HttpEndpoint

_BODILESS: Final = frozenset({"GET", "HEAD"})
_WITHOUT_BODY: Final = frozenset({204, 205, 304})
_HIDDEN: Final = frozenset({"content-length", "transfer-encoding", "connection"})
_BREAK: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def route_of(endpoint: HttpEndpoint, router: Router, method: str) -> Route:
    """Make the route of a router."""
    where = f"chain {endpoint.chain_id!r}" if endpoint.chain_id else "no chain"
    return Route(
        method,
        router.path,
        Reception(endpoint, router).take,
        name=f"router {router.id!r} of endpoint {endpoint.id!r} in {where}",
        operation=operation_of(endpoint, router, method),
        cors=endpoint.cors,
    )


class Reception:
    """Answers the requests of one router; what no request asks for was decided when it was made."""

    __slots__ = (
        "_cors",
        "_endpoint",
        "_heartbeat_s",
        "_is_cancelled",
        "_keys",
        "_max_bytes",
        "_router",
        "_schema",
        "_waits",
    )

    def __init__(self, endpoint: HttpEndpoint, router: Router) -> None:
        config = endpoint.config
        self._endpoint = endpoint
        self._router = router
        self._waits = router.to.wait
        self._cors = endpoint.cors
        self._keys = KeyCheck(config.api_keys) if config.api_keys else None
        self._max_bytes = config.max_body_bytes
        self._is_cancelled = config.on_disconnect == "cancel"
        self._heartbeat_s = config.heartbeat
        self._schema = schema_of(router)

    async def take(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend, variables: dict[str, str]) -> None:
        """Answer one request."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if self._keys is not None and not self._keys.allows(headers):
            await plain.answer(send, 401, "a key is needed", [*self._keys.challenge, *self._pages(headers)])
            return
        content_type = accept = b""
        for name, value in headers:
            if name == b"content-type":
                content_type = value
            elif name == b"accept":
                accept = accept + b"," + value if accept else value
        try:
            message = await self._message(scope, receive, variables, content_type)
        except BodyRefused as refusal:
            await plain.answer(send, refusal.status, str(refusal), self._pages(headers))
            return
        except ClientGone:
            return
        exchange = Exchange(message, Headers(headers), request=scope)
        if not self._waits:
            await self._endpoint.handle(self._router, exchange)
            await self._answer(send, exchange.answer, headers)
            return
        events = self._events(send, accept, headers)
        if events is not None:
            exchange.stream = events.piece
        await self._run(exchange, receive, send, events, headers)

    # Private

    async def _message(
        self, scope: AsgiEvent, receive: AsgiReceive, variables: dict[str, str], content_type: bytes
    ) -> Message:
        query: bytes = scope["query_string"]
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        address = raw_path.decode("latin-1")
        found: dict[str, list[str]] = {}
        metadata: dict[str, Any] = {"_triggerSource": self._endpoint.trigger_source}
        if query:
            address = f"{address}?{query.decode('latin-1')}"
            found = read_query(query)
            metadata = metadata_of(found) | metadata
        if variables:
            metadata.update(variables)
        if scope["method"] in _BODILESS:
            return Message(dumps(found), address, "JSON", metadata)
        event = await receive()
        body = event.get("body", b"")
        if event["type"] != "http.request" or event.get("more_body") or len(body) > self._max_bytes:
            body = await read_body(event, receive, self._max_bytes, scope["headers"])
        if self._schema is not None:
            refuse_misfit(body, content_type, self._schema)
        data, data_type = message_parts(body, content_type)
        return Message(data, address, data_type, metadata)

    def _events(self, send: AsgiSend, accept: bytes, headers: list[tuple[bytes, bytes]]) -> EventStream | None:
        """Make what sends the pieces of a chain that emits `Stream`; `None` when the client does not take them."""
        takes = takes_events(accept) if accept else "can"
        if takes == "no":
            return None
        return EventStream(send, self._heartbeat_s, self._pages(headers), is_asked=takes == "asks")

    async def _run(
        self,
        exchange: Exchange,
        receive: AsgiReceive,
        send: AsgiSend,
        events: EventStream | None,
        headers: list[tuple[bytes, bytes]],
    ) -> None:
        try:
            if self._is_cancelled:
                with gone_cancels(receive):
                    await self._endpoint.handle(self._router, exchange)
            else:
                await self._endpoint.handle(self._router, exchange)
        except ClientGone:
            return
        finally:
            if events is not None:
                events.quiet()
        if events is not None and events.is_wanted(exchange.answer):
            await events.end(exchange.answer)
        else:
            await self._answer(send, exchange.answer, headers)

    async def _answer(self, send: AsgiSend, answer: Answer, headers: list[tuple[bytes, bytes]]) -> None:
        status = answer.status or 200
        body = answer.body
        content = b"" if body is None else body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        if status in _WITHOUT_BODY:
            content, body = b"", None
        head = [(b"content-length", b"%d" % len(content))] if status not in {204, 304} else []
        is_typed = body is None
        for name, value in answer.headers.items():
            header = _header(name, value)
            if header is not None:
                head.append(header)
                is_typed = is_typed or header[0] == b"content-type"
        if not is_typed:
            head.append(plain.TEXT_TYPE if isinstance(body, str) else (b"content-type", b"application/octet-stream"))
        if self._cors is not None:
            head += self._cors.headers(headers)
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": content})

    def _pages(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return [] if self._cors is None else self._cors.headers(headers)


@lru_cache(maxsize=1024)
def _header(name: str, value: str) -> tuple[bytes, bytes] | None:
    """Give a header as ASGI wants it; `None` for one that is the server's business, or that would be two."""
    lower = name.lower()
    if lower in _HIDDEN or _BREAK.search(name) or _BREAK.search(value):
        return None
    return lower.encode("latin-1", "replace"), value.encode("latin-1", "replace")

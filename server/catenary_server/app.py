"""The API as an ASGI application: `create_app(engine)`, for `catenary serve` and for programs that mount it."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from catenary.errors import CatenaryError
from catenary_components.endpoint.cors import asks_first, refusal_headers
from catenary_components.endpoint.plain import deny
from catenary_server.api import operations
from catenary_server.api_error import ApiError, api_error_of, starting, stopping, unexpected
from catenary_server.call import Call
from catenary_server.host_table import no_key, put_on
from catenary_server.logs import log_request
from catenary_server.operation import check_headers, read_query
from catenary_server.service import Service, ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from catenary.engine import Engine
    from catenary_server.operation import Operation

_PART: Final = re.compile(r"\\\{(\w+)\\\}")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHERS: Final = "(endpoints)"
"""The route of what the API does not have; the paths themselves may be any number."""


def create_app(
    engine: Engine,
    settings: ServiceSettings | None = None,
    *,
    folder: Path | None = None,
) -> ServerApp:
    """Make the application of an engine: the API, and the endpoints with `server: ref://server`.

    It neither opens nor closes the engine: `async with engine` does, afterwards.

    Args:
        engine: The engine.
        settings: Keys and limits; no key is needed if absent.
        folder: The folder of chains that `save=true` writes to.
    """
    return ServerApp(Service(engine, settings, folder=folder))


class ServerApp:
    """Answers requests: by the operations of the API, and all others by the routes of endpoints.

    Args:
        service: What stands behind it.

    Attributes:
        service: What stands behind it.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._routes = Routes(operations())
        self._endpoints = put_on(service, self._nothing_there, lambda path: self._routes.find(path)[2] is not None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await self._endpoints(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        traffic = self.service.traffic
        route, path_parts, methods = self._routes.find(_path_of(scope))
        noted = _Noted(send)
        began = time.perf_counter()
        traffic.under_way += 1
        try:
            if methods is None:
                await self._endpoints(scope, receive, noted.send)
            else:
                await self._answer(Request(scope, receive), path_parts, methods, noted)
        finally:
            traffic.under_way -= 1
            took = time.perf_counter() - began
            traffic.note(scope["method"] if methods else "(any)", route, noted.status, took)
            if self.service.settings.access_log:
                log_request(scope, route, noted.status, took)

    async def _answer(
        self, request: Request, parts: Mapping[str, str], methods: Mapping[str, Operation], noted: _Noted
    ) -> None:
        response: ASGIApp
        try:
            response = await self._response(request, parts, methods)
        except ApiError as error:
            response = error.response()
        except CatenaryError as error:
            response = api_error_of(error).response()
        except Exception as error:
            response = unexpected(error).response()
        with suppress(OSError):  # the client went away
            await response(request.scope, request.receive, noted.send)

    async def _nothing_there(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a path that neither the API nor an endpoint has, or not yet, or not any more."""
        error = self._not_ready()
        if error is None:
            hint = "GET /openapi.json lists what there is"
            error = ApiError(404, "request.not-found", f"there is nothing at {scope['path'][:200]!r}", hint=hint)
        if scope["type"] == "websocket":
            await deny(scope, send, error.status, error.message)
            return
        pages = refusal_headers(scope, self._endpoints.rules)
        response = Response(status_code=204) if pages and asks_first(scope) else error.response()
        response.raw_headers += pages
        await response(scope, receive, send)

    async def _response(self, request: Request, parts: Mapping[str, str], methods: Mapping[str, Operation]) -> Response:
        operation = methods.get("GET" if request.method == "HEAD" else request.method)
        if operation is None:
            allowed = ", ".join(sorted(methods))
            text = f"{request.method} is not possible here"
            raise ApiError(405, "request.method", text, hint=f"try {allowed}", headers={"allow": allowed})
        self._check(request, operation)
        check_headers(operation, request.headers)
        query = read_query(operation, request.scope["query_string"].decode("latin-1"))
        return await operation.handler(Call(self.service, request, operation, parts, query))

    def _not_ready(self) -> ApiError | None:
        """Give why nothing is taken in; `None` when it is."""
        if self.service.state == "ready":
            return None
        return starting() if self.service.state == "starting" else stopping()

    def _check(self, request: Request, operation: Operation) -> None:
        """See that the request may come in. Raises: ApiError: when it may not."""
        settings = self.service.settings
        refusal = None if operation.answers_draining else self._not_ready()
        if refusal is not None:
            raise refusal
        if operation.is_open:
            return
        if settings.keys:
            if not settings.keys.admits(request.headers):
                self.service.traffic.refused += 1
                raise no_key()
            return
        host = request.headers.get("host", "")
        if settings.hosts is not None and _name_in(host) not in settings.hosts:
            hint = "call it by one of these names: " + ", ".join(sorted(settings.hosts)) + "; or serve with an API key"
            raise ApiError(403, "server.host", f"this server is not called {host!r:.100}", hint=hint)
        origin = request.headers.get("origin")
        if origin is not None and request.method not in _SAFE and urlsplit(origin).netloc != host:
            hint = "serve with an API key, and send that"
            raise ApiError(403, "server.origin", "pages of other sites may not change anything here", hint=hint)


class Routes:
    """Finds the operations of a path.

    Args:
        operations: All operations.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            by_path.setdefault(operation.path, {})[operation.method] = operation
        self._fixed = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._variable = [(_pattern(path), path, methods) for path, methods in by_path.items() if "{" in path]

    def find(self, path: str) -> tuple[str, Mapping[str, str], Mapping[str, Operation] | None]:
        """Give the path as it is written, its variable parts, and its operations by method; `None` when unknown."""
        methods = self._fixed.get(path)
        if methods is not None:
            return path, {}, methods
        for pattern, written, found in self._variable:
            match = pattern.fullmatch(path)
            if match is not None:
                return written, {name: _decoded(part) for name, part in match.groupdict().items()}, found
        return _OTHERS, {}, None


class _Noted:
    """Notes the status of an answer on its way out."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_PART.sub(r"(?P<\1>[^/]+)", re.escape(path)), re.DOTALL)


def _decoded(part: str) -> str:
    return part.replace("%2F", "/")


def _path_of(scope: Scope) -> str:
    """Give the path below that of the application, in which `%2F` is left as it is: it parts nothing."""
    path: str = scope["path"]
    raw: bytes | None = scope.get("raw_path")
    if raw is not None and b"%2f" in raw.lower():
        from urllib.parse import unquote

        kept = re.sub("%2f", "%252F", raw.partition(b"?")[0].decode("latin-1"), flags=re.IGNORECASE)
        path = unquote(kept, errors="replace")
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if root and path.startswith(root) else path


def _name_in(host: str) -> str:
    """Give the name in a `Host` header, without the port."""
    name = host.rsplit(":", 1)[0] if re.search(r":\d*$", host) and not host.endswith("]") else host
    return name.lower()


async def _live(receive: Receive, send: Send) -> None:
    """Answer the lifespan protocol: the engine is opened and closed by others."""
    while True:
        message: Any = await receive()
        kind = message["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return

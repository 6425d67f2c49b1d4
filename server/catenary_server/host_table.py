"""The routes of endpoints with `server: ref://server`: guarded by the keys of the server, unless they say otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers

from catenary import EngineError
from catenary_components.endpoint.listening import listeners_of
from catenary_components.endpoint.routing import Route, RouteTable
from catenary_server.api_error import ApiError
from catenary_server.openapi import KEYED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary.http.inprocess import AsgiApp
    from catenary_components.endpoint.routing import Handler
    from catenary_server.service import Service


class HostTable(RouteTable):
    """Routes of endpoints on the server of the API.

    Those of an endpoint with `apiKeys` or `anonymous` are guarded by that, all others by the keys of the server.

    Args:
        service: What has the keys.
        fallback: Answers what no route is for.
        is_of_api: Tells whether the API answers a path.
    """

    def __init__(self, service: Service, fallback: AsgiApp, is_of_api: Callable[[str], bool]) -> None:
        super().__init__(fallback)
        self._service = service
        self._is_of_api = is_of_api

    def replace(self, owner: object, routes: Sequence[Route], instead_of: object = None) -> None:
        """Put routes in the place of those of an owner, see `RouteTable`.

        Raises:
            EngineError: When a route has a path of the API, which no request would reach.
        """
        for route in routes:
            if "*" not in route.path and self._is_of_api(route.path):
                raise EngineError(
                    f"{route.method} {route.path} is a path of the API of this server, and {route.name} wants it",
                    hint="give the route another path, or the endpoint an address of its own",
                )
        config = getattr(owner, "config", None)
        guards_itself = getattr(config, "api_keys", None) or getattr(config, "anonymous", False)
        if self._service.settings.keys and not guards_itself:
            routes = [self._guarded(route) for route in routes]
        super().replace(owner, routes, instead_of)

    def _guarded(self, route: Route) -> Route:
        operation = None if route.operation is None else {**route.operation, "security": KEYED}
        return replace(route, handle=self._with_key(route), operation=operation)

    def _with_key(self, route: Route) -> Handler:
        keys = self._service.settings.keys

        async def guarded(scope: Any, receive: Any, send: Any, values: dict[str, str]) -> None:
            if keys.admits(Headers(scope=scope)):
                await route.handle(scope, receive, send, values)
                return
            self._service.traffic.refused += 1
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                response = no_key().response()
                if route.cors is not None:  # else the page would not see the status
                    response.raw_headers += route.cors.headers(scope["headers"])
                await response(scope, receive, send)

        return guarded


def put_on(service: Service, fallback: AsgiApp, is_of_api: Callable[[str], bool]) -> HostTable:
    """Have the endpoints of an engine put their routes on the server of the API; before the engine is entered."""
    listeners = listeners_of(service.engine)
    table = HostTable(service, fallback, is_of_api)
    listeners.host, listeners.has_host = table, True
    return table


def no_key() -> ApiError:
    """Give the error for a request without a key that is known."""
    hint = "send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`"
    return ApiError(401, "server.no-key", "this needs an API key", hint=hint, headers={"www-authenticate": "Bearer"})

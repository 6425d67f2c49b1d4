"""`endpoint/http`: take messages in by HTTP, and answer with what chains make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import field_validator

from catenary.component import Example, option, register
from catenary_components.endpoint.paths import Path
from catenary_components.endpoint.served import ServerConfig, ServerEndpoint

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from catenary.endpoints import Router
    from catenary.jsontext import Json
    from catenary_components.endpoint.cors import Cors
    from catenary_components.endpoint.routing import Route

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


class HttpConfig(ServerConfig):
    """Settings of one `http` endpoint."""

    allow_cors: bool = option(False, help="Let pages of other servers call it from a browser.", group="access")
    max_body_bytes: int = option(
        16 * 1024 * 1024, ge=0, unit="bytes", help="Largest body of a request; 0 is no limit.", group="limits"
    )
    on_disconnect: Literal["cancel", "detach"] = option(
        "cancel",
        help="What becomes of a run whose client goes away while it waits: it is cancelled, or it goes on.",
    )
    heartbeat: float = option(
        15.0, ge=0, unit="seconds", help="How often a quiet event stream shows that it is alive; 0 is never."
    )
    openapi_path: str = option(
        "",
        help="The path at which it describes all routes of its address as OpenAPI; none if empty.",
        examples=["/openapi.json"],
    )

    @field_validator("openapi_path")
    @classmethod
    def _is_path(cls, path: str) -> str:
        if path and Path.read(path).names:
            raise ValueError(f"the path {path!r} must not have variables")
        return path


@register("endpoint/http", category="endpoint", since="0.1", aliases=("endpoint/rest",))
class HttpEndpoint(ServerEndpoint[HttpConfig]):
    """Take messages in by HTTP, and answer with what chains make of them.

    Each router takes one method (the first of its `params`) of one path, which may have variables: `/devices/:id` or
    `/devices/{id}` for one part of it, `/files/*rest` for all the rest, with its slash. Variables and query are in the
    metadata, a name that is given several times as a JSON list. The message's type is the address as it was sent,
    query included. The data of `GET` is the query as JSON, each value a list; of all others it is the body: JSON when
    the content type begins with `application/json`, else text. A form with files becomes JSON.

    With `wait` off the answer is empty, at once. With `wait` on it is what the processors of `to` make of the end of
    the chain: `responseToBody` sends its data, and status 400 with the text of an error. A chain that emits `Stream`
    is answered as an event stream, piece by piece, unless the request's `Accept` does not take it.

    Endpoints with the same address share one server. It listens on the loopback address unless it is told otherwise,
    and a wider one needs `apiKeys` or `anonymous`.
    """

    trigger_source: ClassVar[str] = "endpoint"
    examples = (
        Example(
            "an endpoint with two routers; needs a chain around it",
            config={"server": "127.0.0.1:6333", "allowCors": True, "maxBodyBytes": 1048576},
            runs=False,
        ),
    )

    def id_of(self, params: tuple[Json, ...], path: str) -> str:
        """Give `METHOD:path`."""
        return f"{_method(params)}:{path}"

    def check_router(self, router: Router) -> Iterable[str]:
        """Tell of a method or a path that no request can have."""
        method = _method(router.params)
        if method not in METHODS:
            given = f"{method!r} is no method" if method else "there is no method in `params`"
            yield f"{given}; write one of {', '.join(METHODS)}"
        try:
            path = Path.read(router.path)
        except ValueError as error:
            yield str(error)
            return
        document = self.config.openapi_path
        if document and method == "GET" and path.shape == Path.read(document).shape:
            yield f"the path {router.path!r} is that of openapiPath"

    def takes(self, router: Router) -> Hashable:
        """Give the method and the path, whatever its variables are called."""
        return _method(router.params), Path.read(router.path).shape

    def routes(self) -> list[Route]:
        """Give the routes for the routers that there are."""
        from catenary_components.endpoint.openapi import document_route
        from catenary_components.endpoint.receiving import route_of

        made = [route_of(self, router, _method(router.params)) for router in self.routers.values()]
        if self.config.openapi_path and self._table is not None:
            made.append(document_route(self, self.config.openapi_path, self._table))
        return made

    @property
    def cors(self) -> Cors | None:
        """Which pages may call."""
        from catenary_components.endpoint.cors import Cors

        return Cors(frozenset(self.config.allowed_origins)) if self.config.allow_cors else None


def _method(params: tuple[Json, ...]) -> str:
    return str(params[0]).strip().upper() if params else ""

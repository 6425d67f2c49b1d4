"""Routes as OpenAPI 3.1 describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import catenary
from catenary.jsontext import dumps_in_order
from catenary_components.endpoint import plain
from catenary_components.endpoint.paths import Path
from catenary_components.endpoint.routing import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.endpoints import Router
    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend
    from catenary.jsontext import Json
    from catenary_components.endpoint.http import HttpEndpoint
    from catenary_components.endpoint.routing import RouteTable

KEY_SCHEMES: Final[dict[str, Json]] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
"""The `securitySchemes` that operations of endpoints with `apiKeys` name."""

_TEXT: Final[dict[str, Json]] = {"text/plain": {"schema": {"type": "string"}}}


def operation_of(endpoint: HttpEndpoint, router: Router, method: str) -> dict[str, Json]:
    """Describe a router. Of its `additionalInfo` count `summary`, `description`, `tags`, `schema` and `responseSchema`.

    The two schemas are JSON Schema, of the body and of the answer; bodies that do not fit are refused.
    """
    info = router.additional_info
    operation: dict[str, Json] = {"operationId": f"{endpoint.chain_id or 'endpoint'}.{endpoint.id}.{router.id}"}
    operation |= {key: info[key] for key in ("summary", "description", "tags") if info.get(key)}
    try:
        names = Path.read(router.path).names
    except ValueError:
        names = ()
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if method not in {"GET", "HEAD"}:
        operation["requestBody"] = _request_body(schema_of(router))
    operation["responses"] = _responses(endpoint, router, has_body=method not in {"GET", "HEAD"})
    if endpoint.config.api_keys:
        operation["security"] = [{"bearer": []}, {"apiKey": []}]
    return operation


def schema_of(router: Router) -> Mapping[str, Json] | None:
    """Give the JSON Schema that bodies have to fit; `None` when the router has none."""
    schema: Json = router.additional_info.get("schema")
    return cast("Mapping[str, Json]", schema) if isinstance(schema, dict) and schema else None


def _request_body(schema: Mapping[str, Json] | None) -> dict[str, Json]:
    if schema is not None:
        return {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"content": {"application/json": {}, **_TEXT}}


def _responses(endpoint: HttpEndpoint, router: Router, *, has_body: bool) -> dict[str, Json]:
    to = router.to
    schema = router.additional_info.get("responseSchema")
    good: dict[str, Json] = {"description": "The answer of the chain." if to.wait else "Taken in."}
    if to.wait and "responseToBody" in to.processors:
        good["content"] = {"application/json": {"schema": schema}} if schema else {"*/*": {}}
    found: dict[str, Json] = {"200": good}
    found["400"] = {"description": "The chain ended with an error, or the request cannot be read.", "content": _TEXT}
    if endpoint.config.api_keys:
        found["401"] = {"description": "A key is needed.", "content": _TEXT}
    if has_body:
        if schema_of(router) is not None:
            found["415"] = {"description": "The body is not of type application/json.", "content": _TEXT}
        found["413"] = {"description": "The body is too long.", "content": _TEXT}
    found["503"] = {"description": "Too much is in hand, or the engine is being closed.", "content": _TEXT}
    others = set(to.processors) - {"responseToBody", "metadataToHeaders"}
    if to.wait and others == {"metadataToStatus"}:
        found["default"] = {"description": "The chain chooses the status by its metadata `statusCode`."}
    elif others:
        found["default"] = {"description": "What the processors of the router answer."}
    return found


def document(table: RouteTable, title: str = "Endpoints") -> dict[str, Json]:
    """Give the whole OpenAPI document of some routes."""
    paths = table.openapi()
    uses_keys = any("security" in operation for path in paths.values() for operation in path.values())
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": catenary.__version__},
        "paths": paths,
    }
    if uses_keys:
        made["components"] = {"securitySchemes": KEY_SCHEMES}
    return made


def document_route(endpoint: HttpEndpoint, path: str, table: RouteTable) -> Route:
    """Make the route at which an endpoint describes all routes of its address."""

    async def tell(scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend, variables: dict[str, str]) -> None:
        del scope, receive, variables
        await plain.answer(send, 200, dumps_in_order(document(table)), [(b"content-type", b"application/json")])

    return Route("GET", path, tell, name=f"openapiPath of endpoint {endpoint.id!r}", cors=endpoint.cors)

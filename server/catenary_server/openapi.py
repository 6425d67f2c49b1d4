"""The OpenAPI document: the operations of the API, and the routes of the endpoints that the server has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from catenary_components.endpoint.openapi import KEY_SCHEMES
from catenary_server import schemas
from catenary_server.api import operations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary_server.operation import Body, Operation, Parameter, Reply
    from catenary_server.service import Service

KEYED: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"apiKey": []}]
"""The `security` of what only those may call who have a key."""

_TAGS: Final = {
    "Running": "Send messages through chains.",
    "Runs": "What has run, what is on, and what waits.",
    "Chains": "The chains in service.",
    "Components": "What nodes and endpoints can be.",
    "Connections": "What chains are connected to.",
    "Operating": "For operators and their tools.",
}


def document(service: Service, *, root: str = "") -> dict[str, Any]:
    """Give the document of a server.

    Args:
        service: What it is about.
        root: The path that the application is mounted at.
    """
    made = api_document(needs_key=bool(service.settings.keys))
    for path, methods in service.endpoint_paths().items():
        made["paths"].setdefault(path, methods)
    if any("security" in operation for methods in made["paths"].values() for operation in methods.values()):
        made["components"]["securitySchemes"] = KEY_SCHEMES
    return {**made, "servers": [{"url": root or "/"}]}


def api_document(*, needs_key: bool = True) -> dict[str, Any]:
    """Give the document of the operations of the API alone."""
    from catenary import __version__

    paths: dict[str, dict[str, Any]] = {}
    for operation in operations():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, needs_key)
    components: dict[str, Any] = {"schemas": dict(schemas.SHARED)}
    if needs_key:
        components["securitySchemes"] = KEY_SCHEMES
    return {
        "openapi": "3.1.0",
        "info": {"title": "catenary", "version": __version__, "description": "Rule chains as a service."},
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": components,
    }


def _operation(operation: Operation, needs_key: bool) -> dict[str, Any]:
    keyed = needs_key and not operation.is_open
    made: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "responses": _replies(operation, keyed),
    }
    if operation.text:
        made["description"] = operation.text
    if operation.parameters:
        made["parameters"] = [_parameter(one) for one in operation.parameters]
    if operation.body is not None:
        made["requestBody"] = _body(operation.body)
    if keyed:
        made["security"] = KEYED
    return made


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required or parameter.place == "path",
        "description": parameter.text,
        "schema": dict(parameter.schema),
    }


def _body(body: Body) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for media in body.media:
        content[media] = {"schema": dict(body.schema)}
        if body.example is not None:
            content[media]["example"] = body.example
    return {"description": body.text, "required": not body.may_be_absent, "content": content}


def _replies(operation: Operation, keyed: bool) -> dict[str, Any]:
    return {str(status): _reply(reply) for status, reply in sorted(all_replies(operation, keyed))}


def all_replies(operation: Operation, keyed: bool) -> Iterable[tuple[int, Reply]]:
    """Give the answers of an operation, and those that any has."""
    from catenary_server.operation import Reply

    yield from operation.replies.items()
    if 400 not in operation.replies:
        yield 400, Reply(text="The request is not understood.", schema="Error")
    if keyed and 401 not in operation.replies:
        yield 401, Reply(text="A key is needed.", schema="Error")
    if not operation.is_open and 403 not in operation.replies:
        yield 403, Reply(text="Not from here: the server is called by another name, or by a page.", schema="Error")
    if not operation.answers_draining and 503 not in operation.replies:
        yield 503, Reply(text="There is no room, or the server starts or stops.", schema="Error")


def _reply(reply: Reply) -> dict[str, Any]:
    made: dict[str, Any] = {"description": reply.text}
    content: dict[str, Any] = {}
    if reply.schema is not None:
        schema = schemas.ref(reply.schema) if isinstance(reply.schema, str) else dict(reply.schema)
        content[reply.media] = {"schema": schema}
    content |= {media: {"schema": dict(schema)} for media, schema in reply.others.items()}
    if content:
        made["content"] = content
    if reply.headers:
        made["headers"] = {name: {"description": text, "schema": schemas.TEXT} for name, text in reply.headers.items()}
    return made

"""The page of the reference that describes the HTTP API, made from its operations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catenary.docsgen.markdown import code, fenced, page, table
from catenary_server import schemas
from catenary_server.api import operations
from catenary_server.openapi import all_replies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary_server.operation import Operation, Reply


def pages() -> dict[str, str]:
    """Give the pages by file name."""
    return {"api.md": api_page()}


def api_page() -> str:
    """Give the page of the API."""
    by_tag: dict[str, list[Operation]] = {}
    for operation in operations():
        by_tag.setdefault(operation.tag, []).append(operation)
    parts = [_chapter(tag, found) for tag, found in by_tag.items()]
    return page("The HTTP API", _INTRODUCTION, *parts, "## Shared forms", *_shared())


_INTRODUCTION = """What `catenary serve` answers. The live document is at `/openapi.json`; the guide is
[serving chains](../serving.md).

Bodies are JSON. Where the server has keys, each request but those marked *open* has one, as `Authorization: Bearer KEY`
or `X-API-Key: KEY`. Errors are `{"code", "message", "hint", "problems"}`, with the status that fits."""


def _chapter(tag: str, found: list[Operation]) -> str:
    return "\n\n".join([f"## {tag}", *map(_operation, found)])


def _operation(operation: Operation) -> str:
    is_open = " *open*" if operation.is_open else ""
    parts = [f"### {operation.method} {operation.path}", f"{operation.summary}.{is_open}".replace("?.", "?")]
    if operation.text:
        parts.append(operation.text)
    if operation.parameters:
        rows = [(code(one.name), one.place, _kind(one.schema), one.text) for one in operation.parameters]
        parts.append(table(("Parameter", "In", "Value", "Says"), rows))
    if operation.body is not None:
        parts += _body(operation)
    parts.append(table(("Status", "When", "Body"), map(_reply, _by_status(operation))))
    return "\n\n".join(part for part in parts if part)


def _body(operation: Operation) -> Iterable[str]:
    body = operation.body
    assert body is not None
    yield f"Body, {' or '.join(map(code, body.media))}: {body.text}"
    properties = body.schema.get("properties")
    if properties:
        needed = body.schema.get("required", ())
        rows = [
            (code(name) + ("" if name not in needed else ", required"), _kind(schema), schema.get("description", ""))
            for name, schema in properties.items()
        ]
        yield table(("Key", "Value", "Says"), rows)
    if body.example is not None:
        yield fenced(json.dumps(body.example, ensure_ascii=False), "text")


def _by_status(operation: Operation) -> list[tuple[int, Reply]]:
    return sorted(all_replies(operation, keyed=not operation.is_open), key=lambda pair: pair[0])


def _reply(pair: tuple[int, Reply]) -> tuple[str, str, str]:
    status, reply = pair
    forms = [] if reply.schema is None else [_form(reply.media, reply.schema)]
    forms += [_form(media, schema) for media, schema in reply.others.items()]
    headers = "".join(f" `{name}`: {text}" for name, text in reply.headers.items())
    return str(status), reply.text + headers, " or ".join(forms)


def _form(media: str, schema: Mapping[str, Any] | str) -> str:
    if media != "application/json":
        return code(media)
    return _named(schema) if isinstance(schema, str) else _kind(schema)


def _named(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _kind(schema: Mapping[str, Any]) -> str:
    """Say in a few words what a value may be."""
    if "$ref" in schema:
        return _named(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return ", ".join(code(str(one)) for one in schema["enum"])
    for several, word in (("anyOf", " or "), ("allOf", " and ")):
        if several in schema:
            return word.join(map(_kind, schema[several]))
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {_kind(schema['items'])}"
    if kind == "object" and "properties" in schema:
        return "`{" + ", ".join(schema["properties"]) + "}`"
    return {"string": "text", "integer": "whole number", "boolean": "`true` or `false`"}.get(kind, kind)


def _shared() -> Iterable[str]:
    for name, schema in schemas.SHARED.items():
        yield f"### {name}"
        yield table(("Key", "Value"), [(code(key), _kind(one)) for key, one in schema["properties"].items()])

"""The JSON Schemas that operations share, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json

TEXT: Final[dict[str, Any]] = {"type": "string"}
WHOLE: Final[dict[str, Any]] = {"type": "integer"}
FLAG: Final[dict[str, Any]] = {"type": "boolean"}
ANYTHING: Final[dict[str, Any]] = {"description": "any JSON value"}
EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "the number of the event"},
        "event": {"type": "string", "description": "its name"},
        "data": {"type": "string", "description": "the event, as JSON"},
    },
}
"""One server-sent event."""
OBJECT: Final[dict[str, Any]] = {"type": "object"}


def ref(name: str) -> dict[str, Any]:
    """Give a reference to a shared schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(items: Mapping[str, Json]) -> dict[str, Any]:
    """Give the schema of a list."""
    return {"type": "array", "items": dict(items)}


def nullable(schema: Mapping[str, Json]) -> dict[str, Any]:
    """Give a schema that also lets `null` pass."""
    return {"anyOf": [dict(schema), {"type": "null"}]}


def closed(properties: Mapping[str, Json], *, needs: tuple[str, ...] = ()) -> dict[str, Any]:
    """Give the schema of an object of a request: no other keys than these."""
    return {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
        **({"required": list(needs)} if needs else {}),
    }


def whole(properties: Mapping[str, Json]) -> dict[str, Any]:
    """Give the schema of an object of an answer: it has all these keys."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


STATUSES: Final = ("completed", "failed", "paused", "cancelled", "resumed", "running", "interrupted", "waiting")

MESSAGE: Final = whole(
    {"ts": WHOLE, "id": TEXT, "dataType": TEXT, "type": TEXT, "data": TEXT, "metadata": {"type": "object"}}
)
PROBLEM: Final = whole(
    {
        "code": TEXT,
        "text": TEXT,
        "hint": TEXT,
        "file": TEXT,
        "line": WHOLE,
        "column": WHOLE,
        "severity": {"type": "string", "enum": ["error", "warning"]},
    }
)
ERROR: Final = whole({"code": TEXT, "message": TEXT, "hint": TEXT, "problems": listed(ref("Problem"))})
END: Final = whole(
    {"nodeId": TEXT, "relation": TEXT, "error": nullable(TEXT), "gated": FLAG, "message": ref("Message")}
)
PAUSE: Final = whole(
    {
        "runId": TEXT,
        "chainId": TEXT,
        "nodeId": TEXT,
        "visit": WHOLE,
        "title": TEXT,
        "prompt": TEXT,
        "answerers": listed(TEXT),
        "relations": listed(TEXT),
        "schema": ANYTHING,
        "since": WHOLE,
        "expires": nullable(WHOLE),
        "message": ref("Message"),
    }
)
OUTCOME: Final = whole(
    {
        "runId": TEXT,
        "chainId": TEXT,
        "status": {"type": "string", "enum": list(STATUSES)},
        "ok": FLAG,
        "error": nullable(ref("Error")),
        "data": ANYTHING,
        "message": nullable(ref("Message")),
        "ends": listed(ref("End")),
        "pauses": listed(ref("Pause")),
    }
)
RUN_SUMMARY: Final = whole(
    {
        "runId": TEXT,
        "chainId": TEXT,
        "status": {"type": "string", "enum": list(STATUSES)},
        "error": TEXT,
        "startedMs": WHOLE,
        "endedMs": nullable(WHOLE),
    }
)
RUN: Final = whole(
    {
        **RUN_SUMMARY["properties"],
        "outcome": nullable(ref("Outcome")),
        "record": nullable(OBJECT),
        "pauses": listed(ref("Pause")),
    }
)
CHAIN_SUMMARY: Final = whole(
    {
        "id": TEXT,
        "name": TEXT,
        "version": WHOLE,
        "nodes": WHOLE,
        "endpoints": WHOLE,
        "file": nullable(TEXT),
        "problems": listed(ref("Problem")),
    }
)
CHAIN: Final = whole({**CHAIN_SUMMARY["properties"], "definition": OBJECT})
CHECKED: Final = whole({"ok": FLAG, "problems": listed(ref("Problem"))})
FIELDS: Final = ("name", "type", "label", "desc", "required")
COMPONENT: Final = whole(
    {
        "type": TEXT,
        "aliases": listed(TEXT),
        "category": TEXT,
        "label": TEXT,
        "desc": TEXT,
        "relationTypes": listed(TEXT),
        "fields": listed(OBJECT),
    }
)
CONNECTION: Final = whole({"id": TEXT, "type": TEXT, "state": TEXT, "error": TEXT})
ENDPOINT: Final = whole(
    {
        "id": TEXT,
        "chain": TEXT,
        "type": TEXT,
        "address": TEXT,
        "state": TEXT,
        "error": TEXT,
        "routes": listed(TEXT),
        "next": listed(TEXT),
    }
)

SHARED: Final[Mapping[str, Mapping[str, Any]]] = {
    "Chain": CHAIN,
    "ChainSummary": CHAIN_SUMMARY,
    "Checked": CHECKED,
    "Component": COMPONENT,
    "Connection": CONNECTION,
    "End": END,
    "Endpoint": ENDPOINT,
    "Error": ERROR,
    "Message": MESSAGE,
    "Outcome": OUTCOME,
    "Pause": PAUSE,
    "Problem": PROBLEM,
    "Run": RUN,
    "RunSummary": RUN_SUMMARY,
}
"""The schemas that the document names, by name."""

"""`/api/v1/components`: what nodes can be, with their forms and schemas, and the schema of chains."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from catenary.component import info_of
from catenary_server import schemas
from catenary_server.api._replies import NOT_FOUND
from catenary_server.api_error import ApiError, json_response
from catenary_server.operation import Operation, Parameter, Reply

if TYPE_CHECKING:
    from starlette.responses import Response

    from catenary.registry import Registry
    from catenary_server.call import Call


async def list_components(call: Call) -> Response:
    """Give the forms of all components."""
    registry = call.service.engine.registry
    forms = [_form(registry, name) for name in registry.types(call.query.get("category"))]
    return json_response({"components": forms, "broken": dict(registry.broken)})


async def get_component(call: Call) -> Response:
    """Give one component: its form, and the schema of its options."""
    from catenary.errors import EngineError

    registry = call.service.engine.registry
    try:
        component = registry.get(call.parts["type"].replace("~", "/"))
    except EngineError as error:
        raise ApiError(404, "component.not-found", str(error), hint=error.hint) from None
    name = info_of(component).type
    return json_response({**_form(registry, name), "schema": registry.schema(name)})


async def get_schema(call: Call) -> Response:
    """Give the schema of chains."""
    return json_response(_chain_schema(call.service.engine.registry))


@lru_cache(maxsize=4)
def _chain_schema(registry: Registry) -> Any:
    return registry.chain_schema()


def _form(registry: Registry, name: str) -> dict[str, Any]:
    from catenary.load.form import form

    return form(registry.get(name))


OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/api/v1/components",
        name="listComponents",
        tag="Components",
        summary="List what nodes and endpoints can be",
        text="`broken` are packages whose components could not be imported, and why.",
        parameters=(Parameter(name="category", text="Only those of this category, such as `filter`."),),
        handler=list_components,
        replies={
            200: Reply(
                text="The forms of the components.",
                schema=schemas.whole(
                    {"components": schemas.listed(schemas.ref("Component")), "broken": schemas.OBJECT}
                ),
            )
        },
    ),
    Operation(
        method="GET",
        path="/api/v1/components/{type}",
        name="getComponent",
        tag="Components",
        summary="Look at one component",
        parameters=(
            Parameter(name="type", place="path", text="The type or an alias; write `ai~agent` for `ai/agent`."),
        ),
        handler=get_component,
        replies={
            200: Reply(
                text="Its form, and the JSON Schema of its options.",
                schema={"allOf": [schemas.ref("Component"), schemas.whole({"schema": schemas.OBJECT})]},
            ),
            404: NOT_FOUND,
        },
    ),
    Operation(
        method="GET",
        path="/api/v1/schema",
        name="getChainSchema",
        tag="Components",
        summary="Get the JSON Schema of chains, for editors",
        handler=get_schema,
        replies={200: Reply(text="The schema.", schema=schemas.OBJECT)},
    ),
)

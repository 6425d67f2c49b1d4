"""The endpoints of a chain in its picture: a box each, and for each router the way to where its messages go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from catenary.component import info_of
from catenary.drawing.diagram import UNKNOWN, Box, Port
from catenary.endpoints.targets import COMPONENT, has_key, read_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.definition import ChainDefinition, EndpointDefinition
    from catenary.endpoints.targets import Place
    from catenary.jsontext import Json
    from catenary.registry import Registry

ENDPOINT: Final = "endpoint"
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


class Inlets:
    """What brings messages into a chain.

    Attributes:
        boxes: The endpoints, and what their routers lead to that is no node of the chain.
        ports: The ways of the routers.
    """

    def __init__(self, definition: ChainDefinition, registry: Registry, entry: str) -> None:
        self._definition = definition
        self._registry = registry
        self._entry = entry
        self._nodes = {node.id for node in definition.nodes}
        self._endpoints = {box_id(endpoint, definition) for endpoint in definition.endpoints}
        self._others: dict[str, Box] = {}
        found: dict[Port, None] = {}
        endpoints: dict[str, Box] = {}
        for endpoint in definition.endpoints:
            box = self._box(endpoint)
            endpoints.setdefault(box.id, box)
            for router in endpoint.routers:
                found[Port(box.id, (label_of(router),), (self._target(router),), incoming=True)] = None
        self.boxes = (*endpoints.values(), *self._others.values())
        self.ports = tuple(found)

    def _box(self, endpoint: EndpointDefinition) -> Box:
        known = self._registry.find_endpoint(endpoint.type) is not None
        name = endpoint.name if endpoint.name != endpoint.id else ""
        return Box(
            box_id(endpoint, self._definition),
            name,
            endpoint.type or "no type",
            ENDPOINT if known else UNKNOWN,
            shape="endpoint",
        )

    def _target(self, router: Mapping[str, Json]) -> str:
        """Give the id of the box that a router leads to, which is added when it is no node of the chain."""
        path = _text(_part(router, "to"), "path").strip()
        try:
            place = read_path(path, {})
        except ValueError:
            return self._other(Box(path, "", "no target", UNKNOWN, "missing"))
        if place.executor == COMPONENT:
            found = self._registry.find(place.name)
            category = UNKNOWN if found is None else info_of(found).category
            return self._other(Box(f"{COMPONENT}:{place.name}", "", "one component", category))
        if place.name in {"", self._definition.id} and not has_key(place.node):
            return self._own(place)
        node = f":{place.node}" if place.node else ""
        return self._other(Box(f"chain:{place.name}{node}", "", "another chain", "flow", "chain"))

    def _own(self, place: Place) -> str:
        node = place.node or self._entry
        if node in self._nodes:
            return node
        shown = f"{node} (node)" if node in self._endpoints else node
        return self._other(Box(shown or "no node", "", "no such node", UNKNOWN, "missing"))

    def _other(self, box: Box) -> str:
        self._others.setdefault(box.id, box)
        return box.id


def ways_in(definition: ChainDefinition, registry: Registry) -> list[str]:
    """Say in a line each what endpoints take in and where it goes: `web (http): POST /orders -> check`."""
    first = definition.first_node or (definition.nodes[0] if definition.nodes else None)
    inlets = Inlets(definition, registry, first.id if first else "")
    types = {box.id: box.type for box in inlets.boxes}
    return [f"{port.source} ({types[port.source]}): {port.label} -> {port.targets[0]}" for port in inlets.ports]


def box_id(endpoint: EndpointDefinition, definition: ChainDefinition) -> str:
    """Give the id of the box of an endpoint: its own, unless a node has it, or connections name such a node."""
    connections = (*definition.connections, *definition.rule_chain_connections)
    ends = (end for connection in connections for end in (connection.from_id, connection.to_id))
    is_taken = any(node.id == endpoint.id for node in definition.nodes) or endpoint.id in ends
    return f"{endpoint.id} (endpoint)" if is_taken else endpoint.id


def label_of(router: Mapping[str, Json]) -> str:
    """Give what a router takes in, in a few words: `POST /orders`, a topic, a cron expression."""
    path = _text(_part(router, "from"), "path")
    params = _found(router, "params")
    listed = cast("list[Json]", params) if isinstance(params, list) else [params]
    first = listed[0] if listed else None
    method = first.upper() if isinstance(first, str) and first.upper() in _METHODS else ""
    return " ".join(part for part in (method, path) if part) or _text(router, "id") or "all"


def _part(written: Mapping[str, Json], key: str) -> dict[str, Json]:
    found = _found(written, key)
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}


def _text(written: Mapping[str, Json], key: str) -> str:
    found = _found(written, key)
    return found if isinstance(found, str) else ""


def _found(written: Mapping[str, Json], key: str) -> Json:
    """Give the value of a key, in whatever case it is written."""
    return next((value for name, value in written.items() if name.lower() == key), None)

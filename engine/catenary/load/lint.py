"""What can be wrong with a chain as a whole: ids, connections, the first node, joins, cycles, endpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catenary.errors import Problem
from catenary.jsontext import dumps
from catenary.load.codes import hint_of, severity_of
from catenary.load.names import did_you_mean, listed
from catenary.load.places import entries, value_at
from catenary.message import metadata_text
from catenary.runlog import RUN_LOG_MODES, mode_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.component import Component
    from catenary.definition import ChainDefinition, Connection
    from catenary.load.document import Document
    from catenary.load.places import Path, Place
    from catenary.load.settings import ChainSettings, Settings
    from catenary.masking import Masker


class Report:
    """Collects the problems of one document, each at its place.

    Attributes:
        masker: Knows what must not be quoted, once that is known.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = list(document.problems)
        self.masker: Masker | None = None

    def add(self, code: str, path: Path, text: str, hint: str = "", *, place: Place | None = None) -> None:
        """Add a problem at a path of the document, or at an exact place."""
        line, column = place or self.document.places.of(path)
        hint = hint or hint_of(code)
        if self.masker is not None:
            text, hint = self.masker.text(text), self.masker.text(hint)
        self.problems.append(Problem(code, text, hint, self.document.file, line, column, severity_of(code)))

    def sorted(self, *, strict: bool) -> list[Problem]:
        """Give all problems in order of place; warnings as errors when `strict`."""
        found = (replace(problem, severity="error") if strict else problem for problem in self.problems)
        return sorted(found, key=lambda problem: (problem.line, problem.column))


def lint(
    report: Report,
    components: Mapping[str, type[Component[Any]]],
    settings: Settings,
    own: ChainSettings,
) -> None:
    """Look at everything that does not need a node's configuration to be decoded.

    Args:
        report: What is found is added to it.
        components: The component class of each node by its id; nodes of unknown types are not in it.
        settings: The engine's part.
        own: The chain's part.
    """
    definition = report.document.definition
    _lint_head(report, definition)
    _lint_ids(report, definition)
    known = _lint_connections(report, components)
    allow_cycle = settings.allow_cycle if own.allow_cycle is None else own.allow_cycle
    if not allow_cycle:
        _lint_cycles(report, definition, known)
    _lint_reach(report, components, known)


def _lint_head(report: Report, definition: ChainDefinition) -> None:
    document = report.document
    if definition.disabled:
        path = document.path_to((), "ruleChain", "disabled")
        report.add("chain.disabled", path, "the rule chain has been disabled")
    if definition.endpoints and not definition.is_root:
        for path, endpoint in zip(document.endpoint_paths, definition.endpoints, strict=True):
            text = f"endpoint {endpoint.id!r}: a chain with root false may not have endpoints"
            report.add("chain.endpoint-in-sub-chain", path, text)
    _lint_run_log_mode(report, definition)
    index = definition.first_node_index
    place = document.path_to((), "metadata", "firstNodeIndex")
    if not definition.nodes:
        nodes = document.path_to((), "metadata", "nodes")
        listed = value_at(document.value, nodes)
        if isinstance(document.value, dict) and not (isinstance(listed, list) and listed):
            report.add("chain.no-nodes", nodes, "the rule chain has no nodes")
    elif index >= len(definition.nodes):
        text = f"firstNodeIndex is {index}, past the {len(definition.nodes)} nodes: the chain counts as empty"
        report.add("chain.no-nodes", place, text, "count from 0")
    if index < 0:
        report.add("chain.first-node-index", place, f"firstNodeIndex is {index}; it counts from 0")


def _lint_run_log_mode(report: Report, definition: ChainDefinition) -> None:
    mode = definition.additional_info.get("runLogMode")
    if mode in (None, "") or mode_named(metadata_text(mode)) is not None:
        return
    place = report.document.path_to((), "ruleChain", "additionalInfo", "runLogMode")
    text = f"runLogMode is {dumps(mode)}, which is no mode and counts as off"
    report.add("chain.run-log-mode", place, text, did_you_mean(metadata_text(mode), RUN_LOG_MODES))


def _lint_ids(report: Report, definition: ChainDefinition) -> None:
    document = report.document
    first: dict[str, Path] = {}
    for path, node in zip(document.node_paths, definition.nodes, strict=True):
        other = first.setdefault(node.id, path)
        if other is not path:
            text = f"two nodes have the id {node.id!r}: nodes[{other[-1]}] and nodes[{path[-1]}]"
            report.add("chain.duplicate-id", document.path_to(path, "id"), text, "give each node an id of its own")


def _lint_connections(report: Report, components: Mapping[str, type[Component[Any]]]) -> list[tuple[Path, Connection]]:
    """Check each connection by itself; gives those between nodes that exist."""
    document = report.document
    definition = document.definition
    ids = {node.id: node for node in definition.nodes}
    good: list[tuple[Path, Connection]] = []
    seen: set[tuple[str, str, str, bool]] = set()
    for index, path in enumerate(document.connection_paths):
        is_inside = index < len(definition.connections)
        connection = (
            definition.connections[index]
            if is_inside
            else definition.rule_chain_connections[index - len(definition.connections)]
        )
        ends = [("fromId", connection.from_id, True), ("toId", connection.to_id, is_inside)]
        missing = [(key, node_id) for key, node_id, is_node in ends if not node_id or (is_node and node_id not in ids)]
        for key, node_id in missing:
            text = f"{key} names no node: {node_id!r} does not exist" if node_id else f"the connection has no {key}"
            otherwise = "the nodes are: " + listed(ids) if is_inside or key == "fromId" else "name the chain to run"
            report.add("chain.unknown-node", document.path_to(path, key), text, did_you_mean(node_id, ids, otherwise))
        if connection.from_id in components:
            _lint_relation(report, path, connection, components[connection.from_id], ids[connection.from_id].type)
        if missing:
            continue
        edge = (connection.from_id, connection.type, connection.to_id, is_inside)
        if edge in seen:
            text = f"the connection {edge[0]} -{edge[1]}-> {edge[2]} is there twice"
            report.add("chain.duplicate-connection", path, text)
        seen.add(edge)
        if is_inside:
            good.append((path, connection))
    return good


def _lint_relation(
    report: Report, path: Path, connection: Connection, component: type[Component[Any]], type_name: str
) -> None:
    place = report.document.path_to(path, "type")
    node = f"node {connection.from_id!r} ({type_name})"
    if component.ends:
        text = f"{node}: branches end here, so the connection is never taken"
        report.add("chain.unknown-relation", place, text, "remove the connection")
        return
    names = [str(relation) for relation in component.relations]
    if not names or component.free_relations or connection.type in (*names, "Failure"):
        return
    known = ", ".join(dict.fromkeys((*names, "Failure")))
    text = f"{node}: relation {connection.type!r} is not one of {known}"
    hint = did_you_mean(connection.type, (*names, "Failure"), f"use one of {known}")
    report.add("chain.unknown-relation", place, text, hint)


def _lint_cycles(report: Report, definition: ChainDefinition, known: list[tuple[Path, Connection]]) -> None:
    from catenary.load.graph import cycles

    edges = {(connection.from_id, connection.to_id): path for path, connection in reversed(known)}
    for cycle in cycles([node.id for node in definition.nodes], list(edges)):
        path = edges[cycle[-2], cycle[-1]]
        report.add("chain.cycle", path, f"cycle detected in rule chain: {_arrows(cycle)}")


def _arrows(cycle: list[str]) -> str:
    shown = cycle if len(cycle) <= 12 else [*cycle[:10], "...", cycle[-1]]
    return " -> ".join(shown)


def _lint_reach(
    report: Report, components: Mapping[str, type[Component[Any]]], known: list[tuple[Path, Connection]]
) -> None:
    from catenary.load.graph import reachable

    document = report.document
    definition = document.definition
    first = definition.first_node
    if first is None:
        return
    edges = [(connection.from_id, connection.to_id) for _, connection in known]
    named = {name for node in definition.nodes for name in _words(node.configuration)}
    named |= {name for endpoint in definition.endpoints for name in _words(list(endpoint.routers))}
    starts = [first.id, *(node.id for node in definition.nodes if node.id in named)]
    reached = reachable(starts, edges)
    connected = {node_id for edge in edges for node_id in edge}
    for path, node in zip(document.node_paths, definition.nodes, strict=True):
        component = components.get(node.id)
        is_join = component is not None and component.collects
        if node is first and is_join:
            text = f"node {node.id!r} ({node.type}): a join cannot be the first node"
            report.add("chain.join-first", path, text)
        elif node.id in reached or (node.type == "comment" and node.id not in connected):
            continue
        elif is_join:
            text = f"node {node.id!r} ({node.type}): no path leads from the first node to this join"
            report.add("chain.unreachable-join", path, text)
        else:
            text = f"node {node.id!r} ({node.type}): no path leads here from the first node"
            report.add("chain.unreachable-node", path, text)


def _words(value: Any) -> Iterator[str]:
    """Give every text, and every part of a text, by which a configuration may name a node: `a`, `a,b`, `chain:a`."""
    if isinstance(value, str) and len(value) < 1000:
        yield from (part.strip() for part in value.replace(":", ",").split(","))
    for _, item in entries(value):
        yield from _words(item)

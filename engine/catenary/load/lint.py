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
    from collections.abc import Collection, Iterator, Mapping, Sequence

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
    named_relations: Mapping[str, Sequence[str]],
    settings: Settings,
    own: ChainSettings,
) -> None:
    """Look at what concerns more than one node's configuration.

    Args:
        report: What is found is added to it.
        components: The component class of each node by its id; nodes of unknown types are not in it.
        named_relations: By node the relations that its settings name, when they and the declared ones are all.
        settings: The engine's part.
        own: The chain's part.
    """
    definition = report.document.definition
    _lint_head(report, definition)
    _lint_ids(report, definition)
    known = _lint_connections(report, components, named_relations)
    allow_cycle = settings.allow_cycle if own.allow_cycle is None else own.allow_cycle
    if not allow_cycle:
        _lint_cycles(report, definition, known)
    _lint_reach(report, components, known)
    _lint_onward(report, components)


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
    for path, endpoint in zip(document.endpoint_paths, definition.endpoints, strict=True):
        other = first.setdefault(endpoint.id, path)
        if other is not path:
            text = f"the id of endpoint {endpoint.id!r} is that of {other[-2]}[{other[-1]}], too"
            report.add("chain.duplicate-id", document.path_to(path, "id"), text, "give each an id of its own")


def _lint_connections(
    report: Report, components: Mapping[str, type[Component[Any]]], named_relations: Mapping[str, Sequence[str]]
) -> list[tuple[Path, Connection]]:
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
        has_ends = _lint_ends(report, path, connection, ids, is_inside=is_inside)
        source = connection.from_id
        if source in components:
            label = f"node {source!r} ({ids[source].type})"
            _lint_relation(report, path, connection, label, components[source], named_relations.get(source))
        if not has_ends:
            continue
        edge = (connection.from_id, connection.type, connection.to_id, is_inside)
        if edge in seen:
            text = f"the connection {edge[0]} -{edge[1]}-> {edge[2]} is there twice"
            report.add("chain.duplicate-connection", path, text)
        seen.add(edge)
        if is_inside:
            good.append((path, connection))
    return good


def _lint_ends(report: Report, path: Path, connection: Connection, ids: Collection[str], *, is_inside: bool) -> bool:
    """Tell which ends of a connection are not there. Returns: whether both are."""
    ends = [("fromId", connection.from_id, True), ("toId", connection.to_id, is_inside)]
    missing = [(key, node_id) for key, node_id, is_node in ends if not node_id or (is_node and node_id not in ids)]
    for key, node_id in missing:
        text = f"{key} names no node: {node_id!r} does not exist" if node_id else f"the connection has no {key}"
        otherwise = "the nodes are: " + listed(ids) if is_inside or key == "fromId" else "name the chain to run"
        place = report.document.path_to(path, key)
        report.add("chain.unknown-node", place, text, did_you_mean(node_id, ids, otherwise))
    return not missing


def _lint_relation(
    report: Report,
    path: Path,
    connection: Connection,
    label: str,
    component: type[Component[Any]],
    named: Sequence[str] | None,
) -> None:
    place = report.document.path_to(path, "type")
    if component.ends:
        text = f"{label}: branches end here, so the connection is never taken"
        report.add("chain.unknown-relation", place, text, "remove the connection")
        return
    if named is None and (component.free_relations or not component.relations):
        return
    names = dict.fromkeys((*(named or ()), *(str(relation) for relation in component.relations), "Failure"))
    if connection.type in names:
        return
    written = value_at(report.document.value, place)
    if not connection.type and not isinstance(written, str | dict | None):  # a mapping: it has no type at all
        return  # what stands there is no text, which is told already
    known = ", ".join(names)
    text = f"{label}: relation {connection.type!r} is not one of {known}"
    hint = did_you_mean(connection.type, names, f"use one of {known}")
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
    notes = {node_id for node_id, component in components.items() if component.is_note}
    reached = reachable([first.id, *_named_in_settings(definition, notes)], edges)
    connected = {node_id for edge in edges for node_id in edge}
    for path, node in zip(document.node_paths, definition.nodes, strict=True):
        component = components.get(node.id)
        is_join = component is not None and component.collects
        if node is first and is_join:
            text = f"node {node.id!r} ({node.type}): a join cannot be the first node"
            report.add("chain.join-first", path, text)
        elif node.id in reached or (node.id in notes and node.id not in connected):
            continue
        elif is_join:
            text = f"node {node.id!r} ({node.type}): no path leads from the first node to this join"
            report.add("chain.unreachable-join", path, text)
        else:
            text = f"node {node.id!r} ({node.type}): no path leads here from the first node"
            report.add("chain.unreachable-node", path, text)


def _named_in_settings(definition: ChainDefinition, notes: Collection[str]) -> list[str]:
    """Give the nodes that others may run: their ids stand in settings of nodes, or in routers of endpoints."""
    named = {name for node in definition.nodes if node.id not in notes for name in _words(node.configuration)}
    named |= {name for endpoint in definition.endpoints for name in _words(list(endpoint.routers))}
    return [node.id for node in definition.nodes if node.id in named]


def _lint_onward(report: Report, components: Mapping[str, type[Component[Any]]]) -> None:
    definition = report.document.definition
    connections = (*definition.connections, *definition.rule_chain_connections)
    connected = {(connection.from_id, connection.type) for connection in connections}
    for path, node in zip(report.document.node_paths, definition.nodes, strict=True):
        component = components.get(node.id)
        for relation in component.onward if component is not None else ():
            if (node.id, str(relation)) not in connected:
                text = f"node {node.id!r} ({node.type}): nothing is connected to its relation {str(relation)!r}"
                hint = f"connect it to another node. {relation.help}"
                report.add("chain.leads-nowhere", path, text, hint)


def _words(value: Any) -> Iterator[str]:
    """Give every text, and every part of a text, by which a configuration may name a node: `a`, `a,b`, `chain:a`."""
    if isinstance(value, str) and len(value) < 1000:
        yield from (part.strip() for part in value.replace(":", ",").split(","))
    for _, item in entries(value):
        yield from _words(item)

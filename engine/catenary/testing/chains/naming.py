"""Looks for the nodes that a file of chain tests names, and tells of those that are not there, with their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.dynamic.component import DynamicComponent
from catenary.errors import ChainError, EngineError
from catenary.life.chainfiles import id_of
from catenary.load import read
from catenary.load.names import did_you_mean, listed
from catenary.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.definition import ChainDefinition
    from catenary.errors import Problem
    from catenary.load.places import Path as Steps
    from catenary.testing.chains.model import Case, Setting
    from catenary.testing.chains.reading import SuiteFile


def unknown_nodes(file: SuiteFile) -> list[Problem]:
    """Give a problem for each node that is named and is not there.

    Of chains that cannot be read nothing is known: what is wrong with them is told when they are loaded.
    """
    registry = Registry()
    try:
        file.parts.register(registry)
        known = _nodes(file, registry)
    except (ChainError, EngineError):
        return []
    found: dict[tuple[str, Steps], Problem] = {}
    for name, steps in _named(file):
        if "mocks" in steps and _is_inside(name, known, registry):
            continue
        if name not in known:
            hint = did_you_mean(name, known, f"nodes: {listed(list(known))}")
            found[name, steps] = file.problem("test.unknown-node", f"there is no node {name!r}", *steps, hint=hint)
        elif "mocks" in steps and _is_end(known[name], registry):
            text = f"branches end at the node {name!r}: there is nothing to mock"
            found[name, steps] = file.problem("test.unknown-node", text, *steps, hint="mock the node before it")
    return list(found.values())


def _nodes(file: SuiteFile, registry: Registry) -> dict[str, str]:
    """Give the types of all nodes by name. Raises: ChainError: when a chain cannot be read."""
    known: dict[str, str] = {}
    for path in (file.chain, *file.others):
        document = read(path)
        if any(problem.severity == "error" for problem in document.problems):
            raise ChainError(f"{path} has errors")
        chain_id = id_of(path, document)
        prefix = "" if path == file.chain else f"{chain_id}:"
        known |= _nodes_of(document.definition, chain_id, prefix, registry, ())
    return known


def _nodes_of(
    definition: ChainDefinition, chain_id: str, prefix: str, registry: Registry, around: tuple[str, ...]
) -> dict[str, str]:
    """Give the types of a chain's nodes by name, those inside of its nodes that are chains themselves among them."""
    known: dict[str, str] = {}
    for node in definition.with_chain_nodes().nodes:
        known[prefix + node.id] = node.type
        component = registry.find(node.type)
        if component is None or not issubclass(component, DynamicComponent):
            continue
        if node.type not in around:
            inner = f"{chain_id}#{node.id}"
            known |= _nodes_of(component.document.definition, inner, f"{inner}:", registry, (*around, node.type))
    return known


def _is_inside(name: str, known: dict[str, str], registry: Registry) -> bool:
    """Whether a name is that of a node in the loop of an agent, as in `agent/answer`: it is looked for at the run."""
    outer = name.partition("/")[0]
    component = registry.find(known.get(outer, "")) if name not in known else None
    return component is not None and bool(component.chain_options)


def _is_end(node_type: str, registry: Registry) -> bool:
    component = registry.find(node_type)
    return component is not None and component.ends


def _named(file: SuiteFile) -> Iterator[tuple[str, Steps]]:
    """Give every node that the file names, and where it does."""
    yield from _named_by_setting(file.suite, ())
    for placed in file.cases:
        yield from _named_by_setting(placed.case, ("cases", placed.index))
        yield from _named_by_case(placed.case, ("cases", placed.index))


def _named_by_setting(setting: Setting, base: Steps) -> Iterator[tuple[str, Steps]]:
    yield from ((name, (*base, "mocks", name)) for name in setting.mocks)
    if isinstance(setting.allow_external, list):
        yield from ((name, (*base, "allowExternal", i)) for i, name in enumerate(setting.allow_external))


def _named_by_case(case: Case, base: Steps) -> Iterator[tuple[str, Steps]]:
    expect = case.expect
    yield from ((name, (*base, "start", i)) for i, name in enumerate(case.start))
    lists = {
        "path": expect.path, "containsPath": expect.contains_path, "visited": expect.visited,
        "notVisited": expect.not_visited,
    }  # fmt: skip
    for key, names in lists.items():
        yield from ((name, (*base, "expect", key, i)) for i, name in enumerate(names or ()))
    for key, mapping in {"visits": expect.visits, "relations": expect.relations, "received": expect.received}.items():
        yield from ((name, (*base, "expect", key, name)) for name in mapping)
    for i, end in enumerate(expect.ends or ()):
        if end.node:
            yield end.node, (*base, "expect", "ends", i, "node")

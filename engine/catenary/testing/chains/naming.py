"""Looks for the nodes that a file of chain tests names, and tells of those that are not there, with their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.errors import ChainError
from catenary.load import read
from catenary.load.names import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.errors import Problem
    from catenary.load.places import Path as Steps
    from catenary.testing.chains.model import Case, Setting
    from catenary.testing.chains.reading import SuiteFile


def unknown_nodes(file: SuiteFile) -> list[Problem]:
    """Give a problem for each node that is named and is not there.

    Of chains that cannot be read nothing is known: what is wrong with them is told when they are loaded.
    """
    try:
        known = _nodes(file)
    except ChainError:
        return []
    found: dict[tuple[str, Steps], Problem] = {}
    for name, steps in _named(file):
        if name not in known:
            hint = did_you_mean(name, known, f"nodes: {listed(list(known))}")
            found[name, steps] = file.problem("test.unknown-node", f"there is no node {name!r}", *steps, hint=hint)
        elif "mocks" in steps and _is_end(known[name]):
            text = f"branches end at the node {name!r}: there is nothing to mock"
            found[name, steps] = file.problem("test.unknown-node", text, *steps, hint="mock the node before it")
    return list(found.values())


def _nodes(file: SuiteFile) -> dict[str, str]:
    """Give the types of all nodes by name. Raises: ChainError: when a chain cannot be read."""
    known: dict[str, str] = {}
    for path in (file.chain, *file.others):
        document = read(path)
        if any(problem.severity == "error" for problem in document.problems):
            raise ChainError(f"{path} has errors")
        definition = document.definition.with_chain_nodes()
        prefix = "" if path == file.chain else f"{definition.id}:"
        known |= {prefix + node.id: node.type for node in definition.nodes}
    return known


def _is_end(node_type: str) -> bool:
    from catenary.registry import Registry

    component = Registry().find(node_type)
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

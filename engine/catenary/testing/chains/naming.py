"""Looks for the nodes that a case names, and tells of those that are not there, with their place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.load.names import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catenary.chain import Chain
    from catenary.errors import Problem
    from catenary.load.places import Path as Steps
    from catenary.testing.chains.reading import PlacedCase, SuiteFile


def unknown_nodes(file: SuiteFile, placed: PlacedCase, chain: Chain, others: Iterable[Chain]) -> list[Problem]:
    """Give a problem for each node that is named and is not there."""
    known = list(chain.compiled.by_id)
    known += [f"{other.id}:{node}" for other in others for node in other.compiled.by_id]
    ends = {name for name in known if _is_end(name, chain, others)}
    found: list[Problem] = []
    for name, steps in _named(file, placed):
        if name not in known:
            hint = did_you_mean(name, known, f"nodes: {listed(known)}")
            found.append(file.problem("test.unknown-node", f"there is no node {name!r}", *steps, hint=hint))
        elif "mocks" in steps and name in ends:
            hint = "mock the node before it"
            text = f"branches end at the node {name!r}: there is nothing to mock"
            found.append(file.problem("test.unknown-node", text, *steps, hint=hint))
    return found


def _is_end(name: str, chain: Chain, others: Iterable[Chain]) -> bool:
    for owner, node in ((chain, name), *((other, name.removeprefix(f"{other.id}:")) for other in others)):
        step = owner.compiled.by_id.get(node)
        if step is not None:
            return step.component.ends
    return False


def _named(file: SuiteFile, placed: PlacedCase) -> Iterator[tuple[str, Steps]]:
    """Give every node that the case names, and where it does."""
    case, expect, base = placed.case, placed.case.expect, ("cases", placed.index)
    for setting, steps in ((file.suite, ()), (case, base)):
        yield from ((name, (*steps, "mocks", name)) for name in setting.mocks)
        if isinstance(setting.allow_external, list):
            yield from ((name, (*steps, "allowExternal", i)) for i, name in enumerate(setting.allow_external))
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

"""What nodes borrow with `ref://ID` is looked for when a chain is checked: is it there, and of the needed kind?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from catenary.load.names import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.load.lint import Report
    from catenary.load.places import Path

    Kinds = Mapping[str, type[Component[Any]]]


def lint_references(
    report: Report,
    built: Sequence[tuple[NodeDefinition, Component[Any]]],
    path_of: Callable[[NodeDefinition], Path],
    own: Kinds,
    resources: Kinds,
) -> None:
    """Look at each node that borrows a connection.

    Args:
        report: What is found is added to it.
        built: The nodes of the chain with their components.
        path_of: Gives the place of a node's configuration.
        own: The kinds of the nodes of the chain, by id; those that cannot be built are among them.
        resources: The kinds of the shared resources of the engine, by id.
    """
    if "catenary.shared.component" not in sys.modules:  # which no component that borrows can do without
        return
    from catenary.shared.component import SharedComponent, misfit

    for node, one in built:
        if not isinstance(one, SharedComponent):
            continue
        component = cast("SharedComponent[Any, Any]", one)
        name = component.reference
        if name is None or "${" in name:  # a placeholder without a value has been told of
            continue
        inside = own.get(name)
        found = inside if hasattr(inside, "lends") else resources.get(name, inside)
        label = f"node {node.id!r} ({node.type})"
        if found is None:
            text = f"{label}: node resource not found id={name}"
            report.add("chain.unknown-resource", path_of(node), text, _hint(name, resources))
        elif problem := misfit(name, found, component):
            report.add("chain.resource", path_of(node), f"{label}: {problem}", problem.hint)


def _hint(name: str, resources: Kinds) -> str:
    otherwise = f"the shared resources are: {listed(resources)}" if resources else "load it before the chain is run"
    return did_you_mean(name, list(resources), f"it is no node of this chain; {otherwise}")

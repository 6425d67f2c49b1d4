"""What is borrowed with `ref://ID` is looked for when a chain is checked: is it there, and of the needed kind?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from catenary.load.names import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.component import Component
    from catenary.load.lint import Report
    from catenary.load.places import Path

    Kinds = Mapping[str, type[Component[Any]]]


def lint_references(
    report: Report,
    borrowers: Sequence[tuple[str, Path, Component[Any]]],
    own: Kinds,
    resources: Kinds,
) -> None:
    """Look at each node and endpoint that borrows a connection.

    Args:
        report: What is found is added to it.
        borrowers: How each is called, the place of its configuration, and its component.
        own: The kinds of the nodes and endpoints of the chain, by id; those that cannot be built are among them.
        resources: The kinds of the shared resources of the engine, by id.
    """
    if "catenary.shared.component" not in sys.modules:  # which no component that borrows can do without
        return
    from catenary.shared.component import SharedComponent, misfit

    for label, place, one in borrowers:
        if not isinstance(one, SharedComponent):
            continue
        component = cast("SharedComponent[Any, Any]", one)
        name = component.reference
        if name is None or "${" in name:  # a placeholder without a value has been told of
            continue
        if name in component.host_names:
            continue
        inside = own.get(name)
        found = inside if hasattr(inside, "lends") else resources.get(name, inside)
        if found is None:
            text = f"{label}: node resource not found id={name}"
            report.add("chain.unknown-resource", place, text, _hint(name, resources))
        elif problem := misfit(name, found, component):
            report.add("chain.resource", place, f"{label}: {problem}", problem.hint)


def _hint(name: str, resources: Kinds) -> str:
    otherwise = f"the shared resources are: {listed(resources)}" if resources else "load it before the chain is run"
    return did_you_mean(name, list(resources), f"it is no node or endpoint of this chain; {otherwise}")

"""Parts of a compiled chain: the nodes that a run begins at, with nothing after them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from catenary.runtime.compiled import Route

if TYPE_CHECKING:
    from catenary.runtime.compiled import Compiled, Step
    from catenary.runtime.tokens import Beginning


def alone(compiled: Compiled, places: list[Beginning]) -> tuple[Compiled, list[Beginning]]:
    """Give the chain of those nodes that are run first at these places, with nothing after them, and its places."""
    joins: list[Step] = []
    copies: dict[Step, Step] = {}
    found: list[Beginning] = []

    def single(step: Step) -> Step:
        if step not in copies:
            copies[step] = one = _bare(step)
            if one.join >= 0:
                one.join = len(joins)
                joins.append(one)
        return copies[step]

    for step, message, relation in places:
        if relation is None:
            found.append((single(step), message, None))
            continue
        source = _bare(step)
        route = step.routes.get(relation)
        if route is not None:
            source.routes = {relation: Route(source, [single(one) for one in (*route.targets, *route.joins)])}
        found.append((source, message, relation))
    steps = tuple(copies.values())
    part = replace(
        compiled,
        steps=steps,
        by_id={step.node_id: step for step in steps},
        first=None,
        entry=None,
        joins=tuple(joins),
        gated=False,
    )
    return part, found


def _bare(step: Step) -> Step:
    """Give a copy of a step that nothing follows."""
    one = copy.copy(step)
    one.plain, one.loops, one.routes, one.reach, one.blocks, one.cyclic = {}, {}, {}, (), (), False
    return one

"""S: scripts with their time and memory limits on: what one more node costs, and a filter before a transform."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import chains
from measuring import awaiting
from table import Goal

from catenary import Engine, Message
from catenary.defaults import ChainDefaults
from catenary.errors import ChainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Row

    from rows import Bench

FEW, MANY = 2, 12
NODES = {
    "jsFilter": ("True", {"jsScript": chains.SCRIPT_FILTER}, Goal(figure=8)),
    "jsTransform": ("Success", {"jsScript": chains.SCRIPT_TRANSFORM}, Goal(figure=14)),
    "pyFilter": ("True", {"pyScript": "msg.t > 40"}, Goal()),
}
CHAIN_GOAL = Goal(figure=18)


def rows(bench: Bench) -> list[Row]:
    """Measure the script nodes with each JavaScript engine."""
    made = _rows(bench, "quickjs", list(NODES))
    if "script_engine" in ChainDefaults.__dataclass_fields__:
        made += _rows(bench, "v8", ["jsFilter", "jsTransform"])
    return made


def _rows(bench: Bench, script_engine: str, names: list[str]) -> list[Row]:
    """Measure one more node of each type, and the chain; what is not installed is left out."""
    engine = Engine(defaults=_defaults(script_engine))
    cases: dict[str, Callable[[int], None] | None] = {"chain": _case(engine, chains.script_chain())}
    for name in names:
        relation, configuration, _ = NODES[name]
        for size in (FEW, MANY):
            chain = chains.row_of(size, name, relation, configuration=configuration)
            cases[f"{name} {size}"] = _case(engine, chain)
    measured = bench.measure({name: case for name, case in cases.items() if case is not None})
    is_default = script_engine == "quickjs"
    made: list[Row] = []
    for name in names:
        if f"{name} {MANY}" in measured.samples:
            hop = measured.samples.marginal(f"{name} {FEW}", f"{name} {MANY}", MANY - FEW)
            goal = NODES[name][2] if is_default else Goal()
            title = f"one more `{name}`" + ("" if name == "pyFilter" else f", {script_engine}")
            made.append(measured.row("S", title, hop, goal=goal))
    if "chain" in measured.samples:
        goal = CHAIN_GOAL if is_default else Goal()
        made.append(measured.row("S", f"chain `jsFilter` -> `jsTransform`, {script_engine}", "chain", goal=goal))
    return made


def _defaults(script_engine: str) -> ChainDefaults:
    chosen: dict[str, Any] = {} if script_engine == "quickjs" else {"script_engine": script_engine}
    return ChainDefaults(**chosen)


def _case(engine: Engine, chain: dict[str, Any]) -> Callable[[int], None] | None:
    """Give what runs a chain, each time with a message of its own; None when something is not installed."""
    try:
        chain_id = engine.load(chain).id
    except ChainError as error:
        print(f"left out: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    return awaiting(lambda: engine.run(chain_id, Message(chains.TEXT, "telemetry", metadata={"kind": "a"})))

"""S: scripts with their time and memory limits on: a call, one more node of a chain, a filter before a transform."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import chains
from measuring import awaiting, calling
from table import Goal

from catenary import Engine, Message, Script
from catenary.defaults import ChainDefaults
from catenary.errors import ChainError, ScriptError
from catenary_components.transform.js_transform import JsTransformConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Row

    from rows import Bench

FEW, MANY = 2, 12
NODES = {
    "jsFilter": ("True", {"jsScript": chains.SCRIPT_FILTER}),
    "jsTransform": ("Success", {"jsScript": chains.SCRIPT_TRANSFORM}),
    "pyFilter": ("True", {"expr": "msg.t > 40"}),
}
CALL_GOALS = {"jsFilter": Goal(figure=8), "jsTransform": Goal(figure=14)}
CHAIN_GOAL = Goal(figure=18)


def rows(bench: Bench) -> list[Row]:
    """Measure the script nodes with each JavaScript engine."""
    return [*_calls(bench), *_rows(bench, "quickjs", list(NODES)), *_rows(bench, "v8", ["jsFilter", "jsTransform"])]


def _calls(bench: Bench) -> list[Row]:
    """Measure the scripts of both nodes, called on one message again and again."""
    message = Message(chains.TEXT, "telemetry", metadata={"kind": "a"})
    try:
        keep = Script.compile(chains.SCRIPT_FILTER).call
        change = JsTransformConfig.model_validate({"jsScript": chains.SCRIPT_TRANSFORM}).js_script.call
    except ScriptError as error:
        print(f"left out: {error}", file=sys.stderr)
        return []
    cases = {"jsFilter": calling(lambda: keep(message)), "jsTransform": calling(lambda: change(message))}
    measured = bench.measure(cases)
    return [measured.row("S", f"call of `{name}`, quickjs", name, goal=CALL_GOALS[name]) for name in cases]


def _rows(bench: Bench, script_engine: Literal["quickjs", "v8"], names: list[str]) -> list[Row]:
    """Measure one more node of each type, and the chain; what is not installed is left out."""
    engine = Engine(defaults=ChainDefaults(script_engine=script_engine))
    cases: dict[str, Callable[[int], None] | None] = {"chain": _case(engine, chains.script_chain())}
    for name in names:
        relation, configuration = NODES[name]
        for size in (FEW, MANY):
            chain = chains.row_of(size, name, relation, configuration=configuration)
            cases[f"{name} {size}"] = _case(engine, chain)
    measured = bench.measure({name: case for name, case in cases.items() if case is not None})
    is_default = script_engine == "quickjs"
    made: list[Row] = []
    for name in names:
        if f"{name} {MANY}" in measured.samples:
            hop = measured.samples.marginal(f"{name} {FEW}", f"{name} {MANY}", MANY - FEW)
            title = f"one more `{name}`" + ("" if name == "pyFilter" else f", {script_engine}")
            made.append(measured.row("S", title, hop))
    if "chain" in measured.samples:
        goal = CHAIN_GOAL if is_default else Goal()
        made.append(measured.row("S", f"chain `jsFilter` -> `jsTransform`, {script_engine}", "chain", goal=goal))
    return made


def _case(engine: Engine, chain: dict[str, Any]) -> Callable[[int], None] | None:
    """Give what runs a chain, each time with a message of its own; None when something is not installed."""
    try:
        chain_id = engine.load(chain).id
    except ChainError as error:
        print(f"left out: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    return awaiting(lambda: engine.run(chain_id, Message(chains.TEXT, "telemetry", metadata={"kind": "a"})))

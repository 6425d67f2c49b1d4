"""The measured chains in pydantic-graph: steps of its graph builder, without instrumentation."""

from __future__ import annotations

from asyncio import sleep
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from chains import BRANCHES, TEXT
from measuring import awaiting
from pydantic_graph import GraphBuilder, StepContext, reduce_list_append

from catenary.jsontext import loads

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

Given = StepContext[None, None, Any]


def _builder() -> Any:
    return GraphBuilder(input_type=Any, output_type=Any, auto_instrument=False)  # pyright: ignore


async def _same(ctx: Given) -> Any:
    return ctx.inputs


async def _read(ctx: Given) -> dict[str, Any]:
    return loads(ctx.inputs)


def _is_warm(value: Any) -> bool:
    return value["t"] > 40


def _is_low(value: Any) -> bool:
    return value["n"] < 100


async def _converted(ctx: Given) -> dict[str, Any]:
    return {"id": ctx.inputs["deviceId"], "fahrenheit": ctx.inputs["t"] * 1.8 + 32}


async def _suspended(ctx: Given) -> Any:
    await sleep(0)
    return ctx.inputs


async def _round(ctx: Given) -> dict[str, Any]:
    return {"n": ctx.inputs["n"] + 1}


def _message() -> Any:
    graph = _builder()
    read, convert = graph.step(_read, node_id="filter"), graph.step(_converted, node_id="transform")
    end = graph.step(_same, node_id="end")
    is_warm = graph.match(dict, matches=_is_warm)
    graph.add(
        graph.edge_from(graph.start_node).to(read),
        graph.edge_from(read).to(
            graph.decision().branch(is_warm.to(convert)).branch(graph.match(dict).to(graph.end_node))
        ),
        graph.edge_from(convert).to(end),
        graph.edge_from(end).to(graph.end_node),
    )
    return graph.build()


def _row(count: int) -> Any:
    graph = _builder()
    steps = [graph.step(_same, node_id=f"n{number}") for number in range(count)]
    places = [graph.start_node, *steps, graph.end_node]
    graph.add(*(graph.edge_from(left).to(right) for left, right in pairwise(places)))
    return graph.build()


def _split(branch: Callable[..., Any]) -> Any:
    graph = _builder()
    fork = graph.step(_same, node_id="fork")
    branches = [graph.step(branch, node_id=f"branch{number}") for number in range(BRANCHES)]
    join = graph.join(reduce_list_append, initial_factory=list)
    graph.add(
        graph.edge_from(graph.start_node).to(fork),
        graph.edge_from(fork).to(*branches),
        *(graph.edge_from(one).to(join) for one in branches),
        graph.edge_from(join).to(graph.end_node),
    )
    return graph.build()


def _loop() -> Any:
    graph = _builder()
    step = graph.step(_round, node_id="round")
    is_open = graph.match(dict, matches=_is_low)
    graph.add(
        graph.edge_from(graph.start_node).to(step),
        graph.edge_from(step).to(
            graph.decision().branch(is_open.to(step)).branch(graph.match(dict).to(graph.end_node))
        ),
    )
    return graph.build()


def cases() -> dict[str, Callable[[int], None]]:
    """Give what is measured, by name."""
    message, few, many, loop = _message(), _row(10), _row(50), _loop()
    split, tasks = _split(_same), _split(_suspended)
    return {
        "message": awaiting(lambda: message.run(inputs=TEXT)),
        "few": awaiting(lambda: few.run(inputs=TEXT)),
        "many": awaiting(lambda: many.run(inputs=TEXT)),
        "split": awaiting(lambda: split.run(inputs=1)),
        "tasks": awaiting(lambda: tasks.run(inputs=1)),
        "loop": awaiting(lambda: loop.run(inputs={"n": 0})),
    }


def waiting(gate: asyncio.Event) -> Callable[[], Awaitable[Any]]:
    """Give what makes a run that reads a message and waits at the gate."""

    async def wait(ctx: Given) -> Any:
        value = loads(ctx.inputs)
        await gate.wait()
        return value

    graph = _builder()
    step = graph.step(wait, node_id="wait")
    graph.add(graph.edge_from(graph.start_node).to(step), graph.edge_from(step).to(graph.end_node))
    built = graph.build()
    return lambda: built.run(inputs=TEXT)

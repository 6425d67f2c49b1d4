"""The measured chains in LangGraph: plain functions as nodes, no checkpointer, no tracing."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

os.environ["LANGSMITH_TRACING"] = "false"

from asyncio import sleep

from chains import BRANCHES, TEXT
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from measuring import awaiting, calling

from catenary.jsontext import loads

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

_SETTINGS: Any = {"recursion_limit": 1000}


class State(TypedDict):
    """What travels: one value."""

    value: Any


class Collected(TypedDict):
    """What travels through a split: one value, and the list of what the branches gave."""

    value: Any
    results: Annotated[list[Any], operator.add]


def _same(state: State) -> State:
    return {"value": state["value"]}


def _message() -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("filter", _read)
    graph.add_node("transform", _converted)
    graph.add_node("end", _same)
    graph.add_edge(START, "filter")
    graph.add_conditional_edges("filter", _after_filter)
    graph.add_edge("transform", "end")
    graph.add_edge("end", END)
    return graph.compile()


def _read(state: State) -> State:
    return {"value": loads(state["value"])}


def _after_filter(state: State) -> str:
    return "transform" if state["value"]["t"] > 40 else END


def _converted(state: State) -> State:
    value = state["value"]
    return {"value": {"id": value["deviceId"], "fahrenheit": value["t"] * 1.8 + 32}}


def _row(count: int) -> Any:
    graph: Any = StateGraph(State)
    names = [f"n{number}" for number in range(count)]
    for name in names:
        graph.add_node(name, _same)
    for left, right in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(left, right)
    return graph.compile()


def _split(branch: Callable[..., Any]) -> Any:
    graph: Any = StateGraph(Collected)
    names = [f"branch{number}" for number in range(BRANCHES)]
    graph.add_node("fork", _same)
    graph.add_node("join", _joined)
    graph.add_edge(START, "fork")
    for name in names:
        graph.add_node(name, branch)
        graph.add_edge("fork", name)
    graph.add_edge(names, "join")
    graph.add_edge("join", END)
    return graph.compile()


def _joined(state: Collected) -> dict[str, Any]:
    return {"value": list(state["results"])}


def _branch(state: Collected) -> dict[str, Any]:
    return {"results": [state["value"]]}


async def _suspended_branch(state: Collected) -> dict[str, Any]:
    await sleep(0)
    return {"results": [state["value"]]}


def _round(state: State) -> State:
    return {"value": {"n": state["value"]["n"] + 1}}


def _after_round(state: State) -> str:
    return "round" if state["value"]["n"] < 100 else END


def _loop() -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("round", _round)
    graph.add_edge(START, "round")
    graph.add_conditional_edges("round", _after_round)
    return graph.compile()


def cases() -> dict[str, Callable[[int], None]]:
    """Give what is measured, by name."""
    message, few, many, loop = _message(), _row(10), _row(50), _loop()
    split, tasks = _split(_branch), _split(_suspended_branch)
    return {
        "message": calling(lambda: message.invoke({"value": TEXT}, _SETTINGS)),
        "few": calling(lambda: few.invoke({"value": TEXT}, _SETTINGS)),
        "many": calling(lambda: many.invoke({"value": TEXT}, _SETTINGS)),
        "split": calling(lambda: split.invoke({"value": 1}, _SETTINGS)),
        "tasks": awaiting(lambda: tasks.ainvoke({"value": 1}, _SETTINGS)),
        "loop": calling(lambda: loop.invoke({"value": {"n": 0}}, _SETTINGS)),
    }


def waiting(gate: asyncio.Event) -> Callable[[], Awaitable[Any]]:
    """Give what makes a run that reads a message and waits at the gate."""

    async def wait(state: State) -> State:
        value = loads(state["value"])
        await gate.wait()
        return {"value": value}

    graph: Any = StateGraph(State)
    graph.add_node("wait", wait)
    graph.add_edge(START, "wait")
    graph.add_edge("wait", END)
    compiled = graph.compile()
    return lambda: compiled.ainvoke({"value": TEXT}, _SETTINGS)

"""`ai/act`: run the tools the model asked for."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, SUCCESS, Relation
from catenary.component import Component, Config, Example, register
from catenary.jsontext import dumps, loads
from catenary_components.ai.state import AgentSetup, AgentState
from catenary_components.ai.tools.execute import CallResult, run_call

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ToolCall


class ActConfig(Config):
    """An `ai/act` node has no settings: the agent it belongs to has them."""


@register("ai/act", category="ai", since="0.1", label="Act")
class Act(Component[ActConfig]):
    """Run all pending tool calls at the same time, and keep their results in the order of the calls.

    A call that fails is a result like any other: the model is told. When the run streams, the start and the result of
    each call go out by `Stream` in the order in which they happen.
    """

    relations = (SUCCESS, STREAM, FAILURE)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    async def run(self, ctx: Context, msg: Message) -> Relation:
        """Run the pending calls."""
        state, setup = ctx.scope[AgentState], ctx.scope[AgentSetup]
        told = [_ToldCall(ctx, msg, setup, call, state.tool_calls + n) for n, call in enumerate(state.pending, 1)]
        state.tool_calls += len(told)
        for call in told:
            await call.tell_start()
        state.results = await _run_all(ctx, setup, told)
        return SUCCESS


async def _run_all(ctx: Context, setup: AgentSetup, told: list[_ToldCall]) -> tuple[CallResult, ...]:
    """Run the calls in tasks of their own; what they tell goes out from this task, one thing after the other."""

    import asyncio

    async def run(place: int) -> int:
        results[place] = await run_call(ctx, setup.toolbox, told[place].call)
        return place

    results: dict[int, CallResult] = {}
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(place)) for place in range(len(told))]
            for done in asyncio.as_completed(tasks):
                place = await done
                await told[place].tell_result(results[place])
    except BaseExceptionGroup as failed:  # no call fails here: it is what telling the outside met
        raise failed.exceptions[0] from None
    return tuple(results[place] for place in range(len(told)))


class _ToldCall:
    """Tells the outside about one call, by `Stream` and by events.

    Its id is made here, for the model's own ids need not be unique within a run.
    """

    def __init__(self, ctx: Context, msg: Message, setup: AgentSetup, call: ToolCall, index: int) -> None:
        self.call = call
        self._ctx = ctx
        self._msg = msg
        self._setup = setup
        self._index = index
        self._tool = setup.toolbox.get(call.name)
        self._id = f"tool-{call.name}-{ctx.clock.time_ms()}-{index}-{uuid.uuid4().hex[:6]}"

    async def tell_start(self) -> None:
        kind = self._tool.kind if self._tool else "unknown"
        if self._ctx.watched:
            self._ctx.notify(
                "tool.start",
                toolId=self._id,
                toolName=self.call.name,
                toolType=kind,
                toolParams=_parsed(self.call.arguments),
                description=self._tool.description if self._tool else "",
            )
        target = self._tool.target_id if self._tool else ""
        await self._emit("TOOL_CALL_START", arguments=self.call.arguments, toolType=kind, targetId=target)

    async def tell_result(self, result: CallResult) -> None:
        self._ctx.notify("tool.result", toolId=self._id, result=result.text, isError=bool(result.error))
        if result.error:
            await self._emit("TOOL_CALL_RESULT", content=result.error, error=True)
        await self._emit("TOOL_CALL_RESULT", content=result.text)

    async def _emit(self, type: str, **members: Json) -> None:  # noqa: A002 - the field's name in the event
        if not self._setup.streams:
            return
        event = {
            "type": type,
            "timestamp": self._ctx.clock.time_ms(),
            "toolCallId": self._id,
            "toolCallName": self.call.name,
            "index": self._index,
            **members,
        }
        marks = {"chunk": "true", "tool_call": "true", "model": self._setup.model.name, "phase": self._ctx.node_id}
        await self._ctx.emit(STREAM, self._msg.with_data(dumps(event), "TEXT").put_all(marks))


def _parsed(arguments: str) -> Json:
    try:
        return loads(arguments)
    except ValueError:
        return arguments

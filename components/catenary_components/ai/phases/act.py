"""`ai/act`: run the tools the model asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from catenary import FAILURE, STREAM, SUCCESS
from catenary.component import Component, Config, Example, register
from catenary.reasons import reason_of
from catenary_components.ai.calling import interrupted
from catenary_components.ai.logbook import write
from catenary_components.ai.permission.admission import (
    AskedCall,
    OutsideCall,
    admit,
)
from catenary_components.ai.permission.asking import ask, hand_out
from catenary_components.ai.permission.journal import note_begun, note_done
from catenary_components.ai.phases._calls import stopped_by
from catenary_components.ai.phases._scope import setup_of, state_of
from catenary_components.ai.phases._told_call import ToldCall
from catenary_components.ai.phases.relations import AWAIT_CONFIRM, AWAIT_EXTERNAL, STOPPED
from catenary_components.ai.state import AgentState, FinishReason
from catenary_components.ai.status import AgentStatus, report
from catenary_components.ai.tools.batch import run_batch
from catenary_components.ai.tools.direct import kept_whole, told_to_model
from catenary_components.ai.tools.execute import CallResult, ReadyCall, refused
from catenary_components.ai.tools.results import cut_to_size, with_earlier

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from catenary import Message, Relation
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.permission.admission import Admitted
    from catenary_components.ai.setup import AgentSetup


class ActConfig(Config):
    """An `ai/act` node has no settings: the agent it belongs to has them."""


@register("ai/act", category="ai", since="0.1", label="Act")
class Act(Component[ActConfig]):
    """Run all pending tool calls at the same time, and keep their results in the order of the calls.

    First each call goes through the agent's gate, in order. When somebody has to be asked about one, none is run: the
    message leaves by `AwaitConfirm`. Calls whose results come from outside leave by `AwaitExternal`, after the others
    were run.

    A call that fails is a result like any other: the model is told. When the agent is asked to stop, tools that run are
    cancelled, and what is done by then is kept. When the run streams, the start and the result of
    each call go out by `Stream` in the order in which they happen.
    """

    relations = (SUCCESS, AWAIT_CONFIRM, AWAIT_EXTERNAL, STOPPED, STREAM, FAILURE)
    onward = (SUCCESS,)
    examples = (Example("it works inside the chain of an agent, and nowhere else", runs=False),)

    async def run(self, ctx: Context, msg: Message) -> Relation:
        """Run the pending calls."""
        state, setup = state_of(ctx), setup_of(ctx)
        if state.stop:
            state.finish_reason = FinishReason.STOPPED
            return STOPPED
        if state.results:  # they were run, and nobody has read the results yet
            return SUCCESS
        if setup.hooks is None:
            return await self._act(ctx, msg, setup, state)
        return await setup.hooks.act(ctx, setup, partial(self._act, ctx, msg, setup, state)) or SUCCESS

    async def _act(self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState) -> Relation:
        calls, taken = state.pending, {}
        if setup.hooks is not None:
            calls, taken = await setup.hooks.before_tools(ctx, setup, calls)
        if setup.budget is not None:
            setup.budget.take_tool_calls(sum(call.state == "pending" for call in calls))
        admitted = await _admitted(ctx, setup, state, calls, taken)
        asked = [one for one in admitted if isinstance(one, AskedCall)]
        outside = [one for one in admitted if isinstance(one, OutsideCall)]
        runnable = [one for one in admitted if isinstance(one, (ReadyCall, CallResult))]
        if state.question.get("ending"):
            return await self._end(ctx, msg, setup, state, admitted)
        if asked:
            waiting = [one.call for one in admitted if isinstance(one, (ReadyCall, OutsideCall))]
            await self._run(ctx, msg, setup, state, [one for one in runnable if isinstance(one, CallResult)])
            self._take(setup, state)
            ask(ctx, setup, state, asked, waiting)
            return AWAIT_CONFIRM
        await self._run(ctx, msg, setup, state, runnable)
        if outside and not state.stop:
            self._take(setup, state)
            hand_out(ctx, setup, state, [one.call for one in outside])
            return AWAIT_EXTERNAL
        if state.question:
            state.results = with_earlier(setup, state, state.results)
            state.question = {}
        return SUCCESS

    async def _end(
        self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, admitted: Sequence[Admitted]
    ) -> Relation:
        """End the agent because of what was answered: what is known of its calls is told, and nothing is run."""
        known = [one if isinstance(one, CallResult) else _not_run(one.call) for one in admitted]
        await self._run(ctx, msg, setup, state, known)
        self._take(setup, state)
        state.finish_reason = FinishReason(str(state.question["ending"]))
        state.question = {}
        return STOPPED

    @staticmethod
    async def _run(
        ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, calls: Sequence[ReadyCall | CallResult]
    ) -> None:
        """Run calls, and tell of each. What was approved is written down before and after."""
        report(ctx, state, AgentStatus.EXECUTING)
        told = [ToldCall(ctx, msg, setup, state, one, state.tool_calls + n) for n, one in enumerate(calls, 1)]
        state.tool_calls += len(told)
        approved = [one for one in calls if isinstance(one, ReadyCall) and one.call.state == "allowed"]
        for one in approved:
            note_begun(state, one)
        if approved and setup.keep is not None:
            await setup.keep()
        try:
            for call in told:
                await call.tell_start()
            state.results = await _run_calls(ctx, setup, state, calls, told)
        finally:
            for call in told:
                call.close()
        report(ctx, state, AgentStatus.RUNNING)

    @staticmethod
    def _take(setup: AgentSetup, state: AgentState) -> None:
        """Put the results into the conversation: the run pauses, and they are observed when all are there."""
        told = [told_to_model(setup, kept_whole(result)) for result in state.results]
        state.take_results(told, [cut_to_size(setup, result) for result in told])


async def _admitted(
    ctx: Context, setup: AgentSetup, state: AgentState, calls: Sequence[ToolCall], taken: Mapping[int, CallResult]
) -> list[Admitted]:
    """Look at all calls before anything runs; when that goes wrong, none is run, and each gets a result that says so.

    What a hook raises is not caught: it ends the agent. `taken` has the results that hooks gave already, by place.
    """
    try:
        return [
            _surplus(setup, calls, place) or taken.get(place) or await admit(ctx, setup, state, call)
            for place, call in enumerate(calls)
        ]
    except Exception as error:
        if setup.hooks is not None:
            raise
        return [_failed(call, error) for call in calls]


async def _run_calls(
    ctx: Context,
    setup: AgentSetup,
    state: AgentState,
    calls: Sequence[ReadyCall | CallResult],
    told: Sequence[ToldCall],
) -> tuple[CallResult, ...]:
    """Run the calls of a reply; when they cannot be run at all, each gets a result that says so.

    What a hook raises is not caught: it ends the agent.
    """
    results = [_cut_off(one.call) for one in calls]
    outside = _Outside(ctx, setup, state, told, results)
    try:
        async with stopped_by(state.stop) as waiting:
            with waiting:
                await run_batch(ctx, setup, calls, outside.tell, outside.tell_piece)
    except Exception as error:
        if outside.failed or setup.hooks is not None:
            raise
        for place, one in enumerate(calls):
            if told[place].is_open:
                await outside.tell(place, _failed(one.call, error))
    return tuple(results)


class _Outside:
    """Passes results and pieces on to what tells of them, and keeps the results; those of approved calls in writing."""

    def __init__(
        self,
        ctx: Context,
        setup: AgentSetup,
        state: AgentState,
        told: Sequence[ToldCall],
        results: list[CallResult],
    ) -> None:
        self.failed = False
        self._ctx = ctx
        self._setup = setup
        self._state = state
        self._told = told
        self._results = results

    async def tell(self, place: int, result: CallResult) -> None:
        self._results[place] = result
        write(self._ctx, "tool %s: %s, %d characters", result.call.name, result.state, len(result.text))
        if result.call.id in self._state.journal:
            note_done(self._state, result)
            if self._setup.keep is not None:
                await self._pass_on(self._setup.keep())
        await self._pass_on(self._told[place].tell_result(result))

    async def tell_piece(self, place: int, piece: Json) -> None:
        await self._pass_on(self._told[place].tell_piece(piece))

    async def _pass_on(self, telling: Awaitable[None]) -> None:
        try:
            await telling
        except Exception:
            self.failed = True
            raise


def _failed(call: ToolCall, error: Exception) -> CallResult:
    why = reason_of(error)
    return refused(call, f"[ERROR] Tool execution failed: {why}", why)


def _cut_off(call: ToolCall) -> CallResult:
    text = f"[ERROR] Tool execution was interrupted. Tool: {call.name}"
    return CallResult(call, text, "the tool was interrupted", state="interrupted")


def _not_run(call: ToolCall) -> CallResult:
    return CallResult(call, interrupted(call.name), "the question was taken back, or denied", state="interrupted")


def _surplus(setup: AgentSetup, calls: Sequence[ToolCall], place: int) -> CallResult | None:
    """Refuse a call that is one too many in its reply."""
    if setup.tools.calls_per_turn == "first" and place > 0:
        text = "Error: One tool a turn: only the first call was run. Ask again if this one is still needed."
        return refused(calls[place], text, "one tool a turn")
    most = setup.tools.max_calls_per_turn
    if not most or place < most:
        return None
    text = f"Error: Too many tool calls: {len(calls)} were asked for in one reply, and at most {most} are run."
    return refused(calls[place], text, "too many calls in one reply")

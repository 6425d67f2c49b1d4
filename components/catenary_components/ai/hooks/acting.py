"""The hooks of tools during one run of an agent: of a batch of calls, and of each call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from catenary.jsontext import dumps
from catenary_components.ai.hooks.calls import edit_calls, read_or_none
from catenary_components.ai.hooks.faults import HookError, told_of
from catenary_components.ai.hooks.passing import Passing, check
from catenary_components.ai.hooks.steps import ActingStep, ToolStep
from catenary_components.ai.tools.execute import CallResult, failed, refused, run_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from catenary import Relation
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.roster import Call
    from catenary_components.ai.hooks.running import HookRun
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.tools.execute import ReadyCall

BLOCKED: Final = "Tool call blocked by hook: "
BATCH_FAILED: Final = "[ERROR] Tool execution failed: "


class ActingRun(Passing):
    """Leads batches of calls, and each call, through the hooks."""

    __slots__ = ()

    async def act(self, ctx: Context, setup: AgentSetup, run: Callable[[], Awaitable[Relation]]) -> Relation | None:
        """Run the pending calls.

        Returns: by which relation the phase is left; `None` when a hook has put results in the place of the batch.
        """
        state = self.state
        step = ActingStep(ctx=ctx, state=state, setup=setup, run=cast("HookRun", self), calls=list(state.pending))
        before = state.pending
        relation: Relation | None = None
        own: list[Exception] = []

        async def core() -> None:
            nonlocal relation
            edit_calls(state, before, step.calls)
            try:
                relation = await run()
            except Exception as error:
                own.append(error)
                raise
            step.results = list(state.results)

        def left() -> tuple[CallResult, ...]:
            if relation is None:
                return _complete(state.pending, step.results)
            return _complete([result.call for result in state.results], step.results, "its result was taken out")

        try:
            await self.through("acting", step, core)
        except Exception as error:
            if error in own:
                raise
            self.tell("acting", error.hook if isinstance(error, HookError) else "", error, ctx)
            step.results = [_batch_failed(call, error) for call in state.pending]
        state.results = left()
        if self.stops_after is not None:
            state.stop.set(leaves_calls=True)
        return relation

    async def before_tools(
        self, ctx: Context, setup: AgentSetup, calls: Sequence[ToolCall]
    ) -> tuple[tuple[ToolCall, ...], dict[int, CallResult]]:
        """Show calls to the hooks, in order, before they are checked.

        Returns: the calls as they are now, and what came of those that are not to be run, by their place.
        """
        table = self.hooks.points.get("tool")
        if table is None or not table.befores:
            return tuple(calls), {}
        steps = [self._tool_step(ctx, setup, call) for call in calls]
        results: dict[int, CallResult] = {}
        for place, step in enumerate(steps):
            try:
                await _show(step, table.befores)
            except Exception as error:
                step.call, reason = calls[place], told_of(error)
                results[place] = refused(step.call, f"{BLOCKED}{reason}", reason)
                continue
            if step.result is not None:
                results[place] = _made_result(step.call, step.result)
            elif self.state.stop or self.stops_after is not None:
                results[place] = refused(step.call, f"{BLOCKED}the agent was asked to stop", "stopped")
        changed = tuple(step.call for step in steps)
        edit_calls(self.state, calls, changed)
        return changed, {place: replace(result, call=changed[place]) for place, result in results.items()}

    async def run_tool(
        self, ctx: Context, setup: AgentSetup, ready: ReadyCall, tell: Callable[[Json], Awaitable[None]] | None = None
    ) -> CallResult:
        """Run a call that is allowed to run; whatever goes wrong in a hook is a result.

        Args:
            ctx: The node that is visited.
            setup: What the agent works with.
            ready: The call.
            tell: Is told the pieces that the tool shows on the way.
        """
        if self.stops_after is not None:
            return refused(ready.call, f"{BLOCKED}the agent was asked to stop", "stopped")
        step = self._tool_step(ctx, setup, ready.call)
        step.tool, step.arguments = ready.tool, dict(ready.arguments)

        async def core() -> None:
            step.result = await run_tool(ctx, ready, self._telling(step, tell))

        try:
            await self.through("tool", step, core, befores=False)
        except Exception as error:
            step.result = failed(ready.call, told_of(error))
        result = _made_result(ready.call, step.result)
        acting = self.hooks.points.get("acting")
        if acting is not None and acting.chunks:
            try:
                result = await self.through_chunks(acting, step, result)
            except Exception as error:
                result = failed(ready.call, told_of(error))
        return _made_result(ready.call, result)

    def _telling(
        self, step: ToolStep, tell: Callable[[Json], Awaitable[None]] | None
    ) -> Callable[[Json], Awaitable[None]] | None:
        """Give what is told the pieces of a tool, with the hooks of these before it."""
        table = self.hooks.points.get("tool")
        if tell is None or table is None or not table.chunks:
            return tell

        async def telling(piece: Json) -> None:
            await tell(await self.through_chunks(table, step, piece))

        return telling

    def _tool_step(self, ctx: Context, setup: AgentSetup, call: ToolCall) -> ToolStep:
        tool = setup.toolbox.get(call.name)
        return ToolStep(
            ctx=ctx,
            state=self.state,
            setup=setup,
            run=cast("HookRun", self),
            call=call,
            tool=tool,
            arguments=read_or_none(tool, call),
        )


def _made_result(call: ToolCall, result: CallResult | None) -> CallResult:
    """Give the result that hooks have left for a call."""
    if result is None:
        return refused(call, f"{BLOCKED}it was not run", "not run")
    return replace(result, call=call)


async def _show(step: ToolStep, befores: Sequence[Call]) -> None:
    """Show a call to hooks; arguments that they have changed are those of the call then."""
    call, arguments = step.call, dict(step.arguments) if step.arguments is not None else None
    for before in befores:
        await before(step)
        _check(before, step, call)
    if step.arguments is not None and step.arguments != arguments:
        step.call = replace(step.call, arguments=dumps(step.arguments))


def _check(before: Call, step: ToolStep, call: ToolCall) -> None:
    """Look whether a hook has left a call as it may be. Raises: HookError: when it has not."""
    check(before, step)
    if step.call.id != call.id:
        raise before.error(f"step.call has the id {step.call.id!r}, not that of the call, {call.id!r}")


def _batch_failed(call: ToolCall, error: Exception) -> CallResult:
    text = told_of(error)
    return refused(call, f"{BATCH_FAILED}{text}", text)


def _complete(
    calls: Sequence[ToolCall], results: Sequence[CallResult], why: str = "it was not run"
) -> tuple[CallResult, ...]:
    """Give one result for each call, in their order; `why` is said where there is none."""
    found = {result.call.id: result for result in results}
    return tuple(found.get(call.id) or refused(call, f"{BLOCKED}{why}", why) for call in calls)

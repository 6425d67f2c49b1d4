"""Run the calls of one reply: first each is looked at, in order, then those that may run are run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from catenary.reasons import reason_of
from catenary_components.ai.tools.arguments import fitting, read_arguments
from catenary_components.ai.tools.execute import CallResult, ReadyCall, failed, find, refused, run_tool
from catenary_components.ai.tools.repetition import look_at
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState


_NO_PLACE: Final = -1


def prepare(setup: AgentSetup, state: AgentState, call: ToolCall, *, is_new: bool = True) -> ReadyCall | CallResult:
    """Look at one call; one that is not new was looked at before, and counts as no repeat.

    Returns: the call when it can be run, else the result the model gets in its place.
    """
    call = setup.toolbox.repaired(call)
    tool = find(setup.toolbox, state, call)
    if isinstance(tool, CallResult):
        return tool
    try:
        said = read_arguments(tool, call)
        arguments = fitting(tool, said)
        tool.work.check(arguments)
    except ToolInputError as error:
        text = f"Error: blocked_invalid_arguments - invalid or empty arguments for tool {tool.name}: {error}"
        return refused(call, text, str(error))
    except Exception as error:
        return failed(call, reason_of(error))
    text = (call.arguments.strip() or "{}") if arguments == said and not tool.presets else ""
    repeated = look_at(setup, state, tool, call) if is_new else None
    return repeated or ReadyCall(call, tool, arguments, text)


async def run_batch(
    ctx: Context,
    setup: AgentSetup,
    calls: Sequence[ReadyCall | CallResult],
    tell: Callable[[int, CallResult], Awaitable[None]],
    tell_piece: Callable[[int, Json], Awaitable[None]] | None = None,
) -> tuple[CallResult, ...]:
    """Run calls; neighbours at the same time, a serial one alone.

    What is told goes out from this task, one thing after the other, as soon as it is known.

    Args:
        ctx: The context of the visit.
        setup: What the agent works with.
        calls: What `prepare` gave, in the order of the reply.
        tell: Is told each result with its place.
        tell_piece: Is told each piece that a tool shows on the way, with the place of its call.

    Returns: the results in the order of the calls.
    """
    batch = _Batch(ctx, setup, tell, tell_piece)
    for segment in _segments(calls):
        await batch.run(segment)
    return tuple(batch.results[place] for place in range(len(calls)))


def _segments(calls: Sequence[ReadyCall | CallResult]) -> Iterator[list[tuple[int, ReadyCall | CallResult]]]:
    """Cut the calls into runs of neighbours that may go on beside each other."""
    segment: list[tuple[int, ReadyCall | CallResult]] = []
    for place, call in enumerate(calls):
        if isinstance(call, ReadyCall) and call.tool.is_serial:
            if segment:
                yield segment
            yield [(place, call)]
            segment = []
        else:
            segment.append((place, call))
    if segment:
        yield segment


class _Batch:
    """Calls that are run, and what is told of them."""

    def __init__(
        self,
        ctx: Context,
        setup: AgentSetup,
        tell: Callable[[int, CallResult], Awaitable[None]],
        tell_piece: Callable[[int, Json], Awaitable[None]] | None,
    ) -> None:
        self.results: dict[int, CallResult] = {}
        self._ctx = ctx
        self._setup = setup
        self._hooks = setup.hooks
        self._tell = tell
        self._tell_piece = tell_piece
        self._gate = asyncio.Semaphore(setup.tools.max_parallel_tools)
        self._news: asyncio.Queue[tuple[int, Json, asyncio.Future[None] | None]] = asyncio.Queue()

    async def run(self, segment: Sequence[tuple[int, ReadyCall | CallResult]]) -> None:
        """Run calls beside each other."""
        if len(segment) == 1:
            await self._run_alone(*segment[0])
            return
        try:
            async with asyncio.TaskGroup() as group:
                for place, call in segment:
                    group.create_task(self._run(place, call))
                await self._listen(len(segment))
        except BaseExceptionGroup as failed_group:  # no call fails here: it is what telling the outside met
            raise failed_group.exceptions[0] from None

    async def _run_alone(self, place: int, call: ReadyCall | CallResult) -> None:
        """Run one call; most replies have no more, and a group costs a tenth of a round."""
        if isinstance(call, CallResult):
            self.results[place] = call
            await self._tell(place, call)
            return
        task = asyncio.create_task(self._run(place, call))
        task.add_done_callback(self._wake)
        try:
            await self._listen(1)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
        if place not in self.results:
            task.result()

    def _wake(self, task: asyncio.Task[None]) -> None:
        """End the waiting for a call that has failed, which only errors do that end the run."""
        if task.cancelled() or task.exception() is not None:
            self._news.put_nowait((_NO_PLACE, None, None))

    async def _run(self, place: int, call: ReadyCall | CallResult) -> None:
        if isinstance(call, ReadyCall):
            async with self._gate:
                tell = self._piece_teller(place)
                if self._hooks is None:
                    call = await run_tool(self._ctx, call, tell)
                else:
                    call = await self._hooks.run_tool(self._ctx, self._setup, call, tell)
        self.results[place] = call
        self._news.put_nowait((place, None, None))

    async def _listen(self, left: int) -> None:
        """Tell what comes, until all calls have their results."""
        while left:
            place, piece, told = await self._news.get()
            if place == _NO_PLACE:
                return
            if told is None:
                left -= 1
                await self._tell(place, self.results[place])
            elif not told.done():
                if self._tell_piece is not None:
                    await self._tell_piece(place, piece)
                told.set_result(None)

    def _piece_teller(self, place: int) -> Callable[[Json], Awaitable[None]]:
        async def tell(piece: Json) -> None:
            if place in self.results:
                return  # of a tool that goes on though its time is over
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._news.put_nowait((place, piece, told))
            await told

        return tell

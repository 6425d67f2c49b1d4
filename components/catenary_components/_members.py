"""Nodes run as members of a group: all at once, each alone, until enough is known."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from catenary import FAILURE, STREAM, Relation
from catenary.component import TimeLimit
from catenary.errors import EngineError, RunTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary import Message
    from catenary.component import Context, End

DEFAULT_TIMEOUT_S = 30.0


class Result(NamedTuple):
    """How a member ended.

    Attributes:
        node_id: The node; the group's own id when there is no node of that name.
        relation: The relation that counts.
        message: The message that left by it.
        error: The text of the error; empty when there is none.
        is_answer: False when there is no such node, or it sent nothing on: `message` is then what it would have got.
    """

    node_id: str
    relation: Relation | str
    message: Message
    error: str = ""
    is_answer: bool = True


async def run_members(
    ctx: Context,
    node_ids: Sequence[str],
    message: Message,
    *,
    wanted: str,
    timeout_s: float,
    is_enough: Callable[[Result], bool],
) -> list[Result]:
    """Run nodes of this chain at once, each without what follows it.

    Args:
        ctx: The visit of the group.
        node_ids: The members; one that is named twice runs twice.
        message: What each of them gets.
        wanted: A member that leaves by several relations counts as leaving by this one if it is among them, else by
            the last that is no piece of a stream.
        timeout_s: How long they may take together, the time not counted in which one of them waits for an answer from
            outside; 0 or less is the default.
        is_enough: Is asked at each result, in the order in which they come; True stops all others.

    Returns:
        The results there are, in the order of `node_ids`.

    Raises:
        ValueError: When there are no members.
        RunTimeout: When the time was over first.
    """
    if not node_ids:
        raise ValueError("nodeIds is empty")
    group = _Group(ctx, message, wanted, is_enough)
    limit_s = timeout_s if timeout_s > 0 else DEFAULT_TIMEOUT_S
    try:
        if not any(map(ctx.needs_await, node_ids)):
            await group.run_inline(node_ids, limit_s)
        else:
            await ctx.need_loop()
            async with TimeLimit(ctx, limit_s) as limit:
                await group.run(node_ids, limit)
    except TimeoutError:
        raise RunTimeout("context deadline exceeded") from None
    if group.fault is not None:
        raise group.fault
    return [result for _, result in sorted(group.results.items())]


class _Group:
    def __init__(self, ctx: Context, message: Message, wanted: str, is_enough: Callable[[Result], bool]) -> None:
        self.results: dict[int, Result] = {}
        self.fault: Exception | None = None
        self._ctx = ctx
        self._message = message
        self._wanted = wanted
        self._is_enough = is_enough
        self._is_over = False
        self._scope: tuple[TimeLimit, ...] | None = None

    async def run(self, node_ids: Sequence[str], limit: TimeLimit) -> None:
        """Run all members; come back when each is over or has been stopped."""
        self._scope = (limit,)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(number, node_id)) for number, node_id in enumerate(node_ids)]
            for task in tasks:
                task.add_done_callback(lambda _: self._stop(tasks))

    async def run_inline(self, node_ids: Sequence[str], limit_s: float) -> None:
        """Run members that never wait, one after the other, which needs no event loop. Raises: TimeoutError."""
        monotonic = self._ctx.clock.monotonic
        deadline = monotonic() + limit_s
        for number, node_id in enumerate(node_ids):
            if not self._is_over and monotonic() >= deadline:
                raise TimeoutError
            await self._run(number, node_id)

    def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        if self._is_over:
            for task in tasks:
                task.cancel()

    async def _run(self, number: int, node_id: str) -> None:
        if self._is_over:
            return
        try:
            result = await self._result(node_id)
        except Exception as error:  # of the kernel: too deep, for one
            self.fault = self.fault or error
            self._is_over = True
            return
        if not self._is_over:
            self.results[number] = result
            self._is_over = self._is_enough(result)

    async def _result(self, node_id: str) -> Result:
        try:
            ends = await self._ctx.run_node(node_id, self._message, scope=self._scope)
        except EngineError as error:
            return Result(self._ctx.node_id, FAILURE, self._message, str(error), is_answer=False)
        end = _deciding(ends, self._wanted)
        return Result(node_id, end.relation, end.message, end.reason, is_answer=not end.is_silent)


def _deciding(ends: list[End], wanted: str) -> End:
    """Give the end of a member that counts."""
    whole = [end for end in ends if end.relation != STREAM] or ends
    return next((end for end in reversed(ends) if end.relation == wanted), whole[-1])

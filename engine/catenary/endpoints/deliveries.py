"""Ends of a run that are answered while it goes on: pieces of a stream, ends that are answers each, the first end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from catenary.endpoints.answering import answering
from catenary.outcome import End
from catenary.relation import LATE, STREAM

if TYPE_CHECKING:
    from catenary.endpoints.exchange import Exchange
    from catenary.endpoints.plan import Plan
    from catenary.message import Message
    from catenary.options import RunInfo
    from catenary.outcome import Outcome
    from catenary.relation import Relation


class Deliveries:
    """Gives ends to an endpoint one at a time, in the order in which they come; the run waits for each."""

    def __init__(self, plan: Plan, exchange: Exchange) -> None:
        self._plan = plan
        self._exchange = exchange
        self._each = exchange.each
        self._stream = exchange.each or exchange.stream
        self._turn = asyncio.Lock()

    async def ended(
        self, info: RunInfo, message: Message, error: BaseException | None, relation: Relation | str
    ) -> None:
        """Be told of one end of the run."""
        deliver = self._stream if relation == STREAM else self._each
        if deliver is None or relation is LATE:
            return
        async with self._turn:
            view = self._exchange.view()
            if await self._plan.finish_end(view, End(info.node_id, relation, message, error)):
                await deliver(view.answer)

    async def over(self, outcome: Outcome) -> None:
        """Answer by what the run came to."""
        if self._each is None:
            await self._plan.answer(self._exchange, outcome, answering(outcome))
        else:
            await self._plan.tell_own_error(self._exchange, outcome)

    async def failed(self, error: Exception) -> None:
        """Answer that the run broke down."""
        await self._plan.fail(self._exchange, error)


class First(Deliveries):
    """Lets the first end be the answer; the run goes on behind the back of who sent the message."""

    def __init__(self, plan: Plan, exchange: Exchange) -> None:
        super().__init__(plan, exchange)
        self._before = exchange.view()  # what is in the first answer is not in those of later ends
        self._answered = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the answer."""
        await self._answered.wait()

    async def ended(
        self, info: RunInfo, message: Message, error: BaseException | None, relation: Relation | str
    ) -> None:
        """Be told of one end of the run."""
        end = End(info.node_id, relation, message, error)
        if self._answered.is_set():
            if not (end.is_late or relation == STREAM):
                await self._plan.finish_end(self._before.view(), end)
        elif end.is_answer:
            async with self._turn:
                await self._plan.finish_end(self._exchange, end)
                self._answered.set()
        else:
            await super().ended(info, message, error, relation)

    async def over(self, outcome: Outcome) -> None:
        """Answer by what the run came to, when no end was the first one."""
        if not self._answered.is_set():
            await self._plan.answer(self._exchange, outcome, answering(outcome), policy="last")

    async def failed(self, error: Exception) -> None:
        """Answer that the run broke down."""
        if not self._answered.is_set():
            await super().failed(error)

    def release(self) -> None:
        """Let whoever waits go on: the run is over."""
        self._answered.set()

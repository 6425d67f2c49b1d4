"""What an endpoint does for a message of one router; worked out when the router is bound, not for each message."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from catenary.endpoints.answering import answering, fill, fill_error, join, own_error
from catenary.endpoints.deliveries import Deliveries, First
from catenary.errors import EngineError
from catenary.life.versions import SHUTTING_DOWN
from catenary.runtime.entry import perform

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Sequence

    from catenary.chain import Chain
    from catenary.endpoints.base import Endpoint
    from catenary.endpoints.exchange import Exchange
    from catenary.endpoints.router import AnswerPolicy, Processor, Router
    from catenary.endpoints.targets import Executor, Finder
    from catenary.engine import Engine
    from catenary.message import Metadata
    from catenary.options import RunOptions
    from catenary.outcome import End, Outcome

logger = logging.getLogger(__name__)

UNAVAILABLE: Final = 503
BROKEN: Final = 500


class Plan:
    """The way of a message through one router: processors, target, processors of the answers.

    Attributes:
        incoming: What is called with the message before it goes to the target.
        outgoing: What is called with each answer.
        policy: Which end is the answer.
        masker: Hides secrets in error texts.
    """

    def __init__(
        self,
        engine: Engine,
        router: Router,
        *,
        incoming: Sequence[Processor],
        outgoing: Sequence[Processor],
        find: Finder | None,
        executor: Executor | None,
        endpoint: Endpoint[Any, Any],
        debug: bool = False,
    ) -> None:
        """Put a plan together.

        Args:
            engine: The engine that the endpoint belongs to.
            router: The router.
            incoming: As the attribute.
            outgoing: As the attribute.
            find: Gives the chain to run; None for the target of an executor.
            executor: What is called in place of a chain.
            endpoint: Whose router it is.
            debug: True to have its runs in debug mode.
        """
        self.router = router
        self.incoming = tuple(incoming)
        self.outgoing = tuple(outgoing)
        self.masker = engine.masker
        self._find = find
        self._executor = executor
        self._endpoint = endpoint
        self._is_debugged = debug
        self._waits = router.to.wait or endpoint.always_waits
        self.policy: AnswerPolicy = router.to.answer
        self._is_plain = self._waits and self.policy != "first"

    async def take(self, exchange: Exchange) -> None:
        """Take a message to its answer. Failures are in the answer; only a cancellation is raised."""
        endpoint = self._endpoint
        endpoint.in_flight += 1
        try:
            if self.incoming and not await processed(self.incoming, self.router, exchange):
                return
            message = exchange.message
            metadata = message.metadata
            if metadata.get("_triggerSource") != endpoint.trigger_source:
                message = exchange.message = message.put("_triggerSource", endpoint.trigger_source)
            if self._find is None:
                await self._execute(exchange)
                return
            chain, node = self._find(metadata)
            options: RunOptions = {"start": node} if node else {}
            if self._is_debugged or "_debugMode" in metadata or "_skipTellNext" in metadata:
                self._add_options(metadata, options)
            if not self._is_plain or exchange.each is not None or (exchange.stream is not None and chain.may_stream):
                await self._ask(chain, exchange, options)
                return
            outcome = exchange.outcome = await perform(chain, message, options)
            end = outcome.only_end
            if end is None or self.policy == "list":
                await self.answer(exchange, outcome, answering(outcome))
                return
            answer = exchange.answer
            answer.message = end.message
            answer.relation = end.relation
            answer.node_id = end.node_id
            waiting = self._finish_now(exchange) if self.outgoing else None
            if waiting is not None:
                await waiting
        except Exception as error:
            await self.fail(exchange, error)
        finally:
            endpoint.in_flight -= 1
            if not endpoint.in_flight:
                endpoint.tell_idle()

    def _add_options(self, metadata: Metadata, options: RunOptions) -> None:
        """Add what the endpoint, and a message by its metadata, ask of the run."""
        if self._is_debugged or metadata.get("_debugMode") == "true":
            options["debug"] = True
        if metadata.get("_skipTellNext") == "true":
            options["skip_tell_next"] = True

    # Running the chain

    async def _ask(self, chain: Chain, exchange: Exchange, options: RunOptions) -> None:
        """Run the chain where somebody is to be told of ends as they come, or nobody waits."""
        if not self._waits:
            later = exchange.view()
            later.each = exchange.each
            self._endpoint.spawn(self._run(chain, later, options, Deliveries(self, later)))
            return
        if self.policy == "first" and exchange.each is None:
            first = First(self, exchange)
            self._endpoint.spawn(self._ask_first(chain, exchange, options, first))
            await first.wait()
            return
        await self._run(chain, exchange, options, Deliveries(self, exchange))

    async def _ask_first(self, chain: Chain, exchange: Exchange, options: RunOptions, first: First) -> None:
        try:
            await self._run(chain, exchange, options, first)
        finally:
            first.release()

    async def _run(self, chain: Chain, exchange: Exchange, options: RunOptions, told: Deliveries) -> None:
        options["on_end"] = told.ended
        try:
            outcome = exchange.outcome = await perform(chain, exchange.message, options)
        except Exception as error:
            await told.failed(error)
        else:
            await told.over(outcome)

    # Answering

    async def answer(
        self, exchange: Exchange, outcome: Outcome, ends: list[End], policy: AnswerPolicy | None = None
    ) -> None:
        """Answer by the ends of a run that is over: each is processed, and the policy says which is the answer."""
        error = own_error(outcome)
        if error is not None:
            fill_error(exchange.answer, error, self.masker)
            await self.finish(exchange)
        elif (policy or self.policy) == "list":
            views = [await self._shown(exchange, end) for end in ends]
            join(exchange.answer, [view.answer for view in views])
        else:
            await self._answer_last(exchange, outcome, ends)

    async def _answer_last(self, exchange: Exchange, outcome: Outcome, ends: list[End]) -> None:
        chosen = outcome.answer
        for end in ends:
            if end is not chosen:
                await self._shown(exchange, end)
        if chosen is not None and not chosen.gated:
            fill(exchange.answer, chosen, self.masker)
            exchange.answer.message = outcome.message
            await self.finish(exchange)

    async def _shown(self, exchange: Exchange, end: End) -> Exchange:
        """Have one of several ends processed, with an answer of its own."""
        view = exchange.view()
        await self.finish_end(view, end)
        return view

    async def finish_end(self, exchange: Exchange, end: End) -> bool:
        """Have the answer of one end processed. Returns: False when a processor has stopped it."""
        fill(exchange.answer, end, self.masker)
        return await self.finish(exchange)

    def _finish_now(self, exchange: Exchange) -> Coroutine[Any, Any, bool] | None:
        """Have an answer processed without a coroutine. Returns: the rest, when a processor has to be awaited."""
        for index, processor in enumerate(self.outgoing, start=1):
            try:
                goes_on = processor(self.router, exchange)
            except Exception:
                self._note_failure(exchange)
                return None
            if goes_on is False:
                return None
            if goes_on is not None and goes_on is not True:
                return self.finish(exchange, goes_on, index)
        return None

    async def finish(self, exchange: Exchange, before: Awaitable[bool | None] | None = None, first: int = 0) -> bool:
        """Have an answer processed.

        Args:
            exchange: Whose answer.
            before: What is awaited before.
            first: The number of the first processor that is called.

        Returns:
            False when a processor has stopped it.
        """
        try:
            if before is not None and await before is False:
                return False
            return await processed(self.outgoing[first:], self.router, exchange)
        except Exception:
            self._note_failure(exchange)
            return True

    def _note_failure(self, exchange: Exchange) -> None:
        logger.exception("a processor of answers failed", extra={"router_id": self.router.id})
        exchange.answer.status = BROKEN

    async def tell_own_error(self, exchange: Exchange, outcome: Outcome) -> None:
        """Answer why a run as a whole did not complete, where each end is an answer and none of them tells."""
        error = own_error(outcome)
        if error is not None:
            await self._tell(exchange, error)

    async def fail(self, exchange: Exchange, error: Exception) -> None:
        """Answer that nothing could be run, or that what ran broke down."""
        if not isinstance(error, EngineError):
            logger.error("a message could not be taken in", exc_info=error, extra={"router_id": self.router.id})
        if str(error).startswith(SHUTTING_DOWN):
            refuse(exchange, SHUTTING_DOWN)
        else:
            await self._tell(exchange, error)

    async def _tell(self, exchange: Exchange, error: Exception) -> None:
        fill_error(exchange.answer, error, self.masker)
        await self._give(exchange)

    # Targets of the host

    async def _execute(self, exchange: Exchange) -> None:
        if not self._waits:
            later = exchange.view()
            later.each = exchange.each
            self._endpoint.spawn(self._executed(later))
        else:
            await self._executed(exchange)

    async def _executed(self, exchange: Exchange) -> None:
        assert self._executor is not None
        try:
            exchange.answer.message = await self._executor(self.router, exchange)
        except Exception as error:
            await self.fail(exchange, error)
        else:
            await self._give(exchange)

    async def _give(self, exchange: Exchange) -> None:
        if not await self.finish(exchange) or exchange.each is None:
            return
        try:
            await exchange.each(exchange.answer)
        except Exception:  # who sent the message is gone, and nobody is left to be told
            logger.warning("an answer could not be delivered", exc_info=True, extra={"router_id": self.router.id})


def refuse(exchange: Exchange, text: str) -> None:
    """Answer that the message is not taken in."""
    exchange.answer.status = UNAVAILABLE
    exchange.answer.body = text
    exchange.answer.set_header("Content-Type", "text/plain; charset=utf-8")


async def processed(processors: Sequence[Processor], router: Router, exchange: Exchange) -> bool:
    """Call processors, one after the other. Returns: False when one has stopped it."""
    for processor in processors:
        goes_on = processor(router, exchange)
        if goes_on is None or goes_on is True:
            continue
        if goes_on is False or await goes_on is False:
            return False
    return True

"""Aspects around whole runs: what begins, how its branches end, and what it came to."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from catenary.aspects.base import covers, has
from catenary.aspects.weaving import checked, cut_method
from catenary.errors import EngineError, RunCancelled
from catenary.outcome import Outcome
from catenary.relation import FAILURE, Failed
from catenary.runtime.cancelling import CANCELLED
from catenary.runtime.context import Context
from catenary.runtime.emission import failure
from catenary.runtime.run import ask_for_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.aspects.base import Aspect
    from catenary.chain import Chain
    from catenary.message import Message
    from catenary.runtime.compiled import Step
    from catenary.runtime.ends import End
    from catenary.runtime.run import Run

logger = logging.getLogger(__name__)


class RunAspects:
    """What the aspects of a chain bring to its runs.

    Attributes:
        starts: What looks at the message before the first node.
        ends: What looks at ends, each with the ids of the nodes that it looks at; None for all.
        completes: What looks at the outcome.
    """

    def __init__(self, chain: Chain) -> None:
        self.starts = [cut_method(one, "start") for one in chain.aspects if has(one, "start")]
        self.completes = [cut_method(one, "completed") for one in chain.aspects if has(one, "completed")]
        self.ends = [(cut_method(one, "end"), _nodes(chain, one)) for one in chain.aspects if has(one, "end")]

    @property
    def is_empty(self) -> bool:
        """True when no aspect of the chain looks at its runs."""
        return not (self.starts or self.ends or self.completes)

    def of_run(self, run: Run, first: Step) -> AspectRun:
        """Give what accompanies one run, which begins at a step."""
        return AspectRun(self, run, first)


def _nodes(chain: Chain, aspect: Aspect) -> frozenset[str] | None:
    if not aspect.types and not aspect.nodes:
        return None
    steps = chain.compiled.steps
    return frozenset(step.node_id for step in steps if covers(aspect, step.node, step.component))


class AspectRun:
    """One run and the aspects around it.

    Attributes:
        started: True once all `start` have let the message in: `end` and `completed` are called only then.
    """

    __slots__ = ("_aspects", "_cleanups", "_first", "_known", "_run", "started")

    def __init__(self, aspects: RunAspects, run: Run, first: Step) -> None:
        self._aspects = aspects
        self._run = run
        self._first = first
        self._known: set[int] = set()
        self._cleanups: list[Callable[[], None]] = []
        self.started = False

    async def start(self, message: Message) -> Message | None:
        """Give the message with which the run begins; None when it does not, and its end is written down.

        Raises:
            CancelledError: When the run is stopped meanwhile.
        """
        run = self._run
        ctx = Context(run, None, self._first, None, "")
        try:
            for start in self._aspects.starts:
                message = await self._message(start(ctx, message), message)
        except CancelledError:
            run.end_with("", Failed(RunCancelled(run.root.stopping or CANCELLED, run_id=run.root.id)), message)
            raise
        except Exception as error:
            relation, failed = failure(error, message, ctx)
            assert isinstance(relation, Failed)
            run.end_with("", relation, failed)
            return None
        self.started = True
        if self._aspects.ends:
            run.attended = True
        return message

    async def ended(self, made: int, upto: int) -> None:
        """Let aspects look at some ends of the run, and put what they return in their place."""
        if not self.started or not self._aspects.ends:
            return
        ends = self._run.ends
        for number in range(made, upto):
            if number not in self._known:
                self._known.add(number)
                ends[number] = await self._changed(ends[number])

    async def _changed(self, end: End) -> End:
        run = self._run
        if end.gated:
            return end
        ctx = Context(run, None, run.compiled.by_id.get(end.node_id) or self._first, None, end.relation)
        message = end.message
        try:
            for look, nodes in self._aspects.ends:
                if nodes is None or end.node_id in nodes:
                    message = await self._message(look(ctx, message, end.relation, end.error), message)
        except Exception as error:
            relation, failed = failure(error, message, ctx)
            return end._replace(relation=FAILURE, message=failed, error=getattr(relation, "error", error))
        return end if message is end.message else end._replace(message=message)

    async def completed(self, message: Message) -> None:
        """Let aspects look at what the run came to: at ends that were cut off, and at the outcome."""
        if not self.started:
            return
        run = self._run
        await self.ended(0, len(run.ends))
        if not self._aspects.completes:
            return
        ctx = Context(run, None, self._first, None, "")
        outcome = Outcome(run, message)
        for look in self._aspects.completes:
            result = outcome.message
            try:
                changed = await self._message(look(ctx, result, outcome), result)
            except Exception:
                logger.exception("completed of an aspect raised", extra={"run_id": run.root.id})
            else:
                if changed is not result:
                    self._put_result(outcome, changed)

    def _put_result(self, outcome: Outcome, message: Message) -> None:
        """Put a message in the place of that of the outcome; of a sub-run, which has none, in that of its end."""
        run = self._run
        answer = outcome.answer
        if run.parent is None or answer is None:
            run.result = message
        else:
            number = next(number for number, end in enumerate(run.ends) if end is answer)
            run.ends[number] = answer._replace(message=message)

    def over(self) -> None:
        """Call what is to be called when the run is over, the last one first."""
        while self._cleanups:
            try:
                self._cleanups.pop()()
            except Exception:
                logger.exception("what an aspect does after a run raised", extra={"run_id": self._run.root.id})

    def add_cleanup(self, call: Callable[[], None]) -> None:
        """Have something called when the run is over."""
        self._cleanups.append(call)

    async def _message(self, given: Any, present: Message) -> Message:
        """Give the message that an aspect returned, awaited if it is to be; the present one for None."""
        if hasattr(given, "__await__"):
            await self._may_wait(given)
            given = await given
        return present if given is None else checked(given)

    async def _may_wait(self, given: Any) -> None:
        """Make sure that an event loop is there, and that the run can be stopped while it waits.

        Raises:
            CancelledError: When it has been stopped before it began.
        """
        root = self._run.root
        try:
            if not root.has_loop:
                await ask_for_loop(root)
            elif root.task is None:
                root.arm()
            if not self.started and not root.live:
                raise CancelledError
        except BaseException:
            getattr(given, "close", _nothing)()  # a coroutine that is never going to run
            raise


def _nothing() -> None:
    """Stand in for the `close` of what has none."""


def when_over(ctx: Context, call: Callable[[], None]) -> None:
    """Have something called when the run is over, however it ends: to be used in `start`, for what `start` takes.

    Raises:
        EngineError: Elsewhere than in `start`.
    """
    run = ctx._run
    if run is None or run.aspects is None:
        raise EngineError("when_over() is for the start of an aspect", hint="in around, use try and finally")
    run.aspects.add_cleanup(call)


def runs_of(chain: Chain) -> RunAspects | None:
    """Give what the aspects of a chain bring to its runs; None when they leave them alone."""
    aspects = RunAspects(chain)
    return None if aspects.is_empty else aspects

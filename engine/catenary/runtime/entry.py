"""How a run begins and is brought to its outcome, with an event loop and without."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from time import monotonic
from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError, StepLimitReached
from catenary.events import RunCompleted, RunFailed, RunPaused, RunStarted, RunWasCancelled
from catenary.message import Message
from catenary.outcome import Outcome
from catenary.relation import Failed
from catenary.runtime.run import CANCELLED, Halt, Run, ask_for_loop
from catenary.runtime.scope import Scope
from catenary.runtime.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping

    from catenary.chain import Chain
    from catenary.events import Listener
    from catenary.runtime.tokens import Token

NO_NODES = "the rule chain has no nodes"


def begin(run: Run, message: Message, start: str | Iterable[str] | None) -> None:
    """Give a run its first tokens. Raises: EngineError: when a start node does not exist."""
    compiled = run.compiled
    if start is None:
        first = compiled.first
        if first is None:
            run.end_with("", Failed(EngineError(NO_NODES)), message)
        else:
            run.start(((first, message),))
        return
    names = [start] if isinstance(start, str) else list(start)
    unknown = [name for name in names if name not in compiled.by_id]
    if unknown:
        raise EngineError(f"SetExecuteNodes node id={unknown[0]} not found", hint="start names nodes of the chain")
    run.start([(compiled.by_id[name], message) for name in names])


async def drive(run: Run) -> None:
    """Visit everything a sub-run has ready until it is over.

    Raises:
        CancelledError: When the task is cancelled from outside, or the run is stopped.
        CatenaryError: An error of the kernel.
    """
    ready = run.ready
    try:
        if ready:
            await run.work(ready, None, ready.pop())
            if run.crew is not None:
                await run.crew.settle()
        elif run.attended:
            await run.attend(0)  # a chain without nodes
    except BaseException as error:
        fault = await run.wind_up(error)
        if fault is error:
            raise
        raise fault from None
    finally:
        run.let_go()


async def perform(  # noqa: C901 - what every run goes through, without a call more
    chain: Chain,
    message: Any,
    start: str | Iterable[str] | None,
    timeout: float | None,
    scope: Iterable[Any] | Mapping[type, Any] | None,
    listener: Listener | None,
    *,
    has_loop: bool = True,
) -> Outcome:
    """Run a message through a chain and bring the run to its outcome.

    Raises:
        EngineError: When a start node does not exist, or the chain is in service no more.
        CancelledError: When the calling task was cancelled; everything the run had started is over by then.
    """
    if chain.retired:  # reloaded since somebody asked for this run: its components may be closed
        chain = chain.successor()
    run = _new_run(chain, listener, scope)
    if message.__class__ is not Message and not isinstance(message, Message):
        message = Message(message)
    if not has_loop:
        run.has_loop = False
    if timeout is not None:
        _limit_time(run, timeout)
    watch = run.watch
    token: Token | None = None
    chain.active += 1
    try:
        if chain.must_open:
            await open_rest(chain, run)
        if watch is not None:
            watch.publish(RunStarted, chain.id, message=message)
        entry = run.compiled.entry
        if start is None and entry is not None:
            token = (entry, message, None, "")
        else:
            begin(run, message, start)
            token = run.ready.pop() if run.ready else None
            if token is None and run.attended:
                await run.attend(0)  # a chain without nodes
        if token is not None and timeout is None:
            token = run.glide(run.ready, token)
        if token is not None:
            await run.work(run.ready, None, token)
            if run.crew is not None:
                await run.crew.settle()
    except BaseException as error:
        await _cut_short(chain, run, error)
    finally:
        if token is not None or timeout is not None:
            run.let_go()
        chain.active -= 1
        if chain.retired and not chain.active:
            await chain.close_if_idle(has_loop=run.has_loop)
    outcome = Outcome(run, message)
    if watch is not None:
        _publish_outcome(chain, run, outcome)
    return outcome


def _limit_time(run: Run, timeout: float) -> None:
    run.deadline = monotonic() + timeout
    run.stride = 1
    if run.has_loop:
        run.arm()


async def _cut_short(chain: Chain, run: Run, error: BaseException) -> None:
    """Bring a run to rest after an error; come back when the outcome tells of it.

    Raises:
        BaseException: What the outcome does not tell of: a cancellation from outside, a mistake of the caller, a bug.
    """
    fault = await run.wind_up(error)
    if isinstance(fault, Halt):
        run.fault = None  # the failure that halted the run is among the ends
        return
    if isinstance(fault, StepLimitReached):
        run.fault = fault
        fault.run_id = run.id
        return
    is_cancelled = isinstance(fault, CancelledError)
    if is_cancelled and run.stopping and not (run.task and run.task.cancelling() > run.cancelling):
        return
    if run.watch is not None and is_cancelled:
        run.watch.publish(RunWasCancelled, chain.id, error=CANCELLED)
    elif run.watch is not None:
        run.watch.publish(RunFailed, chain.id, code=getattr(fault, "code", "run.error"), error=str(fault))
    if fault is error:
        raise fault
    raise fault from None


async def open_rest(chain: Chain, run: Run) -> None:
    """Open what a chain opens at first use, on an event loop."""
    if not run.root.has_loop:
        await ask_for_loop(run)
    await chain.open_rest()


def _publish_outcome(chain: Chain, run: Run, outcome: Outcome) -> None:
    assert run.watch is not None
    error = outcome.error
    match outcome.status:
        case "completed":
            run.watch.publish(RunCompleted, chain.id)
        case "paused":
            run.watch.publish(RunPaused, chain.id)
        case "cancelled":
            run.watch.publish(RunWasCancelled, chain.id, error=str(error))
        case _:
            run.watch.publish(RunFailed, chain.id, code=error.code if error else "run.error", error=str(error))


def _new_run(chain: Chain, listener: Listener | None, scope: Iterable[Any] | Mapping[type, Any] | None) -> Run:
    """Make a run of a chain: on its observed compilation when somebody listens."""
    listeners = chain.engine.bus.listeners
    if listener is None and not listeners:
        run = Run(chain.compiled)
        if run.compiled.limits.stop_on_failure:
            run.attended = True
    else:
        run = Run(chain.observed)
        run.watch = Watch(run.id, listeners if listener is None else (*listeners, listener))
        run.attended = True
    if scope is not None:
        run.scope = Scope(scope)
    return run


def drive_by_hand(coroutine: Coroutine[Any, Any, Outcome], loops: Loops) -> Outcome:
    """Run a coroutine to its end without an event loop; when it asks for one, go on with it in a loop of its own.

    Raises:
        EngineError: When it needs an event loop and one is running in this thread already.
    """
    try:
        coroutine.send(None)  # comes back only when `ask_for_loop` yields
    except StopIteration as done:
        return done.value
    if asyncio._get_running_loop() is not None:
        coroutine.close()
        raise EngineError(
            "run_sync() was called inside a running event loop, and the chain has nodes that wait",
            hint="use `await engine.run(...)` there",
        )
    return loops.run(coroutine)


class Loops:
    """Event loops kept for `run_sync`, so that connections outlive one call. Safe to use from many threads."""

    def __init__(self) -> None:
        self._idle: list[asyncio.Runner] = []

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end in an idle loop, or in a new one when all are busy."""
        try:
            runner = self._idle.pop()
        except IndexError:  # not asked beforehand: another thread may be quicker
            runner = asyncio.Runner()
        try:
            return runner.run(coroutine)
        finally:
            self._idle.append(runner)

    @property
    def are_kept(self) -> bool:
        """True while there is a loop to close."""
        return bool(self._idle)

    def close(self) -> None:
        """Close all idle loops. No event loop may run in this thread."""
        while self._idle:
            self._idle.pop().close()

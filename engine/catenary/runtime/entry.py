"""How a run begins and is brought to its outcome, with an event loop and without."""

from __future__ import annotations

from asyncio import CancelledError
from time import monotonic
from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError, RunCancelled, StepLimitReached
from catenary.events import RunCompleted, RunFailed, RunPaused, RunStarted, RunWasCancelled
from catenary.message import Message
from catenary.outcome import Outcome
from catenary.relation import Failed
from catenary.runtime.begin import begin, begin_with, first_step
from catenary.runtime.callbacks import Callbacks
from catenary.runtime.cancelling import CANCELLED, Halt
from catenary.runtime.run import Run, ask_for_loop
from catenary.runtime.scope import Scope
from catenary.runtime.watch import watch_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from catenary.aspects.runs import RunAspects
    from catenary.chain import Chain
    from catenary.options import RunOptions
    from catenary.runtime.tokens import Token

_CALLBACKS = frozenset({"on_end", "on_all_completed", "on_completed", "on_node_completed", "on_debug"})


def perform(chain: Chain, message: Any, options: RunOptions, *, has_loop: bool = True) -> Coroutine[Any, Any, Outcome]:
    """Run a message through a chain and bring the run to its outcome; to be awaited, or driven by hand.

    Raises:
        EngineError: When the chain is in service no more, or cannot be opened.
        CancelledError: When the calling task was cancelled; everything the run had started is over by then.
    """
    if message.__class__ is not Message and not isinstance(message, Message):
        message = Message(message)
    bus = chain.engine.bus
    if options or bus.listeners or bus.recorders or bus.hooks is not None or chain.run_aspects is not None:
        return _perform_watched(chain, message, options, has_loop=has_loop)
    return _perform_plain(chain, message, has_loop=has_loop)


async def _perform_plain(chain: Chain, message: Message, *, has_loop: bool) -> Outcome:
    """Perform a run that nobody told or asked anything: see `perform`."""
    compiled = chain.compiled
    run = Run(compiled)
    if compiled.limits.stop_on_failure:
        run.attended = True
    if not has_loop:
        run.has_loop = False
    chain.runs.add(run)  # before the look at `retired`: a version that has a run is not closed
    if chain.retired:  # reloaded since somebody asked for this run
        chain.runs.discard(run)
        await chain.close_if_idle(has_loop=has_loop)
        return await perform(chain.successor(), message, {}, has_loop=has_loop)
    token: Token | None = None
    try:
        if chain.must_open:
            await open_rest(chain, run)
        if compiled.entry is not None:
            token = (compiled.entry, message, None, "")
        else:
            begin(run, message, None)
            if run.attended and run.ends:
                await run.attend(0)  # a chain without nodes
            token = run.ready.pop() if run.ready else None
        if token is not None:
            token = run.glide(run.ready, token)
        if token is not None:
            await run.work(run.ready, None, token)
            if run.crew is not None:
                await run.crew.settle()
    except BaseException as error:
        await _cut_short(chain, run, error, message)
    finally:
        if token is not None:
            run.let_go()
        chain.runs.discard(run)
        if chain.retired:
            await chain.close_if_idle(has_loop=run.has_loop)
    return Outcome(run, message)


async def _perform_watched(chain: Chain, message: Message, options: RunOptions, *, has_loop: bool) -> Outcome:
    """Perform a run that has options, or that somebody looks at: see `perform`."""
    run = _new_run(chain, options)
    chain.runs.add(run)  # before the look at `retired`, as above
    while chain.retired:
        chain, run = await _on_successor(chain, run, options)
    run.has_loop = has_loop
    timeout = options.get("timeout")
    if timeout is not None:
        _limit_time(run, timeout)
    raised: BaseException | None = None
    try:
        try:
            await _go(chain, run, message, options)
        except BaseException as error:
            try:
                await _cut_short(chain, run, error, message)
                await _complete(run, message)
            except BaseException as fault:
                raised = fault
        return await _end(chain, run, run.given or message, raised)
    finally:
        run.let_go()
        run.calls = None  # it knows the run
        chain.runs.discard(run)
        if chain.retired:
            await chain.close_if_idle(has_loop=run.has_loop)


async def _go(chain: Chain, run: Run, message: Message, options: RunOptions) -> None:
    """Visit everything from the beginning to the last end."""
    if chain.must_open:
        await open_rest(chain, run)
    if run.watch is not None:
        run.watch.publish(RunStarted, chain.id, message=message)
    if chain.run_aspects is None:
        _begin(run, message, options)
    else:
        run.given = await _begin_with_aspects(chain.run_aspects, run, message, options)
    if run.attended and run.ends:
        await run.attend(0)  # nothing follows where it was to begin
    if run.ready:
        await run.work(run.ready, None, run.ready.pop())
        if run.crew is not None:
            await run.crew.settle()
    await _complete(run, message)


async def _complete(run: Run, message: Message) -> None:
    """Let aspects look at what a run came to. Raises: CancelledError: also when they swallow it."""
    if run.aspects is not None:
        await run.aspects.completed(run.given or message)
        if run.is_cancelled_by_caller:
            raise CancelledError


async def _end(chain: Chain, run: Run, message: Message, raised: BaseException | None) -> Outcome:
    """Tell everybody what a run came to, and give it. Raises: BaseException: what the run `raised`."""
    run.let_go()
    if run.aspects is not None:
        run.aspects.over()
    watch = run.watch
    if watch is not None:
        await watch.later.settle(run)
    if run.calls is not None:
        await run.calls.over()
    outcome = Outcome(run, message)
    if watch is not None and raised is None:
        _publish_outcome(chain, run, outcome)
    if run.calls is not None:
        await run.calls.completed(watch.record if watch else None, chain, outcome)
    if raised is not None:
        raise raised
    return outcome


def _begin(run: Run, message: Message, options: RunOptions) -> None:
    """Give a run its first tokens; one that cannot begin ends its message as `Failure`."""
    try:
        begin_with(run, message, options)
    except EngineError as error:
        run.fault = error
        run.end_with("", Failed(error), message)


async def _begin_with_aspects(aspects: RunAspects, run: Run, message: Message, options: RunOptions) -> Message:
    """Give a run its first tokens with the message as aspects leave it, unless it cannot begin."""
    first = first_step(run.compiled, options)
    given: Message | None = message
    if first is not None:
        run.aspects = aspects.of_run(run, first)
        given = await run.aspects.start(message)
    if given is None:
        return message
    _begin(run, given, options)
    return given


async def _on_successor(chain: Chain, run: Run, options: RunOptions) -> tuple[Chain, Run]:
    """Begin again on the version that is in service. Raises: EngineError: when there is none, or it takes in no more.

    What a run that never began leaves behind is closed here: its version may have waited for it.
    """
    chain.runs.discard(run)
    await chain.close_if_idle(has_loop=run.has_loop)
    chain = chain.successor()
    run = _new_run(chain, options)
    chain.runs.add(run)
    return chain, run


def _limit_time(run: Run, timeout: float) -> None:
    run.deadline = monotonic() + timeout
    run.stride = 1
    if run.has_loop:
        run.arm()


async def _cut_short(chain: Chain, run: Run, error: BaseException, message: Message) -> None:
    """Bring a run to rest after an error; come back when the outcome tells of it.

    Raises:
        BaseException: What the outcome does not tell of: a cancellation from outside, a mistake of the caller, a bug.
    """
    fault = await run.wind_up(error)
    if isinstance(fault, Halt):
        return
    if isinstance(fault, StepLimitReached):
        run.fault = fault
        fault.run_id = run.id
        return
    is_cancelled = isinstance(fault, CancelledError)
    if is_cancelled and run.stopping and not run.is_cancelled_by_caller:
        return
    if is_cancelled and run.stopping is None:
        run.stopping = CANCELLED  # from outside; whoever is told of the outcome hears so
    if run.calls is not None and not run.ends:  # it never began
        reason = RunCancelled(CANCELLED, run_id=run.id) if is_cancelled else fault
        run.end_with("", Failed(reason), message)
    if run.watch is not None and is_cancelled:
        run.watch.publish(RunWasCancelled, chain.id, error=CANCELLED)
    elif run.watch is not None:
        run.watch.publish(RunFailed, chain.id, code=getattr(fault, "code", "run.error"), error=str(fault))
    if fault is error:
        raise fault
    raise fault from None


async def open_rest(chain: Chain, run: Run) -> None:
    """Open what a chain opens at first use, on an event loop."""
    root = run.root
    if not root.has_loop:
        await ask_for_loop(run)
    elif root.task is None:
        root.arm()  # so that it can be stopped meanwhile
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


def _new_run(chain: Chain, options: RunOptions) -> Run:
    """Make a run of a chain: on its observed compilation when somebody listens."""
    bus = chain.engine.bus
    watch = watch_of(chain, options)
    run = Run(chain.compiled if watch is None else watch.compiled_of(chain))
    run.attended = run.compiled.limits.stop_on_failure
    run._id = options.get("run_id") or None
    if watch is not None:
        watch.attach(run)
    scope = options.get("scope")
    if scope is not None:
        run.scope = Scope(scope)
    outputs = options.get("outputs")
    if outputs:
        run.outputs = dict(outputs)
    if bus.hooks is not None or not options.keys().isdisjoint(_CALLBACKS):
        run.calls = Callbacks(run, options, bus.hooks)
    return run

"""One run: the async driver around the inline loop. Tasks only for siblings that wait."""

from __future__ import annotations

import asyncio
import uuid
from asyncio import CancelledError
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any

from catenary.errors import CatenaryError, DepthLimitReached, RunCancelled, StepLimitReached
from catenary.relation import FAILURE, PAUSED, Relation
from catenary.runtime.compiled import AsyncStep, Step
from catenary.runtime.context import Context
from catenary.runtime.crew import Crew
from catenary.runtime.early import EarlyRun
from catenary.runtime.emission import failure, first_of, is_pair
from catenary.runtime.ends import End
from catenary.runtime.inline import ATTEND, SENT
from catenary.runtime.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from catenary.aspects.runs import AspectRun
    from catenary.message import Message
    from catenary.runtime.callbacks import Callbacks
    from catenary.runtime.compiled import Compiled
    from catenary.runtime.tokens import Ready, Token
    from catenary.runtime.watch import Watch

ASYNC_STRIDE = 16  # visits of async nodes between two looks at the clock
SLICE_S = 0.005  # how long one chain may keep the event loop to itself

CANCELLED = "processing cancelled: context canceled"
EXPIRED = "processing cancelled: context deadline exceeded"
SUSPENDED = "processing paused: a node waits for an answer, and the engine was closed"


@coroutine
def ask_for_loop(run: Run) -> Generator[None, None, None]:
    """Tell whoever drives this coroutine by hand that from here on the run, and those around it, need an event loop."""
    yield
    run.root.has_loop = True
    run.root.arm()


class Halt(CatenaryError):
    """Ends a run whose chain stops at the first failure; never seen outside the kernel."""


class Run(EarlyRun):
    """The journey of one message through one compiled chain: the core, and what drives it. Sub-runs have a `parent`.

    Attributes:
        crew: The tasks of the run, once there are any.
        result: What an aspect put in the place of the message of the outcome, or None.
        depth: How deep the run is nested in others.
        stopping: Why the run is being stopped: one of the texts above, or None. Asked of the root.
        given: The message as aspects let the run begin with it, or None.
        fault: The error of the kernel, or of the host's code, that ends this run.
        task: The asyncio task that drives the run, once somebody needs to know it.
        since: When the run last gave way to others between sub-runs, on the monotonic clock. Asked of the root.
        cancelling: How often that task had been asked to stop when the run began.
        cancels: 1 once the kernel itself has cancelled the task.
        has_loop: False while the run is driven by hand, without an event loop. Asked of the root.
        deadline: The end of the run's time on the monotonic clock, or None. Asked of the root.
        watch: Who looks at the run: its listeners and recorders; or None.
        calls: What is told to the host on the way and afterwards, or None.
        aspects: What aspects do with this run, or None.
        outputs: What referenced nodes last sent on, by node id.
        parent_visit: The number of the visit that a sub-run belongs to; 0 at the top.
        parent_step: The node that this visit is of; asked of sub-runs only.
    """

    # Defaults of the class: most runs set none of them.
    has_loop = True
    crew: Crew | None = None
    result: Message | None = None
    depth = 0
    parent: Run | None = None
    parent_visit = 0
    parent_step: Step
    each: Callable[[End], Awaitable[None]] | None = None
    watch: Watch | None = None
    calls: Callbacks | None = None
    given: Message | None = None
    aspects: AspectRun | None = None
    stopping: str | None = None
    fault: BaseException | None = None
    task: asyncio.Task[Any] | None = None
    timer: asyncio.TimerHandle | None = None
    deadline: float | None = None
    cancelling = 0
    since = 0.0
    cancels = 0
    outputs: dict[str, Message] | None = None
    _root: Run | None = None
    _scope: Scope | None = None
    _id: str | None = None

    @classmethod
    def inside(
        cls, parent: Run, compiled: Compiled, ctx: Context, depth: int, each: Callable[[End], Awaitable[None]] | None
    ) -> Run:
        """Make a sub-run that belongs to a visit of another run."""
        run = cls(compiled)
        run.parent = parent
        run.parent_visit = ctx.visit
        run.parent_step = ctx._step
        run._root = parent.root
        run.stride = run.root.stride
        watch = run.watch = parent.watch
        run.each = each
        run.depth = depth
        run.attended = each is not None or (watch is not None and watch.is_heard) or compiled.limits.stop_on_failure
        return run

    @property
    def root(self) -> Run:
        """The run at the top; this one if it is no sub-run."""
        return self if self._root is None else self._root

    @property
    def id(self) -> str:
        """The id of the run, made when it is first read."""
        if self._id is None:
            self._id = str(uuid.uuid4())
        return self._id

    @property
    def scope(self) -> Scope:
        """The values of the run, made when they are first asked for."""
        if self._scope is None:
            self._scope = Scope(parent=self.parent.scope if self.parent else None)
        return self._scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self._scope = scope

    async def wind_up(self, error: BaseException) -> BaseException:
        """Stop what is still running after an error, write down which branches were cut off, and give what to raise."""
        if self.crew is not None:
            await self.crew.stop()
        for token in self.ready:
            self.interrupted(token)
        self.ready.clear()
        self._abandon_joins()
        if self.cancels:
            assert self.task is not None
            self.task.uncancel()
        return error if self.fault is None else self.fault

    def let_go(self) -> None:
        """Forget what knows the run itself: no circle is left for the collector."""
        self.task = None
        if self.crew is not None:
            self.crew = None
        if self.timer is not None:
            self.timer.cancel()
        if self.timers is not None:
            self.disarm_joins()

    async def work(  # noqa: C901, PLR0912 - what is awaited, in one place
        self, ready: Ready, crew: Crew | None, token: Token | None, *, in_task: bool = False
    ) -> None:
        """Visit a token, what follows it, and whatever else is ready, until nothing is.

        Args:
            ready: The tokens that may be visited besides; others may add to it meanwhile.
            crew: Whose tokens these are; None for the run's own crew, which is made when it is needed.
            token: The first one to visit; None for none.
            in_task: True when the token is an async one that got this task for itself, and is awaited in place.
        """
        root = self.root
        has_loop = root.has_loop
        since = 0.0
        countdown = stride = min(self.stride, ASYNC_STRIDE)
        task: asyncio.Task[Any] | None = None
        cancelling = 0
        kept: Token | None = None
        if self.unarmed:
            self.arm_joins()
        while token is not None:
            step, message, sender, relation = token
            countdown -= 1
            if not isinstance(step, AsyncStep):
                if step is not ATTEND:
                    since = await self._breathe(since, token)
                else:
                    await self.attend(*(message or (self.made,)))
                    if not ready:
                        break
                    token = ready.pop()
                token = self.glide(ready, token)
                if self.unarmed:
                    self.arm_joins()
                continue
            if not countdown:
                countdown = stride
                since = await self._breathe(since, token)
            if crew is None:
                crew = self.crew = self.crew or Crew(self, ready, self.depth)
            if not has_loop and (step.waits or root.has_loop):
                if not root.has_loop:
                    await ask_for_loop(root)
                has_loop = True
            if has_loop:
                if ready and not in_task:
                    # Others wait behind this one: they go on here, or get tasks. The first is awaited in place after
                    # that, for a task starts only when this one waits: so all start in the order written.
                    if kept is None:
                        kept = token
                        ready.insert(0, token)
                    else:
                        crew.spawn(token)
                    token = self.glide(ready, ready.pop())
                    if self.unarmed:
                        self.arm_joins()
                    continue
                if task is None:
                    task = asyncio.current_task()
                    assert task is not None
                    cancelling = task.cancelling()
                    if self.task is None:  # so that it can be stopped from outside
                        self.task, self.cancelling = task, cancelling
                    if cancelling:
                        await self._let_through(token)
            in_task = False
            ctx = Context(self, crew, step, sender, relation)
            if cancelling:
                ctx._cancelling = cancelling
            try:
                emission = await step.run(ctx, message)
            except (Exception, CancelledError) as error:
                emission = failure(error, message, ctx)
            ctx._crew = None
            if task is None and root.has_loop:  # the loop came while the node was at work
                has_loop, task, cancelling = True, root.task, root.cancelling
            if not root.live or not self.live or (task is not None and task.cancelling() > cancelling):
                # Also when the node swallowed the cancellation: there is no next hop.
                self.interrupted(token)
                raise CancelledError
            leaving: Any = emission
            if emission.__class__ is Relation:
                following = step.plain.get(leaving)
                if isinstance(following, AsyncStep):  # the usual way on, without a call
                    token = (following, message, step, leaving)
                    continue
            elif (emission is None or leaving == []) and ctx.has_emitted:
                leaving = SENT
            token = self.glide(ready, token, leaving)
            if self.unarmed:
                self.arm_joins()

    async def emit_from(self, ctx: Context, relation: Relation | str, message: Message) -> None:
        """Send one emission of a visit that goes on, and wait until all that came of it is done."""
        self.check(ctx)
        if not is_pair((relation, message)):
            raise TypeError(f"emit({relation!r}, {message!r}): a relation and a message are asked for")
        assert ctx._crew is not None
        depth = self.deeper(ctx._crew.depth)
        step = ctx._step
        if isinstance(step, AsyncStep) and step.emitting is not None:
            message = await step.emitting(ctx, relation, message)
            self.check(ctx)
        crew = Crew(self, [], depth)
        made = len(self.ends)
        try:
            if isinstance(step, AsyncStep) and step.keeps_output:
                ctx.keep_output(message)
            self.emit(step, relation, message, crew.ready)
            if self.watch is not None:
                self.watch.emitted(ctx, relation, message)
            if self.due:
                self.fire_due(crew.ready)
            if self.unarmed:
                self.arm_joins()
            if self.attended:
                await self.attend(made)
            if crew.ready:
                await crew.drive()
            if self.fired_early and self.crew is not None and self.root.has_loop:
                self.fired_early = False
                self.crew.spawn_all()  # the join does not wait for this visit
        except (StepLimitReached, Halt) as error:
            # Such an error ends the run: the node that emits must not take it for its own.
            self.live = False
            self.fault = self.fault or error
            raise CancelledError from error

    def check(self, ctx: Context) -> None:
        """Let a visit that is being cancelled start nothing more. Raises: CancelledError: when it is."""
        root = self.root
        task = asyncio.current_task() if root.has_loop else None
        if not root.live or not self.live or (task is not None and task.cancelling() > ctx.cancelling):
            raise CancelledError

    def arm(self) -> None:
        """Note the task that drives the run, and stop it when its time is over. Asked of the root."""
        self.task = task = asyncio.current_task()
        self.cancelling = task.cancelling() if task else 0
        if self.deadline is not None:
            self.timer = asyncio.get_running_loop().call_later(self.deadline - monotonic(), self.stop, EXPIRED)
        later, self.later = self.later, None
        for run, number, arrivals, until in later or ():
            run.arm_join(number, arrivals, until)

    def deeper(self, depth: int) -> int:
        """Give the depth one further down. Raises: DepthLimitReached: when that is too deep."""
        limit = self.root.compiled.limits.max_depth
        if depth >= limit:
            raise DepthLimitReached(
                f"sub-runs and emissions are nested {depth} deep, which is the limit",
                run_id=self.root.id,
                hint="look for a chain that runs itself, or raise ruleChain.configuration.maxDepth",
            )
        return depth + 1

    def stop(self, reason: str) -> None:
        """Stop the run from outside: cancel what runs, and let open branches end as `Failure` with this text."""
        if self.stopping is None:
            self.stopping = reason
            self.live = False
            self._cancel_task()

    def abort(self, error: BaseException) -> None:
        """End the run with an error that a task of it met; the task that drives it raises it."""
        if self.fault is None:
            self.fault = error
            self.live = False
        self._cancel_task()

    def _cancel_task(self) -> None:
        if self.task is not None and not self.cancels:
            self.cancels = 1
            self.task.cancel()

    def interrupted(self, token: Token) -> None:
        """Write down that a branch was cut off where it stood."""
        step, message, _, _ = token
        if step is ATTEND:
            self._tell_watch(*(message or (self.made,)))
        elif self.letting_go and self.live and self.root.live:
            made = len(self.ends)
            self.drop(step, message)
            self.tell_later(made)
        else:
            self._cut_off(step, first_of(message))

    def _tell_watch(self, made: int, upto: int | None = None) -> None:
        if self.watch is not None:
            for end in self.ends[made:upto]:
                self.watch.ended(self, end)

    def _abandon_joins(self) -> None:
        arrived = self.arrived
        if arrived:
            for number, arrivals in arrived.items():
                self._cut_off(self.compiled.joins[number], arrivals[0].message)
            arrived.clear()

    def _cut_off(self, step: Step, message: Message) -> None:
        text = self.root.stopping or CANCELLED
        if text == SUSPENDED:
            end = End(step.node_id, PAUSED, message)
        else:
            end = End(step.node_id, FAILURE, message.put("errorMsg", text), RunCancelled(text, run_id=self.root.id))
        self.ends.append(end)
        if self.watch is not None:
            self.watch.ended(self, end)

    async def _let_through(self, token: Token) -> None:
        """Let others run, and let a cancellation that was asked for stop the run here: a node would fail by it."""
        try:
            await asyncio.sleep(0)
        except CancelledError:
            self.interrupted(token)
            raise

    async def attend(self, made: int, upto: int | None = None) -> None:
        """Hand the ends made since to whoever asked for each, and halt the run at a failure if it is to."""
        ends = self.ends
        if upto is None:
            upto = len(ends)  # others may end while this waits, and they are attended to by themselves
        if self.aspects is not None:
            await self.aspects.ended(made, upto)
        fresh = ends[made:upto]
        if self.watch is not None:
            for end in fresh:
                self.watch.ended(self, end)
        if self.each is not None:
            for end in fresh:
                await self.each(end)
        if self.compiled.limits.stop_on_failure and any(end.relation == FAILURE for end in fresh):
            raise Halt(CANCELLED)

    def is_due(self) -> bool:
        """Tell whether sub-runs have kept the event loop, or the clock unread, for long enough. Asked of the root."""
        now = monotonic()
        if not self.since:
            self.since = now
        return now - self.since >= SLICE_S

    async def give_way(self) -> None:
        """Let others run between two sub-runs, and stop a run that is out of time. Asked of the root.

        Raises:
            CancelledError: When the run is being stopped.
        """
        if self.deadline is not None and monotonic() >= self.deadline and self.stopping is None:
            self.stopping = EXPIRED
            self.live = False
        if self.has_loop:
            await asyncio.sleep(0)
        self.since = monotonic()
        if not self.live:
            raise CancelledError

    async def _breathe(self, since: float, token: Token) -> float:
        """Look at the clock: stop a run that is out of time, and let others run after a while."""
        now = monotonic()
        root = self.root
        if root.deadline is not None and now >= root.deadline and root.stopping is None:
            root.stopping = EXPIRED
            root.live = False
        if not root.live or not self.live:
            self.interrupted(token)
            raise CancelledError
        if not since or not root.has_loop or now - since < SLICE_S:
            return since or now
        await self._let_through(token)
        return monotonic()

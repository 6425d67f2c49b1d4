"""One run: the async driver around the inline loop. Tasks only for siblings that wait."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any

from catenary.errors import DepthLimitReached, EngineError, StepLimitReached
from catenary.relation import FAILURE, OrElse, Relation
from catenary.runtime.cancelling import CANCELLED, EXPIRED, CancellableRun, Halt
from catenary.runtime.compiled import AsyncStep
from catenary.runtime.context import Context
from catenary.runtime.crew import Crew
from catenary.runtime.emission import failure, is_pair
from catenary.runtime.inline import ATTEND, SENT
from catenary.runtime.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from typing import Self

    from catenary.aspects.runs import AspectRun
    from catenary.message import Message
    from catenary.runtime.callbacks import Callbacks
    from catenary.runtime.compiled import Compiled
    from catenary.runtime.ends import End
    from catenary.runtime.tokens import Ready, Token

ASYNC_STRIDE = 16  # visits of async nodes between two looks at the clock
SLICE_S = 0.005  # how long one chain may keep the event loop to itself


@coroutine
def ask_for_loop(run: Run, within: Context | None = None) -> Generator[None, None, None]:
    """Tell whoever drives this coroutine by hand that from here on the run, and those around it, need an event loop.

    What waits behind the visits that go on gets tasks then.

    Args:
        run: The run.
        within: The visit of it that asks, if one does.
    """
    yield
    run.root.has_loop = True
    run.root.arm()
    visit = within or run.within
    while visit is not None and (crew := visit._crew) is not None:
        crew.spawn_all()
        visit = crew.emitter or crew.run.within


class Run(CancellableRun):
    """The journey of one message through one compiled chain: the core, and what drives it. Sub-runs have a `parent`.

    Attributes:
        result: What an aspect put in the place of the message of the outcome, or None.
        depth: How deep the run is nested in others.
        given: The message as aspects let the run begin with it, or None.
        since: When the run last gave way to others between sub-runs, on the monotonic clock. Asked of the root.
        deadline: The end of the run's time on the monotonic clock, or None. Asked of the root.
        calls: What is told to the host on the way and afterwards, or None.
        aspects: What aspects do with this run, or None.
        outputs: What referenced nodes last sent on, by node id.
        parent_visit: The number of the visit that a sub-run belongs to; 0 at the top.
        within: This visit, for sub-runs.
    """

    # Defaults of the class: most runs set none of them.
    result: Message | None = None
    depth = 0
    parent_visit = 0
    within: Context | None = None
    each: Callable[[End], Awaitable[None]] | None = None
    calls: Callbacks | None = None
    given: Message | None = None
    aspects: AspectRun | None = None
    deadline: float | None = None
    since = 0.0
    outputs: dict[str, Message] | None = None
    _scope: Scope | None = None

    @classmethod
    def inside(
        cls, parent: Self, compiled: Compiled, ctx: Context, depth: int, each: Callable[[End], Awaitable[None]] | None
    ) -> Self:
        """Make a sub-run that belongs to a visit of another run."""
        run = cls(compiled)
        run.parent = parent
        run.parent_visit = ctx.visit
        run.within = ctx
        run._root = parent.root
        run.stride = run.root.stride
        watch = run.watch = parent.watch
        run.each = each
        run.depth = depth
        run.attended = each is not None or (watch is not None and watch.is_heard) or compiled.limits.stop_on_failure
        return run

    @property
    def scope(self) -> Scope:
        """The values of the run, made when they are first asked for."""
        if self._scope is None:
            self._scope = Scope(parent=self.parent.scope if self.parent else None)
        return self._scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self._scope = scope

    async def work(  # noqa: C901, PLR0912 - what is awaited, in one place
        self, ready: Ready, crew: Crew | None, first: Token, task: asyncio.Task[Any] | None = None
    ) -> None:
        """Visit a token, what follows it, and whatever else is ready, until nothing is.

        Args:
            ready: The tokens that may be visited besides; others may add to it meanwhile.
            crew: Whose tokens these are; None for the run's own crew, which is made when it is needed.
            first: The first one to visit.
            task: The task that a crew has made for the token, if it has.
        """
        token: Token | None = first
        root = self.root
        has_loop = root.has_loop
        since = 0.0
        countdown = stride = min(self.stride, ASYNC_STRIDE)
        cancelling = 0
        kept: Token | None = None
        is_own = task is not None and isinstance(first[0], AsyncStep)  # it got this task for itself
        # A caller cancels the task that drives the run, and a node at work there may take its time to clean up. What
        # goes on beside it would not know: so it is awaited there only while there is nothing beside it.
        beside = crew is None and self.compiled.hurried
        if self.unarmed:
            self.arm_joins()
        if task is not None:
            if not root.live or not self.live:
                self.interrupted(first, crew)
                return
            if self.closed and self.leave_behind(first):
                is_own = False
                token = ready.pop() if ready else None
        while token is not None:
            step, message, sender, relation = token
            countdown -= 1
            if not isinstance(step, AsyncStep):
                if step is not ATTEND:
                    since = await self._breathe(since, token, crew)
                else:
                    made, upto = message or (self.made, len(self.ends))
                    if beside and has_loop and (self.each is not None or self.aspects is not None):
                        crew = crew or self.own_crew()
                        crew.spawn((ATTEND, (made, upto), None, ""))
                        break
                    await self.attend(made, upto)
                    if not ready:
                        break
                    token = ready.pop()
                token = self.glide(ready, token)
                if self.unarmed:
                    self.arm_joins()
                continue
            if not countdown:
                countdown = stride
                since = await self._breathe(since, token, crew)
            if crew is None:
                crew = self.own_crew()
            if not has_loop and (step.waits or root.has_loop):
                if not root.has_loop:
                    await ask_for_loop(self, crew.emitter)
                has_loop = True
            if has_loop:
                if task is None:
                    task = asyncio.current_task()
                    assert task is not None
                    cancelling = task.cancelling()
                    if self.task is None:  # so that it can be stopped from outside
                        self.task, self.cancelling = task, cancelling
                    if cancelling:
                        await self._let_through(token, crew)
                if beside or (ready and not is_own):
                    # Others wait behind this one. The first that has to be awaited is kept until they have gone on
                    # here; when one of them is to be awaited, too, all get tasks, in the order written.
                    if not beside and kept is None:
                        kept = token
                        ready.insert(0, token)
                    else:
                        if not beside and ready[0] is kept:
                            crew.spawn(ready.pop(0))
                        beside = True
                        crew.spawn(token)
                        if not ready:
                            break
                    token = ready.pop()
                    if token[0].__class__ is not AsyncStep:
                        token = self.glide(ready, token)
                        if self.unarmed:
                            self.arm_joins()
                    continue
            is_own = False
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
                self.interrupted(token, crew)
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
        """Send one emission of a visit that goes on, and wait until all that came of it is done: see `Context.emit`."""
        if ctx._crew is None:
            raise EngineError(
                f"node {ctx.node_id!r}: emit() after the visit was over",
                hint="await every emit() before run() returns; a plain def returns what it has to say",
            )
        ctx._emitted = True
        task = self.check(ctx)
        if not is_pair((relation, message)):
            raise TypeError(f"emit({relation!r}, {message!r}): a relation and a message are asked for")
        depth = self.deeper(ctx._crew.depth)
        step = ctx._step
        assert isinstance(step, AsyncStep)
        if step.emitting is not None:
            message = await step.emitting(ctx, relation, message)
            task = self.check(ctx)
        if step.keeps_output:
            ctx.keep_output(message)
        try:
            if relation in step.routes or isinstance(relation, OrElse):
                await self._follow_emission(ctx, relation, message, depth)
                return
            made = len(self.ends)
            self.end(step, relation, message)
            if self.watch is not None:
                self.watch.emitted(ctx, relation, message)
            if self.attended:
                await self.attend(made, task=task)
        except (StepLimitReached, Halt) as error:
            # Such an error ends the run: the node that emits must not take it for its own.
            raise CancelledError from error

    async def _follow_emission(self, ctx: Context, relation: Relation | str, message: Message, depth: int) -> None:
        """Send an emission on the way that is connected, or perhaps is, and come back when all of it is done."""
        crew = Crew(self, [], depth, ctx)
        made = len(self.ends)
        self.emit(ctx._step, relation, message, crew.ready)
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

    def arm(self) -> None:
        """Note the task that drives the run, and stop it when its time is over. Asked of the root."""
        self.note_task()
        if self.deadline is not None:
            self.timer = asyncio.get_running_loop().call_later(self.deadline - monotonic(), self.stop, EXPIRED)
        later, self.later = self.later, None
        for run, number, arrivals, until in later or ():
            run.arm_join(number, arrivals, until)

    def own_crew(self) -> Crew:
        """Give the crew of the run itself, made when it is first needed."""
        crew = self.crew
        if crew is None:
            crew = self.crew = Crew(self, self.ready, self.depth)
        return crew

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

    async def _let_through(self, token: Token, crew: Crew | None) -> None:
        """Let others run, and let a cancellation that was asked for stop the run here: a node would fail by it."""
        try:
            await asyncio.sleep(0)
            if self.is_stopped:
                raise CancelledError
        except CancelledError:
            self.interrupted(token, crew)
            raise

    async def attend(self, made: int, upto: int | None = None, task: asyncio.Task[Any] | None = None) -> None:
        """Hand the ends made since to whoever asked for each, and halt the run at a failure if it is to.

        Args:
            made: The first of them.
            upto: The one behind the last; all that there are by default.
            task: The present task, if the caller knows it.

        Raises:
            CancelledError: When the run is being stopped meanwhile, whatever the host makes of it.
        """
        ends = self.ends
        if upto is None:
            upto = len(ends)  # others may end while this waits, and they are attended to by themselves
        if self.each is None and self.aspects is None:
            self.tell_watch(made, upto)
        else:
            if task is None and self.root.has_loop:
                task = asyncio.current_task()
            cancelling = task.cancelling() if task else 0
            try:
                if self.aspects is not None:
                    await self.aspects.ended(made, upto)
            finally:
                self.tell_watch(made, upto)
            if self.each is not None:
                for end in ends[made:upto]:
                    await self.each(end)
            if self.is_stopped or (task is not None and task.cancelling() > cancelling):
                raise CancelledError
        if self.compiled.limits.stop_on_failure and any(end.relation == FAILURE for end in ends[made:upto]):
            raise self.failed(Halt(CANCELLED))

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

    async def _breathe(self, since: float, token: Token, crew: Crew | None) -> float:
        """Look at the clock: stop a run that is out of time, and let others run after a while."""
        now = monotonic()
        root = self.root
        if root.deadline is not None and now >= root.deadline and root.stopping is None:
            root.stopping = EXPIRED
            root.live = False
        if not root.live or not self.live:
            self.interrupted(token, crew)
            raise CancelledError
        if not since or not root.has_loop or now - since < SLICE_S:
            return since or now
        await self._let_through(token, crew)
        return monotonic()

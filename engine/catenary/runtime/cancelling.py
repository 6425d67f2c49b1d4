"""How a run is cancelled: who asks for it, what still runs is stopped, and how branches end that are cut off."""

from __future__ import annotations

import asyncio
import uuid
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import CatenaryError, RunCancelled, StepLimitReached
from catenary.relation import FAILURE, PAUSED
from catenary.runtime.early import EarlyRun
from catenary.runtime.emission import first_of
from catenary.runtime.ends import End
from catenary.runtime.inline import ATTEND

if TYPE_CHECKING:
    from typing import Self

    from catenary.message import Message
    from catenary.runtime.compiled import Step
    from catenary.runtime.context import Context
    from catenary.runtime.crew import Crew
    from catenary.runtime.run import Run
    from catenary.runtime.tokens import Token
    from catenary.runtime.watch import Watch

CANCELLED = "processing cancelled: context canceled"
EXPIRED = "processing cancelled: context deadline exceeded"
SUSPENDED = "processing paused: a node waits for an answer, and the engine was closed"


class Halt(CatenaryError):  # noqa: N818 - never seen outside the kernel
    """Ends a run whose chain stops at the first failure."""


class CancellableRun(EarlyRun):
    """A run that can be stopped: from outside, by an error of one of its tasks, and by whoever cancels its task.

    Attributes:
        crew: The tasks of the run, once there are any.
        watch: Who looks at the run: its listeners and recorders; or None.
        has_loop: False while the run is driven by hand, without an event loop. Asked of the root.
        stopping: Why the run is being stopped: one of the texts above, or None. Asked of the root.
        task: The asyncio task that drives the run, once somebody needs to know it.
        cancelling: How often that task had been asked to stop when the run began.
        cancels: 1 once the kernel itself has cancelled the task.
        timer: What stops the run when its time is over.
    """

    # Defaults of the class: most runs set none of them.
    crew: Crew | None = None
    watch: Watch | None = None
    has_loop = True
    stopping: str | None = None
    task: asyncio.Task[Any] | None = None
    cancelling = 0
    cancels = 0
    timer: asyncio.TimerHandle | None = None
    parent: Self | None = None
    _root: Self | None = None
    _id: str | None = None

    @property
    def root(self) -> Self:
        """The run at the top; this one if it is no sub-run."""
        return self if self._root is None else self._root

    @property
    def id(self) -> str:
        """The id of the run, made when it is first read."""
        if self._id is None:
            self._id = str(uuid.uuid4())
        return self._id

    @property
    def is_stopped(self) -> bool:
        """True when nothing may begin in this run any more: it is stopped, or a run that it is a part of is."""
        run: CancellableRun | None = self
        while run is not None:
            if not run.live:
                return True
            run = run.parent
        return False

    @property
    def is_cancelled_by_caller(self) -> bool:
        """True when others than this run asked its task to stop; to be asked while no node is at work in that."""
        task = self.task
        return task is not None and task.cancelling() - self.cancels > self.cancelling

    def note_task(self) -> None:
        """Take the present task as the one that drives the run, unless it has one."""
        if self.task is None:
            self.task = task = asyncio.current_task()
            self.cancelling = task.cancelling() if task else 0

    def stop(self, reason: str) -> None:
        """Stop the run from outside: cancel what runs, and let open branches end as `Failure` with this text."""
        if self.live:
            self.stopping = reason
            self.live = False
            self._cancel_task()

    def abort(self, error: BaseException) -> None:
        """End the run with an error that a task of it met; the task that drives it raises it."""
        self.failed(error)
        if self.task is not asyncio.current_task():
            self._cancel_task()

    def _cancel_task(self) -> None:
        if self.task is not None and not self.cancels:
            self.cancels = 1
            self.task.cancel()

    def check(self, ctx: Context) -> asyncio.Task[Any] | None:
        """Let a visit that is being cancelled start nothing more. Raises: CancelledError: when it is.

        Returns: the present task, if there is an event loop.
        """
        run = self
        while run.live and run.parent is not None:
            run = run.parent
        if not run.live:
            raise CancelledError
        if not run.has_loop:
            return None
        task = asyncio.current_task()
        if task is not None and (asked := task.cancelling()) and asked > ctx.cancelling:
            raise CancelledError
        return task

    async def wind_up(self, error: BaseException) -> BaseException:
        """Stop what is still running after an error, write down which branches were cut off, and give what to raise.

        A caller that cancelled the run is answered by that: a `CancelledError` comes before other errors.
        """
        self.live = False  # while others clean up nothing may begin, and no time counts
        if self.timer is not None:
            self.timer.cancel()
        if self.crew is not None:
            await self.crew.stop()
        for token in self.ready:
            self.interrupted(token)
        self.ready.clear()
        self._abandon_joins()
        fault = error if self.fault is None else self.fault
        if isinstance(fault, Halt):
            self.fault = None  # the failure that halted the run is among the ends
        if isinstance(fault, Exception) and self.is_cancelled_by_caller:
            fault = CancelledError()
        if self.cancels:
            assert self.task is not None
            self.task.uncancel()
            self.cancels = 0
        return fault

    def let_go(self) -> None:
        """Forget what knows the run itself: no circle is left for the collector."""
        self.task = None
        if self.crew is not None:
            self.crew = None
        if self.timer is not None:
            self.timer.cancel()
        if self.timers is not None:
            self.disarm_joins()

    def interrupted(self, token: Token, crew: Crew | None = None) -> None:
        """Write down that a branch was cut off where it stood.

        Args:
            token: Where that was.
            crew: The crew whose token it is, if any: a run may go on when the emission is over that this belongs to.
        """
        step, message, _, _ = token
        is_over = self.is_stopped
        if step is not ATTEND:
            made = len(self.ends)
            if is_over:
                self._cut_off(step, first_of(message))
            else:
                self._leave_out(step, message, is_late=crew is not None and crew.is_let_go)
            message = made, len(self.ends)
        if is_over:
            self.tell_watch(*message)
        else:
            self.tell_later(*message)

    def _leave_out(self, step: Step, message: Any, *, is_late: bool) -> None:
        """Go on without a branch that was cut off: joins wait for it no more."""
        try:
            if is_late:
                self.drop(step, message)
            else:
                self._cut_off(step, first_of(message))
                self.finish(step)
        except StepLimitReached as error:
            self.abort(error)

    def tell_watch(self, made: int, upto: int | None = None) -> None:
        """Tell the watch of some ends, if there is one."""
        if self.watch is not None:
            for end in self.ends[made:upto]:
                self.watch.ended(cast("Run", self), end)

    def _abandon_joins(self) -> None:
        made = len(self.ends)
        arrived = self.arrived
        if arrived:
            for number, arrivals in arrived.items():
                self._cut_off(self.compiled.joins[number], arrivals[0].message)
            arrived.clear()
        self.tell_watch(made)

    def _cut_off(self, step: Step, message: Message) -> None:
        text = self.root.stopping or CANCELLED
        if text == SUSPENDED:
            end = End(step.node_id, PAUSED, message)
        else:
            end = End(step.node_id, FAILURE, message.put("errorMsg", text), RunCancelled(text, run_id=self.root.id))
        self.ends.append(end)

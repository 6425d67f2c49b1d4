"""Joins that go on early, as a run sees them: their timers, and the visits that are stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from catenary.errors import StepLimitReached
from catenary.runtime.ends import EXPIRED
from catenary.runtime.inline import ATTEND, InlineRun

if TYPE_CHECKING:
    from catenary.clock import Clock, Timer
    from catenary.runtime.compiled import Step
    from catenary.runtime.ends import Arrival
    from catenary.runtime.limited import Visiting
    from catenary.runtime.run import Run
    from catenary.runtime.tokens import Token


class EarlyRun(InlineRun):
    """The inline loop with what joins need that have a time limit, or stop the rest.

    Attributes:
        unarmed: Joins with a time limit that began to wait, and whose time is not measured yet.
        timers: The timers of joins that wait, by number, each with what has arrived there.
        pausing: The nodes that wait for an answer from outside, or in whose sub-runs one does.
        resting: The joins whose time stands still, by number: what has arrived, and the seconds that are left.
        later: Joins of this run and of its sub-runs that wait while there is no event loop, with the end of their time.
        visiting: The visits that a join could stop, and what stops them.
    """

    # Defaults of the class: most runs set none of them.
    unarmed: list[Step] | None = None
    timers: dict[int, tuple[Timer, list[Arrival]]] | None = None
    pausing: list[Step] | None = None
    resting: dict[int, tuple[list[Arrival], float]] | None = None
    later: list[tuple[Run, int, list[Arrival], float]] | None = None
    visiting: set[Visiting] | None = None

    def waits(self, join: Step) -> None:
        """Note that a join with a time limit begins to wait; `arm_joins` is for when the run waits for something."""
        if join.limits is not None and join.limits.timeout_s is not None:
            self.unarmed = [*(self.unarmed or ()), join]

    def arm_joins(self) -> None:
        """Measure the time of joins that began to wait, once there is an event loop."""
        run = cast("Run", self)
        joins, self.unarmed = self.unarmed or (), None
        for join in joins:
            arrivals = (self.arrived or {}).get(join.join)
            if arrivals is None:
                continue
            assert join.limits is not None
            assert join.limits.timeout_s is not None
            until = self._clock.monotonic() + join.limits.timeout_s
            root = run.root
            if root.has_loop:
                self.arm_join(join.join, arrivals, until)
            else:
                root.later = [*(root.later or ()), (run, join.join, arrivals, until)]

    def arm_join(self, number: int, arrivals: list[Arrival], until: float) -> None:
        """Start the timer of a join, unless its time stands still."""
        if self._rests(number):
            self.resting = {**(self.resting or {}), number: (arrivals, until - self._clock.monotonic())}
            return
        cast("Run", self).note_task()
        timers = self.timers
        if timers is None:
            timers = self.timers = {}
        if number in timers:
            timers[number][0].cancel()
        timers[number] = self._clock.call_at(until, self._expire, number, arrivals), arrivals

    def disarm_joins(self) -> None:
        """Stop all timers of joins."""
        for timer, _ in (self.timers or {}).values():
            timer.cancel()
        self.timers = None

    def rest(self, step: Step) -> None:
        """Let the time of the joins that a node can reach stand still: it waits for an answer from outside."""
        self.pausing = [*(self.pausing or ()), step]
        for number in step.reach:
            armed = (self.timers or {}).pop(number, None)
            if armed is not None:
                timer, arrivals = armed
                timer.cancel()
                self.arm_join(number, arrivals, timer.when())

    def go_on(self, step: Step) -> None:
        """Let the time of joins go on that `rest` stopped, as far as no other node keeps it from that."""
        assert self.pausing is not None
        self.pausing.remove(step)
        resting, self.resting = self.resting or {}, None
        for number, (arrivals, left_s) in resting.items():
            self.arm_join(number, arrivals, self._clock.monotonic() + left_s)

    @property
    def _clock(self) -> Clock:
        return self.compiled.joins[0].owner.engine.clock

    def _rests(self, number: int) -> bool:
        return self.pausing is not None and any(number in step.reach for step in self.pausing)

    def _expire(self, number: int, arrivals: list[Arrival]) -> None:
        run = cast("Run", self)
        if run.is_stopped or (self.arrived or {}).get(number) is not arrivals:
            return
        made = len(self.ends)
        try:
            self.fire_early(number, self.ready, relation=EXPIRED)
        except StepLimitReached as error:
            run.abort(error)
            return
        self.tell_later(made, len(self.ends))
        run.own_crew().spawn_all()

    def tell_later(self, made: int, upto: int) -> None:
        """Have some ends told by whoever visits next."""
        if self.attended and upto > made:
            self.ready.append((ATTEND, (made, upto), None, ""))

    def leave_behind(self, token: Token) -> bool:
        """Let a token end as `Late` that got a task before a join stopped the rest. Returns: False if none did."""
        step, message, _, _ = token
        closed = self.closed or set()
        for number in () if step is ATTEND else step.reach:
            limits = self.compiled.joins[number].limits
            if number in closed and limits is not None and limits.stop_rest:
                made = len(self.ends)
                self.drop(step, message)
                self.tell_later(made, len(self.ends))
                return True
        return False

    def stop_visits(self, number: int) -> None:
        """Stop the visits that could still reach a join. Without an event loop nothing can be interrupted."""
        for visiting in list(self.visiting or ()):
            if number in visiting.ctx._step.reach:
                visiting.stop()

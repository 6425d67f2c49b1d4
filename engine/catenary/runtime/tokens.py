"""The deterministic core: where tokens go, when joins fire, how branches end. No I/O, no clock, no event loop.

A token is the tuple `(step, message, sender, relation)`: what is to be visited, with what, and how it got there; at a
join the message is the list of arrivals. Runners take tokens from the ready lists, visit them, and report back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from catenary.errors import StepLimitReached
from catenary.relation import FAILURE, LATE, PAUSES, EndHere, Failed, OrElse, Relation
from catenary.runtime.ends import NOTHING, STOPPED, Arrival, End

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.message import Message
    from catenary.runtime.compiled import Compiled, Route, Step

Token: TypeAlias = "tuple[Step, Any, Step | None, Relation | str]"
Ready: TypeAlias = "list[Token]"
Beginning: TypeAlias = "tuple[Step, Message, Relation | str | None]"
"""Where a run begins: at a step, or behind it by a relation."""

_new: Any = cast("Any", tuple).__new__  # what `End(...)` and `Arrival(...)` come to, without their Python frame


class Core:
    """The tokens of one run.

    Attributes:
        ready: Tokens that may be visited, the next one last.
        ends: How branches ended, in the order they did.
        live: False once the run is stopped, or has a fault: no node is visited any more.
        fault: The error of the kernel, or of the host's code, that ends this run.
        holds: For each join, how many running tokens and waiting joins hold it up.
        arrived: For each waiting join what reached it, in order.
        visits: How often each step on a cycle was visited.
        due: The joins whose quorum has come together just now.
        fired_early: True when a join has fired early, and its token may wait behind a visit that goes on.
        closed: The joins off a cycle that have fired early: what reaches them ends as `Late`.
    """

    # Defaults of the class: a run that needs no counts makes none.
    fault: BaseException | None = None
    holds: list[int] | None = None
    arrived: dict[int, list[Arrival]] | None = None
    visits: dict[Step, int] | None = None
    due: list[int] | None = None
    fired_early = False
    closed: set[int] | None = None

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.ready: Ready = []
        self.ends: list[End] = []
        self.live = True
        if compiled.joins:
            self.holds = [0] * len(compiled.joins)

    def start_at(self, step: Step, message: Message) -> None:
        """Begin with a message at one step."""
        if step.join >= 0:
            self.start([(step, message, None)])
            return
        self._hold(step)
        if step.cyclic:
            self.count(step, message)
        self.ready.append((step, message, None, ""))

    def start(self, places: Iterable[Beginning]) -> None:
        """Begin at each of these places. A message that begins at a join counts as arrived there."""
        batches: list[Ready] = []
        for step, message, relation in places:
            batch: Ready = []
            batches.append(batch)
            if relation is not None:
                self.emit(step, relation, message, batch)
            elif step.join >= 0:
                self._arrive(step, message, None, "")
            else:
                self._hold(step)
                if step.cyclic:
                    self.count(step, message)
                batch.append((step, message, None, ""))
        for batch in reversed(batches):
            self.ready.extend(batch)
        if self.due:
            self.fire_due(self.ready)
        if self.arrived:
            self._fire(tuple(self.arrived))

    def restore(self, join: Step, arrivals: Iterable[Arrival], *, is_closed: bool) -> None:
        """Have what had arrived at a join in another run there, before the run is started."""
        if is_closed:
            self.closed = {*(self.closed or ()), join.join}
        for message, sender, _, relation in arrivals:
            self._arrive(join, message, self.compiled.by_id.get(sender), relation)

    def follow(self, step: Step, relation: Relation | str, message: Message, ready: Ready) -> None:
        """Let the token at `step` leave by `relation`; what can run goes on `ready`, joins that fire on `self.ready`.

        Raises:
            StepLimitReached: When a step on a cycle would be visited too often.
        """
        route = step.routes.get(relation)
        if route is None and isinstance(relation, OrElse):
            route = step.routes.get(relation.default)
            relation = relation if route is None else relation.default
        if route is None:
            self.end(step, relation, message)
            if step.reach:
                self._let_go(step.reach)
        else:
            self.take(route, step, relation, message, ready)

    def take(self, route: Route, step: Step, relation: Relation | str, message: Message, ready: Ready) -> None:
        """Let the token at `step` go by a route of it. Raises: StepLimitReached: as for `follow`."""
        joins = route.joins
        for join in joins:
            self._arrive(join, message, step, relation)
        is_free = False  # whether some join is held up no longer
        if route.deltas:
            holds = self.holds
            assert holds is not None
            for number, change in route.deltas:
                held = holds[number] = holds[number] + change
                if not held:
                    is_free = True
        for target in reversed(route.targets):
            if target.cyclic:
                self.count(target, message)
            ready.append((target, message, step, relation))
        if joins and self.due:
            self.fire_due(ready)
        if is_free and self.arrived:
            self._fire(route.drops)

    def emit(self, step: Step, relation: Relation | str, message: Message, ready: Ready) -> None:
        """Send a message on while the token stays at `step`; joins that are due then are for the caller to fire.

        Raises:
            StepLimitReached: As for `follow`.
        """
        route = step.routes.get(relation)
        if route is None and isinstance(relation, OrElse):
            route = step.routes.get(relation.default)
            relation = relation if route is None else relation.default
        if route is None:
            self.end(step, relation, message)
            return
        for join in route.joins:
            self._arrive(join, message, step, relation)
        for target in reversed(route.targets):
            self._hold(target)
            if target.cyclic:
                self.count(target, message)
            ready.append((target, message, step, relation))

    def finish(self, step: Step, message: Message | None = None) -> None:
        """Let the token at `step` end without leaving.

        With a message the branch ends here with it, by `NOTHING`; without one, all was sent by `emit` before.
        """
        if message is not None:
            self.end(step, NOTHING, message)
        if step.reach:
            self._let_go(step.reach)

    def end(self, step: Step, relation: Relation | str, message: Message, *, is_end_node: bool = False) -> None:
        """Write down that a branch ended at `step`; at an `end` node, `relation` is the one that led there."""
        error = None
        if isinstance(relation, Failed):
            error = relation.error
            relation = FAILURE
        elif isinstance(relation, EndHere):
            is_end_node = relation is not STOPPED
            error = relation.error
            if error is not None:
                message = message.put("errorMsg", str(error))
            relation = LATE if relation is STOPPED else Relation(str.__str__(relation))
        gated = self.compiled.gated and not (is_end_node or relation == FAILURE or relation in PAUSES)
        self.ends.append(_new(End, (step.node_id, relation, message, error, gated)))

    def end_with(self, node_id: str, relation: Failed, message: Message) -> None:
        """Write down a failure that belongs to no step."""
        text = str(relation.error)
        self.ends.append(End(node_id, FAILURE, message.put("errorMsg", text), relation.error))

    def _hold(self, step: Step) -> None:
        if step.reach:
            holds = self.holds
            assert holds is not None
            for join in step.reach:
                holds[join] += 1

    def _let_go(self, reach: tuple[int, ...]) -> None:
        holds = self.holds
        assert holds is not None
        is_free = False
        for number in reach:
            held = holds[number] = holds[number] - 1
            if not held:
                is_free = True
        if is_free and self.arrived:
            self._fire(reach)

    def _arrive(self, join: Step, message: Message, sender: Step | None, relation: Relation | str) -> None:
        arrived = self.arrived
        if arrived is None:
            arrived = self.arrived = {}
        waiting = arrived.get(join.join)
        limits = join.limits
        if waiting is None:
            if limits is not None:
                if self.closed and join.join in self.closed:
                    self.end(join, LATE, message)
                    return
                self.waits(join)
            waiting = arrived[join.join] = []
            holds = self.holds
            assert holds is not None
            for blocked in join.blocks:
                holds[blocked] += 1
        error = relation.error if isinstance(relation, Failed) else None
        waiting.append(_new(Arrival, (message, sender.node_id if sender else "", error, relation)))
        if limits is not None and len(waiting) == limits.quorum:
            self.due = [*(self.due or ()), join.join]

    def waits(self, join: Step) -> None:
        """Take note that a join with limits begins to wait: a runner that has a clock measures its time."""

    def fire_due(self, ready: Ready) -> None:
        """Fire the joins whose quorum has come together. Raises: StepLimitReached: as for `follow`."""
        due, self.due = self.due, None
        for number in due or ():
            self.fire_early(number, ready)

    def fire_early(self, number: int, ready: Ready, *, relation: Relation | str = "") -> None:
        """Fire a join with what arrived so far, if it waits; off a cycle it is closed then.

        Args:
            number: The join.
            ready: Tokens that may run, besides those of `self.ready`.
            relation: How its token came: `EXPIRED_JOIN` when its time is over.

        Raises:
            StepLimitReached: As for `follow`.
        """
        arrived = self.arrived
        if not arrived or number not in arrived:
            return
        join = self.compiled.joins[number]
        arrivals = arrived.pop(number)
        if join.cyclic:
            self.count(join, arrivals)
        else:
            self.closed = {*(self.closed or ()), number}
        self._hold(join)  # before anything is let go: no join that it reaches may fire
        self._unblock(join)
        if join.limits is not None and join.limits.stop_rest:
            self.stop_rest(number, ready)
        self.fired_early = True
        self.ready.append((join, arrivals, None, relation))

    def stop_rest(self, number: int, ready: Ready) -> None:
        """Let all that could still reach a join end as `Late`: waiting tokens here, visits by the runner."""
        stopped: Ready = []
        for tokens in (ready, self.ready) if ready is not self.ready else (ready,):
            stopped += [token for token in tokens if number in token[0].reach]
            tokens[:] = [token for token in tokens if number not in token[0].reach]
        arrived = self.arrived
        assert arrived is not None
        joins = self.compiled.joins
        cut = [joins[other] for other in arrived if number in joins[other].reach]
        for join in cut:
            for arrival in arrived.pop(join.join):
                self.end(join, LATE, arrival.message)
        for join in cut:
            self._unblock(join)
        for step, message, _, _ in stopped:
            self.drop(step, message)
        self.stop_visits(number)
        if arrived:
            self._fire(tuple(arrived))

    def drop(self, step: Step, message: Message | list[Arrival]) -> None:
        """Let the token at `step` end as `Late`, whatever it was about to do."""
        self.end(step, LATE, message[0].message if isinstance(message, list) else message)
        if step.reach:
            self._let_go(step.reach)

    def stop_visits(self, number: int) -> None:
        """Stop the visits that could still reach a join: a runner whose visits can be interrupted does."""

    def _fire(self, candidates: Iterable[int]) -> None:
        """Fire those of the candidates that something arrived at and nothing holds up."""
        holds = self.holds
        arrived = self.arrived
        assert holds is not None
        assert arrived is not None
        # All are chosen before the first one fires: joins that only a cycle relates fire together.
        firing = [number for number in candidates if not holds[number] and number in arrived]
        for number in firing:
            join = self.compiled.joins[number]
            arrivals = arrived.pop(number)
            if join.cyclic:
                self.count(join, arrivals)
            for blocked in join.blocks:
                holds[blocked] -= 1
            self._hold(join)
            self.ready.append((join, arrivals, None, ""))

    def _unblock(self, join: Step) -> None:
        """Let go of the joins that must not fire while this one waits."""
        holds = self.holds
        assert holds is not None
        for blocked in join.blocks:
            holds[blocked] -= 1

    def failed(self, error: BaseException) -> BaseException:
        """Take an error as what ends the run, and give it: it is for the caller to raise."""
        if self.fault is None:
            self.fault = error
        self.live = False
        return error

    def count(self, step: Step, message: Message | list[Arrival]) -> None:
        """Count a visit of a step on a cycle. Raises: StepLimitReached: when there were too many; the branch ends."""
        visits = self.visits
        if visits is None:
            visits = self.visits = {}
        count = visits.get(step, 0)
        if count >= self.compiled.limits.max_visits:
            error = StepLimitReached(
                f"node {step.node_id!r} was visited {count} times in one run, which is the limit; {_cycle_text(step)}",
                hint="raise ruleChain.configuration.maxVisits, or let the loop end by a condition",
            )
            self.end_with(step.node_id, Failed(error), message[0].message if isinstance(message, list) else message)
            raise self.failed(error)
        visits[step] = count + 1


def _cycle_text(step: Step) -> str:
    """Name the shortest cycle through a step."""
    paths: list[tuple[Step, tuple[str, ...]]] = [(step, (step.node_id,))]
    seen = {step}
    for current, path in paths:  # grows while it is walked: breadth first
        for route in current.routes.values():
            for target in (*route.targets, *route.joins):
                if target is step:
                    return "the cycle is " + " -> ".join((*path, step.node_id))
                if target not in seen and target.cyclic:
                    seen.add(target)
                    paths.append((target, (*path, target.node_id)))
    raise AssertionError("what is counted lies on a cycle")

"""Answer a pause wherever its run is: in this engine, in another process, or nowhere any more."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import AnswerInvalid, PauseError
from catenary.options import Restart
from catenary.pauses.answers import Answer
from catenary.pauses.joins import joins_of
from catenary.pauses.making import Carried
from catenary.pauses.parking import Resumed
from catenary.pauses.refusing import named, several, unknown
from catenary.store.pauses import Claim

if TYPE_CHECKING:
    from typing import Unpack

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.message import Message
    from catenary.options import RunOptions
    from catenary.outcome import Outcome
    from catenary.pauses.answers import AnswerParts, Pause
    from catenary.pauses.parking import Parked
    from catenary.store.pauses import PauseStore, StoredPause

_LOOK_EVERY_S: Final = 0.05
_MOST_LOOKS: Final = 100
"""Looks rather than seconds: where this machine stands still, so does who is to take the answer."""
_FATES: Final = {
    "answered": "was answered already",
    "done": "was answered already",
    "expired": "is over: nobody answered in time",
    "cancelled": "is over: its run was stopped",
    "resumed": "was answered already",
    "moved": "waits elsewhere",
}


async def answer(engine: Engine, run_id: str, node_id: str, parts: AnswerParts) -> Outcome | None:
    """Answer a pause, see `Engine.answer`."""
    if not engine.pauses.holds(run_id, node_id, parts.get("visit")):
        await engine.pauses.coming.arrived(run_id, node_id)
    resumption = await asyncio.to_thread(place_answer, engine, run_id, node_id, parts)
    return None if resumption is None else await resumption.run()


def answer_sync(engine: Engine, run_id: str, node_id: str, parts: AnswerParts) -> Outcome | None:
    """Answer a pause, see `Engine.answer_sync`."""
    resumption = place_answer(engine, run_id, node_id, parts)
    return None if resumption is None else resumption.run_sync()


def place_answer(engine: Engine, run_id: str, node_id: str, parts: AnswerParts) -> Resumption | None:
    """Bring an answer to where its run waits. It blocks.

    Returns:
        `None` when the run goes on by itself; else what is to be run in its place.

    Raises:
        PauseError, AnswererRefused, AnswerInvalid: See `Engine.answer`.
    """
    given = Answer.from_dict({name: part for name, part in parts.items() if name != "visit"})
    visit = parts.get("visit")
    pauses = engine.pauses
    store = None if pauses.holds(run_id, node_id, visit) else pauses.store
    if store is None and (parked := pauses.parking.at(run_id, node_id, visit)):
        return _at_parked(engine, parked, given)
    if store is None:
        pauses.answer(run_id, node_id, visit, given)
        return None
    stored = _stored(store, run_id, node_id, visit)
    if stored.state == "open" and store.is_held(stored):
        _check(stored.pause, given)
        if not store.answer(stored.pause.key, given):
            raise PauseError(f"{named(stored.pause.key)} is over: somebody else was quicker")
        if _is_taken(store, stored, given):
            return None
    return _take_up(engine, store, stored, given)


def _stored(store: PauseStore, run_id: str, node_id: str, visit: int | None) -> StoredPause:
    """Give the pause that is meant. Raises: PauseError: when there is none, when several wait, or when it is over."""
    found = store.find(run_id, node_id, visit)
    waiting = [one for one in found if one.state == "open" or (one.state == "answered" and not store.is_held(one))]
    if len(waiting) == 1:
        return waiting[0]
    if waiting:
        raise several(run_id, node_id, [one.pause.visit for one in waiting])
    if not found:
        raise unknown(run_id, node_id, visit, [one.pause for one in store.waiting()])
    raise _is_over(found[-1])


def _is_over(stored: StoredPause) -> PauseError:
    """Give the error that tells what has become of a pause."""
    where = f", in run {stored.resumed_as}" if stored.resumed_as else ""
    by = f" by {stored.answer.answerer}" if stored.answer is not None and stored.answer.answerer else ""
    return PauseError(f"{named(stored.pause.key)} {_FATES[stored.state]}{by}{where}", hint="an answer counts once")


def _check(pause: Pause, given: Answer) -> None:
    """Look whether an answer is one, and in time."""
    pause.ask.check(given, pause.message)
    if is_late(pause):
        raise PauseError(f"{named(pause.key)} is over: nobody answered in time")


def is_late(pause: Pause) -> bool:
    """Tell whether the time for answers is over."""
    return pause.expires_ms is not None and time.time_ns() // 1_000_000 >= pause.expires_ms


def _is_taken(store: PauseStore, stored: StoredPause, given: Answer) -> bool:
    """Wait until the process that holds the run has taken the answer, or lives and will take it some time.

    Returns:
        False when it is gone before it did.

    Raises:
        AnswerInvalid: When the node takes the answer for none.
        PauseError: When its time was over, or its run was stopped, before it was taken.
    """
    looks = 0
    while True:
        looks += 1
        present = store.find(*stored.pause.key)[0]
        if present.refusal and present.answer != given:
            raise AnswerInvalid(present.refusal, hint="the question stays open")
        if present.state in {"cancelled", "expired"}:
            raise _is_over(replace(present, answer=None))  # nobody has taken it
        if present.state not in {"open", "answered"} or looks > _MOST_LOOKS:
            return True
        if not store.is_held(present):
            return False
        time.sleep(_LOOK_EVERY_S)


def _take_up(engine: Engine, store: PauseStore, stored: StoredPause, given: Answer) -> Resumption:
    """Claim a run whose process is gone. Raises: PauseError: when it cannot go on from there, or somebody else did."""
    pause = stored.pause
    if pause.kept is not None:
        return _at_stored(engine, store, stored, given)
    if pause.inside:
        raise PauseError(
            f"{named(pause.key)} cannot be answered any more: the process of its run is gone, and {pause.inside}",
            hint="run the chain again; a wait at the top level of its chain can be answered later",
        )
    stored = store.find(*pause.key)[0]
    is_expired = stored.answer is None and given.relation == pause.ask.late and is_late(pause)
    if stored.answer is not None:
        given = stored.answer  # it was handed in and not taken; it came first
    elif not is_expired:
        _check_late(pause)
        pause.ask.check(given, pause.message)
    run_id = str(uuid.uuid4())
    chain, is_own = _chain_of(engine, stored)  # one that cannot be loaded leaves the question open
    claim = store.take_up(stored, given, run_id)
    if claim is None:
        raise PauseError(f"{named(pause.key)} is over: somebody else was quicker")
    way = (pause.ask.late, pause.message) if is_expired else pause.ask.apply(given, pause.message)
    return Resumption(chain, pause, run_id, _behind(pause, *way), claim, is_own=is_own)


def _at_parked(engine: Engine, found: list[Parked], given: Answer) -> Resumption:
    """Go on with a question that is kept in memory, at the node that asked."""
    if len(found) > 1:
        pause = found[0].pause
        raise several(pause.run_id, pause.node_id, [one.pause.visit for one in found])
    (parked,) = found
    pause = parked.pause
    chain = engine.chains.get(pause.chain_id) or parked.chain
    _check_parked(engine, chain, pause, given)
    return _at_node(chain, Resumed(engine.pauses, pause, given, str(uuid.uuid4())))


def _at_stored(engine: Engine, store: PauseStore, stored: StoredPause, given: Answer) -> Resumption:
    """Go on with a question that is kept in a file, at the node that asked."""
    pause = stored.pause
    if stored.answer is None:
        pause.ask.check(given, pause.message)
    chain, is_own = _chain_of(engine, stored)
    try:
        if stored.answer is None:
            _check_parked(engine, chain, pause, given)
    except Exception:
        if is_own:
            asyncio.run(chain.close())  # no event loop runs here, and nothing of the chain has run
        raise
    given = stored.answer or given  # it was taken by a process that is gone; it came first
    resumed = Resumed(engine.pauses, pause, given, str(uuid.uuid4()), store=store, stored=stored)
    return _at_node(chain, resumed, is_own=is_own)


def _check_parked(engine: Engine, chain: Chain, pause: Pause, given: Answer) -> None:
    """Look whether an answer is one, before any run begins; a node that asked has a say with `check_answer`.

    One that comes too late is refused where the question was asked. Elsewhere it passes: the node says that the time is
    over, and goes on without an answer.
    """
    pause.ask.check(given, pause.message)
    component = next((one.component for one in chain.instances if one.node_id == pause.node_id), None)
    check = getattr(component, "check_answer", None)
    is_over = pause.expires_ms is not None and engine.clock.time_ms() >= pause.expires_ms
    if is_over and engine.pauses.parking.at(*pause.key):
        raise PauseError(f"{named(pause.key)} is over: nobody answered in time")
    if check is not None and not is_over:
        check(pause, given)


def _at_node(chain: Chain, resumed: Resumed, *, is_own: bool = False) -> Resumption:
    restart = Restart(resumed.pause.node_id)
    return Resumption(chain, resumed.pause, resumed.run_id, restart, Claim([], ""), is_own=is_own, resumed=resumed)


async def expire(engine: Engine, pause: Pause) -> None:
    """Run the node again whose question nobody answered in time, so that it can say so.

    Raises:
        PauseError: When it was answered meanwhile.
    """
    resumption = await asyncio.to_thread(_late_resumption, engine, pause)
    if resumption is not None:
        await resumption.run()


def _late_resumption(engine: Engine, pause: Pause) -> Resumption | None:
    given, run_id, pauses = Answer(relation=pause.ask.late), str(uuid.uuid4()), engine.pauses
    store = pauses.store
    if store is None:
        return next(
            (
                _at_node(engine.chains.get(pause.chain_id) or one.chain, Resumed(pauses, pause, given, run_id))
                for one in pauses.parking.at(*pause.key)
            ),
            None,
        )
    stored = next((one for one in store.find(*pause.key) if one.state == "open"), None)
    if stored is None:
        return None
    chain, is_own = _chain_of(engine, stored)
    return _at_node(chain, Resumed(pauses, pause, given, run_id, store=store, stored=stored), is_own=is_own)


def _behind(pause: Pause, relation: str, message: Message) -> Restart:
    return Restart(pause.node_id, relation, message)


def _chain_of(engine: Engine, stored: StoredPause) -> tuple[Chain, bool]:
    """Give the chain as it was when the run waited, and whether it is there for this run alone."""
    definition = stored.chain["definition"]
    chain_id = stored.pause.chain_id
    present = engine.chains.get(chain_id)
    if present is None:
        return engine.load(definition, id=chain_id), False
    is_same = present.to_dict() == definition
    return (present, False) if is_same else (engine.make(definition), True)


def _check_late(pause: Pause) -> None:
    if is_late(pause):
        late = pause.ask.late
        raise PauseError(
            f"{named(pause.key)} is over: nobody answered in time, and the process of its run is gone",
            hint=f"answer with the relation {late!r} to go on as if it had still been there",
        )


class Resumption:
    """A new run that goes on where one of a process that is gone waited.

    Attributes:
        run_id: The id of the new run.
        chain_id: The chain it is a run of.
        others: What else waited in the old run, and waits again in the new one.
    """

    def __init__(
        self,
        chain: Chain,
        pause: Pause,
        run_id: str,
        restart: Restart,
        claim: Claim,
        *,
        is_own: bool,
        resumed: Resumed | None = None,
    ) -> None:
        self.run_id = run_id
        self.chain_id = pause.chain_id
        self.others = [one.pause for one in claim.others if one.answer is None]
        self._chain = chain
        self._is_own = is_own
        self._resumed = resumed
        self._scope: list[Any] = [] if resumed is None else [resumed]
        self._message = pause.message
        answered = [(one.pause, one.answer) for one in claim.others if one.answer is not None]
        self._restarts = [restart, *(_behind(one, *one.ask.apply(given, one.message)) for one, given in answered)]
        self._restarts += [Restart(one.node_id, message=one.message) for one in self.others]
        self._restarts += joins_of(claim.joins, chain, [one.node for one in self._restarts])

    async def run(self, **options: Unpack[RunOptions]) -> Outcome:
        """Run it. The options are those of `Engine.run`; where the run begins, its id and scope are its own.

        Raises:
            PauseError: When another answer was quicker.
        """
        try:
            options.update(self._options())
            outcome = await self._chain.run(self._message, **options)
        finally:
            if self._is_own:
                await self._chain.close()
        if self._resumed is not None and self._resumed.refusal is not None:
            raise self._resumed.refusal
        return outcome

    def run_sync(self) -> Outcome:
        """Run it where no event loop runs."""
        return self._chain.engine.loops.run(self.run())

    def _options(self) -> RunOptions:
        carried = Carried()
        for one in self.others:
            carried.setdefault(one.node_id, []).append(one.expires_ms)
        return {"run_id": self.run_id, "restore": self._restarts, "scope": [carried, *self._scope]}

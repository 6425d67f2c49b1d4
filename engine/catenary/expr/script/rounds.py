"""What a call of a script takes besides one run: answers of the host, and more time where neighbours used it up.

An engine may count the processor time of all threads, or the time on the clock. So a run that was stopped is run again
with as much as the first one lacked, measured by the time of this thread. Nothing is lost by that: a script has no
effects but requests to the host, which are on record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catenary.expr.script.errors import Stopped
from catenary.expr.script.host import Replay
from catenary.expr.script.pool import SLICE_S, leave, settle, slice_s
from catenary.expr.script.values import arguments_of, parse

if TYPE_CHECKING:
    from catenary.expr.script.calls import SharedScript
    from catenary.expr.script.pool import Place
    from catenary.jsontext import Json
    from catenary.message import Message

_PROBE_SHARE = 0.1  # of the limit: the run by which the clock of the engine is compared with that of the thread
_FAIR_SHARE = 0.8  # of the time due: a run that was stopped before is run once more
_ASKED_S = 1.0  # that telling what a script waits for may take
_MOST_TRIES = 3
_CROWD = 4.0  # how many times as fast as that of a thread the clock of an engine is taken to run at most

_THROWS = re.compile(r"\b(?:throw|reject|eval|Function|constructor)\b")
_FASTEST_FILL = 50e9  # bytes a second: who came to an end sooner has not filled the memory


class Rounds:
    """One call of a script that did not come to its end in one run.

    Args:
        script: The script.
        place: Where it is in this thread.
        message: What the script is called on.
        ctx: What stands behind `$ctx`.
    """

    def __init__(self, script: SharedScript, place: Place, message: Message, ctx: object) -> None:
        self._script = script
        self._place = place
        self._arguments = arguments_of(message, script.json_kind)
        self._replay = Replay(script.host, ctx, script.limits.host_calls)
        self._limit_s = script.limits.timeout_s
        self._record = ""
        self._used_s = 0.0  # by runs that came to a request
        self._last_s = 0.0  # by the last run
        self._crowd = 1.0
        self._tries = 0
        self._is_slow = script.is_slow
        self._may_move = True

    def run(self) -> Json:
        """Run a script from the beginning."""
        return self.go_on(self._enter(self._first_s()))

    def go_on(self, outcome: Json | Stopped) -> Json:
        """Go on from how the first run ended, and give what the realm gave in the end.

        Raises:
            ScriptError: When the script ran into a limit.
        """
        try:
            while True:
                if isinstance(outcome, Stopped):
                    outcome = self._after(outcome)
                elif isinstance(outcome, str) and outcome.startswith("?"):
                    self._used_s += self._last_s
                    self._record = self._replay.answer(outcome[1:])
                    outcome = self._enter(self._first_s())
                elif isinstance(outcome, str) and outcome.startswith("!"):
                    stopped = self._limit_behind(outcome)
                    if stopped is None:
                        return outcome
                    outcome = stopped
                else:
                    return outcome
        finally:
            self._script.is_slow = self._is_slow and self._last_s > SLICE_S / 2
            self._place.shared.machine.set_time_limit(slice_s(self._limit_s))

    def _first_s(self) -> float:
        due_s = self._due_s()
        return due_s * self._crowd if self._is_slow else min(slice_s(self._limit_s), due_s)

    def _due_s(self) -> float:
        """Give the time that is left; 0 when there is no limit."""
        if self._limit_s <= 0:
            return 0.0
        due_s = self._limit_s - self._used_s
        if due_s <= 0:
            raise self._script.stopped_error(Stopped("time"))
        return due_s

    def _enter(self, seconds: float) -> Json | Stopped:
        self._place.shared.machine.set_time_limit(seconds)
        clock = self._script.platform.clock
        began = clock()
        try:
            return self._place.enter(self._place.number, *self._arguments, self._record)
        except self._script.platform.errors as error:
            return self._script.platform.stopped(error)
        finally:
            self._last_s = clock() - began
            if seconds > 0:
                self._crowd = min(max(seconds / max(self._last_s, 1e-6), 1.0), _CROWD)

    def _limit_behind(self, told: str) -> Stopped | None:
        """Give the limit that stands behind an error; a `null` is thrown where memory is full, or by the script."""
        text = parse(told[1:])[0]
        if text == "null" and _THROWS.search(self._script.source):
            again = self._enter(self._first_s())
            if again == told and self._last_s < self._script.limits.memory_bytes / _FASTEST_FILL:
                return None
        return self._script.platform.told(text)

    def _after(self, stopped: Stopped) -> Json | Stopped:
        """Run the script again where it was not its own fault that it was stopped."""
        if stopped.reason == "memory" and self._may_move:
            self._may_move = False  # others may have filled the machine
            leave(self._place.shared)
            self._place = settle(self._script)
            return self._enter(self._first_s())
        if stopped.reason != "time":
            raise self._script.stopped_error(stopped)
        waiting = self._waiting()
        if isinstance(waiting, str):
            return waiting  # it caught the stop at a request, and went on without the answer
        if not self._is_slow:
            self._is_slow = True
            return self._enter(max(SLICE_S, self._due_s() * _PROBE_SHARE))
        due_s = self._due_s()
        if self._tries == _MOST_TRIES or self._last_s > due_s * _FAIR_SHARE:
            raise self._script.stopped_error(stopped)
        self._tries += 1
        return self._enter(due_s * self._crowd)

    def _waiting(self) -> Json:
        """Give the request that a stopped script waits for, if any; a machine that cannot say has no other use."""
        self._place.shared.machine.set_time_limit(_ASKED_S)
        try:
            return self._place.enter(-5, "")
        except self._script.platform.errors:
            leave(self._place.shared)
            raise self._script.stopped_error(Stopped("time")) from None

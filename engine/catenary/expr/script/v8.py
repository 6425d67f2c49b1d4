"""JavaScript by V8 (extra `v8`, the package mini-racer): for scripts that work long on one message.

V8 runs what it compiled ten times as fast and more, but each call costs some hundreds of microseconds, for V8 has
threads of its own: a script that only looks at its message is far quicker in quickjs. All limits hold, with these
differences: time is measured on the clock, the stack has the size V8 gives it, all buffers and typed arrays that one
call makes count as if they were kept, and an error of syntax has a line but no column where V8 tells none.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import threading
import weakref
from functools import cache
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

from catenary.expr.script.calls import SharedScript
from catenary.expr.script.engine import ScriptHost, ScriptLimits, ScriptSource, source_of
from catenary.expr.script.errors import Places, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.expr.script.errors import Limit
    from catenary.jsontext import Json

mini_racer: Any = import_module("py_mini_racer")

_COMPILE = -1  # what `realm.js` takes to compile a script
_LIMITS: Mapping[str, Limit] = {
    "RangeError: Maximum call stack size exceeded": "stack",
    "RangeError: Invalid string length": "memory",
    "RangeError: Array buffer allocation failed": "memory",
}
_PLACES = Places(
    frame=re.compile(r"\(eval at [^\n]*, <anonymous>:(\d+):(\d+)\)"),
    syntax=re.compile(r"<anonymous>:(\d+):(\d+)"),
)
_PARSE_PLACE = re.compile(r"<anonymous>:(\d+): SyntaxError: [^\n]*\n[^\n]*\n( *)\^")
_PLACE_BEFORE = re.compile(r"^[^\s:]+:\d+: ")
_SETTLE_S = 3.0  # that a built-in function may go on after it was told to stop
_HIDDEN = "setTimeout = clearTimeout = __timer_manager = __TimerManager = undefined;"  # what mini-racer installs


class V8Engine:
    """The `ScriptEngine` for JavaScript on V8."""

    def compile(
        self, script: ScriptSource, limits: ScriptLimits | None = None, host: ScriptHost | None = None
    ) -> SharedScript:
        """Compile the body of a function; see `ScriptEngine.compile`."""
        return SharedScript(V8(), script, limits or ScriptLimits(), host or ScriptHost())


class V8:
    """What is V8 about scripts."""

    errors = mini_racer.JSEvalException
    places = _PLACES
    clock = staticmethod(monotonic)

    def open(self, limits: ScriptLimits) -> V8Machine:
        """Make an isolate."""
        return V8Machine(limits)

    def stopped(self, error: Exception) -> Stopped:
        """Say why a call raised."""
        if isinstance(error, mini_racer.JSTimeoutException):
            return Stopped("time")
        if isinstance(error, mini_racer.JSOOMException):
            return Stopped("memory")
        text = _PLACE_BEFORE.sub("", str(error).partition("\n")[0])
        return self.told(text) or Stopped("error", text)

    def told(self, text: str) -> Stopped | None:
        """Say which limit stands behind a text."""
        return Stopped.by(_LIMITS, text)


class V8Machine:
    """One isolate with one global scope."""

    def __init__(self, limits: ScriptLimits) -> None:
        opening = mini_racer.mini_racer(_event_loop())
        self._isolate = opening.__enter__()
        self._close = weakref.finalize(self, opening.__exit__, None, None, None)
        self._jobs_s = limits.timeout_s if limits.timeout_s > 0 else None
        self._timeout_s: float | None = None
        self._isolate.set_hard_memory_limit(limits.memory_bytes)
        # Scripts see all names of the global scope, but cannot list those of `const`: this one nobody guesses, and
        # V8 must not meet it where the function is written, or stacks would tell it.
        self._enter = f"enter_{secrets.token_hex(16)}"
        self._isolate.eval(f"{_HIDDEN}\nglobalThis.entrance =\n{source_of('realm.js')}")
        self._isolate.eval(f"const {self._enter} = entrance; delete globalThis.entrance;")
        self._renew = f"renew_{secrets.token_hex(16)}"
        self._most_bytes = limits.memory_bytes
        self._isolate.eval(f"globalThis.renewal =\n{source_of('quickjs_guards.js')}")
        self._isolate.eval(f"const {self._renew} = renewal; delete globalThis.renewal;")

    def run(self, source: str) -> None:
        """Run global code."""
        self._eval(source)

    def set_time_limit(self, seconds: float) -> None:
        """Set the limit of the following calls, on the clock; 0 for none."""
        self._timeout_s = seconds if seconds > 0 else None

    def entrance(self, number: int, kind: int) -> Callable[[str, str, str], Json]:
        """Give the way to one script: that for all messages, for functions do not leave V8."""
        enter = self.enter
        return lambda payload, metadata, message_type: enter(
            number, kind, payload, "", metadata, message_type, "JSON", ""
        )

    def enter(self, number: int, *given: int | str) -> Json:
        """Call the function that `realm.js` gives."""
        renewed = f"{self._renew}({self._most_bytes});" if self._most_bytes > 0 else ""
        answer = self._eval(f"{renewed}{self._enter}({number},{json.dumps(given)[1:-1]})")
        if number >= 0:
            self._finish_jobs()
        if number == _COMPILE and isinstance(answer, str):
            return self._with_place(answer, str(given[0]))
        return None if answer is mini_racer.JSUndefined else answer

    def _finish_jobs(self) -> None:
        """Wait for what promises left to do: V8 does it behind the call, where no time limit of its own stops it."""
        try:
            self._isolate.eval("0", timeout_sec=self._jobs_s)
        except mini_racer.JSTimeoutException:
            self._close()  # nothing else ends such a job
            raise

    def _eval(self, code: str) -> Any:
        if not self._close.alive:
            raise mini_racer.JSTimeoutException
        try:
            return self._isolate.eval(code, timeout_sec=self._timeout_s)
        except mini_racer.JSTimeoutException:
            self._settle()
            raise

    def _settle(self) -> None:
        """Wait until what was told to stop has stopped."""
        until = monotonic() + _SETTLE_S
        while monotonic() < until:
            try:
                self._isolate.eval("0", timeout_sec=1.0)
            except mini_racer.JSEvalException:
                continue
            return
        self._close()

    def _with_place(self, told: str, setup: str) -> str:
        """Add the place to an error of syntax: V8 tells it only of code that is evaluated, not of functions made."""
        script = json.loads(setup)
        text, _ = json.loads(told[1:])
        before = f"throw 0;\n\n(function ({script['parameters']}) {{'use strict';\n"
        try:
            self._eval(f"{before}{script['source']}\n}})")
        except mini_racer.JSParseException as error:
            found = _PARSE_PLACE.search(str(error))
            stack = f"<anonymous>:{found[1]}:{len(found[2]) + 1}" if found else ""
            return "!" + json.dumps([text, stack])
        except mini_racer.JSEvalException:
            pass
        return told


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Give the loop in which all isolates of this process tell that they are done."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="catenary-v8", daemon=True).start()
    return loop

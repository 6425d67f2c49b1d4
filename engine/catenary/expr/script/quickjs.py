"""JavaScript by quickjs-ng (extra `js`): contexts with limits on time, memory and stack.

Each thread has a context of its own, which many scripts share: all that they share is frozen. Messages go in and
results come out as JSON text, which is quicker than wrapping objects.

The engine's own time limit counts the processor time of the whole process, and looks at it between the steps of a
script: a built-in function is not stopped before it comes back, so those that can take long refuse what is very long.
"""

from __future__ import annotations

import re
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING, Any

from catenary.expr.script.calls import SharedScript
from catenary.expr.script.engine import ScriptHost, ScriptLimits, ScriptSource, source_of
from catenary.expr.script.errors import Places, Stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.expr.script.errors import Limit

quickjs: Any = import_module("quickjs")  # it has no types

_ENTRANCE = -6  # what `realm.js` takes to give the way to one script
_LIMITS: Mapping[str, Limit] = {
    "InternalError: interrupted": "time",
    "InternalError: out of memory": "memory",
    "null": "memory",  # not even the error had room
    "InternalError: string too long": "memory",
    "RangeError: Maximum call stack size exceeded": "stack",
    "InternalError: stack overflow": "stack",
}


class QuickJsEngine:
    """The `ScriptEngine` for JavaScript."""

    def compile(
        self, script: ScriptSource, limits: ScriptLimits | None = None, host: ScriptHost | None = None
    ) -> SharedScript:
        """Compile the body of a function; see `ScriptEngine.compile`."""
        return SharedScript(QuickJs(), script, limits or ScriptLimits(), host or ScriptHost())


class QuickJs:
    """What is quickjs about scripts."""

    errors = quickjs.JSException
    clock = staticmethod(thread_time)
    places = Places(
        frame=re.compile(r"\(<input>:(\d+):(\d+)\)"),  # without brackets it is a place in what JSON.parse read
        syntax=re.compile(r"<input>:(\d+):(\d+)"),
    )

    def open(self, limits: ScriptLimits) -> QuickJsMachine:
        """Make a context."""
        return QuickJsMachine(limits)

    def stopped(self, error: Exception) -> Stopped:
        """Say why a call raised."""
        text = str(error).partition("\n    at ")[0].rstrip("\n")
        return self.told(text) or Stopped("error", text)

    def told(self, text: str) -> Stopped | None:
        """Say which limit stands behind a text."""
        return Stopped.by(_LIMITS, text)


class QuickJsMachine:
    """One context."""

    def __init__(self, limits: ScriptLimits) -> None:
        self._context = quickjs.Context()
        self._context.set_memory_limit(limits.memory_bytes)
        self._context.set_max_stack_size(limits.stack_bytes)
        self.enter: Any = self._context.eval(source_of("realm.js"))
        self._context.eval(source_of("quickjs_guards.js"))

    def entrance(self, number: int, kind: int) -> Any:
        """Give the way to one script that `realm.js` gives."""
        return self.enter(_ENTRANCE, number, kind)

    def run(self, source: str) -> None:
        """Run global code."""
        self._context.eval(source)

    def set_time_limit(self, seconds: float) -> None:
        """Set the limit of the following calls, in processor time of the whole process; 0 for none."""
        self._context.set_time_limit(seconds if seconds > 0 else -1)

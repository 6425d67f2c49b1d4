"""JavaScript by quickjs-ng (extra `js`): isolated contexts with limits on time, memory and stack.

Each script has a context of its own in each thread that calls it, so scripts share nothing, and no context is ever
used by two threads. Messages go in and results come out as JSON text, which is quicker than wrapping objects.

Numbers are JavaScript's: integers beyond 2^53 lose digits inside a script. Half of a surrogate pair becomes U+FFFD on
the way in and out. The time limit counts processor time of the whole process, so busy threads use it up too; a
built-in function is not stopped before it comes back, so those that can take long refuse what is very long.
"""

from __future__ import annotations

import re
import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from catenary.errors import ScriptError
from catenary.expr.script_engine import PARAMETERS, ScriptHost, ScriptLimits
from catenary.jsontext import dumps, loads
from catenary.message import BINARY, JSON, metadata_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary.message import Message, Metadata

quickjs: Any = import_module("quickjs")  # it has no types

_BOOTSTRAP = Path(__file__).with_name("quickjs_bootstrap.js").read_text("utf-8")
_LINES_BEFORE_SOURCE = 3
_PLACE = re.compile(r"<input>:(\d+):(\d+)")
_FRAME = re.compile(r"\(<input>:(\d+):(\d+)\)")  # a place without brackets is one in the text that JSON.parse read
_LEAVES_JOBS = re.compile(r"\b(?:async|await|Promise|queueMicrotask|fromAsync|import)\b")
_LONE_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
_AS_JSON, _AS_TEXT, _AS_BYTES, _AS_JSON_OR_TEXT = 0, 1, 2, 3
_OUT_OF_MEMORY = "InternalError: out of memory"


class QuickJsEngine:
    """The `ScriptEngine` for JavaScript."""

    def compile(
        self,
        source: str,
        *,
        function: str,
        parameters: Sequence[str] = PARAMETERS,
        names: Mapping[str, Json] | None = None,
        limits: ScriptLimits | None = None,
        finish: str = "",
        blank_is_text: bool = False,
    ) -> QuickJsScript:
        """Compile the body of a function; see `ScriptEngine.compile`."""
        setup = (function, ", ".join(parameters), _encodable(source), _encodable(dumps(names or {})), finish)
        return QuickJsScript(source, setup, limits or ScriptLimits(), _AS_JSON_OR_TEXT if blank_is_text else _AS_JSON)


class QuickJsScript:
    """One compiled script: a context for each thread that calls it, made at the first call there."""

    def __init__(self, source: str, setup: tuple[str, ...], limits: ScriptLimits, json_kind: int) -> None:
        self._source = source
        self._setup = setup
        self._json_kind = json_kind
        self._limits = limits
        self._leaves_jobs = _LEAVES_JOBS.search(source) is not None
        self._local = threading.local()
        self._open()

    def call(self, message: Message, ctx: object = None) -> Json:
        """Run the script on a message; see `CompiledScript.call`."""
        try:
            run = self._local.run
        except AttributeError:
            run = self._open()
        data_type = message.data_type
        payload, kind, raw_bytes = message.text, _AS_TEXT, ""
        if data_type == JSON:
            kind = self._json_kind
        elif data_type == BINARY:
            kind, raw_bytes = _AS_BYTES, _byte_list(message.data)
        try:
            answer = run(
                kind,
                payload if payload.isascii() else _encodable(payload),
                raw_bytes,
                _metadata_text(message.metadata) if message.metadata else "{}",
                _encodable(message.type),
                _encodable(data_type),
            )
        except quickjs.JSException as error:
            self._forget()
            self._fail(*_parted(str(error)))
        if self._leaves_jobs:
            self._forget()  # what a promise left to do is never done, and would pile up
        return answer if answer is True or answer is False else self._value(answer)

    def _open(self) -> Callable[..., Json]:
        """Make the context of this thread. Raises: ScriptError: when the source does not compile."""
        limits = self._limits
        context = quickjs.Context()
        context.set_memory_limit(limits.memory_bytes)
        context.set_max_stack_size(limits.stack_bytes)
        if limits.timeout_s > 0:
            context.set_time_limit(limits.timeout_s)
        try:
            run = context.eval(_BOOTSTRAP)(*self._setup)
        except quickjs.JSException as error:
            self._fail(*_parted(str(error)))
        if isinstance(run, str):
            self._refuse(run)
        self._local.context = context
        self._local.run = run
        return cast("Callable[..., Json]", run)

    def _forget(self) -> None:
        self._local.__dict__.clear()

    def _value(self, answer: Json) -> Json:
        if isinstance(answer, str):
            if answer.startswith("!"):
                text, stack = _parse(answer[1:])
                self._fail(text, stack)
            try:
                return _parse(answer)
            except (ValueError, RecursionError):
                raise ScriptError(
                    "the script returned a value that is nested too deeply", source=self._source
                ) from None
        if isinstance(answer, float) and answer.is_integer():
            return int(answer)
        return answer

    def _fail(self, text: str, stack: str = "") -> NoReturn:
        """Raise the error for what a call threw; a script that ran into a limit loses its context."""
        if text == "InternalError: interrupted":
            text = f"execution timeout: the script ran longer than {self._limits.timeout_s:g} s"
            hint = "look for a loop that never ends, or raise the time limit of scripts"
        elif text in {"null", _OUT_OF_MEMORY}:
            self._forget()
            hint = "look for a list or text that keeps growing, or raise the memory limit of scripts"
            if text == "null":  # not even the error had room
                hint += " (`throw null` looks the same)"
            text = f"out of memory: the script took more than {self._limits.memory_bytes / 2**20:g} MiB"
        elif text == "RangeError: Maximum call stack size exceeded":
            text = "stack overflow: functions of the script call each other too deeply"
            hint = "look for a recursion that never ends"
        else:
            line, column, _ = self._place(_FRAME, stack)
            hint = f"line {line}, column {column} of the script: `{self._excerpt(line)}`" if line else ""
        text = text or "the script threw an empty text"
        raise ScriptError(text, source=self._source, position=self._place(_FRAME, stack)[2], hint=hint)

    def _refuse(self, answer: str) -> NoReturn:
        """Raise the error for a source that does not compile."""
        text, stack = _parse(answer[1:])
        line, column, position = self._place(_PLACE, stack)
        raise ScriptError(
            f"the script is not valid at line {line}, column {column}: {text}: `{self._excerpt(line)}`",
            source=self._source,
            position=position,
            hint="correct the script; it is the body of a JavaScript function",
        )

    def _place(self, pattern: re.Pattern[str], stack: str) -> tuple[int, int, int]:
        """Give line and column (from 1) and the offset in the source at the top of a stack; `(0, 0, -1)` if unknown."""
        found = pattern.search(stack)
        lines = self._source.split("\n")
        if found is None or int(found[1]) <= _LINES_BEFORE_SOURCE:
            return 0, 0, -1
        line = min(int(found[1]) - _LINES_BEFORE_SOURCE, len(lines))
        column = min(int(found[2]), len(lines[line - 1]) + 1)
        return line, column, sum(len(before) + 1 for before in lines[: line - 1]) + column - 1

    def _excerpt(self, line: int) -> str:
        text = self._source.split("\n")[max(line, 1) - 1].strip()
        return text if len(text) <= 80 else f"{text[:77]}..."


def _parted(text: str) -> tuple[str, str]:
    """Part the text of an error from the stack below it."""
    text, _, stack = text.partition("\n    at ")
    return text.rstrip("\n"), stack


def _metadata_text(metadata: Metadata) -> str:
    texts = {key: value if value.__class__ is str else metadata_text(value) for key, value in metadata.items()}
    return _encodable(dumps(texts))


def _byte_list(data: str | bytes) -> str:
    return dumps(list(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data))


def _encodable(text: str) -> str:
    """Give a text that UTF-8 can hold: the engine would take any other for nothing at all."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _parse(text: str) -> Json:
    try:
        return loads(text)
    except ValueError:  # half a surrogate pair, which JSON readers refuse
        return loads(_LONE_SURROGATE.sub(r"\1\\ufffd", text))

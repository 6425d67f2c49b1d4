"""What an engine for scripts has to offer, and which one is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.jsontext import Json
    from catenary.message import Message

EngineName: TypeAlias = Literal["quickjs", "v8"]
"""The engines there are: quickjs (extra `js`) and V8 (extra `v8`)."""

_PACKAGES: Final = {"quickjs": ("quickjs-ng", "js"), "v8": ("mini-racer", "v8")}

PARAMETERS = ("msg", "metadata", "msgType", "dataType")
"""What a script is given, in this order: payload, metadata, message type, data type."""


@dataclass(frozen=True, slots=True)
class ScriptLimits:
    """What one call of a script may use up.

    Args:
        timeout_s: Seconds of processor time of the calling thread, over all rounds of a call; 0 or less means no limit.
            A loop without end may take up to about four times as long, when other threads were busy as it began and
            came to rest while it ran: quickjs can be stopped only by a clock of the process that is set beforehand.
        memory_bytes: Bytes that the values of the scripts of one thread may take together.
        stack_bytes: Bytes of stack; each call of a function inside the script takes about 500 of them.
        host_calls: How often one call of a script may call host functions and `$ctx`.
    """

    timeout_s: float = 2.0
    memory_bytes: int = 64 * 2**20
    stack_bytes: int = 512 * 2**10
    host_calls: int = 1000


@dataclass(frozen=True, slots=True)
class ScriptHost:
    """What the host program lends to scripts, besides `$ctx`.

    Args:
        functions: Callables, called `name(args)`, and objects, called `name.method(args)`, by name.
        scripts: JavaScript by name; each is run once in every script context and defines globals.
    """

    functions: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """What a script is compiled from.

    Attributes:
        source: The statements between the braces of the function.
        function: The name by which the function can call itself.
        parameters: The names of the four arguments, in the order of `PARAMETERS`.
        names: Read-only globals, JSON values by name.
        finish: JavaScript of an expression, evaluated before the script, that gives a function of
            `(result, metadata, msgType, dataType, write)`. It gives `write(value, hasLarge)`: this JSON value is given
            back in place of the script's result, and `hasLarge` says whether there may be numbers from 2^53 on in it.
        blank_is_text: True hands empty JSON to the script as its text, and not as `{}`.
    """

    source: str
    function: str = "Filter"
    parameters: Sequence[str] = PARAMETERS
    names: Mapping[str, Json] = field(default_factory=dict[str, Any])
    finish: str = ""
    blank_is_text: bool = False


class CompiledScript(Protocol):
    """A script that is ready to be called, from any thread and from many at once."""

    def call(self, message: Message, ctx: object = None) -> Json:
        """Run the script on a message; give what it returned as a JSON value (`None` for nothing).

        Whatever the script does to its arguments stays inside the call.

        Args:
            message: Gives the four arguments.
            ctx: What stands behind `$ctx`: a `Context`, or nothing.

        Raises:
            ScriptError: When it threw, ran too long, took too much memory or returned what is no JSON.
        """
        ...


class ScriptEngine(Protocol):
    """Compiles scripts of one language."""

    def compile(
        self, script: ScriptSource, limits: ScriptLimits | None = None, host: ScriptHost | None = None
    ) -> CompiledScript:
        """Compile the body of a function.

        Args:
            script: The function.
            limits: What a call may use up; the defaults of `ScriptLimits` if absent.
            host: Functions, objects and scripts of the host program.

        Raises:
            ScriptError: When the source is no valid script (the text tells line and column), or no engine is installed.
        """
        ...


@cache
def source_of(name: str) -> str:
    """Give a file of JavaScript that stands beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")


def engine_named(name: EngineName = "quickjs") -> ScriptEngine:
    """Give an engine for JavaScript. Raises: ScriptError: when its package is not installed."""
    from catenary.errors import ScriptError

    try:
        if name == "v8":
            from catenary.expr.script.v8 import V8Engine

            return V8Engine()
        from catenary.expr.script.quickjs import QuickJsEngine

        return QuickJsEngine()
    except ImportError as error:
        package, extra = _PACKAGES[name]
        raise ScriptError(
            f"scripts need the package {package}: pip install 'catenary[{extra}]'",
            hint=f"pip install 'catenary[{extra}]'",
        ) from error

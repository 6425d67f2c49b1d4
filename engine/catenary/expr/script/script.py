"""`Script`: the JavaScript of one node, compiled when its chain is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic_core import PydanticCustomError, core_schema

from catenary.errors import ScriptError
from catenary.expr.script.engine import PARAMETERS, CompiledScript, ScriptHost, ScriptLimits, ScriptSource, engine_named
from catenary.expr.validation import environment_of, text_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.message import Message


class Script:
    """The body of a JavaScript function of `msg`, `metadata`, `msgType` and `dataType`, in strict mode.

    `msg` is the parsed value of JSON (`{}` if empty, the text if it is not valid), a string for text, an array of
    byte numbers for `BINARY`; `metadata` is an object of strings. All are the script's own: what it does to them ends
    with the call. `vars` and, when there are any, `global` are read-only globals. `msg.data` is the raw payload text
    unless the payload is an object with a key `data` (or is `null`, which has no properties at all).

    As a field of a `Config` it is given as text and compiled in validation; `Annotated[Script, ScriptFunction(name)]`
    names the function.

    Attributes:
        source: The text it was made from.
        fetches: True when it may wait for a cache outside of the process, so that it runs in a thread.
    """

    __slots__ = ("_compiled", "fetches", "source")

    def __init__(self, source: str, compiled: CompiledScript | None, *, fetches: bool = False) -> None:
        self.source = source
        self.fetches = fetches
        self._compiled = compiled

    @classmethod
    def compile(
        cls,
        source: str,
        environment: Environment | None = None,
        *,
        function: str = "Filter",
        parameters: Sequence[str] = PARAMETERS,
        finish: str = "",
        blank_is_text: bool = False,
    ) -> Self:
        """Compile a script. A blank one needs no JavaScript engine and returns nothing.

        Args:
            source: The body of the function.
            environment: Gives `vars`, `global` and the limits; all defaults if absent.
            function: The name of the function, by which it can call itself.
            parameters: The names of the four arguments.
            finish: What is made of the result, in JavaScript; see `ScriptSource`.
            blank_is_text: True hands empty JSON to the script as its text, and not as `{}`.

        Raises:
            ScriptError: When the source is no valid script, or JavaScript is not installed.
        """
        if not source.strip():
            return cls(source, None)
        names: dict[str, Json] = {"vars": {}}
        limits, host = ScriptLimits(), ScriptHost()
        if environment is not None:
            host = ScriptHost(environment.script_functions, environment.host_scripts)
            limits = ScriptLimits(
                environment.script_timeout_s,
                environment.script_memory_bytes,
                host_calls=environment.script_host_calls,
            )
            names["vars"] = _plain(environment.vars)
            if environment.properties:
                names["global"] = _plain(environment.properties)
        script = ScriptSource(source, function, parameters, names, finish, blank_is_text)
        engine = engine_named(environment.script_engine if environment else "quickjs")
        fetches = environment is not None and environment.cache_waits and "$ctx" in source
        return cls(source, engine.compile(script, limits, host), fetches=fetches)

    @property
    def is_blank(self) -> bool:
        """True when there is nothing to run."""
        return self._compiled is None

    def call(self, msg: Message, ctx: object = None) -> Json:
        """Run the script on a message and give what it returned (`None` for nothing) as a JSON value.

        Safe to call from many threads. It takes up to the time limit, and nothing else runs in the thread meanwhile.

        Raises:
            ScriptError: When it threw (the text is that of what was thrown), or ran into a limit.
        """
        return None if self._compiled is None else self._compiled.call(msg, ctx)

    def __repr__(self) -> str:
        return f"Script({self.source!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return _schema(ScriptFunction("Filter"))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return text_schema("javascript")


@dataclass(frozen=True, slots=True)
class ScriptFunction:
    """Says how the script of a `Script` field is called: `Annotated[Script, ScriptFunction("ToString")]`.

    Attributes:
        name: The name of the function.
        finish: What is made of its result, in JavaScript; see `ScriptSource`.
        blank_is_text: True hands empty JSON to it as its text, and not as `{}`.
    """

    name: str
    finish: str = ""
    blank_is_text: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return _schema(self)

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return text_schema("javascript")


def _schema(function: ScriptFunction) -> core_schema.CoreSchema:
    def validate(value: object, info: core_schema.ValidationInfo) -> Script:
        if isinstance(value, Script):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError("script", "must be a text")
        try:
            return Script.compile(
                value,
                environment_of(info),
                function=function.name,
                finish=function.finish,
                blank_is_text=function.blank_is_text,
            )
        except ScriptError as error:
            raise PydanticCustomError("script", "{reason}", {"reason": str(error), "error": error}) from error

    return core_schema.with_info_plain_validator_function(
        validate,
        serialization=core_schema.plain_serializer_function_ser_schema(_source_of),
    )


def _source_of(script: Script) -> str:
    return script.source


def _plain(value: Json) -> Json:
    """Give a value that JSON text can hold: read-only mappings become dicts, what is no JSON becomes its text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return str(value)

"""Python functions as tools: the schema comes from type hints and docstring."""

from __future__ import annotations

import inspect
import re
import typing
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticUndefined

from catenary import NodeFailure
from catenary_components.ai.tools.arguments import misfit
from catenary_components.ai.tools.injection import CONTEXT_PARAMETER, hidden, known_type, value_of
from catenary_components.ai.tools.large import json_value, plain
from catenary_components.ai.tools.live import CURRENT
from catenary_components.ai.tools.outputs import parts_of, shown
from catenary_components.ai.tools.threads import check_stopped, in_thread
from catenary_components.ai.tools.tool import DEFAULT_TIMEOUT_S, Tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json

_DONE = "Done"
"""The result of a function that is declared to give nothing."""

_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


class FunctionWork:
    """Runs a Python function: `async def` is awaited, a plain `def` runs in a thread and may wait.

    A thread cannot be ended from outside: after a timeout or a cancellation the function runs to its end, unheard, and
    holds nothing else up.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        model: type[BaseModel],
        names: Mapping[str, str],
        injected: Mapping[str, type] | None = None,
    ) -> None:
        self._function = function
        self._model = model
        self._names = names  # field of the model -> parameter of the function
        parameters = inspect.signature(function).parameters
        self._injected = {
            name: (kind, None if parameters[name].default is inspect.Parameter.empty else parameters[name].default)
            for name, kind in (injected or {}).items()
        }
        self._gives_nothing = inspect.signature(function).return_annotation in (None, "None")
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        )

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Check against the type hints. Raises: ToolInputError: naming every argument that does not fit."""
        self._read(arguments)

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Call the function; what it returns is made a JSON value."""
        values = self._read(arguments)
        for name, (kind, default) in self._injected.items():
            values[name] = value_of(kind, ctx, default)
        result = await self._result(values)
        return _DONE if result is None and self._gives_nothing else result

    async def _result(self, values: Mapping[str, Any]) -> Json:
        if self._is_async:
            return await _as_json(await self._function(**values))
        result = await in_thread(self._call, values)
        if inspect.isasyncgen(result):
            return await _shown(cast("AsyncGenerator[Any]", result))
        return await _as_json(await result) if inspect.isawaitable(result) else result

    def _call(self, values: Mapping[str, Any]) -> Any:
        """Call the function in its thread; a generator runs there too. What needs the event loop is given back."""
        try:
            result = self._function(**values)
            if inspect.isawaitable(result) or inspect.isasyncgen(result):
                return result
            return parts_of(result) or plain(list(_wanted(result)) if inspect.isgenerator(result) else result)
        except StopIteration as error:  # no future takes it: whoever waits for this thread would wait for ever
            raise RuntimeError("StopIteration: something that was asked for its next item had none") from error
        except KeyboardInterrupt as error:  # it would end the program of everybody else
            raise RuntimeError("KeyboardInterrupt") from error

    def _read(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        try:
            read = self._model.model_validate(arguments)
        except ValidationError as error:
            raise misfit(error) from None
        return {self._names[field]: getattr(read, field) for field in read.model_fields_set}


def _wanted(items: Any) -> Iterator[Any]:
    """Give items, of which there may be no end, for as long as somebody waits for them."""
    with closing(items):
        for item in items:
            check_stopped()
            yield item


async def _shown(pieces: AsyncGenerator[Any]) -> Json:
    """Show the pieces of a tool as they come; the last one is its result."""
    info = CURRENT.get(None)
    result: Json = None
    is_empty = True
    async with aclosing(pieces):
        async for piece in pieces:
            result, is_empty = await _as_json(piece), False
            if info is not None:
                await info.show(shown(result))
    if is_empty:
        raise NodeFailure("the tool gave no result")
    return result


async def _as_json(result: Any) -> Json:
    """Give what a function returned as a JSON value; texts and pictures in parts stay what they are."""
    return parts_of(result) or await json_value(result)


def function_tool(
    function: Callable[..., Any],
    *,
    name: str = "",
    description: str = "",
    kind: str = "function",
    timeout_s: float = DEFAULT_TIMEOUT_S,
    returns_direct: bool = False,
) -> Tool:
    """Make a tool of a Python function.

    Args:
        function: Its type hints give the schema, its docstring up to the first section the description, the section
            `Args:` the descriptions of its parameters. A parameter `ctx` and those of the types that `injection` names
            get what the run has and stay hidden. Of an async generator each piece is shown, and the last is the result.
        name: Another name for it.
        description: Another description.
        kind: What events call it.
        timeout_s: Longest time of a call in seconds.
        returns_direct: True makes the result the answer of the agent.

    Raises:
        TypeError: When the function takes `*args`, `**kwargs` or arguments by position only, or no schema can be made
            of its type hints.
    """
    own_name = _name_of(function)
    text, notes = _read_docstring(inspect.getdoc(function) or "")
    try:
        hints = _hints(function)
        injected = hidden(inspect.signature(function).parameters, hints)
        model, names = _arguments_model(function, hints, injected, notes)
        schema = _schema(model)
    except (PydanticUserError, NameError) as error:
        reason = str(getattr(error, "message", error)).split("\n", maxsplit=1)[0]
        raise TypeError(f"the tool function {own_name}: no schema can be made of its type hints: {reason}") from error
    return Tool(
        name=name or own_name,
        description=description or text,
        parameters=schema,
        work=FunctionWork(function, model, names, injected),
        kind=kind,
        timeout_s=timeout_s,
        returns_direct=returns_direct,
    )


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _arguments_model(
    function: Callable[..., Any], hints: Mapping[str, Any], hidden: Collection[str], notes: Mapping[str, str]
) -> tuple[type[BaseModel], dict[str, str]]:
    """Make a model of the parameters. Its fields have numbers for names, so that a parameter may be called anything."""
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in hidden:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(
                f"the tool function {_name_of(function)} takes {parameter}; a tool takes named parameters only"
            )
        field = f"p{len(names)}"
        default = PydanticUndefined if parameter.default is parameter.empty else parameter.default
        names[field] = parameter.name
        fields[field] = (
            hints.get(parameter.name, Any),
            Field(default, alias=parameter.name, description=notes.get(parameter.name)),
        )
    return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields), names


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Resolve the type hints but those of what tools are given, whose types may be known to type checkers only."""
    target = function if inspect.isfunction(function) or inspect.ismethod(function) else type(function).__call__
    own: dict[str, Any] = dict(getattr(target, "__annotations__", {}))
    own.pop("return", None)
    given = {
        name: hint
        for name, hint in own.items()
        if name == CONTEXT_PARAMETER or (isinstance(hint, str) and known_type(hint) is not None)
    }
    for name in given:
        del own[name]

    def bare() -> None: ...

    bare.__annotations__ = own
    return {**typing.get_type_hints(bare, globalns=getattr(target, "__globals__", {}), include_extras=True), **given}


class _SchemaWriter(GenerateJsonSchema):
    """Leaves out a default that JSON cannot show, and says nothing about it."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"non-serializable-default"}  # noqa: RUF012 - of pydantic


def _schema(model: type[BaseModel]) -> dict[str, Json]:
    """Give the JSON Schema without the titles, which are the numbered names and cost tokens."""
    schema = model.model_json_schema(schema_generator=_SchemaWriter)
    schema.pop("title", None)
    for value in schema.get("properties", {}).values():
        value.pop("title", None)
    return schema


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a Google docstring into its text before the first section and the notes on its arguments."""
    before: list[str] = []
    notes: dict[str, str] = {}
    section = argument = ""
    depth = -1
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section, argument, depth = heading[1], "", -1
        elif not section:
            before.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            found = _ARGUMENT.match(line)
            if found and (depth < 0 or len(found[1]) == depth):
                depth, argument = len(found[1]), found[2]
                notes[argument] = found[3].strip()
            elif argument and line.strip():
                notes[argument] = f"{notes[argument]} {line.strip()}".strip()
    return "\n".join(before).strip(), notes

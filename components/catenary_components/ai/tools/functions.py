"""Python functions as tools: the schema comes from type hints and docstring."""

from __future__ import annotations

import asyncio
import inspect
import re
import typing
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticUndefined, to_jsonable_python

from catenary_components.ai.tools.tool import DEFAULT_TIMEOUT_S, Tool, ToolInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json

CONTEXT_PARAMETER = "ctx"
"""A parameter of this name gets the context of the run and is not shown to the model."""

_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


class FunctionWork:
    """Runs a Python function: `async def` is awaited, a plain `def` runs in a thread and may wait.

    A thread cannot be ended from outside: after a timeout or a cancellation the function runs to its end, unheard.
    """

    def __init__(self, function: Callable[..., Any], model: type[BaseModel], names: Mapping[str, str]) -> None:
        self._function = function
        self._model = model
        self._names = names  # field of the model -> parameter of the function
        self._wants_context = CONTEXT_PARAMETER in inspect.signature(function).parameters
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        )

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Check against the type hints. Raises: ToolInputError: naming every argument that does not fit."""
        self._read(arguments)

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Call the function; what it returns is made a JSON value."""
        values = self._read(arguments)
        if self._wants_context:
            values[CONTEXT_PARAMETER] = ctx
        if self._is_async:
            return _as_json(await self._function(**values))
        result = await asyncio.to_thread(self._call, values)
        if inspect.isasyncgen(result):
            return _as_json([item async for item in result])
        return _as_json(await result) if inspect.isawaitable(result) else result

    def _call(self, values: Mapping[str, Any]) -> Any:
        """Call the function in its thread; a generator runs there too. What needs the event loop is given back."""
        try:
            result = self._function(**values)
            return result if inspect.isawaitable(result) or inspect.isasyncgen(result) else _as_json(result)
        except StopIteration as error:  # no future takes it: whoever waits for this thread would wait for ever
            raise RuntimeError("StopIteration: something that was asked for its next item had none") from error

    def _read(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        try:
            read = self._model.model_validate(arguments)
        except ValidationError as error:
            raise ToolInputError("; ".join(_problem(cast("dict[str, Any]", item)) for item in error.errors())) from None
        return {self._names[field]: getattr(read, field) for field in read.model_fields_set}


def _as_json(result: Any) -> Json:
    return to_jsonable_python(result, fallback=str)


def _problem(item: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"{place} is required"
    if item["type"] == "extra_forbidden":
        return f"{place} is not an argument of this tool"
    return f"{place}: {item['msg']}"


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
            `Args:` the descriptions of its parameters. A parameter `ctx` gets the context and stays hidden.
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
        model, names = _arguments_model(function, notes)
        schema = _schema(model)
    except (PydanticUserError, NameError) as error:
        reason = str(getattr(error, "message", error)).split("\n", maxsplit=1)[0]
        raise TypeError(f"the tool function {own_name}: no schema can be made of its type hints: {reason}") from error
    return Tool(
        name=name or own_name,
        description=description or text,
        parameters=schema,
        work=FunctionWork(function, model, names),
        kind=kind,
        timeout_s=timeout_s,
        returns_direct=returns_direct,
    )


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _arguments_model(function: Callable[..., Any], notes: Mapping[str, str]) -> tuple[type[BaseModel], dict[str, str]]:
    """Make a model of the parameters. Its fields have numbers for names, so that a parameter may be called anything."""
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    hints = _hints(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == CONTEXT_PARAMETER:
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
    """Resolve the type hints but the context's, whose type may be known to type checkers only."""
    target = function if inspect.isfunction(function) or inspect.ismethod(function) else type(function).__call__
    own: dict[str, Any] = dict(getattr(target, "__annotations__", {}))
    own.pop(CONTEXT_PARAMETER, None)
    own.pop("return", None)

    def bare() -> None: ...

    bare.__annotations__ = own
    return typing.get_type_hints(bare, globalns=getattr(target, "__globals__", {}), include_extras=True)


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

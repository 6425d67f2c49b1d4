"""The `tools` of an agent's configuration, and the tools made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import ValidationInfo, WithJsonSchema, field_validator

from catenary.component import Config, option
from catenary.expr import Template  # noqa: TC001 - read by pydantic
from catenary.jsontext import Json  # noqa: TC001 - read by pydantic
from catenary.load.names import did_you_mean
from catenary_components.ai.models.wire import object_from_text
from catenary_components.ai.tools.chains import ChainWork, ComponentWork
from catenary_components.ai.tools.groups import with_groups
from catenary_components.ai.tools.marking import settings_of
from catenary_components.ai.tools.outside import ActionWork, ExternalWork
from catenary_components.ai.tools.schema import SchemaWork, declared, preset_schema, problems, without
from catenary_components.ai.tools.tool import DEFAULT_TIMEOUT_S, Tool, ToolGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from catenary.component import Context
    from catenary_components.ai.tools.tool import Toolbox, ToolWork


_TYPES = ("function", "builtin", "rulechain", "component", "external", "frontend", "action")
_DEFAULT_TIMEOUT_MS = 120_000


class ToolGroupConfig(Config):
    """Tools that are offered to the model and taken away together."""

    name: str = option(help="By which it is switched, and tools name it as their `group`.")
    description: str = option("", help="What its tools are for; the model chooses by it.")
    notes: str = option("", help="How its tools are used; the model is told when it switches the group on.")
    active: bool = option(False, help="Whether the agent begins with it switched on.")
    switched_by: Literal["model", "code"] = option(
        "model", help="`model`: by the tool `reset_equipped_tools`. `code`: only by the program around."
    )


class ToolConfig(Config):
    """One tool of an agent."""

    type: str = option(
        "function",
        help="`function`: a Python function registered with `engine.tool`. `builtin`: a tool that comes with agents, "
        "else such a function. `rulechain`: a chain. `component`: a single component. `external`: its result comes "
        "from another system or a person. `frontend`: whoever shows the run asks a person for the result. `action`: "
        "whoever shows the run does something, and the result is `OK` at once.",
    )
    name: str = option("", help="By which the model calls it; for a function also the name it is registered by.")
    description: str = option("", help="What the model is told about it; a function's docstring if empty.")
    target_id: str = option("", help="The chain that is run, for `rulechain`.")
    component: str = option("", help="The type that is run, for `component`.", examples=["restApiCall"])
    parameters: Annotated[dict[str, Json], WithJsonSchema({"type": ["object", "string"]})] = option(
        {}, help="JSON Schema of the arguments, as an object or as text; for tools that are no functions."
    )
    config: dict[str, Json] = option(
        {}, help="Settings of a built-in tool or a component.", examples=[{"workDir": "notes"}]
    )
    data: Template = option(
        "",
        help="For `component`: the data of its message, of the arguments as `msg`; absent, the arguments as JSON.",
        examples=["${msg.text}"],
    )
    metadata: dict[str, Template] = option(
        {}, help="For `component`: the metadata of its message.", examples=[{"city": "${msg.city}"}]
    )
    result: Template = option(
        "", help="For `component`: the result, of the message it gave; absent, its data.", examples=["${msg.price}"]
    )
    pass_metadata: list[str] = option(
        [],
        help="For `rulechain` and `component`: names in the metadata of the agent's message; the message of the tool "
        "gets them as they are, whatever the model says.",
        examples=[["userId", "tenant"]],
    )
    view: str = option("html", help="For `frontend`: how the result is asked for, as events tell it.")
    group: str = option("", help="The group of `toolGroups` it belongs to; a tool without one is always offered.")
    presets: dict[str, Json] = option(
        {}, help="Arguments it always gets; the model is not told of them, and what it says for them does not count."
    )
    timeout: int = option(_DEFAULT_TIMEOUT_MS, gt=0, unit="milliseconds", help="Longest time of one call.")
    retry: int = option(
        0, ge=0, help="How often a call that fails is tried again: after a second, then twice as long each time."
    )
    serial: bool | None = option(None, help="True runs it alone, not beside other calls of the same reply.")
    read_only: bool | None = option(None, help="Whether it changes nothing, which the permission mode asks for.")
    strict: bool = option(
        False,
        help="True asks the service for arguments that keep to the schema, where it can; many want all of them to be "
        "`required` then.",
    )
    may_repeat: bool = option(False, help="True lets it be called again and again with the same arguments.")
    return_direct: bool = option(False, help="True makes the result the answer, without asking the model again.")

    @field_validator("type")
    @classmethod
    def _know_type(cls, value: str) -> str:
        if value.strip() not in _TYPES:
            known = f"{', '.join(_TYPES[:-1])} or {_TYPES[-1]}"
            raise ValueError(f"unsupported tool type: {value.strip()}; it must be {known}")
        return value.strip()

    @field_validator("target_id")
    @classmethod
    def _need_target(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("type") == "rulechain" and not (value and info.data.get("name")):
            raise ValueError("a tool of type rulechain needs name and targetId")
        return value

    @field_validator("component")
    @classmethod
    def _need_component(cls, value: str, info: ValidationInfo) -> str:
        kind, name = info.data.get("type"), info.data.get("name")
        if kind == "component" and not (value and name):
            raise ValueError("a tool of type component needs name and component")
        if kind in ("external", "frontend", "action") and not name:
            raise ValueError(f"a tool of type {kind} needs a name")
        return value

    @field_validator("parameters", mode="before")
    @classmethod
    def _read_schema(cls, value: Json) -> Json:
        return object_from_text(value, "the schema of the tool's parameters")


def toolbox(
    entries: Iterable[ToolConfig | str],
    functions: Mapping[str, Callable[..., Any]],
    ctx: Context | None = None,
    groups: Iterable[ToolGroupConfig] = (),
    defaults: Mapping[str, int] | None = None,
) -> Toolbox:
    """Make the tools of an agent.

    Args:
        entries: The configuration, in order; a bare name is short for a function of that name.
        functions: Functions registered with `engine.tool`, by name.
        ctx: The agent's node, for built-in tools and components; without it there are none.
        groups: The groups they may belong to.
        defaults: Settings of all that do not set them themselves, such as `timeout`.

    Raises:
        ValueError: When an entry cannot be a tool; the text says which and why.
        ChainError: When a component cannot be used as it is set.
    """
    named = (ToolConfig(name=entry) if isinstance(entry, str) else entry for entry in entries)
    configs = [_marked(entry, functions, defaults or {}) for entry in named]
    tools = [_settled(_tool(config, functions, ctx), config) for config in configs]
    return with_groups(tools, [_group(group) for group in groups])


def _marked(entry: ToolConfig, functions: Mapping[str, Callable[..., Any]], defaults: Mapping[str, int]) -> ToolConfig:
    """Lay an entry over what was said of its function by `tool`, and that over what holds for all tools."""
    said = settings_of(functions.get(entry.name) if entry.type in ("function", "builtin") else None)
    below: dict[str, Any] = {**(defaults if entry.type not in ("external", "frontend") else {}), **said}
    given = {name: getattr(entry, name) for name in entry.model_fields_set}
    return ToolConfig(**{**below, **given}) if below else entry


def _group(entry: ToolGroupConfig) -> ToolGroup:
    return ToolGroup(entry.name, entry.description, entry.notes, entry.active, entry.switched_by)


def _tool(entry: ToolConfig, functions: Mapping[str, Callable[..., Any]], ctx: Context | None) -> Tool:
    if entry.type == "component" and ctx is not None:
        return _component(entry, ctx)
    if entry.type in _DECLARED:
        return _declared(entry)
    made = _builtin(entry, ctx) if entry.type == "builtin" and ctx is not None else None
    return made or _function(entry, functions)


def _settled(tool: Tool, entry: ToolConfig) -> Tool:
    """Lay the settings that all kinds of tools have over a tool's own."""
    unknown = [name for name in entry.presets if not _takes(tool, name)]
    if unknown:
        raise ValueError(f"the tool {tool.name} has no argument {unknown[0]!r} that could be preset")
    if isinstance(tool.work, SchemaWork):  # functions read texts by their types
        for wrong in problems(entry.presets, preset_schema(tool.parameters, entry.presets)):
            raise ValueError(f"the tool {tool.name}: presets: {wrong}")
    return replace(
        tool,
        timeout_s=entry.timeout / 1000 if "timeout" in entry.model_fields_set else tool.timeout_s,
        returns_direct=entry.return_direct,
        is_serial=tool.is_serial if entry.serial is None else entry.serial,
        is_read_only=tool.is_read_only if entry.read_only is None else entry.read_only,
        may_repeat=tool.may_repeat or entry.may_repeat,
        is_strict=entry.strict,
        retries=entry.retry,
        group=entry.group,
        presets=entry.presets,
        parameters=without(tool.parameters, entry.presets),
    )


def _takes(tool: Tool, name: str) -> bool:
    properties = tool.parameters.get("properties")
    is_open = tool.parameters.get("additionalProperties", True) is not False
    return is_open or (isinstance(properties, dict) and name in properties)


def _builtin(entry: ToolConfig, ctx: Context) -> Tool | None:
    """Make a built-in tool; its name, schema and, unless the entry has another, description are its own."""
    from catenary_components.ai.tools.builtin import make
    from catenary_components.ai.tools.builtin.base import Workplace

    made = make(entry.name, entry.config, Workplace.of(ctx))
    return None if made is None else replace(made, description=entry.description or made.description)


def _function(entry: ToolConfig, functions: Mapping[str, Callable[..., Any]]) -> Tool:
    from catenary_components.ai.tools.functions import function_tool

    function = functions.get(entry.name)
    if not entry.name:
        raise ValueError(f"{entry.type} tool not found: it has no name")
    if function is None:
        known = ", ".join(sorted(functions)) or "none; on the command line, give --tools FILE.py"
        meant = _meant(entry.name, functions)
        raise ValueError(f"{entry.type} tool not found: {entry.name}; registered with engine.tool: {known}{meant}")
    return function_tool(function, name=entry.name, description=entry.description, kind=entry.type)


def _meant(name: str, functions: Mapping[str, Callable[..., Any]]) -> str:
    """Say what was probably meant by a name that no function has."""
    from catenary_components.ai.tools.builtin import BUILTINS

    if name in BUILTINS:
        return f"; the one that comes with agents is {{type: builtin, name: {name}}}"
    meant = did_you_mean(name, [*functions, *BUILTINS])
    return f"; {meant}" if meant else ""


def _component(entry: ToolConfig, ctx: Context) -> Tool:
    """Make a tool of a component: a chain that has nothing but it."""
    node: dict[str, Json] = {"id": entry.name, "type": entry.component, "configuration": entry.config}
    chain = ctx.chain.engine.make(
        {
            "ruleChain": {"id": f"{ctx.chain_id}#{ctx.node_id}.{entry.name}", "root": False},
            "metadata": {"nodes": [node], "connections": []},
        },
        inside=ctx.chain_id,
    )
    parameters = declared(entry.parameters, entry.name)
    work = ComponentWork(
        chain,
        parameters,
        data=entry.data if entry.data.source else None,
        metadata=entry.metadata,
        result=entry.result if entry.result.source else None,
        passes=entry.pass_metadata,
    )
    return Tool(entry.name, entry.description, parameters, work, kind="component", target_id=entry.component)


def _declared(entry: ToolConfig) -> Tool:
    """Make a tool that is nothing but what its entry says."""
    parameters = declared(entry.parameters, entry.name)
    make = _DECLARED[entry.type]
    return Tool(
        entry.name,
        entry.description,
        parameters,
        make(entry, parameters),
        kind=entry.view if entry.type == "frontend" else entry.type,
        target_id=entry.target_id,
        timeout_s=_FRONTEND_TIMEOUT_S if entry.type == "frontend" else DEFAULT_TIMEOUT_S,
        is_external=entry.type in ("external", "frontend"),
    )


_FRONTEND_TIMEOUT_S: Final = 300.0
_DECLARED: Final[Mapping[str, Callable[[ToolConfig, Mapping[str, Json]], ToolWork]]] = {
    "rulechain": lambda entry, parameters: ChainWork(entry.target_id, parameters, entry.pass_metadata),
    "external": lambda _, parameters: ExternalWork(parameters),
    "frontend": lambda _, parameters: ExternalWork(parameters),
    "action": lambda _, parameters: ActionWork(parameters),
}

"""The `tools` of an agent's configuration, and the tools made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import ValidationInfo, WithJsonSchema, field_validator

from catenary.component import Config, option
from catenary.jsontext import Json, loads
from catenary_components.ai.tools.chains import ChainWork
from catenary_components.ai.tools.tool import Tool, Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


_TYPES = ("function", "builtin", "rulechain")


class ToolConfig(Config):
    """One tool of an agent."""

    type: str = option(
        "function",
        help="`function` or `builtin`: a Python function registered with `engine.tool`. `rulechain`: a chain.",
    )
    name: str = option("", help="By which the model calls it; for a function also the name it is registered by.")
    description: str = option("", help="What the model is told about it; a function's docstring if empty.")
    target_id: str = option("", help="The chain that is run, for `rulechain`.")
    parameters: Annotated[dict[str, Json], WithJsonSchema({"type": ["object", "string"]})] = option(
        {}, help="JSON Schema of the arguments, as an object or as text, for `rulechain`."
    )
    timeout: int = option(120_000, gt=0, unit="milliseconds", help="Longest time of one call.")
    return_direct: bool = option(False, help="True makes the result the answer, without asking the model again.")

    @field_validator("type")
    @classmethod
    def _know_type(cls, value: str) -> str:
        if value.strip() not in _TYPES:
            raise ValueError(f"unsupported tool type: {value.strip()}; it must be function, builtin or rulechain")
        return value.strip()

    @field_validator("target_id")
    @classmethod
    def _need_target(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("type") == "rulechain" and not (value and info.data.get("name")):
            raise ValueError("a tool of type rulechain needs name and targetId")
        return value

    @field_validator("parameters", mode="before")
    @classmethod
    def _read_schema(cls, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        try:
            return loads(value) if value.strip() else {}
        except ValueError as error:
            raise ValueError(f"the schema of the tool's parameters is not JSON: {error}") from None


def toolbox(entries: Iterable[ToolConfig | str], functions: Mapping[str, Callable[..., Any]]) -> Toolbox:
    """Make the tools of an agent.

    Args:
        entries: The configuration, in order; a bare name is short for a function of that name.
        functions: Functions registered with `engine.tool`, by name.

    Raises:
        ValueError: When an entry cannot be a tool; the text says which and why.
    """
    configs = (ToolConfig(name=entry) if isinstance(entry, str) else entry for entry in entries)
    return Toolbox(_tool(config, functions) for config in configs)


def _tool(entry: ToolConfig, functions: Mapping[str, Callable[..., Any]]) -> Tool:
    return _chain(entry) if entry.type == "rulechain" else _function(entry, functions)


def _function(entry: ToolConfig, functions: Mapping[str, Callable[..., Any]]) -> Tool:
    from catenary_components.ai.tools.functions import function_tool

    function = functions.get(entry.name)
    if function is None:
        known = ", ".join(sorted(functions)) or "none"
        raise ValueError(f"{entry.type} tool not found: {entry.name}; registered with engine.tool: {known}")
    return function_tool(
        function,
        name=entry.name,
        description=entry.description,
        kind=entry.type,
        timeout_s=entry.timeout / 1000,
        returns_direct=entry.return_direct,
    )


def _chain(entry: ToolConfig) -> Tool:
    parameters = entry.parameters or {"type": "object"}
    return Tool(
        name=entry.name,
        description=entry.description,
        parameters=parameters,
        work=ChainWork(entry.target_id, parameters),
        kind="rulechain",
        target_id=entry.target_id,
        timeout_s=entry.timeout / 1000,
        returns_direct=entry.return_direct,
    )

"""What a built-in tool is made of: its settings, its arguments, and the places it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from catenary.component import Config
from catenary_components.ai.tools.arguments import misfit
from catenary_components.ai.tools.tool import DEFAULT_TIMEOUT_S, Tool, ToolInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.expr import Environment
    from catenary.http import HttpClients
    from catenary.jsontext import Json
    from catenary_components.ai.tools.tool import ToolVerdict


class ToolFailure(Exception):  # noqa: N818 - it is a result, not an error of the program
    """The tool cannot do what it was asked for; the model gets the text as a result that begins with `Error:`."""


class Arguments(BaseModel):
    """Base of what a model may tell a built-in tool: one annotated field an argument."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Workplace:
    """What built-in tools are made in: a node of a chain.

    Attributes:
        environment: What the chain may see; its folders are those that tools may use.
        http: The engine's clients.
        clock: The engine's clock.
    """

    environment: Environment
    http: HttpClients
    clock: Any

    @classmethod
    def of(cls, ctx: Context) -> Workplace:
        """Give the workplace of a node."""
        return cls(ctx.chain.environment, ctx.http, ctx.clock)


ConfigT = TypeVar("ConfigT", bound=Config)
ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class Builtin(Generic[ConfigT, ArgumentsT]):
    """A built-in tool of one agent. Its docstring is what the model is told.

    Attributes:
        name: By which the model calls it.
        config_type: Its settings.
        arguments_type: What the model may tell it.
        is_read_only: Whether it changes nothing.
        is_serial: Whether it runs alone, not beside other calls of the same reply.
        main_argument: The argument that patterns of permission rules are compared with.
        timeout_s: Longest time of a call in seconds, when the tool's entry names none.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Config]] = Config
    arguments_type: ClassVar[type[Arguments]] = Arguments
    is_read_only: ClassVar[bool] = False
    is_serial: ClassVar[bool] = False
    main_argument: ClassVar[str] = ""
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __init__(self, config: ConfigT, workplace: Workplace) -> None:
        """Get ready. Raises: ToolSettingError: when a setting cannot be used."""
        self.config = config
        self.workplace = workplace

    async def run(self, ctx: Context, arguments: ArgumentsT) -> Json:
        """Do the work. Raises: ToolFailure: with a text for the model."""
        raise NotImplementedError

    def check_permission(self, arguments: ArgumentsT) -> ToolVerdict | None:  # noqa: ARG002 - for those that have a say
        """Say what the tool itself thinks of a call; `None` leaves it to the rules and the mode."""
        return None

    def text_for_rules(self, arguments: ArgumentsT) -> str:
        """Give what patterns of permission rules are compared with."""
        return str(getattr(arguments, self.main_argument))

    def folder_of(self, ctx: Context, arguments: ArgumentsT) -> str:  # noqa: ARG002 - for those whose calls name one
        """Give the folder of a run that paths in the arguments are relative to; empty for that of the agent."""
        return ""

    async def close(self) -> None:
        """Let go of what the tool holds; may be awaited again."""


class ToolSettingError(ValueError):
    """A setting of a built-in tool cannot be used.

    Args:
        field: The setting, as chains name it.
        text: What is wrong and what to do.
    """

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")


class BuiltinWork:
    """Runs a built-in tool: reads its arguments, and turns what it cannot do into a text for the model."""

    def __init__(self, builtin: Builtin[Any, Any]) -> None:
        self.builtin = builtin

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Check against the tool's arguments. Raises: ToolInputError: naming every one that does not fit."""
        self._read(arguments)

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Run the tool."""
        try:
            return await self.builtin.run(ctx, self._read(arguments))
        except ToolFailure as error:
            return f"Error: {error}"

    def check_permission(self, arguments: Mapping[str, Json]) -> ToolVerdict | None:
        """Ask the tool; arguments that it cannot read are its business only when it is run."""
        try:
            read = self._read(arguments)
        except ToolInputError:
            return None
        return self.builtin.check_permission(read)

    def text_for_rules(self, arguments: Mapping[str, Json]) -> str:
        """Ask the tool what patterns of rules are compared with."""
        return self.builtin.text_for_rules(self._read(arguments))

    def folder_of(self, ctx: Context, arguments: Mapping[str, Json]) -> str:
        """Ask the tool in which folder a call works."""
        return self.builtin.folder_of(ctx, self._read(arguments))

    async def close(self) -> None:
        """Let go of what the tool holds."""
        await self.builtin.close()

    def _read(self, arguments: Mapping[str, Json]) -> Arguments:
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return self.builtin.arguments_type.model_validate(given)
        except ValidationError as error:
            raise misfit(error) from None


def as_tool(builtin: Builtin[Any, Any]) -> Tool:
    """Give a built-in tool as a tool of an agent."""
    work = BuiltinWork(builtin)
    return Tool(
        name=builtin.name,
        description=" ".join((type(builtin).__doc__ or "").split()),
        parameters=schema_of(builtin.arguments_type),
        work=work,
        kind="builtin",
        timeout_s=builtin.timeout_s,
        is_read_only=builtin.is_read_only,
        is_serial=builtin.is_serial,
        main_argument=builtin.main_argument,
        check_permission=work.check_permission,
        text_for_rules=work.text_for_rules if builtin.main_argument else None,
        folder_of=work.folder_of,
    )


def schema_of(arguments: type[Arguments]) -> dict[str, Json]:
    """Give the JSON Schema of the arguments, without titles, which cost tokens and say nothing."""
    schema = cast("dict[str, Json]", _bare(arguments.model_json_schema()))
    schema.pop("description", None)
    return schema


def _bare(value: Any) -> Any:
    """Leave out the titles, and `null` as another kind of value: an argument that is not given is absent."""
    if isinstance(value, list):
        return [_bare(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    schema = {
        key: _bare(item)
        for key, item in cast("dict[str, Any]", value).items()
        if key != "title" or not isinstance(item, str)
    }
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if "anyOf" in schema and len(kinds) == 1:
        del schema["anyOf"]
        schema = {**kinds[0], **schema}
        if schema.get("default", 0) is None:
            del schema["default"]
    return schema

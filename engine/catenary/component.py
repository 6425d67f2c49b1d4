"""What a component author writes against: `Component`, `Config`, `option`, `Context`, `Example`, `register`."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticUndefined

from catenary.jsontext import Json
from catenary.masking import MASK
from catenary.promised import promised
from catenary.references import NodeId, NodeIds, NodeOutput
from catenary.relation import FAILURE, SUCCESS, Relation
from catenary.runtime.context import Arrival, Context, End
from catenary.runtime.ends import JoinLimits, answer_of
from catenary.time_limit import TimeLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from catenary.chain import Chain
    from catenary.expr import Environment
    from catenary.load.decode import FieldProblem
    from catenary.message import Message
    from catenary.registry import Registry
    from catenary.runtime.again import Again

__all__ = [
    "Arrival",
    "Component",
    "Config",
    "Context",
    "Emission",
    "End",
    "Example",
    "JoinLimits",
    "NodeId",
    "NodeIds",
    "NodeOutput",
    "TimeLimit",
    "answer_of",
    "option",
    "register",
]

_Sent: TypeAlias = "Relation | str | tuple[Relation | str, Message]"

Emission: TypeAlias = "_Sent | list[_Sent] | Again | None"
"""What `run` returns: a relation (the message goes on unchanged), `(relation, message)`, a list of these, `None`, which
ends the branch, or `Again`, if the component says that it `repeats`. `OrElse` and `EndHere` are relations, too."""


class Config(BaseModel):
    """Base of a component's settings: one annotated field an option, each made with `option`.

    Names are snake_case here and camelCase in a chain. Values are read leniently: keys without regard to case, `"1"`
    for 1, `"true"` for true, a single value for a list of one; `null` counts as absent. Types: `str`, `int`, `float`,
    `bool`, `Literal`, lists, dicts, nested `Config`s, `Template`, `Expression` and `Script` of `catenary.expr`, and
    `NodeId`, `NodeIds` and `NodeOutput` for nodes of the same chain.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        coerce_numbers_to_str=True,
        validate_default=True,
        arbitrary_types_allowed=True,
        extra="ignore",
        frozen=True,
    )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show the options, secret ones masked."""
        for name, value in super().__repr_args__():
            option = type(self).model_fields.get(name or "")
            extra: Any = option.json_schema_extra if option is not None else None
            yield name, MASK if value and isinstance(extra, dict) and "x-secret" in extra else value


def option(  # noqa: PLR0913 - all but the first by name
    default: Any = PydanticUndefined,
    *,
    help: str,  # noqa: A002 - the word the rest of the API uses
    unit: str = "",
    label: str = "",
    also: Sequence[str] = (),
    examples: Sequence[Json] | None = None,
    secret: bool = False,
    deprecated: str = "",
    ref: Literal["", "primary", "shared"] = "",
    group: str = "",
    **limits: Any,
) -> Any:
    """Declare one option of a `Config`.

    Args:
        default: The value when the option is absent; without one the option is required. A list or dict is copied.
        help: One sentence for forms, schema, docs and editors.
        unit: The unit of a number, such as `"seconds"`.
        label: A short name for forms; made from the field's name if absent.
        also: Other names by which the option may be given in a chain.
        examples: Example values for schema and docs.
        secret: True masks the value wherever settings are shown.
        deprecated: For an option that chains should no longer use: what to do instead, such as ``"use `delayMs`"``.
            Giving it another value than its default is a warning at load.
        ref: `primary` for the address of a `SharedComponent`, which may be `ref://ID`; `shared` for an option that
            counts for the node's own connection only, and not when one is borrowed.
        group: Under which heading editors show it.
        **limits: What pydantic's `Field` takes: `gt`, `ge`, `lt`, `le`, `min_length`, `max_length`, `pattern`, `alias`.
    """
    extra: dict[str, Json] = {"unit": unit, "label": label, "also": list(also), "secret": secret}
    extra |= {"deprecated": deprecated, "ref": ref, "group": group}
    return Field(
        default,
        description=help,
        examples=list(examples) if examples else None,
        json_schema_extra={f"x-{key}": value for key, value in extra.items() if value},
        **limits,
    )


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a component, shown in its reference page and run as a test.

    Args:
        text: What it shows, as a claim.
        config: The node's settings.
        inputs: The data of the messages sent in, one after the other (a `Message` to give more than data).
        leaves_by: The relation each message leaves by, in the same order.
        data: What the data of each message is afterwards, if the example tells.
        runs: False for an example that needs something the tests do not have; `text` says what.
    """

    text: str
    config: Mapping[str, Json] = field(default_factory=dict[str, Json])
    inputs: Sequence[Json] = ()
    leaves_by: Sequence[str] = ()
    data: Sequence[Json] | None = None
    runs: bool = True


ConfigT = TypeVar("ConfigT", bound=Config)


class Component(Generic[ConfigT]):
    """What stands behind a node type. One instance a node; `run` may be called many times at once.

    `run(self, ctx, msg)` is a plain `def` (called inline: it must not wait) or an `async def`. What it returns says
    where the message goes (`Emission`); what it raises goes by `Failure`. An `async def` may send more on the way
    with `await ctx.emit(relation, message)`.

    Attributes:
        relations: The relations `run` may leave by; an empty tuple means any.
        onward: Those of `relations` that have to lead to another node: what leaves by them ends nowhere on purpose.
        free_relations: True when the chain author names relations (a switch), besides those in `relations`.
        examples: Examples, run as tests.
        collects: True for a join: `run(self, ctx, arrivals)` gets the list of all `Arrival`s at once.
        blocking: True for a `def run` that waits: it runs in a thread. `__init__` may set it for the one node, by its
            settings.
        pure: True when `run` has no effects and may be run again.
        waits: False for an `async def run` that awaits nothing but `ctx.emit`, `ctx.run_node` and `ctx.run_chain`;
            such a node needs no event loop by itself.
        retries: True when the component retries by itself. `__init__` may set it for the one node.
        ends: True for a node at which branches end by definition; `run` is not called.
        repeats: True when `run` may return `Again`.
        join_limits: For a join, when it goes on although more could reach it; `__init__` may set it for the one node.
        opens_first: True when it is opened before the other nodes of its chain, and so is closed after them.
        asks: True when it waits for an answer from outside.
        brings_in: True for an endpoint: it is no node, and `run` is not called.
        chain_options: Options that name a chain, such as `mode` or `permission.guard`, each with the names that come
            with the component. Where one is a file (`.json`, `.yaml`), what is wrong in it is told with what is wrong
            in the chain of the node; a name that is nearly one of these is told, too.
        is_note: True when its settings are for the readers of a chain: nothing in them is looked at, and it may stand
            unconnected.
    """

    relations: ClassVar[tuple[Relation, ...]] = (SUCCESS, FAILURE)
    onward: ClassVar[tuple[Relation, ...]] = ()
    free_relations: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = ()
    collects: ClassVar[bool] = False
    blocking: bool = False
    pure: ClassVar[bool] = False
    waits: ClassVar[bool] = True
    retries: bool = False
    ends: ClassVar[bool] = False
    repeats: ClassVar[bool] = False
    join_limits: JoinLimits | None = None
    opens_first: ClassVar[bool] = False
    asks: ClassVar[bool] = False
    brings_in: ClassVar[bool] = False
    is_note: ClassVar[bool] = False
    chain_options: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    info: ClassVar[ComponentInfo | None] = None

    def __init__(self, config: ConfigT) -> None:
        self.config = config

    def look(self, registry: Registry, environment: Environment) -> Iterable[FieldProblem]:  # noqa: ARG002 - for those that look
        """Give what is wrong with the settings, or doubtful, beyond what each of them says for itself.

        Asked when a chain is checked and when it is loaded, before anything is opened.

        Args:
            registry: The types of components that there are.
            environment: What expressions may use, and which files may be read.
        """
        return ()

    def open(self, ctx: Context) -> Awaitable[None] | None:
        """Get ready: called once before the first message. May be `async def`, which runs at first use."""

    def close(self) -> Awaitable[None] | None:
        """Let go of what `open` got. May be `async def`; is called once, and again without harm."""

    def preview(self, ctx: Any, msg: Message) -> Mapping[str, Json]:  # noqa: ARG002 - for those that send something
        """Give what the node would send to the outside for a message, by name; `catenary render` shows it.

        Nothing was opened before, and nothing may be opened or called here. Of `ctx` there is `ctx.output` only.
        What it raises is shown as what keeps the node from sending.
        """
        return {}

    def named_relations(self) -> Iterable[str] | None:
        """Give the relations that its settings name, when it leaves by these and those in `relations` only.

        Asked at load if it has `free_relations`: a connection by any other relation is a warning then. `None` says that
        nobody knows.
        """
        return None

    def needs(self) -> Mapping[str, Sequence[str]]:
        """Give the optional packages that it imports, by what installs them: `{"catenary[sql]": ["sqlalchemy"]}`.

        Asked at load: one that is not there is a warning then.
        """
        return {}

    def own_chains(self) -> Sequence[Chain]:
        """Give the chains that it has made for itself and runs, once it is open; tests stand in for their nodes."""
        return ()

    if TYPE_CHECKING:
        # A join gets a list of arrivals in place of the message, hence `Any`.
        def run(self, ctx: Context, msg: Any, /) -> Emission | Awaitable[Emission]:
            """Handle one message."""
            ...

    @classmethod
    def config_type(cls) -> type[Config]:
        """Give the `Config` class named in `Component[...]`; the empty `Config` when there is none."""
        for base in cls.__mro__:
            for generic in getattr(base, "__orig_bases__", ()):
                origin = get_origin(generic)
                if isinstance(origin, type) and issubclass(origin, Component):
                    argument = get_args(generic)[0]
                    if isinstance(argument, type) and issubclass(argument, Config):
                        return argument
        return Config


@dataclass(frozen=True, slots=True)
class ComponentInfo:
    """What `register` was told about a component."""

    type: str
    category: str = "custom"
    since: str = ""
    aliases: tuple[str, ...] = ()
    label: str = ""
    icon: str = ""
    order: int = 0
    disabled: bool = False
    kind: Literal["nc", "dc", "ec"] = "nc"
    """Written in Python, a chain, or an endpoint."""


ComponentT = TypeVar("ComponentT", bound="type[Component[Any]]")

registered: dict[str, type[Component[Any]]] = {}
"""The components of this process by type name and by alias; read it through `catenary.registry`."""


def of_process(name: str) -> type[Component[Any]] | None:
    """Give the component of this process with this type name or alias, registered or promised; `None` when none.

    Raises:
        Exception: What importing the promised one raises.
    """
    found = registered.get(name)
    if found is None and name in promised:
        found = promised[name].fetch()
        registered.setdefault(name, found)  # who forgot what is registered has not forgotten the module
    return found


def register(
    type_name: str,
    *,
    category: str,
    since: str = "",
    aliases: Sequence[str] = (),
    label: str = "",
    icon: str = "",
    order: int = 0,
    disabled: bool = False,
) -> Callable[[ComponentT], ComponentT]:
    """Register a component class under the node type by which chains name it.

    Args:
        type_name: A camelCase verb or noun; `/` makes a namespace, as in `ai/agent`.
        category: `filter`, `transform`, `action`, `flow`, `external`, `endpoint`, `ai`, or one of your own.
        since: The version it came with.
        aliases: Other type names for the same component.
        label: A short name for editors; made from the type if absent.
        icon: The name of a picture for editors.
        order: Where it stands in its category: lower is earlier, the type's name decides among equals.
        disabled: True to have editors not offer it; chains that name it run.

    Raises:
        ValueError: When another class has the name already.
    """

    def decorate(cls: ComponentT) -> ComponentT:
        for name in (type_name, *aliases):
            if _home_of(name) not in {None, (cls.__module__, cls.__qualname__)}:
                raise ValueError(f"the component already exists. componentType={name}")
            registered[name] = cls
        cls.info = ComponentInfo(type_name, category, since, tuple(aliases), label, icon, order, disabled)
        return cls

    return decorate


def _home_of(name: str) -> tuple[str, str] | None:
    if name in registered:
        return registered[name].__module__, registered[name].__qualname__
    return promised[name][1:] if name in promised else None


def info_of(cls: type[Component[Any]]) -> ComponentInfo:
    """Give what a component was registered with. Raises: ValueError: when it was not registered."""
    if cls.info is None:
        raise ValueError(f"{cls.__qualname__} is not registered; decorate it with @register(...)")
    return cls.info

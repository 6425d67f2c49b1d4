"""A chain as a component type: each node of the type runs a chain of its own, with the node's options as variables."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from catenary.component import Component, ComponentInfo, Config, registered
from catenary.dynamic.settings import ChainConfig, chain_variables, config_of
from catenary.errors import ChainInvalid, EngineError
from catenary.relation import FAILURE, Relation, fail

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from catenary.chain import Chain
    from catenary.component import Context, Emission, End
    from catenary.definition import ChainDefinition
    from catenary.jsontext import Json
    from catenary.life.pool import Source
    from catenary.load import Document
    from catenary.message import Message

_CATEGORY: Final = "custom"
_ICON: Final = "custom-node"

_opening: ContextVar[tuple[str, ...]] = ContextVar("catenary_dynamic_types", default=())


class DynamicComponent(Component[ChainConfig]):
    """Runs a chain of its own for each node.

    The chain has the id `<chain id>#<node id>`. Its variables are its own, then the defaults of its schema, then the
    variables of the chain that the node is in, then the options of the node: the later one wins. Each end of the chain
    goes on by its own relation.

    Attributes:
        document: The chain.
        settings: What its options are.
    """

    relations = ()
    waits = False
    document: ClassVar[Document]
    settings: ClassVar[type[ChainConfig]]
    _chain: Chain | None = None

    @classmethod
    def config_type(cls) -> type[Config]:
        return cls.settings

    def open(self, ctx: Context) -> None:
        """Make the chain. Raises: ChainInvalid: when it has errors with these options."""
        with _not_inside_itself(ctx.node_type):
            self._chain = ctx.chain.engine.make(self._document(ctx), inside=ctx.chain_id)

    def _document(self, ctx: Context) -> Document:
        definition = self.document.definition
        own = dict(chain_variables(definition))
        given = self.config.model_fields_set
        names = self.config.variables
        defaults = {name: value for name, value in names.items() if self._field(name) not in given}
        options = {name: value for name, value in names.items() if self._field(name) in given}
        host = dict(ctx.vars)
        merged = cast("Json", {**own, **defaults, **host, **options})
        configuration = {key: value for key, value in definition.configuration.items() if key.lower() != "vars"}
        changed = replace(
            definition, id=f"{ctx.chain_id}#{ctx.node_id}", configuration={**configuration, "vars": merged}
        )
        return replace(self.document, definition=changed)

    def _field(self, alias: str) -> str:
        fields = type(self.config).model_fields.items()
        return next((name for name, field in fields if field.alias == alias), alias)

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Run the chain on a message, and pass its ends on."""

        async def pass_on(end: End) -> None:
            if not (end.gated or end.is_late):
                await ctx.emit(*(fail(end.error, end.message) if end.error else (end.relation, end.message)))

        assert self._chain is not None
        await ctx.run_chain(self._chain, msg, each=pass_on)
        return None

    async def close(self) -> None:
        """Close the chain."""
        if self._chain is not None:
            await self._chain.close()


def with_inner(chains: Iterable[Chain]) -> Iterator[Chain]:
    """Give chains, each with those that nodes of it run as their component."""
    for chain in chains:
        yield chain
        made = (step.component for step in chain.compiled.steps)
        yield from with_inner(
            one._chain for one in made if isinstance(one, DynamicComponent) and one._chain is not None
        )


def component_of(type_name: str, source: Source, *, aliases: Sequence[str] = ()) -> type[DynamicComponent]:
    """Make a component class of a chain; it is not registered yet.

    Args:
        type_name: The node type.
        source: The chain, as for `Engine.load`. Of its `additionalInfo` count `category`, `icon`, `description`,
            `version`, `relationTypes` (a list, or a text with commas) and `inputSchema`.
        aliases: Other names of the type.

    Raises:
        ChainSyntaxError: When the text is neither JSON nor YAML.
        ChainInvalid: When a part of it has a wrong shape.
        EngineError: When its `inputSchema` is no schema of an object.
    """
    from catenary.load import Document, read

    document = source if isinstance(source, Document) else read(source)
    if any(problem.severity == "error" for problem in document.problems):
        raise ChainInvalid(document.problems, file=document.file)
    definition = document.definition
    about = definition.additional_info
    text = str(about.get("description") or definition.name or f"Run the chain `{definition.id}`.")
    made = type(
        "".join(part[:1].upper() + part[1:] for part in type_name.replace("/", " ").split()) or "Dynamic",
        (DynamicComponent,),
        {
            "__doc__": text,
            "__module__": __name__,
            "document": document,
            "settings": config_of(definition),
            "relations": _relations(definition),
            "free_relations": not about.get("relationTypes"),
        },
    )
    made.info = ComponentInfo(
        type_name,
        str(about.get("category") or _CATEGORY),
        str(about.get("version") or ""),
        tuple(aliases),
        definition.name,
        str(about.get("icon") or _ICON),
        kind="dc",
    )
    return cast("type[DynamicComponent]", made)


def register_chain(type_name: str, source: Source, *, aliases: Sequence[str] = ()) -> type[Component[Any]]:
    """Register a chain as a component type for the whole process: what the module of a package calls.

    Args:
        type_name: The node type.
        source: The chain, as for `component_of`.
        aliases: Other names of the type.

    Raises:
        ValueError: When another component has one of the names already.
        ChainError: As `component_of`.
    """
    made = component_of(type_name, source, aliases=aliases)
    for name in (type_name, *aliases):
        present = registered.get(name)
        if present is not None and not _is_same(present, made):
            raise ValueError(f"the component already exists. componentType={name}")
    registered.update(dict.fromkeys((type_name, *aliases), made))
    return made


def _is_same(present: type[Component[Any]], made: type[DynamicComponent]) -> bool:
    return issubclass(present, DynamicComponent) and repr(present.document.value) == repr(made.document.value)


def _relations(definition: ChainDefinition) -> tuple[Relation, ...]:
    names = definition.additional_info.get("relationTypes")
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    if not isinstance(names, list):
        return ()
    found = [Relation(str(name), help="An end of the chain.") for name in cast("list[Json]", names) if name]
    return tuple(found) if FAILURE in found else (*found, FAILURE)


@contextmanager
def _not_inside_itself(type_name: str) -> Generator[None]:
    types = _opening.get()
    if type_name in types:
        circle = " -> ".join([*types[types.index(type_name) :], type_name])
        raise EngineError(f"the component runs itself: {circle}", hint="take it out of its own chain")
    token = _opening.set((*types, type_name))
    try:
        yield
    finally:
        _opening.reset(token)

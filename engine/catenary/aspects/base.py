"""`Aspect`: the join points that a host program may fill, and where an aspect applies."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypedDict, cast

from catenary.errors import CatenaryError, EngineError
from catenary.relation import FAILURE, Failed, NodeFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from catenary.chain import Chain
    from catenary.component import Component, Context, Emission
    from catenary.definition import ChainDefinition, NodeDefinition
    from catenary.message import Message
    from catenary.outcome import Outcome
    from catenary.relation import Relation

Proceed: TypeAlias = "Callable[[Message], Any]"
"""Goes on to the node with a message, and gives what it sends out; to be awaited in an `async def`."""

LOADING: Final = ("chain_before_init", "node_before_init", "objections", "reads", "created", "reload", "destroy")


class Objection(CatenaryError):  # noqa: N818 - said of a chain, not of the program
    """Why an aspect, or a rule of the host, refuses a chain. To be raised, or to be returned by a rule.

    Usual cause: The chain breaks a rule of the program that it is loaded into.

    Cure: Do what the text says.

    Args:
        text: What is wrong.
        node_id: The node that it is about; empty for the chain as a whole.
        option: The option of the node that it is about.
        hint: What to do.
        severity: `warning` lets the chain load.
    """

    code = "chain.refused"

    def __init__(
        self, text: str, *, node_id: str = "", option: str = "", hint: str = "", severity: str = "error"
    ) -> None:
        super().__init__(text, hint=hint)
        self.node_id = node_id
        self.option = option
        self.severity = severity


class Cut(TypedDict, total=False):
    """Where an aspect applies: the attributes of `Aspect` with these names."""

    types: Sequence[str]
    nodes: Sequence[str]
    chains: Sequence[str]
    order: int


class Aspect:
    """What is woven around the nodes and the runs of chains. Override the join points that are needed.

    A join point that is not overridden costs nothing. The points of messages (`start` to `completed`) may be `def` or
    `async def`; an `async def` at a node makes the node an awaited one. A message that they return is the one that
    goes on; `None` lets the present one go on. What they raise is the `Failure` of the node, or of the whole run.

    Aspects apply in ascending order, at each join point alike, and a lower one is further outside. Of the same order,
    the one that was given first comes first.

    Attributes:
        order: Where it stands among the others.
        types: Node types that it applies to, `*` stands for any characters; empty for all. Aliases count.
        nodes: Ids of nodes that it applies to, in the same way.
        chains: Ids of chains that it applies to, in the same way.
        leaves_out: Join points that are filled but not woven in.
    """

    order: int = 100
    types: Sequence[str] = ()
    nodes: Sequence[str] = ()
    chains: Sequence[str] = ()
    leaves_out: frozenset[str] = frozenset()

    def place(self, cut: Cut) -> None:
        """Set where it applies, for an `__init__` that takes `**cut`; a single text stands for a list of one.

        Raises:
            EngineError: When something else than `types`, `nodes`, `chains` and `order` is given.
        """
        unknown = next((name for name in cut if name not in Cut.__annotations__), None)
        if unknown is not None:
            raise EngineError(f"{unknown!r} says not where an aspect applies", hint="use types, nodes, chains, order")
        for name in ("types", "nodes", "chains"):
            given = cut.get(name)
            if given is not None:
                setattr(self, name, (given,) if isinstance(given, str) else tuple(given))
        self.order = cut.get("order", self.order)

    def new(self) -> Self:
        """Give the instance for one chain of one engine; asked once for each chain, and kept when it is reloaded.

        Override it when the aspect holds state that chains must not share.
        """
        return self

    def for_node(self, chain: Chain, node: NodeDefinition, component: Component[Any]) -> Aspect | None:  # noqa: ARG002
        """Give what is woven at a node: asked at load, once for each node that the cuts let in.

        None leaves the node out; another aspect, such as one with state of its own, takes the place of this one.
        """
        return self

    def point_cut(self, ctx: Context, msg: Message, relation: Relation | str, /) -> bool:  # noqa: ARG002
        """Tell whether the aspect applies here, for what only a message can decide; asked at each join point of it.

        Args:
            ctx: The node; for `start` and `completed` the first one of the run.
            msg: The message.
            relation: By which it came; for `after` and `end`, by which it leaves.
        """
        return True

    # Loading. These are plain `def`.

    def chain_before_init(self, definition: ChainDefinition, /) -> ChainDefinition | None:
        """Look at a chain before its nodes are made, at load, reload and check; a definition returned replaces it.

        Raises:
            Objection: To refuse the chain. Any other error refuses it, too.
        """

    def node_before_init(self, definition: ChainDefinition, node: NodeDefinition, /) -> NodeDefinition | None:
        """Look at a node before it is made; a definition returned replaces it, but its id stays.

        Raises:
            Objection: To refuse the chain. Any other error refuses it, too.
        """

    def objections(self, definition: ChainDefinition, /) -> Iterable[Objection]:  # noqa: ARG002
        """Give all that speaks against a chain, as other aspects have left it: where there may be several reasons."""
        return ()

    def reads(self, definition: ChainDefinition, /) -> Iterable[str]:  # noqa: ARG002
        """Give the ids of the nodes that it asks `ctx.output` for: what they send is kept during a run."""
        return ()

    def created(self, chain: Chain, /) -> None:
        """Hear of a chain that was loaded, before it is in service. Raises: Exception: to refuse it."""

    def reload(self, chain: Chain, node_id: str = "", /) -> None:
        """Hear of a chain, or of one node of it, that was replaced, when it is in service. An error is logged."""

    def destroy(self, chain: Chain, /) -> None:
        """Hear of a version of a chain whose nodes were closed: reloaded, removed, or with its engine."""

    # Runs

    def start(self, ctx: Context, msg: Message, /) -> Message | Awaitable[Message | None] | None:
        """Look at a message before the first node. Raises: Exception: the run ends here, as `Failure`."""

    def end(
        self, ctx: Context, msg: Message, relation: Relation | str, error: BaseException | None, /
    ) -> Message | Awaitable[Message | None] | None:
        """Look at a branch that ended; the message returned is what the outcome and callbacks get.

        Ends that are no answers, for the chain has `end` nodes elsewhere, are left out, failures excepted.
        """

    def completed(self, ctx: Context, msg: Message, outcome: Outcome, /) -> Message | Awaitable[Message | None] | None:
        """Look at a run whose branches have all ended, with the message of its outcome; one returned replaces that."""

    # Nodes

    def before(
        self, ctx: Context, msg: Message, relation: Relation | str, /
    ) -> Message | Awaitable[Message | None] | None:
        """Look at a message before the node gets it."""

    def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission | Awaitable[Emission]:  # noqa: ARG002
        """Stand in the place of the node, and go on to it with `proceed(msg)`: once, several times, or not at all.

        What is returned is what the node sends out. `proceed` raises what the node raises. In an `async def` it is
        awaited. A plain `def` at a node that is awaited can only pass on what it gives: see `around_awaited`.
        """
        return proceed(msg)

    async def around_awaited(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:  # noqa: ARG002
        """Do what `around` does at a node that is awaited: for an aspect whose plain `around` looks at what comes back.

        Aspects that fill both make no node an awaited one.
        """
        return await proceed(msg)

    def wrap(self, run: Callable[..., Any], is_awaited: bool) -> Callable[..., Any]:  # noqa: ARG002
        """Give what is called for a node in place of `run`: what `around` does, without a call more at each visit.

        Args:
            run: What is called so far: `run(ctx, msg)` gives the emission.
            is_awaited: Whether that has to be awaited; what is given back has to be then, and only then.
        """
        return run

    def after(
        self, ctx: Context, msg: Message, relation: Relation | str, error: BaseException | None, /
    ) -> Message | Awaitable[Message | None] | None:
        """Look at each message that a node sends out, also on the way, before others get it."""


def has(aspect: Aspect, point: str) -> bool:
    """Tell whether an aspect fills a join point."""
    if point in aspect.leaves_out:
        return False
    return point in vars(aspect) or getattr(type(aspect), point) is not getattr(Aspect, point)


def matches(patterns: Sequence[str], names: Iterable[str]) -> bool:
    """Tell whether a cut lets in something with any of these names."""
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def covers(aspect: Aspect, node: NodeDefinition, component: Component[Any]) -> bool:
    """Tell whether the cuts of an aspect let a node in."""
    if not matches(aspect.nodes, (node.id,)):
        return False
    info = component.info
    return matches(aspect.types, (node.type, info.type, *info.aliases) if info else (node.type,))


def error_of(emission: Any) -> BaseException | None:
    """Give the error of an emission that is, or has in it, a `Failure`; None when it has none."""
    if isinstance(emission, list):
        return next((error for item in cast("list[Any]", emission) if (error := error_of(item)) is not None), None)
    relation, sent = cast("tuple[Any, Any]", emission) if isinstance(emission, tuple) else (emission, None)
    if isinstance(relation, Failed):
        return relation.error
    if not isinstance(relation, str) or relation != FAILURE:
        return None
    return NodeFailure(str(sent.metadata.get("errorMsg") or FAILURE) if sent is not None else FAILURE)

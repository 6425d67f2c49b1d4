"""A node or chain that another node runs: how it is written, and how it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from catenary.component import NodeId
from catenary.references import id_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from catenary import Message
    from catenary.component import Context, End
    from catenary.jsontext import Json

    Each = Callable[[End], Awaitable[None]]


class Target(NodeId):
    """What is run: a node of this chain, a node of another chain, or (without `node_id`) a whole chain.

    Attributes:
        node_id: The node; empty for a whole chain.
        chain_id: The chain; empty for this one.
    """

    __slots__ = ("chain_id", "node_id")

    node_id: str
    chain_id: str

    @property
    def named_nodes(self) -> tuple[str, ...]:
        """The id of the node when it belongs to this chain."""
        return () if self.chain_id else (self.node_id,)

    @classmethod
    def _made(cls, text: str, node_id: str, chain_id: str) -> Self:
        target = cls(text)
        target.node_id, target.chain_id = node_id, chain_id
        return target

    def run(
        self,
        ctx: Context,
        message: Message,
        *,
        follow: bool = True,
        each: Each | None = None,
        scope: Iterable[Any] | None = None,
    ) -> Coroutine[Any, Any, list[End]]:
        """Run it as part of a visit, as `ctx.run_node` and `ctx.run_chain` do; to be awaited."""
        if not self.node_id:
            return ctx.run_chain(self.chain_id, message, each=each, scope=scope)
        return ctx.run_node(
            self.node_id, message, chain_id=self.chain_id or None, follow=follow, each=each, scope=scope
        )


class Body(Target):
    """What a loop does: `nodeId`, `node:nodeId` or `chain:chainId`."""

    __slots__ = ()

    always_runs = False

    @classmethod
    def read(cls, value: Json) -> Self:
        """Read a body. Raises: ValueError: when it is none of the three."""
        text = _text(value, "name the first node of the body, or a chain as chain:ID")
        kind, name = _parts(text, "a node id, or a chain as chain:ID")
        if not name:
            raise ValueError(f"names no {'chain' if kind == 'chain' else 'node'} after the colon")
        return cls._made(text, "", name) if kind == "chain" else cls._made(text, name, "")


class NodeReference(Target):
    """A node wherever it stands: `nodeId` or `chainId:nodeId`."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Json) -> Self:
        """Read a reference. Raises: ValueError: when it is neither."""
        text = _text(value, "name a node, or a node of another chain as CHAIN:NODE")
        chain_id, node_id = _parts(text, "a node id, or CHAIN:NODE for a node of another chain")
        if not node_id or (":" in text and not chain_id):
            raise ValueError(f"names no {'chain before' if node_id else 'node after'} the colon")
        return cls._made(text, node_id, chain_id)


def _text(value: Json, hint: str) -> str:
    text = id_text(value)
    if not text:
        raise ValueError("must be a text" if text is None else f"is empty; {hint}")
    return text


def _parts(text: str, rule: str) -> tuple[str, str]:
    """Give what stands before the colon, if there is one, and what stands behind it."""
    if text.count(":") > 1:
        raise ValueError(f"has more than one colon in {text!r}; write {rule}")
    before, _, behind = text.rpartition(":")
    return before.strip(), behind.strip()

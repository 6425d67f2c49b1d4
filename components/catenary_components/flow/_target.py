"""A node or chain that another node runs: how it is written, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from catenary import Message
    from catenary.component import Context, End

    Each = Callable[[End], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Target:
    """What is run: a node of this chain, a node of another chain, or (without `node_id`) a whole chain."""

    node_id: str = ""
    chain_id: str = ""

    @property
    def own_node(self) -> str:
        """The id of the node when it belongs to this chain; empty else."""
        return "" if self.chain_id else self.node_id

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


def body_target(text: str) -> Target:
    """Read what a loop does: `nodeId`, `node:nodeId` or `chain:chainId`. Raises: ValueError: when it is neither."""
    if not text.strip():
        raise ValueError("is empty; name the first node of the body, or a chain as chain:ID")
    kind, name = _parts(text, "must be a node id, or a chain as chain:ID")
    if not name:
        raise ValueError(f"names no {'chain' if kind == 'chain' else 'node'} after the colon")
    return Target(chain_id=name) if kind == "chain" else Target(name)


def node_target(text: str) -> Target:
    """Read a reference to a node: `nodeId` or `chainId:nodeId`. Raises: ValueError: when it is neither."""
    if not text.strip():
        raise ValueError("is empty; name a node, or a node of another chain as CHAIN:NODE")
    chain_id, node_id = _parts(text, "must be a node id, or CHAIN:NODE for a node of another chain")
    if not node_id or (":" in text and not chain_id):
        raise ValueError(f"names no {'chain before' if node_id else 'node after'} the colon")
    return Target(node_id, chain_id)


def _parts(text: str, rule: str) -> tuple[str, str]:
    """Give what stands before the colon, if there is one, and what stands behind it."""
    if text.count(":") > 1:
        raise ValueError(f"{rule}; there is more than one colon in {text!r}")
    before, _, behind = text.rpartition(":")
    return before.strip(), behind.strip()


def named_nodes(option: str, target: Target) -> Mapping[str, str]:
    """Give what `Component.targets` of a node with this one target tells."""
    return {option: target.own_node} if target.own_node else {}

"""`Retrying`: runs nodes again that failed, for those that say nothing about it themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from catenary.aspects.base import Aspect, Proceed
from catenary.definition import Retry
from catenary.errors import EngineError
from catenary.runtime.weave import attempts

if TYPE_CHECKING:
    from catenary.aspects.base import Cut
    from catenary.chain import Chain
    from catenary.component import Component, Context, Emission
    from catenary.definition import NodeDefinition
    from catenary.jsontext import Json
    from catenary.message import Message


class Retrying(Aspect):
    """Runs a node again that ended as `Failure`, by the policy that a node's own `retry` follows.

    Nodes with a `retry` of their own are left out, and so are those whose component retries by itself: the two do not
    multiply. What may not be repeated is not: once something was sent on the way, or when the other side said no.

    Args:
        policy: As `retry` of a node: a number of retries, or `{"maxRetries", "delay", "maxDelay", "backoff",
            "jitter"}`; a `Retry` of `catenary.definition` as well.
        **cut: `types`, `nodes`, `chains` and `order`, as the attributes of `Aspect`.

    Raises:
        EngineError: When the policy is malformed.
    """

    order = 200

    def __init__(self, policy: Retry | Json = 3, **cut: Unpack[Cut]) -> None:
        self.place(cut)
        try:
            self.policy = policy if isinstance(policy, Retry) else Retry.read(policy)
        except ValueError as error:
            raise EngineError(f"the policy of Retrying {error}") from None

    def for_node(self, chain: Chain, node: NodeDefinition, component: Component[Any]) -> Aspect | None:  # noqa: ARG002
        """Leave out nodes that are retried already."""
        if self.policy is None or component.retries or node.retry_policy is not None:
            return None
        return self

    async def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:
        """Visit the node as often as it takes."""
        assert self.policy is not None
        return await attempts(ctx, msg, lambda: proceed(msg), self.policy)

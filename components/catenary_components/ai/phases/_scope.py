"""What the phases of an agent share: its state and its setup, in the scope of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.errors import CatenaryError
from catenary_components.ai.phases.relations import SUMMARIZE
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary_components.ai.setup import Compaction


class NoAgent(CatenaryError):  # noqa: N818 - what is wrong, in two words
    """A phase of an agent's loop was run, and no agent is there.

    Usual cause: A chain made of phases is run by itself, rather than as the loop of an agent.

    Cure: Name the chain as `mode` of an `ai/agent` node, and run the chain with that node.
    """

    code = "agent.missing"

    def __init__(self, node_type: str) -> None:
        super().__init__(
            f"{node_type} is a phase of an agent's loop, and this run has no agent",
            hint="name this chain as `mode` of an `ai/agent` node, and run the chain with that node",
        )


class LoopBroken(CatenaryError):  # noqa: N818 - what has become of it
    """An agent's loop is wired in a way that gives no answer: a phase leads nowhere, or one is left out.

    Usual cause: A loop of one's own does not connect a relation by which a phase leaves, or leads past a phase.

    Cure: Do what the hint says; the loops that come with agents are examples.
    """

    code = "agent.loop-broken"


def state_of(ctx: Context) -> AgentState:
    """Give the state of the agent whose phase this is. Raises: NoAgent: when there is none."""
    state = ctx.scope.get(AgentState)
    if state is None:
        raise NoAgent(ctx.node_type)
    return state


def setup_of(ctx: Context) -> AgentSetup:
    """Give what the agent works with. Raises: NoAgent: when there is none."""
    setup = ctx.scope.get(AgentSetup)
    if setup is None:
        raise NoAgent(ctx.node_type)
    return setup


def compaction_of(ctx: Context, setup: AgentSetup) -> Compaction | None:
    """Give what makes the conversation shorter, if the loop has a phase for it."""
    return setup.compaction if setup.compaction is not None and ctx.is_connected(SUMMARIZE) else None

"""The agents of a conversation, and where each of them keeps what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from catenary.errors import EngineError
from catenary_components.ai.agent import AgentNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catenary import Chain
    from catenary_components.ai.sessions.hold import Sessions


OWN: Final = "own"
"""What brings back what the agent itself has, for `/model` and `/mode`."""


@dataclass(frozen=True, slots=True)
class Member:
    """One agent of a conversation.

    Attributes:
        node_id: Its node.
        agent: The agent.
        suffix: What its key has behind the name of the session; the first agent of a chain has none.
    """

    node_id: str
    agent: AgentNode
    suffix: str


def suffixes(node_ids: Iterable[str]) -> dict[str, str]:
    """Give what the agents of a chain have behind the name of the session, by their ids, in their order."""
    return {node_id: f"/{node_id}" if number else "" for number, node_id in enumerate(node_ids)}


def members_of(chain: Chain) -> list[Member]:
    """Give the agents of a chain. Raises: EngineError: when there is none."""
    opened = (one for one in chain.instances if not one.stays_closed)
    found = {one.node_id: one.component for one in opened if isinstance(one.component, AgentNode)}
    if not found:
        raise EngineError(
            f"the chain {chain.id!r} has no agent to talk to", hint="give a chain with a node of type ai/agent"
        )
    return [Member(node_id, found[node_id], suffix) for node_id, suffix in suffixes(found).items()]


def kept(members: Iterable[Member], session: str) -> Iterator[tuple[Sessions, str]]:
    """Give where the agents keep a session, each with the key."""
    for member in members:
        if member.agent.sessions is not None:
            yield member.agent.sessions, f"{session}{member.suffix}"

"""The model of a conversation, to see and change at the terminal: it is kept in the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.errors import ConfigError, EngineError
from catenary_components.ai.state import SessionModel
from catenary_components.chat.members import OWN, kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.chat.members import Member


class Choosing:
    """The model of one session, of all agents that keep it.

    Args:
        members: The agents.
        session: The session.
    """

    def __init__(self, members: Sequence[Member], session: str) -> None:
        self._agents = [member.agent for member in members]
        self._kept = list(kept(members, session))

    async def model(self) -> str:
        """Give the model that the session has chosen; empty for the agent's own."""
        for sessions, key in self._kept:
            state = await sessions.read(key)
            if state is not None and state.model.get("name"):
                return str(state.model["name"])
        return ""

    async def choose(self, name: str) -> None:
        """Choose the model of the session; empty for the agent's own.

        Raises:
            EngineError: When an agent cannot ask it; then nothing was changed.
        """
        choice = SessionModel(name)
        for agent in self._agents:
            try:
                agent.models.get(choice)
            except (ConfigError, ValueError) as error:
                raise EngineError(str(error), hint=f"/model {OWN} goes back to the agent's own") from error
        for sessions, key in self._kept:
            await sessions.choose_model(key, choice)

    async def begin_with(self, name: str) -> None:
        """Choose a model unless the session exists already."""
        for sessions, key in self._kept:
            if await sessions.read(key) is None:
                await sessions.choose_model(key, SessionModel(name))

"""What may run in a conversation, to see and change at the terminal: its mode, and the rules accepted in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from catenary.errors import EngineError
from catenary_components.ai.permission.granted import SessionPermissions
from catenary_components.ai.permission.rules import MODES
from catenary_components.chat.members import OWN, kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.ai.permission.rules import Mode, Rule
    from catenary_components.chat.members import Member


class Granting:
    """The permissions of one session, of all agents that keep it.

    Args:
        members: The agents.
        session: The session.
    """

    def __init__(self, members: Sequence[Member], session: str) -> None:
        self._members = members
        self._kept = [SessionPermissions(sessions, key) for sessions, key in kept(members, session)]

    async def mode(self) -> str:
        """Tell the mode that holds in the session, and whose it is."""
        for place in self._kept:
            mode = (await place.read()).mode
            if mode:
                return f"mode {mode} in this session"
        options = self._members[0].agent.config.permission_options
        return f"mode {options.mode if options else MODES[0]} of the agent"

    async def set_mode(self, name: str) -> None:
        """Set the mode of the session; `own` for that of the agent. Raises: EngineError: when there is no such mode."""
        mode = None if name == OWN else cast("Mode", name)
        for place in self._kept:
            await place.set_mode(mode)

    async def rules(self) -> list[tuple[SessionPermissions, Rule]]:
        """Give the rules that were accepted, each with where it is kept."""
        return [(place, rule) for place in self._kept for rule in (await place.read()).rules]

    async def revoke(self, number: str) -> Rule:
        """Take a rule back by its number in `rules`, from 1. Raises: EngineError: when there is none."""
        rules = await self.rules()
        index = int(number) if number.isdecimal() else 0
        if not 1 <= index <= len(rules):
            raise EngineError(f"there is no rule {number or 'without a number'}", hint="/rules lists them")
        place, rule = rules[index - 1]
        await place.revoke(rule)
        return rule


def told(rule: Rule) -> str:
    """Give a rule as it is listed."""
    by = f"  (by {rule.by})" if rule.by else ""
    scope = "" if rule.scope == "session" else f"  (for this {rule.scope})"
    return f"{rule.behavior} {rule.text}{scope}{by}"

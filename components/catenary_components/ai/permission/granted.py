"""What was granted in a session on the way: its mode and the rules that somebody has accepted; to see and change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catenary.errors import EngineError
from catenary_components.ai.models.wire import as_list, as_object
from catenary_components.ai.permission.gate import accept, accepted_rules, mode_of
from catenary_components.ai.permission.rules import MODES, Rule, RuleError, read_rule
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.permission.rules import Behavior, Mode
    from catenary_components.ai.sessions.hold import Sessions


@dataclass(frozen=True, slots=True)
class Granted:
    """What a session has of permissions, besides the settings of its agent.

    Attributes:
        mode: The mode that was set; `None` when it is the agent's own.
        rules: The rules that were accepted, the first one first.
        log: The last decisions, by the gate and by people, the first one first.
    """

    mode: Mode | None
    rules: tuple[Rule, ...]
    log: tuple[Mapping[str, Json], ...]


class SessionPermissions:
    """The permissions of one session. What is changed holds from the next call on, and is kept with the session.

    Args:
        sessions: The sessions of the agent.
        key: The session.
    """

    def __init__(self, sessions: Sessions, key: str) -> None:
        self._sessions = sessions
        self._key = key

    async def read(self) -> Granted:
        """Give them as they were last kept."""
        state = await self._sessions.read(self._key) or AgentState()
        log = tuple(as_object(entry) for entry in as_list(state.permissions.get("log")))
        return Granted(mode_of(state), tuple(accepted_rules(state)), log)

    async def set_mode(self, mode: Mode | None) -> None:
        """Set the mode of the session; `None` for the agent's own. Rules that ask or deny hold in every mode.

        Raises:
            EngineError: When there is no such mode.
        """
        if mode is not None and mode not in MODES:
            raise EngineError(f"there is no mode {mode!r}", hint=f"there are {', '.join(MODES)}")
        async with self._sessions.hold(self._key) as slot:
            if mode is None:
                slot.state.permissions.pop("mode", None)
            else:
                slot.state.permissions["mode"] = mode
            await slot.save()

    async def add(self, *rules: Rule | str | Mapping[str, Json], behavior: Behavior = "allow", by: str = "") -> None:
        """Put rules into the session, as if somebody who was asked had accepted them.

        Args:
            *rules: Rules, texts such as `bash(git *)`, or objects with `tool`, `match` and `when`.
            behavior: What they say when they do not say so themselves.
            by: Who accepts them.

        Raises:
            EngineError: When one is no rule.
        """
        read = [_rule(rule, behavior) for rule in rules]
        async with self._sessions.hold(self._key) as slot:
            accept(slot.state, read, by=by, time_ms=self._sessions.clock.time_ms())
            await slot.save()

    async def revoke(self, *rules: Rule | str) -> int:
        """Take accepted rules back; all of them when none is named.

        Args:
            *rules: Rules of `read`, or their texts.

        Returns:
            How many were taken back.
        """
        named = [rule.to_json() if isinstance(rule, Rule) else rule for rule in rules]
        async with self._sessions.hold(self._key) as slot:
            present = accepted_rules(slot.state)
            kept = [rule for rule in present if named and rule.text not in named and rule.to_json() not in named]
            slot.state.permissions["rules"] = [rule.to_json() for rule in kept]
            await slot.save()
        return len(present) - len(kept)


def _rule(value: Rule | str | Mapping[str, Json], behavior: Behavior) -> Rule:
    if isinstance(value, Rule):
        return value
    try:
        return read_rule(value if isinstance(value, str) else dict(value), behavior=behavior)
    except RuleError as error:
        raise EngineError(str(error)) from None

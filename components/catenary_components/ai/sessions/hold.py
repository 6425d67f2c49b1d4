"""The sessions of an agent: a call has one for itself, finds what was said, and leaves what was said since."""

from __future__ import annotations

import contextlib
import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from catenary.jsontext import dumps
from catenary_components.ai.choosing import keep
from catenary_components.ai.records import NewerRecord, RecordError, state_from_json, state_to_text
from catenary_components.ai.sessions.info import SessionInfo
from catenary_components.ai.sessions.memory import MemoryStore
from catenary_components.ai.sessions.slot import Slot
from catenary_components.ai.sessions.store import (
    ANY_VERSION,
    NEW,
    DamagedRecord,
    SessionConflict,
    aside_suffix,
    check_key,
)
from catenary_components.ai.sessions.trimming import Trimming
from catenary_components.ai.sessions.turns import TURNS
from catenary_components.ai.sessions.window import Window
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from catenary.clock import Clock
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage
    from catenary_components.ai.sessions.store import SessionStore
    from catenary_components.ai.sessions.turns import WhenBusy
    from catenary_components.ai.state import SessionModel

_logger = logging.getLogger(__name__)

OnCorrupt: TypeAlias = Literal["fail", "reset"]
OnConflict: TypeAlias = Literal["fail", "overwrite", "merge"]


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """What happens when a session is not as a call would like to have it.

    Attributes:
        when_busy: Whether a call waits for one that uses the session, or fails.
        on_corrupt: Whether a call fails once when its record is damaged, or begins anew at once.
        on_conflict: What happens when another process has written the session meanwhile: the call fails, its state is
            kept, or its messages are put behind those of the other.
        window: Which of the messages the model sees.
        ttl_s: After so many seconds without a word a session begins anew; `None` for never.
        trimming: How much of older tools and media the model sees.
        saves_first: Whether what the user said is written before the model is asked, besides the end of the call.
    """

    when_busy: WhenBusy = "queue"
    on_corrupt: OnCorrupt = "fail"
    on_conflict: OnConflict = "fail"
    window: Window = field(default_factory=Window)
    ttl_s: float | None = None
    trimming: Trimming = field(default_factory=Trimming)
    saves_first: bool = False


class Sessions:
    """The sessions in one store, as one kind of caller uses them. Safe to use from many tasks.

    Args:
        store: Where they are kept.
        policy: What happens when one is not as a call would like to have it.
        clock: Tells the time.
    """

    def __init__(self, store: SessionStore, clock: Clock, policy: SessionPolicy | None = None) -> None:
        self.store = store
        self.policy = policy or SessionPolicy()
        self.clock = clock

    @property
    def is_fleeting(self) -> bool:
        """Whether the sessions end with this process."""
        return isinstance(self.store, MemoryStore)

    async def restore(self, key: str, record: Json) -> None:
        """Put back the record of a session that ended with its process; one that is there stays as it is."""
        if record is not None and await self.store.load(key) is None:
            with contextlib.suppress(SessionConflict):  # somebody was quicker
                await self.store.save(key, dumps(record), NEW)

    @asynccontextmanager
    async def hold(self, key: str, *, sees_history: bool = True) -> AsyncGenerator[Slot]:
        """Have a session for oneself, as it is.

        Args:
            key: The session.
            sees_history: False leaves what was said before out of what the model sees; it is kept all the same.

        Raises:
            SessionBusy: When another call uses it and the policy does not wait.
            RecordError: When its record is damaged, and was set aside.
            SessionError, ResourceError: When the store cannot give it.
        """
        async with TURNS.take(self.store.place, check_key(key), self.policy.when_busy):
            version, state = await self._load(key)
            state.session_id = key
            yield Slot(self, key, version, state, sees_history=sees_history)

    async def read(self, key: str) -> AgentState | None:
        """Give a session as it was last saved, without waiting for calls that use it; `None` when there is none."""
        record = await self.store.load(key)
        state = state_from_json(record.value) if record else None
        return None if state is None or self._is_over(state) else state

    async def observe(self, key: str, messages: Iterable[ChatMessage]) -> None:
        """Put messages into a session; no model is asked."""
        async with self.hold(key) as slot:
            slot.take(messages)
            await slot.save()

    async def choose_model(self, key: str, choice: SessionModel) -> None:
        """Have a session ask a model of its own from the next call on; one without a name is that of the agent."""
        async with self.hold(key) as slot:
            keep(choice, slot.state)
            await slot.save()

    async def entitle(self, key: str, title: str) -> None:
        """Give a session a title; an empty one for how it begins."""
        async with self.hold(key) as slot:
            slot.state.title = title
            await slot.save()

    async def overview(self, keys: Iterable[str]) -> list[SessionInfo]:
        """Tell of sessions, each as it was last saved; those that are over are left out."""
        found: list[SessionInfo] = []
        for key in keys:
            try:
                state = await self.read(key)
            except (RecordError, DamagedRecord):
                found.append(SessionInfo(key, is_damaged=True))
            else:
                found += [] if state is None else [SessionInfo.of(key, state)]
        return found

    async def clear(self, key: str) -> None:
        """Empty the conversation; permissions, groups of tools, todos, model and title of the session stay."""
        async with self.hold(key) as slot:
            slot.clear()
            await slot.save()

    async def delete(self, key: str) -> bool:
        """Forget a session with all that it has. Returns: whether there was one."""
        async with TURNS.take(self.store.place, key, self.policy.when_busy):
            return await self.store.delete(key)

    async def purge(self, prefix: str = "") -> list[str]:
        """Forget the sessions in which nothing was said for too long (`ttl_s` of the policy).

        One that is in use is waited for, and what is damaged is left alone.

        Returns: their keys.
        """
        gone: list[str] = []
        for key in await self.store.keys(prefix):
            async with TURNS.take(self.store.place, key, "queue"):
                if await self._is_left(key) and await self.store.delete(key):
                    gone.append(key)
        return gone

    async def _is_left(self, key: str) -> bool:
        try:
            record = await self.store.load(key)
            return record is not None and self._is_over(state_from_json(record.value))
        except (RecordError, DamagedRecord):
            return False

    async def keys(self, prefix: str = "") -> list[str]:
        """Give the keys of the sessions that begin with `prefix`."""
        return await self.store.keys(prefix)

    async def close(self) -> None:
        """Close the store."""
        await self.store.close()

    async def write(self, key: str, state: AgentState, version: int, new: Sequence[ChatMessage]) -> int:
        """Write a session, as the policy says when somebody else has written it.

        Args:
            key: Where.
            state: What, with the whole conversation.
            version: What was read.
            new: The messages that were not there when it was read.

        Returns: the version that is there now.
        """
        expected = ANY_VERSION if self.policy.on_conflict == "overwrite" else version
        while True:
            try:
                return await self.store.save(key, state_to_text(state), expected)
            except SessionConflict:
                if self.policy.on_conflict != "merge":
                    raise
            record = await self.store.load(key)
            theirs = state_from_json(record.value).messages if record else []
            known = {message.id for message in theirs}
            state.messages = [*theirs, *(message for message in new if message.id not in known)]
            expected = record.version if record else NEW

    async def _load(self, key: str) -> tuple[int, AgentState]:
        try:
            record = await self.store.load(key)
            if record is None:
                return NEW, AgentState()
            state = state_from_json(record.value)
            return record.version, AgentState() if self._is_over(state) else state
        except NewerRecord:
            raise
        except (RecordError, DamagedRecord) as error:
            where = await self.store.set_aside(key, aside_suffix(self.clock.time_ms()))
            if self.policy.on_corrupt == "reset":
                told = {"session": key, "reason": str(error), "place": where}
                _logger.warning("the record of a session is damaged and was set aside", extra=told)
                return NEW, AgentState()
            text = f"session {key!r} is damaged, and begins anew: {error} What was there is {where}"
            raise RecordError(text, hint="`onCorrupt: reset` goes on without a word") from error

    def _is_over(self, state: AgentState) -> bool:
        """Whether the last word of a session was said too long ago."""
        ttl_s, messages = self.policy.ttl_s, state.messages
        return bool(ttl_s and messages and self.clock.time_ms() - messages[-1].time_ms > ttl_s * 1000)

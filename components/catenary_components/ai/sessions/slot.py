"""The session that one call has for itself: what the call works with, and what is written of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from catenary.errors import CatenaryError
from catenary_components.ai.messages import TextPart, pending_calls
from catenary_components.ai.records import state_to_json
from catenary_components.ai.sessions.trimming import Trimmed
from catenary_components.ai.sessions.window import run_starts

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.conversation import PresetMessage
    from catenary_components.ai.messages import ChatMessage
    from catenary_components.ai.sessions.hold import Sessions
    from catenary_components.ai.state import AgentState

_logger = logging.getLogger(__name__)


class Fresh:
    """What a call works with that nothing is kept of.

    Attributes:
        state: The state of the call.
    """

    def __init__(self, state: AgentState) -> None:
        self.state = state

    def presets(self, messages: Sequence[PresetMessage]) -> Sequence[PresetMessage]:
        """Give what is said when the message carries no conversation: from what the user says on, once it has begun."""
        users = [place for place, message in enumerate(messages) if message.role == "user"]
        return messages[users[-1] :] if users and self.state.messages else messages

    def take(self, messages: Iterable[ChatMessage]) -> None:
        """Put what was said into the conversation."""
        self.state.messages.extend(messages)

    async def keep_said(self) -> None:
        """Write down what was said, if that is not to wait for the end of the call; here nothing is kept."""


class Slot(Fresh):
    """A session that one call has for itself. It lies in the scope of the call: `ctx.scope.get(Slot)`.

    Attributes:
        key: The session.
        state: What the call works with: of the messages, those that the model sees. Its counters begin anew, unless
            the last call was paused.
    """

    def __init__(
        self, sessions: Sessions, key: str, version: int, state: AgentState, *, sees_history: bool = True
    ) -> None:
        super().__init__(state)
        self.key = key
        self._sessions = sessions
        self._version = version
        self._known = {message.id for message in state.messages}
        self._hidden, seen = sessions.policy.window.split(state.messages, sees_history=sees_history)
        self._trimmed = sessions.policy.trimming.of(seen, _former(seen))
        state.messages = self._trimmed.seen
        self._before = list(state.messages)
        self._has_news = False
        self._goes_on = self.is_paused
        if not self._goes_on:
            state.begin()

    @property
    def messages(self) -> list[ChatMessage]:
        """The whole conversation, with what the model does not see of it."""
        return self._whole(self.state.messages)

    @property
    def is_paused(self) -> bool:
        """Whether the last call ended with calls of tools that wait for an answer."""
        return bool(self.state.pending)

    @property
    def record(self) -> Json:
        """The whole session as JSON, when it would be lost with this process; else `None`."""
        if not self._sessions.is_fleeting:
            return None
        seen = self.state.messages
        self.state.messages = self.messages
        try:
            return state_to_json(self.state)
        finally:
            self.state.messages = seen

    def begin_anew(self) -> None:
        """Do not go on after a pause after all: the counters begin anew."""
        self._goes_on = False
        self.state.begin()

    def take(self, messages: Iterable[ChatMessage]) -> None:
        """Put what was said into the conversation. It is kept whatever becomes of the call.

        Of a caller who says nothing, nothing is put in when there is something to go on from.
        """
        said = list(messages)
        said = [] if self.state.messages and all(map(_is_silent, said)) else said
        super().take(said)
        self._has_news = bool(said)
        self._before = list(self.state.messages)

    async def keep_said(self) -> None:
        """Write down what was said, if that is not to wait for the end of the call.

        Raises:
            SessionError, ResourceError: When it cannot be written.
        """
        if self._has_news and self._sessions.policy.saves_first:
            await self.save()

    def clear(self) -> None:
        """Empty the conversation."""
        self._hidden, self._trimmed = [], Trimmed([])
        self.state.messages = []
        self._before = []

    async def save(self, error: BaseException | None = None) -> None:
        """Write the session.

        Args:
            error: Why the call failed; what was said to it is kept then, and not what it has said. Of a call that
                went on after a pause all is kept: what it has run must not be run again.

        Raises:
            SessionError, ResourceError: When it cannot be written, and there is no `error`; else that is told by a
                note of `error`.
        """
        seen = self.state.messages
        kept = seen if error is None or self._goes_on else self._after_failure(seen)
        whole = self.state.messages = self._whole(kept)
        new = [message for message in whole if message.id not in self._known]
        try:
            self._version = await _finished(self._sessions.write(self.key, self.state, self._version, new))
            self._take_in({message.id for message in whole}, new)
        except CatenaryError as failed:
            if error is None:
                raise
            error.add_note(f"The session could not be saved, either: {failed}")
            _logger.warning("a session could not be saved", extra={"session": self.key, "reason": str(failed)})
        finally:
            self.state.messages = seen

    def _whole(self, seen: Sequence[ChatMessage]) -> list[ChatMessage]:
        lost, restored = self._trimmed.restored(seen)
        return self._sessions.policy.window.joined([*self._hidden, *lost], restored)

    def _take_in(self, own: set[str], new: Sequence[ChatMessage]) -> None:
        """Remember what others have written and the last save has merged, so that the next one keeps it."""
        foreign = [message for message in self.state.messages if message.id not in own]
        if foreign:
            self._known.update(message.id for message in foreign)
            self._trimmed = self._trimmed.with_more(foreign, new[0] if new else None)

    def _after_failure(self, seen: list[ChatMessage]) -> list[ChatMessage]:
        """Give what is kept of a call that failed: all up to what was said to it, made shorter or not."""
        said = self._before[-1].id if self._before else ""
        place = next((n for n, message in enumerate(seen) if message.id == said), -1)
        return seen[: place + 1] if place >= 0 else self._before


def _former(seen: Sequence[ChatMessage]) -> int:
    """Give how many messages are from before the present run, which is one that goes on when calls are open."""
    starts = run_starts(seen) if pending_calls(list(seen)) else []
    return starts[-1] if starts else len(seen)


def _is_silent(message: ChatMessage) -> bool:
    texts = all(isinstance(block, TextPart) for block in message.blocks)
    return message.role == "user" and texts and not message.text.strip()


async def _finished(work: Coroutine[Any, Any, int]) -> int:
    """Bring a save to its end, whether or not the call is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled() and (failed := task.exception()) is not None:
        cancelled.add_note(f"The session could not be saved: {failed}")
    raise cancelled

"""Compaction: a conversation that has become too long is made shorter, and a summary stands for what is gone."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from catenary_components.ai.estimate import Sizes, tokens_of_text
from catenary_components.ai.messages import ChatMessage, TextPart
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.sessions.window import SUMMARY_NAME, is_said
from catenary_components.ai.shortening import (
    ARGUMENTS_MESSAGES,
    ARGUMENTS_TOKENS,
    LEAST_WON,
    PROTECTED_TOKENS,
    cut_place,
    is_summary,
    pruned,
    with_short_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary import Message
    from catenary.component import Context
    from catenary_components.ai.options.compaction import CompactionOptions
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

_logger = logging.getLogger(__name__)

SUMMARY_ID: Final = "compaction-summary"
UNKNOWN_WINDOW_TOKENS: Final = 160_000
_FEWEST_KEPT, _MOST_KEPT = 2_000, 8_000
_PATIENCE: Final = 10
"""How many messages have to come after a summary that failed until it is tried again."""

_LONGEST_REQUEST: Final = 4_000
_LONGEST_RESULT: Final = 2_000
_TOO_LONG: Final = (
    "context_length_exceeded",
    "context length",
    "maximum context",
    "token limit",
    "too many tokens",
    "exceeds the model's maximum",
    "reduce the length",
)
_WINDOW: Final = re.compile(r"(?:context|limit|maximum)[^0-9.;]{0,40}?(\d{3,8})\b")
"""Finds what a service tells of its window: "maximum context length is 8192 tokens"."""

PROMPT: Final = """You write the memory of an assistant whose conversation has become too long to be read again.
The next reader has nothing but your text: what you leave out is lost. Do not answer what is asked in the conversation,
and do not call any tool. A summary from before, if there is one, is a part of what you sum up.

Write these four sections, in the language of the conversation:

## Session intent
What the user wants in the end, and the conditions they have set.

## Summary
What was found out, decided and done, with names, numbers, identifiers and quotations that will be needed; what failed,
and why; what is doubtful.

## Artifacts
Files, records and messages that were made or changed, each with its place and its state; "none" if there are none.

## Next steps
What is still to be done, in order, beginning with what is under way."""

_HEAD: Final = "The conversation so far was too long and is summed up here; go on from it.\n\n"


class Compactor:
    """A `Compaction` for one run of an agent.

    Args:
        options: When, and what stays.
        window: How many tokens the model can read, if the options do not say; 0 when nobody knows.
        beside: The tokens of what is sent beside the conversation: what the model is told about tools.
    """

    def __init__(self, options: CompactionOptions, window: int = 0, beside: int = 0) -> None:
        self._options = options
        self._sizes = Sizes()
        self._not_before = 0
        self._is_forced = False
        self._rescued_at = -1
        self._window = options.context_window or window
        self._beside = beside

    def is_due(self, state: AgentState) -> bool:
        """Whether the conversation is too long and can be made shorter."""
        messages = state.messages
        if len(messages) < self._not_before:
            return False
        return self._relieved(messages) != messages or (self._is_too_long(state) and self._place(messages) > 0)

    def rescues(self, state: AgentState, error: ModelError) -> bool:
        """Whether the call is worth repeating after an error: once, when it says that the conversation is too long.

        What the error says of the model's window counts for the rest of the run.
        """
        text = str(error).lower()
        is_overflow = error.kind == "prompt_too_long" or any(sign in text for sign in _TOO_LONG)
        if not is_overflow or self._rescued_at == state.rounds:
            return False
        self._rescued_at = state.rounds
        told = _WINDOW.search(text)
        self._window = int(told[1]) if told else self._window
        self._is_forced = True
        self._is_forced = self._relieved(state.messages) != state.messages or self._place(state.messages) > 0
        return self._is_forced

    async def shorten(self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState) -> None:
        """Cut long results and arguments; if that is not enough, put a summary in the place of older messages.

        A summary that cannot be had leaves the conversation as it is.
        """
        before = self._tokens(state)
        ctx.notify("compaction.start", messages=len(state.messages), tokens=before)
        state.messages = self._relieved(state.messages)
        place = self._place(state.messages) if self._is_forced or self._is_too_long(state) else 0
        status = await self._sum_up(ctx, msg, setup, state, place) if place else "pruned"
        self._is_forced = False
        self._not_before = len(state.messages) + (_PATIENCE if status == "failed" else 1)
        ctx.notify("compaction.end", status=status, messages=len(state.messages), tokens=self._tokens(state))

    # When

    def _is_too_long(self, state: AgentState) -> bool:
        options, observed = self._options, state.observed
        limit = options.trigger_messages
        return (
            (0 < limit <= len(state.messages))
            or self._tokens(state) >= self._most_tokens()
            or (0 < options.trigger_rounds <= len(observed))
            or (0 < options.trigger_characters < sum(observed))
            or (0 < options.trigger_round_characters < (observed[-1] if observed else 0))
        )

    def _most_tokens(self) -> int:
        options = self._options
        if options.trigger_tokens:
            return options.trigger_tokens
        return self._usable() or UNKNOWN_WINDOW_TOKENS

    def _usable(self) -> int:
        """Give how much of the window a conversation may take; 0 when the window is not known."""
        room = self._window - self._options.reserved_tokens
        return room if room > 0 else self._window // 2

    def _tokens(self, state: AgentState) -> int:
        return sum(map(self._sizes.of, state.messages)) + tokens_of_text(state.system_prompt) + self._beside

    # How

    def _relieved(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Give the messages without what may be cut without a summary."""
        total = sum(map(self._sizes.of, messages))
        if self._options.truncate_arguments and (len(messages) >= ARGUMENTS_MESSAGES or total >= ARGUMENTS_TOKENS):
            messages = with_short_arguments(messages)
        if self._is_forced:
            messages = pruned(messages, self._sizes.of, protected=total // 4, least=1)
            if messages and self._sizes.of(messages[-1]) > total // 2:
                messages = pruned(messages, self._sizes.of, protected=0, least=1)
        elif self._options.prune and total > PROTECTED_TOKENS:
            messages = pruned(messages, self._sizes.of, protected=PROTECTED_TOKENS, least=LEAST_WON)
        return messages

    def _place(self, messages: list[ChatMessage]) -> int:
        """Give how many of the first messages a summary is to stand for; 0 when it would be too few."""
        options = self._options
        keep, kept_tokens = options.keep_messages, options.keep_tokens
        if kept_tokens < 0:
            usable = self._usable()
            kept_tokens = min(max(usable // 4, _FEWEST_KEPT), _MOST_KEPT) if usable else 0
        if self._is_forced:
            kept_tokens = max(min(sum(map(self._sizes.of, messages)), self._most_tokens()) // 4, 1)
        place = cut_place(messages, self._sizes.of, keep_messages=keep, keep_tokens=kept_tokens)
        new = sum(not is_summary(message) for message in messages[:place])
        return place if new >= (1 if self._is_forced else 2) else 0

    async def _sum_up(self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, place: int) -> str:
        """Replace the messages before a place by a summary. Returns: what came of it."""
        old, kept = state.messages[:place], state.messages[place:]
        try:
            text = await self._summary(ctx, msg, setup, state, old)
        except ModelError as error:
            _logger.warning("a conversation was not made shorter", extra={"node": ctx.node_id, "reason": str(error)})
            return "failed"
        if state.stop:
            return "stopped"
        summary = _summary_message(text, old, kept)
        if not text.strip() or self._sizes.of(summary) >= sum(map(self._sizes.of, old)):
            reason = "the summary is empty" if not text.strip() else "the summary is no shorter"
            _logger.warning("a conversation was not made shorter", extra={"node": ctx.node_id, "reason": reason})
            return "failed"
        state.messages = [summary, *kept]
        state.compactions += 1
        return "done"

    async def _summary(
        self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, old: Sequence[ChatMessage]
    ) -> str:
        """Ask the model for the summary; its tokens count for the run, and it is no step of it."""
        from catenary_components.ai.phases.aside import ask_aside

        most = min(self._most_tokens(), self._tokens(state) // 2) if self._is_forced else self._most_tokens()
        text = _limited(transcript(old), 2 * most)
        prompt = self._options.prompt or PROMPT
        return await ask_aside(ctx, msg, setup, state, prompt=prompt, text=text, purpose="compaction")


def transcript(messages: Sequence[ChatMessage]) -> str:
    """Give a conversation as a text to be summed up."""
    return "\n\n".join(part for message in messages for part in _told(message))


def _told(message: ChatMessage) -> list[str]:
    if is_summary(message):
        return [f"[Summary from before]\n{message.text}"]
    parts = [f"[{message.role}]\n{message.text}"] if message.text else []
    parts += [f"[call of {call.name}]\n{_limited(call.arguments, _LONGEST_RESULT)}" for call in message.tool_calls]
    parts += [
        f"[result of {result.name}, {result.state}]\n{_limited(result.text, _LONGEST_RESULT)}"
        for result in message.results
    ]
    media = sum(not isinstance(block, TextPart) for block in message.blocks) if message.role == "user" else 0
    return [*parts, f"[{media} pictures or other media]"] if media else parts


def _summary_message(text: str, old: Sequence[ChatMessage], kept: Sequence[ChatMessage]) -> ChatMessage:
    """Make the message that stands for the old ones; what the user asked last is in it to the letter."""
    content = _HEAD + text.strip()
    request = next((message for message in reversed(old) if is_said(message)), None)
    if request is not None and not any(map(is_said, kept)):
        content += f"\n\n## Latest request of the user\n{_limited(request.text, _LONGEST_REQUEST)}"
    return ChatMessage("user", (TextPart(content),), SUMMARY_NAME, id=SUMMARY_ID)


def _limited(text: str, most: int) -> str:
    """Give the beginning and the end of a text that is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}"

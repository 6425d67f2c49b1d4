"""The settings of compaction: when a conversation is made shorter, and what stays of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from catenary.component import Config, option

if TYPE_CHECKING:
    from catenary.jsontext import Json


class CompactionOptions(Config):
    """When a conversation is made shorter, and what stays of it."""

    trigger_messages: int = option(
        50, ge=0, unit="messages", help="So many messages are too many; 0 for no such limit."
    )
    trigger_tokens: int = option(
        0,
        ge=0,
        unit="tokens",
        help="So many tokens, as estimated, are too many; 0 for what `contextWindow` has room for.",
    )
    context_window: int = option(
        0,
        ge=0,
        unit="tokens",
        help="What the model can read; 0 for what is known of it (the file of `prices` says so). When nobody knows, "
        "160000 tokens are too many.",
    )
    reserved_tokens: int = option(
        20_000, ge=0, unit="tokens", help="Room in `contextWindow` that is left for the answer."
    )
    trigger_rounds: int = option(
        0, ge=0, unit="rounds", help="So many rounds of tools are too many; 0 for no such limit."
    )
    trigger_characters: int = option(
        0, ge=0, unit="characters", help="More than so many characters of results are too many; 0 for no such limit."
    )
    trigger_round_characters: int = option(
        0, ge=0, unit="characters", help="The same for the results of one round; 0 for no such limit."
    )
    keep_messages: int = option(20, ge=0, unit="messages", help="The last messages stay as they are.")
    keep_tokens: int = option(
        -1,
        ge=-1,
        unit="tokens",
        help="Of those no more than so many tokens; 0 for no such limit, -1 for a quarter of the window, which is "
        "between 2000 and 8000 and counts only when that is known.",
    )
    prune: bool = option(
        True,
        help="Whether long results of tools are cut to their first 2000 characters when the newest 40000 tokens are "
        "behind them, and 20000 are saved.",
    )
    truncate_arguments: bool = option(
        False,
        help="Whether long arguments of calls are cut, but for the last 20 messages, when there are 25 messages or "
        "40000 tokens.",
    )
    prompt: str = option("", help="What the model is told that writes the summary, in place of the usual text.")


class CompactionSetting(Config):
    """The one option of an agent that switches compaction on."""

    compaction: CompactionOptions | bool | None = option(
        None,
        help="Has a conversation that has become too long made shorter by a summary: `true`, or an object. Off without "
        "it.",
        examples=[True, {"triggerMessages": 30, "contextWindow": 128000}],
    )

    @field_validator("compaction", mode="before")
    @classmethod
    def _read_switch(cls, value: Json) -> Any:
        if isinstance(value, str):
            value = {"true": True, "false": False, "": False}.get(value.strip().lower(), value)
        return {} if value is True else None if value is False else value

    @property
    def compaction_options(self) -> CompactionOptions | None:
        """The settings of compaction; `None` when it is off."""
        return self.compaction if isinstance(self.compaction, CompactionOptions) else None

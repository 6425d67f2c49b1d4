"""The settings of an agent's sessions: where they are kept, whose they are, and what the model sees of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from catenary.cache import ttl_seconds
from catenary.component import Config, option
from catenary.errors import EngineError
from catenary.expr import Template  # noqa: TC001 - read by pydantic
from catenary_components.ai.sessions.hold import OnConflict, OnCorrupt  # noqa: TC001 - read by pydantic
from catenary_components.ai.sessions.keys import Scope  # noqa: TC001 - read by pydantic
from catenary_components.ai.sessions.places import check_address
from catenary_components.ai.sessions.trimming import MEDIA_MESSAGES, TOOL_ROUNDS
from catenary_components.ai.sessions.turns import WhenBusy  # noqa: TC001 - read by pydantic
from catenary_components.ai.sessions.window import MOST_KEPT

if TYPE_CHECKING:
    from catenary.jsontext import Json


class SessionOptions(Config):
    """Where sessions are kept, and by which keys."""

    key: Template = option(
        "",
        help="The key of the session, such as user, agent and conversation. If empty, metadata `sessionKey` is it, and "
        "else it is made of agent, channel and scope.",
        examples=["${metadata.userId}:desk:${metadata.chatId}"],
    )
    store: str = option(
        "",
        help="Where sessions are kept: `memory`, `files:FOLDER`, or the address of a database (SQLite, PostgreSQL, "
        "MySQL) or of Redis. If empty, `global.session_store`, and else `memory`.",
        secret=True,
        examples=["sqlite:///sessions.db", "postgres://app:${secrets.database}@127.0.0.1:5432/app"],
    )
    scope: Scope = option(
        "per_peer",
        help="Who shares a session: `main` all, `per_peer` a chat or else a user, `per_channel_peer` the same, "
        "`per_account_channel_peer` of one account, `thread` a thread, `task` a task. Channels never share one.",
    )
    agent: str = option("", help="The agent's name in the key; the ids of chain and node if empty.")
    load_history: bool = option(
        True, help="Whether the model sees what was said before; metadata `loadHistory` says it for one message."
    )
    window: int = option(0, ge=0, unit="runs", help="The model sees the messages of the last runs; 0 for all.")
    window_messages: int = option(
        0,
        ge=-1,
        unit="messages",
        help="The model sees the last messages; 0 for all, -1 for as many as its context window has room for: one for "
        "each 200 tokens in 70 % of it, from 20 to 500.",
    )
    window_tool_rounds: int = option(
        TOOL_ROUNDS,
        ge=0,
        unit="rounds",
        help="Of what was before, the model sees the last rounds of tools with calls and results, and of older ones "
        "the texts; 0 for all.",
    )
    window_media: int = option(
        MEDIA_MESSAGES,
        ge=0,
        unit="messages",
        help="Of what was before, the model sees pictures, sounds and files in the last messages, and in older ones a "
        "note; 0 for all.",
    )
    max_messages: int = option(MOST_KEPT, ge=1, unit="messages", help="What a session keeps; of more, the oldest go.")
    ttl: str = option(
        "",
        help="After so long without a word a session begins anew, as in `12h` or `720h`; for ever if empty.",
        examples=["720h"],
    )
    save_first: bool = option(
        True,
        help="Whether what the user said is written before the model is asked, so that it is there even when the "
        "process dies; else all is written at the end.",
    )
    when_busy: WhenBusy = option(
        "queue", help="What a call does while another uses its session: wait (`queue`), or `fail` at once."
    )
    on_corrupt: OnCorrupt = option(
        "fail", help="What happens once a damaged record was set aside: `fail`, or `reset` to begin anew at once."
    )
    on_conflict: OnConflict = option(
        "fail",
        help="What happens when another process has written the session meanwhile: `fail`, `overwrite` it, or `merge` "
        "the messages of both.",
    )

    @field_validator("store")
    @classmethod
    def _is_place(cls, value: str) -> str:
        if "${" not in value:  # what is not set is told when it is opened
            check_address(value)
        return value

    @field_validator("ttl")
    @classmethod
    def _is_duration(cls, value: str) -> str:
        try:
            ttl_seconds(value)
        except EngineError as error:
            raise ValueError(f"must be a duration: {error.hint}") from None
        return value


class SessionSetting(Config):
    """The one option of an agent that switches sessions on."""

    session: SessionOptions | str | None = option(
        None,
        help="Has the agent remember: a key such as `${metadata.userId}`, or an object. Without it every message "
        "begins anew.",
        examples=["${metadata.userId}", {"store": "files:sessions", "window": 20}],
    )

    @field_validator("session", mode="before")
    @classmethod
    def _read_key(cls, value: Json) -> Any:
        if isinstance(value, str):
            return {"key": value} if value.strip() else None
        return value

    @property
    def session_options(self) -> SessionOptions | None:
        """The settings of sessions; `None` when the agent has none."""
        return self.session if isinstance(self.session, SessionOptions) else None

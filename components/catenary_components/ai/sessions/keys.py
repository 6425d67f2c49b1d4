"""By which key a session is kept: whose conversation it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

from catenary.message import metadata_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.jsontext import Json

Scope: TypeAlias = Literal["main", "per_peer", "per_channel_peer", "per_account_channel_peer", "thread", "task"]

SESSION_KEY: Final = "sessionKey"
_USER: Final = ("userId", "im.userId")
_PEER: Final = ("scopeId", "chatId", "im.chatId", "threadId", "im.threadId")
_THREAD: Final = ("scopeId", "threadId", "im.threadId", "chatId", "im.chatId")
_TASK: Final = ("scopeId", "taskId", *_PEER[1:])
_ACCOUNT: Final = ("accountId", "im.accountId")
_PREFIX: Final = ("agent", "channel", "scope")


class KeyParts(NamedTuple):
    """What a key of the form `agent:...:channel:...:scope:...:...` tells."""

    agent_id: str
    channel: str
    scope: str
    scope_id: str


def user_of(metadata: Mapping[str, Json]) -> str:
    """Give the user that a message is from, as its metadata tells; empty when it does not."""
    return _first(metadata, _USER)


def scoped_key(agent_id: str, scope: Scope, metadata: Mapping[str, Json], *, user_id: str, chain_id: str) -> str:
    """Give the key of the session that a message belongs to.

    Args:
        agent_id: The agent.
        scope: Who shares a session.
        metadata: Of the message: `channel`, and who or what it is about.
        user_id: Counts when the metadata names no chat and no thread.
        chain_id: Counts when nobody knows the user either: all of them share one session then.
    """
    channel = _first(metadata, ("channel", "im.channel")) or "default"
    if scope == "main":
        scope_id = _first(metadata, ("scopeId",)) or "main"
    else:
        names = {"thread": _THREAD, "task": _TASK}.get(scope, _PEER)
        scope_id = _first(metadata, names) or user_id or chain_id
    if scope == "per_account_channel_peer":
        scope_id = f"{_part(_first(metadata, _ACCOUNT), '')}/{_part(scope_id, '')}"
    return key_of(KeyParts(agent_id, channel, scope, scope_id))


def key_of(parts: KeyParts) -> str:
    """Give the key that `parts` make; `parse_key` gives them back whatever signs are in them."""
    agent, channel, scope, scope_id = map(_part, parts)
    return f"agent:{agent}:channel:{channel}:scope:{scope}:{scope_id}"


def parse_key(key: str) -> KeyParts | None:
    """Give the parts of a key; `None` when it has another form, which any text may have."""
    parts = key.split(":")
    if len(parts) != 7 or (parts[0], parts[2], parts[4]) != _PREFIX:
        return None
    agent, channel, scope, scope_id = (unquote(parts[place]) for place in (1, 3, 5, 6))
    return KeyParts(agent, channel, scope, scope_id)


def _part(text: str, besides: str = "/") -> str:
    return quote(text, safe=f" @+,;=!$'()*{besides}", encoding="utf-8", errors="replace")


def _first(metadata: Mapping[str, Json], names: Iterable[str]) -> str:
    texts = (metadata_text(metadata.get(name)).strip() for name in names)
    return next((text for text in texts if text), "")

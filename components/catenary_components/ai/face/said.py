"""What is said to an agent from Python, as the message that its chain gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from catenary import Message
from catenary_components.ai.messages import AudioPart, ChatMessage, DataPart, ImagePart, TextPart, user_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import Block

Said: TypeAlias = "str | ChatMessage | Mapping[str, Json] | Sequence[str | ChatMessage | Mapping[str, Json]]"
"""A text, a message, an object as in the OpenAI format, or a list of these."""


Answers: TypeAlias = "Mapping[str, Json] | Sequence[Mapping[str, Json]]"
"""An answer to a call that waits, or a list of these."""


def message_of(said: Said, metadata: Mapping[str, Json]) -> Message:
    """Give the message that a chain gets. Raises: TypeError: when something is no message."""
    if isinstance(said, str):
        return Message(said, data_type="TEXT", metadata=dict(metadata))
    if isinstance(said, dict) and ("answers" in said or said.get("cancel") is True):
        return Message(said, metadata=dict(metadata))
    written: list[Json] = [_written(one) for one in _listed(said)]
    if not written:
        return Message("", data_type="TEXT", metadata=dict(metadata))
    return Message({"messages": written}, metadata=dict(metadata))


def answered(answers: Answers, text: str = "", *, cancel: bool = False) -> dict[str, Json]:
    """Give answers to the questions of an agent as it is told them. Raises: TypeError: when one is no object."""
    told: dict[str, Json] = {"cancel": True} if cancel else {"answers": [dict(one) for one in _objects(answers)]}
    return {**told, "text": text} if text else told


def _objects(answers: Answers) -> list[Mapping[str, Json]]:
    given: list[Any] = [answers] if isinstance(answers, Mapping) else list(_listed(cast("Said", answers)))
    for one in given:
        if not isinstance(one, Mapping):
            form = "{'toolCallId': ..., 'decision': 'approve'}, or with 'output' for what is done outside"
            raise TypeError(f"{one!r} is no answer: give objects such as {form}")
    return given


def chat_messages(said: Said) -> list[ChatMessage]:
    """Give the messages themselves. Raises: TypeError: when something is no message."""
    return [one if isinstance(one, ChatMessage) else _read(one) for one in _listed(said)]


def _listed(said: Said) -> Sequence[Any]:
    if isinstance(said, str | ChatMessage | dict):
        return [said]
    try:
        return list(said)
    except TypeError:  # what is no list at all is refused like what is in none
        return [said]


def _read(one: Any) -> ChatMessage:
    from catenary_components.ai.conversation import message_from_wire

    return user_message(one) if isinstance(one, str) else message_from_wire(_written(one))


def _written(one: Any) -> Json:
    if isinstance(one, str):
        return {"role": "user", "content": one}
    if isinstance(one, dict):
        return cast("dict[str, Json]", one)
    if not isinstance(one, ChatMessage):
        raise TypeError(f"{one!r} is nothing that can be said: give a text, a ChatMessage or an object")
    if one.role == "tool":
        raise TypeError("results of tools are given by resume(), not as messages")
    fields: dict[str, Json] = {"role": one.role, "content": [_part(part) for part in one.blocks if _is_shown(part)]}
    if one.name:
        fields["name"] = one.name
    if one.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in one.tool_calls
        ]
    return fields


def _is_shown(part: Block) -> bool:
    return isinstance(part, TextPart | ImagePart | AudioPart | DataPart)


def _part(part: Block) -> Json:
    match part:
        case ImagePart():
            return {
                "type": "image_url",
                "image_url": {"url": part.url, **({"detail": part.detail} if part.detail else {})},
            }
        case AudioPart():
            return {"type": "audio_url", "audio_url": {"url": part.url}}
        case DataPart():
            file: dict[str, Json] = {"url": part.url, "mediaType": part.media_type, "name": part.name}
            return {"type": "file_url", "file_url": {key: value for key, value in file.items() if value}}
        case TextPart():
            return {"type": "text", "text": part.text}
        case _:  # what is thought or called is no part
            raise TypeError(f"{part!r} is no part of what is said")

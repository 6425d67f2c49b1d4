"""From a message to the conversation a model is asked with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, cast

from catenary.component import Config, option
from catenary.expr import Document, Prompt, Template
from catenary.jsontext import Json, dumps
from catenary_components.ai.messages import (
    AudioPart,
    ChatMessage,
    DataPart,
    ImagePart,
    MediaPart,
    Role,
    TextPart,
    ToolCall,
    assistant_message,
    system_message,
    tool_message,
    user_message,
)
from catenary_components.ai.models.wire import as_list, as_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catenary import Message
    from catenary.component import Context

CallerSystem: TypeAlias = Literal["replace", "append", "reject"]
"""What a system message in the input does to the configured prompt."""

_ROLES: Final = ("system", "user", "assistant", "tool")


class PresetMessage(Config):
    """One message of the conversation an agent starts with when the input carries none."""

    role: Role = option(help="Who says it.")
    content: Annotated[Template | Document, Prompt] = option(
        "", help="What is said: a template, or a Jinja2 document in a file."
    )
    tool_calls: list[Json] = option([], help="Calls of an assistant message, as in the OpenAI format.")
    tool_call_id: str = option("", help="For the role `tool`: the call that is answered.")


class ConversationError(ValueError):
    """The messages in the input are no conversation; the text says which one and why."""


def conversation(
    msg: Message,
    ctx: Context | None,
    system_prompt: Template | Document,
    presets: Sequence[PresetMessage],
    caller_system: CallerSystem = "replace",
) -> tuple[str, list[ChatMessage]]:
    """Make the conversation for a message.

    A JSON object with a `messages` list gives these; else the presets are used, else the raw data is what the user
    says. A system message in the presets replaces the configured prompt, and so does one in the input, unless
    `caller_system` says otherwise; of several, all texts are kept, in one message at the front.

    Returns: what the model is told first, and the conversation, which has no system message.

    Raises:
        ConversationError: When an entry of `messages` is no message, or one that the agent does not take.
        TemplateError: When a template fails.
    """
    given = _given(msg)
    is_callers = given is not None
    if given is None:
        given = [_preset(preset, msg, ctx) for preset in presets] or [user_message(msg.text)]
    systems = [message.text for message in given if message.role == "system" and message.text]
    if systems and is_callers and caller_system == "reject":
        raise ConversationError("messages holds one of the role system, which this agent does not take")
    if not systems or (is_callers and caller_system == "append"):
        systems.insert(0, system_prompt.render(msg, ctx))
    return "\n\n".join(filter(None, systems)), _without_system(given)


def said_in(msg: Message) -> list[ChatMessage]:
    """Give what a message adds to a conversation: its `messages`, without those of the system, or else its text.

    Raises:
        ConversationError: When an entry of `messages` is no message.
    """
    given = _given(msg)
    return [user_message(msg.text)] if given is None else _without_system(given)


def _without_system(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    return [message for message in messages if message.role != "system" and not _is_idle(message)]


def message_from_wire(value: Json) -> ChatMessage:
    """Read one message in the OpenAI format. Raises: ConversationError: when it is none."""
    return _message(value, "the message")


def _given(msg: Message) -> list[ChatMessage] | None:
    """Give the messages that the input carries, `None` when it carries none."""
    entries = as_list(as_object(msg.value).get("messages")) if msg.data_type == "JSON" else []
    return [_message(entry, f"messages[{place}]") for place, entry in enumerate(entries)] or None


def _is_idle(message: ChatMessage) -> bool:
    return message.role == "assistant" and message.is_blank


def _preset(preset: PresetMessage, msg: Message, ctx: Context | None) -> ChatMessage:
    calls = tuple(_call(entry, "messages") for entry in preset.tool_calls)
    return _said(preset.role, preset.content.render(msg, ctx), calls, preset.tool_call_id)


def _said(role: Role, content: str | tuple[MediaPart, ...], calls: tuple[ToolCall, ...], call_id: str) -> ChatMessage:
    match role:
        case "assistant":
            return assistant_message(content, calls)
        case "tool":
            return tool_message(call_id, content)
        case "user":
            return user_message(content)
        case "system":
            return system_message(user_message(content).text)


def _message(entry: Json, place: str) -> ChatMessage:
    if not isinstance(entry, dict):
        raise ConversationError(f"{place} must be an object with role and content, not {_shown(entry)}")
    fields = cast("Mapping[str, Json]", entry)
    role = fields.get("role")
    if role not in _ROLES:
        raise ConversationError(f"{place}.role must be one of {', '.join(_ROLES)}, not {_shown(role)}")
    calls = fields.get("tool_calls")
    if calls and not isinstance(calls, list):
        raise ConversationError(f"{place}.tool_calls must be a list, not {_shown(calls)}")
    return _said(
        role,
        _content(fields.get("content"), place),
        tuple(_call(call, f"{place}.tool_calls") for call in as_list(calls)),
        str(fields.get("tool_call_id") or ""),
    )


def _content(content: Json, place: str) -> str | tuple[MediaPart, ...]:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise ConversationError(f"{place}.content must be a text or a list of parts, not {_shown(content)}")
    return tuple(_parts(cast("list[Json]", content), f"{place}.content"))


def _parts(entries: list[Json], place: str) -> Iterable[MediaPart]:
    """Read the parts in their order; empty texts and pictures without an address are left out."""
    for number, entry in enumerate(entries):
        fields = as_object(entry)
        match fields.get("type"):
            case "text":
                text = fields.get("text")
                if text:
                    yield TextPart(str(text))
            case "image_url":
                image = fields.get("image_url")
                picture = {"url": image} if isinstance(image, str) else as_object(image)
                if picture.get("url"):
                    yield ImagePart(str(picture["url"]), str(picture.get("detail") or ""))
            case "audio_url" | "file_url":
                yield from _media(fields)
            case _:
                raise ConversationError(
                    f"{place}[{number}] must be of type text, image_url, audio_url or file_url: {_shown(entry)}"
                )


def _media(fields: Mapping[str, Json]) -> Iterable[MediaPart]:
    """Read a sound or another file by its address; one without an address is left out."""
    given = fields.get(str(fields["type"]))
    medium = {"url": given} if isinstance(given, str) else as_object(given)
    url = str(medium.get("url") or "")
    if url and fields["type"] == "audio_url":
        yield AudioPart(url)
    elif url:
        yield DataPart(url, str(medium.get("mediaType") or ""), str(medium.get("name") or ""))


def _call(entry: Json, place: str) -> ToolCall:
    fields = as_object(entry)
    called = as_object(fields.get("function"))
    if not called:
        raise ConversationError(f"{place} holds something that is no tool call: {_shown(entry)}")
    arguments = called.get("arguments")
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    return ToolCall(str(fields.get("id") or ""), str(called.get("name") or ""), text)


def _shown(value: Json) -> str:
    text = dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."

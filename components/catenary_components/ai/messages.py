"""What is said in a conversation: messages made of blocks, and the calls and results of tools among them."""

from __future__ import annotations

import time
import uuid
from base64 import b64encode
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from catenary_components.ai.said_json import said_json

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from catenary.clock import Clock
    from catenary.jsontext import Json

Role = Literal["system", "user", "assistant", "tool"]
CallState = Literal["pending", "asking", "allowed", "submitted", "finished"]
ResultState = Literal["success", "error", "interrupted", "denied", "running"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted by the service; `a + b` is the sum.

    Of those in `prompt`, `cached` are the ones that the service still had, `cache_written` those it keeps for later.
    """

    prompt: int = 0
    completion: int = 0
    total: int = 0
    cached: int = 0
    cache_written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.total + other.total,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
        )


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """What a model thought before it spoke; `metadata` has what its provider wants back, such as a signature."""

    text: str
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"])


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture by its address (http, https or data); `detail` is `auto`, `low` or `high`, empty when not said."""

    url: str
    detail: str = ""

    @classmethod
    def of(cls, data: bytes, media_type: str = "image/png") -> ImagePart:
        """Give a picture by what its file holds."""
        return cls(f"data:{media_type};base64,{b64encode(data).decode()}")


@dataclass(frozen=True, slots=True)
class AudioPart:
    """A sound by its address (http, https or data)."""

    url: str


@dataclass(frozen=True, slots=True)
class DataPart:
    """Any other medium (a video, a document) by its address (http, https or data)."""

    url: str
    media_type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for.

    Attributes:
        id: By which its result is found; unique within a conversation.
        name: The tool.
        arguments: The text as the model wrote it, which need not be JSON.
        state: How far it has come: `asking` waits for a person, `allowed` was approved and has not run yet,
            `submitted` waits for a result from outside.
        metadata: What the provider wants back with the call.
    """

    id: str
    name: str
    arguments: str = "{}"
    state: CallState = "pending"
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"])


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call, as the model is told.

    Attributes:
        call_id: The call.
        name: The tool.
        parts: Text, and other media if the tool gave some.
        state: Whether it went well; the text says nothing about that.
        metadata: What is known of it besides, such as where a long result was put.
    """

    call_id: str
    name: str
    parts: tuple[TextPart | ImagePart | AudioPart | DataPart, ...] = ()
    state: ResultState = "success"
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"])

    @property
    def text(self) -> str:
        """The text of the result; of several parts, each on lines of its own."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


MediaPart: TypeAlias = TextPart | ImagePart | AudioPart | DataPart
Block: TypeAlias = MediaPart | ThinkingPart | ToolCall | ToolResult

_ALLOWED: Final[Mapping[str, tuple[type, ...]]] = {
    "system": (TextPart,),
    "user": (TextPart, ImagePart, AudioPart, DataPart),
    "tool": (ToolResult,),
}


def _new_id() -> str:
    return uuid.uuid4().hex


_clock: Final[ContextVar[Clock | None]] = ContextVar("catenary_messages_clock", default=None)


@contextmanager
def timed_by(clock: Clock) -> Generator[None]:
    """Have messages that are made in a block get their times from a clock: that of the engine, in its runs."""
    before = _clock.get()
    _clock.set(clock)
    try:
        yield
    finally:
        _clock.set(before)


def _now_ms() -> int:
    clock = _clock.get()
    return time.time_ns() // 1_000_000 if clock is None else clock.time_ms()


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation; two are equal when role, blocks and name are.

    Attributes:
        role: Who says it.
        blocks: What is said. A system message has text only, a user's text and media, a tool's the results of calls,
            an assistant's anything.
        name: The speaker, if it matters who of several it is.
        metadata: What is known of the message besides; never sent to a model.
        usage: The tokens of the model call that it came from.
        id: Unique.
        time_ms: When it was made, in milliseconds since 1970; by the clock of the engine, in its runs.

    Raises:
        ValueError: When there is no such role, or it may not have such a block.
    """

    role: Role
    blocks: tuple[Block, ...] = ()
    name: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"], compare=False)
    usage: Usage | None = field(default=None, compare=False)
    id: str = field(default_factory=_new_id, compare=False)
    time_ms: int = field(default_factory=_now_ms, compare=False)

    def __post_init__(self) -> None:
        allowed = _ALLOWED.get(self.role)
        if allowed is None:
            if self.role != "assistant":
                raise ValueError(f"there is no role {self.role!r}; it is one of {', '.join(get_args(Role))}")
            return
        for block in self.blocks:
            if not isinstance(block, allowed):
                names = ", ".join(kind.__name__ for kind in allowed)
                found = type(block).__name__
                raise ValueError(  # noqa: TRY004 - the value of a role decides
                    f"a message of the role {self.role} has only {names}, not {found}"
                )

    @property
    def text(self) -> str:
        """The text of the message; of several texts, each on lines of its own."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextPart))

    @property
    def thinking(self) -> str:
        """What was thought."""
        return "".join(block.text for block in self.blocks if isinstance(block, ThinkingPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls in it, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results in it, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))

    @property
    def is_blank(self) -> bool:
        """Whether the message says nothing and calls nothing; what was only thought is not said."""
        return all(isinstance(block, ThinkingPart) for block in self.blocks)

    def with_call(self, call: ToolCall) -> ChatMessage:
        """Give the message with the call of the same id replaced."""
        blocks = (call if isinstance(old, ToolCall) and old.id == call.id else old for old in self.blocks)
        return replace(self, blocks=tuple(blocks))


def system_message(text: str) -> ChatMessage:
    """Make a system message."""
    return ChatMessage("system", (TextPart(text),))


def user_message(content: str | Iterable[MediaPart], *, name: str = "") -> ChatMessage:
    """Make what a user says, of a text or of parts; an empty text makes a message without any."""
    return ChatMessage("user", _parts(content), name)


def assistant_message(
    content: str | Iterable[MediaPart] = "", calls: Iterable[ToolCall] = (), *, thinking: str = "", name: str = ""
) -> ChatMessage:
    """Make what a model says: what it thought, its text, the tools it asks for."""
    thought = (ThinkingPart(thinking),) if thinking else ()
    return ChatMessage("assistant", (*thought, *_parts(content), *calls), name)


def tool_message(
    call_id: str, content: str | Iterable[MediaPart], *, name: str = "", state: ResultState = "success"
) -> ChatMessage:
    """Make the result of one call. A result that is empty still is one."""
    return ChatMessage("tool", (ToolResult(call_id, name, _parts(content), state),))


def _parts(content: str | Iterable[MediaPart]) -> tuple[MediaPart, ...]:
    if isinstance(content, str):
        return (TextPart(content),) if content else ()
    return tuple(content)


def object_or_text(arguments: str) -> Json:
    """Give the arguments of a call as a value, or the text itself when it is not JSON."""
    try:
        return said_json(arguments)
    except ValueError:
        return arguments


def pending_calls(messages: list[ChatMessage]) -> tuple[ToolCall, ...]:
    """Give the calls of the last message of a model that have no result after it."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool":
            answered.update(result.call_id for result in message.results)
        elif message.role == "assistant":
            return tuple(call for call in message.tool_calls if call.id not in answered)
    return ()

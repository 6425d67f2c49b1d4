"""What goes to a model and what comes back: messages, calls, requests, replies and their pieces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from catenary.errors import ResourceError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from catenary.jsontext import Json


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for; `arguments` is the text as the model wrote it, which need not be JSON."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text in a message of several parts."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture by its address (http, https or data); `detail` is `auto`, `low` or `high`, empty when not said."""

    url: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    `role` is `system`, `user`, `assistant` or `tool`. An answer to a call has the call's id in `tool_call_id`.
    """

    role: str
    content: str | tuple[TextPart | ImagePart, ...] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """The text of the message; of several text parts, all of them on lines of their own."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def is_blank(self) -> bool:
        """Whether the message says nothing and calls nothing."""
        return not self.content and not self.tool_calls


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted by the service; `a + b` is the sum."""

    prompt: int = 0
    completion: int = 0
    total: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.total + other.total,
            self.cached + other.cached,
        )


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call of a model: the conversation and the tools it may ask for."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A fragment of a tool call; fragments of one call share `index`, and their `arguments` are joined."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a streamed reply. All members may be empty: a piece may carry nothing but `usage`."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[CallPiece, ...] = ()
    finish_reason: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply. It asks for tools when `tool_calls` is not empty, whatever `finish_reason` says."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)


class ModelError(ResourceError):
    """A model could not be asked, or answered with an error.

    Attributes:
        status: The HTTP status, 0 when there was no answer.
        attempts: How often the call was tried.
        endpoint: The host (and port) that was asked.
        retry_after_s: Seconds the service asks to wait, `None` when it does not say.
    """

    code = "model.error"

    def __init__(
        self,
        text: str,
        *,
        retryable: bool = False,
        status: int = 0,
        attempts: int = 1,
        endpoint: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(text, retryable=retryable)
        self.status = status
        self.attempts = attempts
        self.endpoint = endpoint
        self.retry_after_s = retry_after_s


class ChatModel(Protocol):
    """Something that answers conversations. Safe to call from many tasks."""

    @property
    def name(self) -> str:
        """The model's name as the service knows it."""
        ...

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when there is no answer."""
        ...

    def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """Answer in pieces. The caller closes the generator, which closes the connection.

        Raises:
            ModelError: when there is no answer, or it breaks off.
        """
        ...

"""What goes to a model and what comes back: requests, replies and their pieces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from catenary.errors import ResourceError
from catenary_components.ai.messages import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage, ThinkingPart, ToolCall

ErrorKind = Literal[
    "prompt_too_long",
    "auth",
    "rate_limit",
    "thinking_block",
    "billing",
    "model_not_found",
    "client_error",
    "server_error",
    "network",
    "empty_response",
    "unknown",
]
"""What is wrong, as far as it matters for what to do about it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool; `parameters` is a JSON Schema, which a strict service keeps to the letter."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call of a model.

    Attributes:
        messages: The conversation.
        tools: What the model may ask for.
        tool_choice: `auto`, `none`, `required`, or the name of the tool that is to be called. A service need not obey.
        parallel_calls: Whether one reply may ask for several tools; `None` leaves it to the service.
        response_schema: The JSON Schema that the answer is to fit, for a service that can be told.
        options: Members of the request's body, laid over those of the model; dotted keys make nested objects.
        tell: Is told what happens to the call on its way, such as `model.retry`, with what is known of it.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    parallel_calls: bool | None = None
    response_schema: Mapping[str, Json] | None = None
    options: Mapping[str, Json] = field(default_factory=dict[str, "Json"])
    tell: Callable[[str, Mapping[str, Json]], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A fragment of a tool call; fragments of one call share `index`, and their `arguments` are joined.

    `metadata` is what the provider wants back with the call.
    """

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    metadata: Mapping[str, Json] | None = None


@dataclass(slots=True)
class Piece:
    """One piece of a streamed reply. All members may be empty: a piece may carry nothing but `usage`.

    A piece is not to be changed, `dataclasses.replace` gives another one; that nobody does is not enforced, for it
    would make the most frequent thing of all four times as dear.

    Attributes:
        content: Text.
        reasoning: What the model thinks.
        tool_calls: Fragments of calls.
        finish_reason: Why the reply ends.
        usage: The tokens so far.
        thought: A thought that is complete, with what its provider wants back; its text came as `reasoning` before.
        model: The model that answers, where it is known.
        cost: What the tokens in `usage` cost, in US dollars; `None` when no price is known.
        id: What the service calls the reply, in at least one of its pieces.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[CallPiece, ...] = ()
    finish_reason: str = ""
    usage: Usage | None = None
    thought: ThinkingPart | None = None
    model: str = ""
    cost: float | None = None
    id: str = ""

    @property
    def says_something(self) -> bool:
        """Whether there is text, reasoning or a part of a call in it."""
        return bool(self.content or self.reasoning or self.tool_calls or self.thought)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply. It asks for tools when `tool_calls` is not empty, whatever `finish_reason` says.

    Attributes:
        content: Its text.
        reasoning: What the model thought.
        tool_calls: The calls it asks for; one whose arguments end too soon has `cutOff` in its metadata.
        finish_reason: Why it ended: `stop`, `length`, `tool_calls`, `content_filter`, or what the service says.
        usage: Its tokens.
        thoughts: What the model thought, in parts with what their provider wants back; empty when it wants nothing.
        model: The model that answered; empty for the one that was asked.
        cost: What it cost, in US dollars; `None` when no price is known.
        id: What the service calls it; empty when it has no name for it.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    thoughts: tuple[ThinkingPart, ...] = ()
    model: str = ""
    cost: float | None = None
    id: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the model neither said, thought nor called anything."""
        return not (self.content or self.reasoning or self.tool_calls or self.thoughts)


class ModelError(ResourceError):
    """A model could not be asked, or answered with an error.

    Attributes:
        status: The HTTP status, 0 when there was no answer.
        attempts: How often the call was tried.
        endpoint: The host (and port) that was asked.
        retry_after_s: Seconds the service asks to wait, `None` when it does not say.
        kind: What is wrong, see `ErrorKind`.
        was_shown: Whether part of the reply was shown to those who listen before it broke off.
    """

    code = "model.error"
    was_shown = False

    def __init__(
        self,
        text: str,
        *,
        retryable: bool = False,
        status: int = 0,
        attempts: int = 1,
        endpoint: str = "",
        retry_after_s: float | None = None,
        kind: ErrorKind = "unknown",
    ) -> None:
        super().__init__(text, retryable=retryable)
        self.status = status
        self.attempts = attempts
        self.endpoint = endpoint
        self.retry_after_s = retry_after_s
        self.kind: ErrorKind = kind

    def said(self, text: str, *, attempts: int | None = None, endpoint: str | None = None) -> ModelError:
        """Give the same error with another text."""
        return ModelError(
            text,
            retryable=self.retryable,
            status=self.status,
            attempts=self.attempts if attempts is None else attempts,
            endpoint=self.endpoint if endpoint is None else endpoint,
            retry_after_s=self.retry_after_s,
            kind=self.kind,
        )


class Pieces(Protocol):
    """The pieces of one reply, to be iterated once; an async generator of pieces is one."""

    def __aiter__(self) -> AsyncIterator[Piece]:
        """Give itself."""
        ...

    def __anext__(self) -> Awaitable[Piece]:
        """Give the next piece. Raises: ModelError: when there is no answer, or it breaks off."""
        ...

    def aclose(self) -> Awaitable[None]:
        """End the call; the connection is closed unless the reply is over."""
        ...


class ChatModel(Protocol):
    """Something that answers conversations. Safe to call from many tasks."""

    @property
    def name(self) -> str:
        """The model's name as the service knows it."""
        ...

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when there is no answer."""
        ...

    def stream(self, request: ChatRequest) -> Pieces:
        """Answer in pieces. The caller closes them, which ends the call."""
        ...

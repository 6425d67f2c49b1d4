"""What some models write into their answer though it is none: thoughts between tags, and calls of tools as JSON."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.jsontext import dumps, loads
from catenary_components.ai.messages import ToolCall
from catenary_components.ai.models.assemble import ReplyBuilder, named_calls
from catenary_components.ai.models.types import CallPiece, Piece

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Iterable
    from typing import Self

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ChatModel, ChatRequest, Pieces, Reply

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
_CALL_TAGS: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
_FENCE: Final = re.compile(r"^```[a-zA-Z_]*\s*\n(.*?)\n?```$", re.DOTALL)
_CALL_STARTS: Final = ("{", "[", "```", "<tool_call>")


class ThinkSplitter:
    """Takes what stands between `<think>` and `</think>` at the start of a reply out of its text, piece by piece.

    Tags may be cut anywhere. Further on in a reply they are text like any other.
    """

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "start"
        self._held = ""

    @property
    def is_open(self) -> bool:
        """Whether more of the reply may be thought."""
        return self._state != "text"

    def feed(self, text: str) -> tuple[str, str]:
        """Take a piece of the text. Returns: what of it is text, and what is thought."""
        if self._state == "text" or not text:
            return text, ""
        self._held += text
        if self._state == "start":
            begun = self._held.lstrip()
            if len(begun) < len(_OPEN) and _OPEN.startswith(begun):
                return "", ""
            if not begun.startswith(_OPEN):
                return self.end()
            self._state, self._held = "thinking", begun[len(_OPEN) :]
        return self._think()

    def _think(self) -> tuple[str, str]:
        thought = ""
        if self._state == "thinking":
            thought, closed, rest = self._held.partition(_CLOSE)
            if not closed:
                kept = _overlap(thought, _CLOSE)
                self._held = thought[len(thought) - kept :]
                return "", thought[: len(thought) - kept]
            self._state, self._held = "gap", rest
        said = self._held.lstrip()
        if said:
            self._state, self._held = "text", ""
        return said, thought

    def end(self) -> tuple[str, str]:
        """Give what is held back at the end of a reply."""
        held, self._held = self._held, ""
        is_thought = self._state == "thinking"
        self._state = "text"
        return ("", held) if is_thought else (held, "")


def _overlap(text: str, tag: str) -> int:
    """Give how many characters at the end of a text may be the beginning of a tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


def calls_in_text(text: str, tools: Iterable[str]) -> tuple[ToolCall, ...]:
    """Read the calls that a text is: nothing but JSON objects with `name` and `arguments`, of tools that are on offer.

    Understood are one object, a list, objects in a Markdown fence, and each between `<tool_call>` tags.

    Returns: no call when there is anything else in it.
    """
    names = set(tools)
    calls = [_call(value, names) for value in _values(text.strip())]
    if not calls or None in calls:
        return ()
    return named_calls(cast("list[ToolCall]", calls))


def _values(text: str) -> list[Json]:
    tagged = _CALL_TAGS.findall(text)
    if tagged and not _CALL_TAGS.sub("", text).strip():
        return [value for part in tagged for value in _values(part.strip())]
    fenced = _FENCE.match(text)
    try:
        value = loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return []
    return cast("list[Json]", value) if isinstance(value, list) else [value]


def _call(value: Json, names: set[str]) -> ToolCall | None:
    fields: dict[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if isinstance(fields.get("function"), dict):
        fields = cast("dict[str, Any]", fields["function"])
    name = fields.get("name", fields.get("tool"))
    given: Any = next((fields[key] for key in ("arguments", "parameters", "input") if key in fields), dict[str, Any]())
    if name not in names or not isinstance(given, dict | str):
        return None
    return ToolCall("", str(name), given if isinstance(given, str) else dumps(cast("dict[str, Json]", given)))


@dataclass(frozen=True, slots=True)
class SpokenModel:
    """A model whose replies are read once more.

    Attributes:
        splits_thinking: Whether what stands between `<think>` tags at the start counts as reasoning.
        reads_calls: Whether an answer that is a call of a tool in JSON counts as one. Text that may become such a call
            is held back until it is clear that it does not.
    """

    model: ChatModel
    splits_thinking: bool = True
    reads_calls: bool = False

    @property
    def name(self) -> str:
        """The model's name as the service knows it."""
        return self.model.name

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when there is no answer."""
        reply = await self.model.generate(request)
        if self.splits_thinking and reply.content.lstrip().startswith(_OPEN):
            splitter = ThinkSplitter()
            said, thought = splitter.feed(reply.content)
            rest, more = splitter.end()
            reply = replace(reply, content=said + rest, reasoning=reply.reasoning + thought + more)
        if self.reads_calls and not reply.tool_calls:
            calls = calls_in_text(reply.content, (tool.name for tool in request.tools))
            reply = replace(reply, content="", tool_calls=calls) if calls else reply
        return reply

    def stream(self, request: ChatRequest) -> Pieces:
        """Answer in pieces."""
        pieces = self.model.stream(request)
        if self.splits_thinking:
            pieces = _WithoutTags(pieces)
        return _read_calls(pieces, request) if self.reads_calls and request.tools else pieces


class _WithoutTags:
    """Pieces in which what stands between tags at the start is reasoning; from there on they are handed on as they are.

    No frame of this class stands between them and whoever reads then.
    """

    __slots__ = ("_pieces", "_splitter")

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._splitter: ThinkSplitter | None = ThinkSplitter()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Piece]:
        return self._pieces.__anext__() if self._splitter is None else self._first(self._splitter)

    async def _first(self, splitter: ThinkSplitter) -> Piece:
        try:
            piece = await self._pieces.__anext__()
        except StopAsyncIteration:
            self._splitter = None
            said, thought = splitter.end()
            if said or thought:
                return Piece(said, thought)
            raise
        if piece.tool_calls or piece.finish_reason:
            self._splitter = None
            return _added(piece, *_both(splitter, piece.content))
        if not piece.content:
            return piece
        said, thought = splitter.feed(piece.content)
        if not splitter.is_open:
            self._splitter = None
        return _added(replace(piece, content=""), said, thought)

    async def aclose(self) -> None:
        await self._pieces.aclose()


def _both(splitter: ThinkSplitter, text: str) -> tuple[str, str]:
    said, thought = splitter.feed(text)
    rest, more = splitter.end()
    return said + rest, thought + more


def _added(piece: Piece, said: str, thought: str) -> Piece:
    return replace(piece, content=said, reasoning=piece.reasoning + thought)


async def _read_calls(pieces: Pieces, request: ChatRequest) -> AsyncGenerator[Piece, None]:
    """Pass pieces on, but for text from its first character on that may be a call."""
    held: list[Piece] = []
    said = ""
    async with aclosing(pieces):
        async for piece in pieces:
            if held or (piece.content and not said.strip()):
                said += piece.content
                start = said.lstrip()
                if not start or any(sign.startswith(start[: len(sign)]) for sign in _CALL_STARTS):
                    held.append(piece)
                    continue
                for early in held:
                    yield early
                held = []
            yield piece
    for piece in _as_calls(held, request):
        yield piece


def _as_calls(held: list[Piece], request: ChatRequest) -> Iterable[Piece]:
    builder = ReplyBuilder()
    for piece in held:
        builder.add(piece)
    reply = builder.reply()
    calls = () if reply.tool_calls else calls_in_text(reply.content, (tool.name for tool in request.tools))
    if not calls:
        yield from held
        return
    fragments = [CallPiece(index, call.id, call.name, call.arguments) for index, call in enumerate(calls)]
    yield Piece(tool_calls=tuple(fragments))
    for piece in held:
        yield replace(piece, content="")

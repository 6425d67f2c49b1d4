"""Thoughts between tags, and calls of tools written as JSON into the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.spoken import SpokenModel, ThinkSplitter, calls_in_text
from catenary_components.ai.models.types import ChatRequest, Piece, Reply, ToolSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

TOOLS = ("stock", "price")
REQUEST = ChatRequest((), tuple(ToolSpec(name, "", {}) for name in TOOLS))


class Said:
    """A model that says a text, cut into pieces."""

    name = "m"

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    async def generate(self, request: ChatRequest) -> Reply:
        return Reply("".join(self._pieces), finish_reason="stop")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        for piece in self._pieces:
            yield Piece(piece)
        yield Piece(finish_reason="stop")


async def both(model: SpokenModel) -> tuple[Reply, Reply]:
    builder = ReplyBuilder()
    async for piece in model.stream(REQUEST):
        builder.add(piece)
    return await model.generate(REQUEST), builder.reply()


@settings(max_examples=times(60))
@given(st.data())
def test_thoughts_are_taken_out_wherever_they_are_cut(data: st.DataObject) -> None:
    text = "<think>\na < b </thin\n</think>\n\nYes <think>no</think> "
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    splitter = ThinkSplitter()
    parts = [*(splitter.feed(piece) for piece in pieces), splitter.end()]
    assert "".join(said for said, _ in parts) == "Yes <think>no</think> "
    assert "".join(thought for _, thought in parts).strip() == "a < b </thin"


@pytest.mark.parametrize("pieces", [("<thin", "ly veiled"), ("  <", "b>"), ("plain",), ("",)])
async def test_text_that_only_looks_like_a_tag_is_kept(pieces: tuple[str, ...]) -> None:
    for reply in await both(SpokenModel(Said(*pieces))):
        assert (reply.content, reply.reasoning) == ("".join(pieces), "")


async def test_a_thought_that_is_not_closed_stays_one() -> None:
    for reply in await both(SpokenModel(Said("<think>", "hm"))):
        assert (reply.content, reply.reasoning) == ("", "hm")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "stock", "arguments": {"sku": "bolt"}}',
        '[{"name": "stock", "parameters": {"sku": "bolt"}}]',
        '```json\n{"name": "stock", "arguments": {"sku": "bolt"}}\n```',
        '<tool_call>\n{"name": "stock", "arguments": {"sku": "bolt"}}\n</tool_call>',
        '{"type": "function", "function": {"name": "stock", "arguments": "{\\"sku\\": \\"bolt\\"}"}}',
    ],
)
async def test_a_call_written_as_json_is_one(text: str) -> None:
    half = len(text) // 2
    for reply in await both(SpokenModel(Said(text[:half], text[half:]), reads_calls=True)):
        (call,) = reply.tool_calls
        assert (call.name, call.arguments.replace(" ", ""), reply.content) == ("stock", '{"sku":"bolt"}', "")


@pytest.mark.parametrize(
    "text", ['{"name": "other", "arguments": {}}', '{"qty": 4}', "[1, 2]", "```\ncode\n```", "{broken", "Use {x}."]
)
async def test_any_other_json_is_the_answer(text: str) -> None:
    for reply in await both(SpokenModel(Said(text[:1], text[1:]), reads_calls=True)):
        assert (reply.content, reply.tool_calls) == (text, ())


async def test_calls_in_text_are_not_read_unless_asked_for() -> None:
    for reply in await both(SpokenModel(Said('{"name": "stock", "arguments": {}}'))):
        assert reply.tool_calls == ()


async def test_plain_text_is_not_held_back() -> None:
    pieces = [piece.content async for piece in SpokenModel(Said("one ", "{two}"), reads_calls=True).stream(REQUEST)]
    assert pieces == ["one ", "{two}", ""]


def test_several_calls_in_tags_are_read_in_order() -> None:
    text = '<tool_call>{"name": "stock"}</tool_call>\n<tool_call>{"name": "price", "arguments": {"n": 1}}</tool_call>'
    assert [call.name for call in calls_in_text(text, TOOLS)] == ["stock", "price"]

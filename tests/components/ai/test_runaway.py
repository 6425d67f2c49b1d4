"""Replies that would not come to their end are cut."""

from __future__ import annotations

from typing import Any

import pytest

from catenary.errors import CatenaryError
from catenary.testing import Reply
from catenary_components.ai.models.types import CallPiece, Piece
from catenary_components.ai.models.types import Reply as ModelReply
from catenary_components.ai.phases._runaway import Runaway

COPY = "The bolts of 8 mm are in the third drawer from the left."
ENDLESS = [COPY] * 1000


@pytest.fixture
def told(bench: Any) -> list[dict[str, Any]]:
    """What is told of replies that are cut."""
    heard: list[dict[str, Any]] = []
    bench.engine.subscribe(lambda event: heard.append(event.data) if event.name == "content.truncated" else None)
    return heard


def said(outcome: Any) -> tuple[Any, Any]:
    return outcome.message.data, outcome.message.metadata["finish_reason"]


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("between", ["", " ", "\n\n"])
async def test_three_copies_of_a_text_are_fine_and_of_four_one_is_kept(bench: Any, stream: str, between: str) -> None:
    three, four = (f"Well: {between.join([COPY] * copies)}" for copies in (3, 4))
    bench.load(three, four, sameText=4)
    assert said(await bench.say(stream=stream)) == (three, "normal")
    assert said(await bench.say(stream=stream)) == (f"Well: {COPY}", "incomplete")


async def test_a_stream_that_says_the_same_for_ever_is_cut(bench: Any, told: list[dict[str, Any]]) -> None:
    bench.load(Reply(pieces=["Well: ", *ENDLESS]), sameText=4)
    outcome = await bench.say(stream="true")
    shown = [end.message.data for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    assert 4 <= len(shown) < 12
    assert said(outcome) == (f"Well: {COPY}", "incomplete")
    assert [one["reason"] for one in told] == ["content_loop"]
    assert told[0]["truncatedChars"] == len("".join(shown)) - len(outcome.message.data)


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_an_answer_inside_an_object_is_cut_as_well(bench: Any, stream: str) -> None:
    pieces = ['{"reasoningSummary": "so it is", "finalText": "Well: ', *[COPY] * 20, '"}']
    bench.load(Reply(pieces=pieces), mode="thinking", sameText=4)
    assert said(await bench.say(stream=stream)) == (f"Well: {COPY}", "incomplete")


async def test_of_prose_where_an_object_was_asked_for_one_copy_is_shown(bench: Any) -> None:
    bench.load(Reply(pieces=["Well: ", *[COPY] * 20]), mode="thinking", sameText=4)
    outcome = await bench.say(stream="true")
    shown = [end.message.data for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    assert shown == [f"Well: {COPY}"]
    assert said(outcome) == (f"Well: {COPY}", "incomplete")


async def test_the_conversation_keeps_one_copy(bench: Any) -> None:
    bench.load(Reply(pieces=ENDLESS), "I see.", sameText=4, session="s")
    await bench.say(stream="true")
    await bench.say("go on")
    assert [message["content"] for message in bench.last] == ["hi", COPY, "go on"]


async def test_without_the_setting_a_reply_is_what_it_is(bench: Any, told: list[dict[str, Any]]) -> None:
    bench.load(COPY * 10)
    assert said(await bench.say(stream="true")) == (COPY * 10, "normal")
    assert told == []


@pytest.mark.parametrize("text", ["-" * 900, " " * 900 + "x", "| - " * 300, "ha " * 300, COPY])
async def test_lines_and_rows_of_few_signs_are_no_copies(bench: Any, text: str) -> None:
    bench.load(text, sameText=4)
    assert said(await bench.say(stream="true")) == (text, "normal")


async def test_thoughts_and_nothing_else_are_cut_and_the_model_is_reminded(
    bench: Any, told: list[dict[str, Any]]
) -> None:
    bench.load(Reply(reasoning="hm " * 400, text="too late"), "at last", maxThoughts=1000)
    outcome = await bench.say(stream="true")
    assert said(outcome) == ("at last", "normal")
    assert [one["reason"] for one in told] == ["thinking_only"]
    assert "no text" in str(bench.last[-1]["content"])


async def test_a_model_that_only_thinks_ends_incomplete(bench: Any) -> None:
    bench.load(*[Reply(reasoning="hm " * 400, text="too late")] * 3, maxThoughts=1000)
    assert said(await bench.say(stream="true")) == ("", "incomplete")


def test_thoughts_beside_a_call_or_a_text_are_no_runaway() -> None:
    thoughts = "hm " * 400
    assert Runaway(0, 1000).cuts(Piece(reasoning=thoughts))
    assert not Runaway(0, 1000).cuts(Piece(reasoning=thoughts, tool_calls=(CallPiece(0, "c1", "ping", ""),)))
    assert not Runaway(0, 1000).cuts(Piece("so", thoughts))
    assert not Runaway(4, 0).cuts(Piece(reasoning=thoughts))


async def test_one_copy_is_no_repeat(bench: Any) -> None:
    with pytest.raises(CatenaryError, match="2 at least"):
        bench.load(sameText=1)


@pytest.mark.parametrize(("length", "is_cut"), [(23, False), (24, True), (240, True), (241, False)])
def test_a_text_of_24_to_240_characters_counts_as_one_that_repeats(length: int, *, is_cut: bool) -> None:
    copy = "".join(chr(97 + n % 26) if n % 7 else chr(65 + n // 7 % 26) for n in range(length))
    assert Runaway(4, 0).settled(ModelReply(copy * 4)).content == (copy if is_cut else copy * 4)


@pytest.mark.parametrize(("thoughts", "is_cut"), [(99, False), (100, True)])
def test_so_many_characters_of_thoughts_are_too_many(thoughts: int, *, is_cut: bool) -> None:
    assert Runaway(0, 100).cuts(Piece(reasoning="x" * thoughts)) is is_cut

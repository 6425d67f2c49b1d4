"""Replies that are put together from their pieces, where services do what they should not."""

from __future__ import annotations

from catenary_components.ai.messages import ToolCall, Usage
from catenary_components.ai.models.assemble import ReplyBuilder, named_calls
from catenary_components.ai.models.types import CallPiece, Piece


def built(*pieces: Piece) -> ReplyBuilder:
    builder = ReplyBuilder()
    for piece in pieces:
        builder.add(piece)
    return builder


def test_of_several_usages_the_last_one_counts() -> None:
    reply = built(
        Piece("a", usage=Usage(10, 1, 11), cost=1.0),
        Piece("b", usage=Usage(10, 2, 12), cost=2.0),
        Piece(finish_reason="stop"),
    ).reply()
    assert (reply.usage, reply.cost) == (Usage(10, 2, 12), 2.0)


def test_calls_with_one_id_get_each_its_own() -> None:
    calls = (CallPiece(index, "c1", "look", f'{{"n":{index}}}') for index in (0, 1, 2))
    reply = built(Piece(tool_calls=tuple(calls)), Piece(finish_reason="tool_calls")).reply()
    ids = [call.id for call in reply.tool_calls]
    assert (ids[0], len(set(ids))) == ("c1", 3)
    assert [call.arguments for call in reply.tool_calls] == ['{"n":0}', '{"n":1}', '{"n":2}']


def test_the_same_holds_for_replies_that_come_at_once() -> None:
    calls = named_calls([ToolCall("c1", "look", "{}"), ToolCall("c1", "look", "{}"), ToolCall("", "look", "{}")])
    assert calls[0].id == "c1"
    assert len({call.id for call in calls} - {""}) == 3

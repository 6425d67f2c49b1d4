"""What is cut in a conversation stays what it was in all else."""

from __future__ import annotations

from catenary_components.ai.messages import ChatMessage, TextPart, ToolCall, ToolResult, assistant_message
from catenary_components.ai.shortening import pruned, with_short_arguments


def tokens(message: ChatMessage) -> int:
    return sum(len(result.text) for result in message.results)


def test_a_result_that_is_cut_keeps_its_state_its_place_and_what_is_known_of_it() -> None:
    result = ToolResult("c1", "look", (TextPart("r" * 10_000),), "error", {"from": "here"})
    message = ChatMessage("tool", (result,), "Clerk", {"kept": True})
    (made,) = pruned([message], tokens, protected=0, least=1)
    (cut,) = made.results
    assert len(cut.text) < 3_000
    assert (cut.call_id, cut.name, cut.state, cut.metadata["from"]) == ("c1", "look", "error", "here")
    assert (made.id, made.time_ms, made.name, made.metadata) == (message.id, message.time_ms, "Clerk", {"kept": True})
    assert message.results == (result,)


def test_a_call_whose_arguments_are_cut_keeps_its_state_and_what_its_provider_wants_back() -> None:
    call = ToolCall("c1", "write", '{"text": "' + "x" * 10_000 + '"}', "allowed", {"signature": "signed"})
    message = assistant_message("I write.", [call], thinking="hm")
    made = with_short_arguments([message, *[assistant_message("later")] * 30])[0]
    (cut,) = made.tool_calls
    assert len(cut.arguments) < 3_000
    assert (cut.id, cut.name, cut.state, cut.metadata) == ("c1", "write", "allowed", {"signature": "signed"})
    assert (made.id, made.text, made.thinking) == (message.id, "I write.", "hm")

"""The guard before each request."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.messages import ChatMessage, ToolCall, assistant_message, tool_message, user_message
from catenary_components.ai.models.pairing import NO_RESULT, paired

ASK = user_message("hi")


def calling(*ids: str) -> ChatMessage:
    return assistant_message("", tuple(ToolCall(call_id, "t") for call_id in ids))


def shape(messages: list[ChatMessage]) -> list[str]:
    return [
        f"{message.role}:{','.join([call.id for call in message.tool_calls] + [r.call_id for r in message.results])}"
        for message in messages
    ]


def test_a_conversation_in_which_all_is_well_is_given_as_it_is() -> None:
    messages = [ASK, calling("a", "b"), tool_message("b", "2"), tool_message("a", "1"), assistant_message("done")]
    assert paired(messages) is messages


def test_a_call_without_result_gets_one_that_says_so() -> None:
    mended = paired([ASK, calling("a"), user_message("still there?")])
    assert shape(list(mended)) == ["user:", "assistant:a", "tool:a", "user:"]
    assert mended[2].results[0].text == NO_RESULT


def test_a_result_that_stands_elsewhere_is_moved_to_its_call() -> None:
    mended = paired([calling("a"), ASK, tool_message("a", "late")])
    assert shape(list(mended)) == ["assistant:a", "tool:a", "user:"]
    assert mended[1].results[0].text == "late"


def test_a_result_without_a_call_and_a_second_one_are_left_out() -> None:
    mended = paired([tool_message("x", "?"), calling("a"), tool_message("a", "1"), tool_message("a", "2")])
    assert [result.text for message in mended for result in message.results] == ["1"]


def test_an_id_may_be_used_again_later() -> None:
    messages = [calling("a"), tool_message("a", "1"), calling("a"), tool_message("a", "2")]
    assert paired(messages) is messages
    mended = paired([calling("a"), calling("a"), tool_message("a", "2")])
    assert [message.results[0].text for message in mended if message.results] == [NO_RESULT, "2"]


def test_equal_ids_in_one_message_are_told_apart() -> None:
    mended = paired([calling("a", "a"), tool_message("a", "1"), tool_message("a", "2")])
    assert shape(list(mended)) == ["assistant:a,a_2", "tool:a", "tool:a_2"]
    assert [message.results[0].text for message in mended[1:]] == ["1", "2"]


@settings(max_examples=times(100))
@given(st.lists(st.one_of(
    st.just(ASK),
    st.lists(st.sampled_from("abc"), max_size=3).map(lambda ids: calling(*ids)),
    st.sampled_from("abcx").map(lambda call_id: tool_message(call_id, "r")),
), max_size=8))  # fmt: skip
def test_whatever_came_before_calls_and_results_are_paired(messages: list[ChatMessage]) -> None:
    mended = paired(messages)
    assert paired(mended) is mended
    assert [m for m in mended if m.role == "user"] == [m for m in messages if m.role == "user"]

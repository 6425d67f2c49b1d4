"""Messages of a conversation: what each role may say, and what is read of it."""

from __future__ import annotations

from typing import Any

import pytest

from catenary_components.ai.messages import (
    AudioPart,
    ChatMessage,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    assistant_message,
    pending_calls,
    tool_message,
    user_message,
)

MEDIA: tuple[Any, ...] = (ImagePart("https://x/p.png"), AudioPart("https://x/a.mp3"), DataPart("https://x/d.pdf"))
CALL = ToolCall("c1", "look")
RESULT = ToolResult("c1", "look", (TextPart("seen"),))


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("system", (TextPart("a"),)),
        ("user", (TextPart("a"), *MEDIA)),
        ("assistant", (TextPart("a"), *MEDIA, ThinkingPart("hm"), CALL, RESULT)),
        ("tool", (RESULT,)),
    ],
)
def test_a_role_has_these_blocks_and_no_others(role: Any, allowed: tuple[Any, ...]) -> None:
    assert ChatMessage(role, allowed).blocks == allowed
    for block in (TextPart("a"), *MEDIA, ThinkingPart("hm"), CALL, RESULT):
        if block not in allowed:
            with pytest.raises(ValueError, match=f"a message of the role {role} has only"):
                ChatMessage(role, (block,))


def test_a_role_that_is_not_there_is_refused() -> None:
    wrong: Any = "robot"
    with pytest.raises(ValueError, match="there is no role 'robot'; it is one of system, user, assistant, tool"):
        ChatMessage(wrong)


def test_texts_are_on_lines_of_their_own_and_a_message_may_be_empty() -> None:
    assert user_message([TextPart("a"), MEDIA[0], TextPart("b")]).text == "a\nb"
    assert ChatMessage("user", metadata={"kept": True}).text == ""


def test_calls_without_a_result_are_pending_whatever_their_state_says() -> None:
    other = ToolCall("c2", "look", state="asking")
    said = [user_message("?"), assistant_message("", [CALL, other])]
    assert pending_calls(said) == (CALL, other)
    assert pending_calls([*said, tool_message("c1", "seen", name="look")]) == (other,)
    assert pending_calls([*said, tool_message("c1", ""), tool_message("c2", "", state="error")]) == ()

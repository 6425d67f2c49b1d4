"""The record of an agent as JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from tests.cases import times

from catenary.jsontext import dumps, loads
from catenary_components.ai.messages import (
    AudioPart,
    ChatMessage,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    Usage,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.records import (
    NEVER_KEPT,
    VERSION,
    NewerRecord,
    RecordError,
    message_from_json,
    message_to_json,
    state_from_json,
    state_from_text,
    state_to_json,
    state_to_text,
)
from catenary_components.ai.state import AgentState

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
metadata = st.dictionaries(
    words, st.one_of(st.none(), st.booleans(), st.integers(), words, st.lists(words)), max_size=2
)
texts = st.builds(TextPart, words)
media = st.one_of(
    texts, st.builds(ImagePart, words, words), st.builds(AudioPart, words), st.builds(DataPart, words, words, words)
)
thoughts = st.builds(ThinkingPart, words, metadata)
tool_uses = st.builds(
    ToolCall, words, words, words, st.sampled_from(["pending", "asking", "allowed", "submitted", "finished"]), metadata
)
results = st.builds(
    ToolResult,
    words,
    words,
    st.lists(media, max_size=2).map(tuple),
    st.sampled_from(["success", "error", "interrupted", "denied", "running"]),
    metadata,
)
usages = st.builds(Usage, *[st.integers(0, 9)] * 4)
BLOCKS = {
    "system": texts,
    "user": media,
    "assistant": st.one_of(media, thoughts, tool_uses, results),
    "tool": results,
}


@st.composite
def messages(draw: Any) -> ChatMessage:
    role = draw(st.sampled_from(sorted(BLOCKS)))
    blocks = tuple(draw(st.lists(BLOCKS[role], max_size=3)))
    return ChatMessage(
        role, blocks, draw(words), draw(metadata), draw(st.none() | usages), time_ms=draw(st.integers(0))
    )


def whole(message: ChatMessage) -> dict[str, Any]:
    return {field.name: getattr(message, field.name) for field in fields(message)}


@profile(max_examples=times(100))
@given(messages())
def test_a_message_comes_back_as_it_was_with_its_id_and_its_time(message: ChatMessage) -> None:
    again = message_from_json(loads(dumps(message_to_json(message))))

    assert whole(again) == whole(message)


@profile(max_examples=times(60))
@given(st.lists(messages(), max_size=4), metadata, usages, st.lists(st.integers(0, 99), max_size=3))
def test_a_state_comes_back_as_it_was(
    said: list[ChatMessage], permissions: dict[str, Any], usage: Usage, observed: list[int]
) -> None:
    state = AgentState(
        messages=said,
        system_prompt="Be short.",
        session_id="s",
        user_id="u",
        permissions=permissions,
        groups=["files"],
        todos=[{"text": "sweep"}],
        model={"name": "big", "fields": {"seed": 7}},
        compactions=1,
        steps=3,
        usage=usage,
        usage_by_model={"m": usage},
        observed=observed,
    )
    again = state_from_text(state_to_text(state))

    for field in fields(state):
        if field.name not in NEVER_KEPT:
            assert getattr(again, field.name) == getattr(state, field.name), field.name


def test_every_attribute_of_a_state_is_kept_or_named_as_never_kept() -> None:
    given = state_to_json(AgentState())

    assert given == {"version": VERSION}, "an attribute that is no JSON needs its place in `records.py`"
    assert {field.name for field in fields(AgentState)} >= NEVER_KEPT


def test_a_state_keeps_which_calls_wait() -> None:
    call = ToolCall("1", "pay", '{"sum":5}', "asking")
    state = AgentState(messages=[user_message("pay"), assistant_message(calls=[call])])

    assert state_from_text(state_to_text(state)).pending == (call,)


def test_names_are_in_camel_case_and_defaults_are_left_out() -> None:
    message = tool_message("c1", "5", name="add")

    given = message_to_json(message)

    assert given["blocks"] == [
        {"type": "tool_result", "callId": "c1", "name": "add", "parts": [{"type": "text", "text": "5"}]}
    ]
    assert set(given) == {"role", "blocks", "id", "timeMs"}


def test_a_record_of_a_later_version_is_told_as_such() -> None:
    with pytest.raises(
        NewerRecord, match=f"has version {VERSION + 1}, and this program knows versions up to {VERSION}"
    ):
        state_from_json({"version": VERSION + 1})


def test_attributes_that_nobody_knows_do_no_harm() -> None:
    assert state_from_json({"version": 1, "mood": "good", "sessionId": "s"}).session_id == "s"


BROKEN: list[tuple[Any, str]] = [
    ({}, "has no version"),
    ({"version": True}, "has no version, but true"),
    ({"version": 1, "messages": 5}, "must be a list"),
    ({"version": 0}, "has no version, but 0"),
    ([], "must be an object"),
    ({"version": 1, "messages": [5]}, "must be an object, not 5"),
    ({"version": 1, "messages": [{"role": "user", "blocks": [{"type": "smell"}]}]}, "kind that nobody knows"),
    ({"version": 1, "messages": [{"role": "user", "blocks": [{"type": "thinking", "text": "x"}]}]}, "has only"),
    ({"version": 1, "messages": [{"blocks": []}]}, "role"),
    ({"version": 1, "messages": [{"role": "user", "id": []}]}, "id of a message is not as it must be"),
    ({"version": 1, "steps": "5"}, "steps of the record is not as it must be"),
    ({"version": 1, "usageByModel": {"m": {"total": "9"}}}, "total"),
]


@pytest.mark.parametrize(("record", "reason"), BROKEN)
def test_what_is_no_record_is_refused_with_the_reason(record: Any, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        state_from_json(record)


def test_a_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(RecordError, match="is not JSON"):
        state_from_text('{"version": 1, "mess')


def test_halves_of_surrogate_pairs_become_a_mark() -> None:
    state = AgentState(messages=[user_message("a\ud800b")])

    assert state_from_text(state_to_text(state)).messages[0].text == "a\ufffdb"


def said(**block: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "id": "m", "timeMs": 1, "blocks": [block]}]}


@pytest.mark.parametrize(
    "damage",
    [
        {"groups": 5},
        {"groups": [5]},
        {"cost": "x"},
        {"costByModel": {"m": "x"}},
        {"permissions": {"mode": 5}},
        {"model": {"name": 5}},
        {"model": {"fields": "x"}},
        {"permissions": {"rules": 5}},
        {"observed": ["x"]},
        {"later": [5]},
        {"journal": {"c": 5}},
        {"spent": {"tokens": "x"}},
        {"recentCalls": [5]},
        {"steps": -1},
        {"steps": 1.5},
        {"steps": True},
        {"messages": [{"role": "nobody", "blocks": []}]},
        {"messages": [{"role": "user", "blocks": [], "timeMs": "x"}]},
        said(type="text", text=5),
        said(type="thinking", text=None),
        said(type="image", url=5),
        said(type="tool_use", id="c", name="x", arguments="{}", state="odd"),
        said(type="tool_use", id=5, name="x", arguments="{}"),
        said(type="tool_result", callId="c", name="x", parts=[{"type": "text", "text": 5}]),
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_damage_and_never_reaches_an_agent(damage: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="is not as it must be"):
        state_from_json({"version": 1, **damage})

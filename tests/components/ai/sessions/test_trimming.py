"""What the model sees of older tools and media, and that the session keeps them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from tests.cases import times

from catenary.testing import calls
from catenary_components.ai.messages import (
    ChatMessage,
    ImagePart,
    TextPart,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.options.session import SessionOptions
from catenary_components.ai.sessions.memory import memory_of
from catenary_components.ai.sessions.trimming import Trimming
from catenary_components.ai.sessions.window import messages_for


def round_of(name: str, text: str = "") -> list[ChatMessage]:
    return [assistant_message(text, [ToolCall(name, "look", "{}")]), tool_message(name, f"result {name}", name="look")]


def shown(messages: list[ChatMessage]) -> list[str]:
    return [f"{one.role}:{one.text}{'+' if one.tool_calls else ''}" for one in messages]


def test_of_older_rounds_of_tools_the_texts_are_seen() -> None:
    talk = [user_message("q"), *round_of("a", "let me see"), *round_of("b"), *round_of("c"), assistant_message("done")]
    trimmed = Trimming(tool_rounds=1).of(talk, len(talk))
    assert shown(trimmed.seen) == ["user:q", "assistant:let me see", "assistant:+", "tool:", "assistant:done"]
    assert trimmed.seen[3].results[0].call_id == "c"


def test_the_rounds_of_a_run_that_goes_on_are_all_seen() -> None:
    talk = [user_message("q"), *round_of("a"), assistant_message("ok"), user_message("again"), *round_of("b")]
    assert shown(Trimming(tool_rounds=1).of(talk, 4).seen) == shown(talk)
    more = [*talk[:1], *round_of("z"), *talk[1:]]
    assert len(Trimming(tool_rounds=1).of(more, 6).seen) == len(more) - 2


def test_pictures_of_older_messages_are_noted_also_those_in_results() -> None:
    picture = ImagePart("https://x.example/a.png")
    talk = [
        user_message([TextPart("look"), picture]),
        assistant_message(calls=[ToolCall("c", "look")]),
        tool_message("c", [picture], name="look"),
        assistant_message("a cat"),
        user_message([picture]),
    ]
    seen = Trimming(media_messages=2).of(talk, len(talk)).seen
    assert seen[0].text == user_message([TextPart("look"), TextPart("[a picture was here]")]).text
    assert seen[2].results[0].text == "[a picture was here]"
    assert seen[4] is talk[4]


def test_pictures_of_the_last_four_messages_are_sent() -> None:
    talk = [user_message([ImagePart(f"https://x.example/{n}.png")]) for n in range(6)]
    setting = SessionOptions(key="s")
    seen = Trimming(setting.window_tool_rounds, setting.window_media).of(talk, len(talk)).seen
    assert [message.text for message in seen[:2]] == ["[a picture was here]"] * 2
    assert seen[2:] == talk[2:]


def test_nothing_is_done_when_nothing_is_too_old() -> None:
    talk = [user_message("q"), *round_of("a")]
    assert Trimming(5, 4).of(talk, len(talk)).seen == talk
    assert Trimming().of(talk, len(talk)).restored(talk) == ([], talk)


kinds = st.lists(st.sampled_from(["user", "answer", "round", "told round", "picture"]), max_size=20)


def conversation_of(kinds: list[str]) -> list[ChatMessage]:
    talk: list[ChatMessage] = []
    for place, kind in enumerate(kinds):
        match kind:
            case "user":
                talk.append(user_message(f"q{place}"))
            case "answer":
                talk.append(assistant_message(f"a{place}"))
            case "picture":
                talk.append(user_message([ImagePart(f"https://x.example/{place}")]))
            case _:
                talk += round_of(f"c{place}", "see" if kind == "told round" else "")
    return talk


@given(kinds, st.integers(0, 3), st.integers(0, 3))
@profile(max_examples=times(200), deadline=None)
def test_all_that_is_left_out_comes_back_when_the_session_is_written(kinds: list[str], rounds: int, media: int) -> None:
    talk = conversation_of(kinds)
    trimmed = Trimming(rounds, media).of(talk, len(talk))
    new = user_message("new")
    assert trimmed.restored([*trimmed.seen, new]) == ([], [*talk, new])
    calls = [call.id for message in trimmed.seen for call in message.tool_calls]
    assert calls == [result.call_id for message in trimmed.seen for result in message.results]
    assert not rounds or len(calls) <= rounds


@given(kinds, st.integers(1, 2), st.integers(0, 20))
@profile(max_examples=times(200), deadline=None)
def test_what_is_gone_of_the_beginning_loses_nothing_that_was_left_out(kinds: list[str], rounds: int, cut: int) -> None:
    talk = conversation_of(kinds)
    trimmed = Trimming(rounds, 0).of(talk, len(talk))
    lost, whole = trimmed.restored(trimmed.seen[cut:])
    gone = {message.id for message in trimmed.seen[:cut]}
    assert sorted(one.id for one in [*lost, *whole]) == sorted(one.id for one in talk if one.id not in gone)


async def test_an_agent_sees_the_last_five_rounds_of_its_history_and_keeps_all(bench: Any) -> None:
    bench.engine.tool(lambda n: f"looked {n}", name="look")
    bench.load(*[calls("look", n=n) for n in range(7)], "done", "and now", tools=["look"], session="s")
    await bench.say("look seven times")
    assert len([one for one in bench.last if one["role"] == "tool"]) == 7  # in the run itself all are seen
    await bench.say("and?")
    results = [one["content"] for one in bench.last if one["role"] == "tool"]
    assert results == [f"looked {n}" for n in range(2, 7)]
    record: Any = (await memory_of(bench.engine).load("s")).value
    assert len([one for one in record["messages"] if one["role"] == "tool"]) == 7


@pytest.mark.parametrize(("window", "messages"), [(0, 448), (128_000, 448), (4_000, 20), (1_000_000, 500)])
def test_the_window_of_messages_follows_the_window_of_the_model(window: int, messages: int) -> None:
    assert messages_for(window) == messages


async def test_minus_one_takes_the_window_of_messages_from_the_model(bench: Any, tmp_path: Any) -> None:
    (tmp_path / "known.yaml").write_text("windows: {m: 6000}")
    bench.engine.environ = {"CATENARY_PRICES": str(tmp_path / "known.yaml")}
    bench.load(*["ok"] * 13, session={"key": "s", "windowMessages": -1})
    for n in range(13):
        await bench.say(f"q{n}")
    assert len(bench.last) == 22  # 70 % of the window has room for 21, and then comes the question

"""Which messages of a session the model sees."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.messages import (
    ChatMessage,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.sessions.window import SUMMARY_NAME, Window, run_starts

SUMMARY = user_message("so far", name=SUMMARY_NAME)


def call(name: str) -> ChatMessage:
    return assistant_message(calls=[ToolCall(name, "look")])


def run(number: int) -> list[ChatMessage]:
    return [user_message(f"q{number}"), call(f"c{number}"), tool_message(f"c{number}", "r"), assistant_message("a")]


def texts(messages: list[ChatMessage]) -> list[str]:
    return [message.text or message.role for message in messages]


def test_without_a_window_all_is_seen() -> None:
    whole = run(1) + run(2)

    assert Window().split(whole) == ([], whole)


def test_a_window_of_runs_begins_with_what_the_user_said() -> None:
    hidden, seen = Window(runs=1).split(run(1) + run(2))

    assert texts(seen)[0] == "q2"
    assert len(hidden) == 4


def test_messages_of_a_user_one_after_the_other_are_one_run() -> None:
    whole = [user_message("a"), user_message("b"), assistant_message("c"), user_message("d")]

    assert run_starts(whole) == [0, 3]


def test_a_reminder_begins_no_run() -> None:
    reminder = replace(user_message("go on"), metadata={"synthetic": True})

    assert run_starts([*run(1), reminder, *run(2)]) == [0, 5]


def test_a_window_of_messages_never_begins_with_a_result_without_its_call() -> None:
    _, seen = Window(messages=2).split(run(1))

    assert texts(seen) == ["a"]


def test_a_summary_is_seen_and_nothing_before_it() -> None:
    whole = [*run(1), SUMMARY, *run(2), *run(3)]

    hidden, seen = Window(runs=1).split(whole)

    assert texts(seen)[:2] == ["so far", "q3"]
    assert len(hidden) == 9
    assert Window().split(whole)[1] == whole[4:]


def test_without_history_nothing_is_seen_but_it_is_kept() -> None:
    whole = [SUMMARY, *run(1)]
    window = Window()

    hidden, seen = window.split(whole, sees_history=False)

    assert seen == []
    assert window.joined(hidden, [user_message("new")]) == [*whole, user_message("new")]


def test_what_waits_for_an_answer_is_seen_whatever_the_window() -> None:
    waiting = [user_message("pay"), assistant_message(calls=[ToolCall("1", "pay"), ToolCall("2", "pay")])]
    whole = [*run(1), *waiting, tool_message("1", "paid")]

    for window, sees in ((Window(messages=1), True), (Window(), False)):
        assert window.split(whole, sees_history=sees)[1] == [*waiting, tool_message("1", "paid")]


def test_a_new_summary_replaces_the_one_before() -> None:
    window = Window(runs=1)
    hidden, seen = window.split([SUMMARY, *run(1), *run(2)])
    newer = user_message("shorter", name=SUMMARY_NAME)

    whole = window.joined(hidden, [newer, *seen[1:]])

    assert [message.text for message in whole if message.name == SUMMARY_NAME] == ["shorter"]


def test_of_too_many_messages_the_oldest_go_with_their_results() -> None:
    assert texts(Window(most_kept=6).joined(run(1), run(2)))[0] == "a"


@profile(max_examples=times(60))
@given(st.lists(st.sampled_from(["run", "summary"]), max_size=6), st.integers(0, 4), st.integers(0, 9), st.booleans())
def test_nothing_is_lost_between_loading_and_saving(kinds: list[str], runs: int, most: int, sees: bool) -> None:
    whole: list[ChatMessage] = []
    for number, kind in enumerate(kinds):
        whole += run(number) if kind == "run" else [SUMMARY] * (SUMMARY not in whole)
    window = Window(runs=runs, messages=most)

    assert window.joined(*window.split(whole, sees_history=sees)) == whole

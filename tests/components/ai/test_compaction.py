"""Conversations that have become too long are made shorter."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from tests.cases import times

from catenary import Message
from catenary.events import Event
from catenary.testing import Reply, calls, server_error
from catenary_components.ai.compaction import Compactor, transcript
from catenary_components.ai.estimate import tokens_of, tokens_of_text
from catenary_components.ai.messages import (
    ChatMessage,
    ImagePart,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.options.compaction import CompactionOptions
from catenary_components.ai.sessions.memory import memory_of
from catenary_components.ai.sessions.window import SUMMARY_NAME
from catenary_components.ai.shortening import PREVIEW, cut_place, pruned, with_short_arguments
from catenary_components.ai.state import AgentState

OVERFLOW = Reply(status=400, body={"error": {"message": "maximum context length is 8192 tokens", "code": "x"}})


def due(messages: list[ChatMessage], observed: list[int] | None = None, **options: Any) -> bool:
    state = AgentState(messages=messages, observed=observed or [])
    return Compactor(CompactionOptions(**options)).is_due(state)


def talk(runs: int, length: int = 1) -> list[ChatMessage]:
    """Give a conversation of runs with one call each, of four messages."""
    messages: list[ChatMessage] = []
    for run in range(runs):
        call = ToolCall(f"c{run}", "look", '{"n":1}')
        result = tool_message(call.id, "r" * length, name="look")
        messages += [user_message(f"q{run}"), assistant_message(calls=[call]), result, assistant_message(f"a{run}")]
    return messages


# Estimates


def test_the_estimate_counts_characters_messages_calls_and_results() -> None:
    assert tokens_of_text("") == 0
    assert tokens_of_text("abc") == 2
    assert tokens_of_text("a" * 35) == 14
    assert tokens_of(user_message("abcde")) == 5 + 2
    assert tokens_of(assistant_message(calls=[ToolCall("1", "ab", "{1}")])) == 5 + 10 + 2
    assert tokens_of(tool_message("1", "abcde")) == 5 + 8 + 2
    assert tokens_of(user_message([ImagePart("data:x")])) == 5 + 85


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("\u6211\u5011" * 50, 100),
        ("\uc548\ub155" * 50, 100),
        ("\u3053\u3093" * 50, 100),
        ("\u043f\u0440" * 45, 60),
        ("a" * 100, 40),
        ("a" * 5 + "\u6211", 3),
    ],
)
def test_a_character_of_east_asia_is_a_token_and_one_of_another_alphabet_two_thirds(text: str, tokens: int) -> None:
    assert tokens_of_text(text) == tokens


# When


def test_so_many_messages_are_too_many() -> None:
    assert due(talk(13)[:50])
    assert not due(talk(13)[:49])
    assert not due(talk(20), trigger_messages=0)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 160_000),
        ({"trigger_tokens": 5_000}, 5_000),
        ({"context_window": 30_000}, 10_000),
        ({"context_window": 10_000}, 5_000),
    ],
)
def test_so_many_tokens_are_too_many(options: dict[str, Any], most: int) -> None:
    options = {"trigger_messages": 0, "keep_messages": 0, "prune": False, **options}
    messages = [user_message("x"), assistant_message("y"), user_message("")]
    rest = most - sum(map(tokens_of, messages))

    assert due([*messages[:2], user_message("x" * int(rest * 2.5))], **options)
    assert not due([*messages[:2], user_message("x" * int((rest - 1) * 2.5))], **options)


def test_what_is_known_of_the_models_window_counts_unless_the_options_say_it() -> None:
    state = AgentState(messages=[user_message("x" * 25_000), *talk(1)])  # 10,000 tokens and some
    options = CompactionOptions(keep_messages=0)
    assert Compactor(options, 20_000).is_due(state)
    assert not Compactor(options, 128_000).is_due(state)
    assert not Compactor(CompactionOptions(keep_messages=0, context_window=128_000), 20_000).is_due(state)


async def test_a_conversation_is_made_shorter_by_the_window_of_the_model_that_is_asked(bench: Any) -> None:
    bench.load("1", "sum", "2", model="m", session="s", compaction={"triggerMessages": 0})
    await bench.say("a" * 250_000)  # 100,000 tokens: too many for gpt-4o less 20,000 and its answer
    await bench.say("b" * 25_000, session_model="gpt-4o-mini")
    assert len(bench.model.requests) == 3
    assert bench.last[0]["content"].startswith("The conversation so far")


async def test_what_the_model_is_told_about_tools_counts(bench: Any) -> None:
    def wide() -> str:
        return "x"

    wide.__doc__ = "Do what is told here. " * 500  # 4,400 tokens
    bench.engine.tool(wide)
    settings = {"triggerMessages": 0, "triggerTokens": 5_000, "keepMessages": 0}
    bench.load("1", "sum", "2", session="s", tools=["wide"], compaction=settings)
    await bench.say("a" * 2_000)
    await bench.say("b")
    assert len(bench.model.requests) == 3
    bench.engine.remove("c")
    bench.load("3", "4", session="t", compaction=settings)
    await bench.say("a" * 2_000)
    await bench.say("b")
    assert len(bench.model.requests) == 5


def test_the_system_prompt_counts() -> None:
    state = AgentState(messages=talk(1), system_prompt="x" * 10_000)

    assert Compactor(CompactionOptions(trigger_tokens=3_000, keep_messages=0)).is_due(state)


@pytest.mark.parametrize(
    ("option", "enough", "not_enough"),
    [
        ("trigger_rounds", [1] * 25, [1] * 24),
        ("trigger_characters", [100_000, 100_001], [100_000, 100_000]),
        ("trigger_round_characters", [1, 32_001], [32_001, 32_000]),
    ],
)
def test_rounds_and_their_results_may_be_too_many(option: str, enough: list[int], not_enough: list[int]) -> None:
    options = {option: {"trigger_rounds": 25, "trigger_characters": 200_000}.get(option, 32_000), "keep_messages": 0}

    assert due(talk(3), enough, **options)
    assert not due(talk(3), not_enough, **options)


def test_what_cannot_be_made_shorter_is_not_due() -> None:
    summary = user_message("so far", name=SUMMARY_NAME)

    assert not due([summary, *talk(1)], trigger_messages=1)
    assert not due(talk(1)[:3], trigger_messages=1, keep_messages=2)


# Where it is cut


messages_of_runs = st.lists(st.integers(0, 3), max_size=6).map(
    lambda runs: [
        message
        for run, count in enumerate(runs)
        for message in [
            user_message("q"),
            assistant_message("t", [ToolCall(f"{run}.{n}", "look") for n in range(count)]),
            *(tool_message(f"{run}.{n}", "r" * 50) for n in range(count)),
        ]
    ]
)


@profile(max_examples=times(150))
@given(messages_of_runs, st.integers(0, 12), st.integers(0, 100))
def test_a_cut_never_separates_a_call_from_its_result(messages: list[ChatMessage], keep: int, most: int) -> None:
    place = cut_place(messages, tokens_of, keep_messages=keep, keep_tokens=most)

    asked = {call.id for message in messages[:place] for call in message.tool_calls}
    assert asked == {result.call_id for message in messages[:place] for result in message.results}


def test_the_last_messages_stay_within_their_tokens() -> None:
    messages = [user_message("x" * 25) for _ in range(10)]

    assert cut_place(messages, tokens_of, keep_messages=5, keep_tokens=0) == 5
    assert cut_place(messages, tokens_of, keep_messages=5, keep_tokens=30) == 8
    assert cut_place(messages, tokens_of, keep_messages=5, keep_tokens=1) == 9
    assert cut_place(messages, tokens_of, keep_messages=0, keep_tokens=9) == 10


# Without a summary


def test_old_long_results_are_cut_to_a_preview() -> None:
    messages = talk(2, length=100_000)

    made = pruned(messages, tokens_of, protected=40_000, least=20_000)

    text = made[2].results[0].text
    assert text.startswith("r" * PREVIEW + "\n... (98000 of 100000 characters")
    assert made[6] == messages[6]
    assert pruned(made, tokens_of, protected=40_000, least=20_000) == made


def test_nothing_is_cut_when_too_little_would_be_won() -> None:
    messages = talk(2, length=100_000)

    assert pruned(messages, tokens_of, protected=40_000, least=40_000) == messages
    assert pruned(messages, tokens_of, protected=90_000, least=1) == messages


def test_what_was_read_from_files_and_memory_is_never_cut() -> None:
    result = tool_message("1", "r" * 100_000, name="read")

    assert pruned([result, user_message("x")], tokens_of, protected=0, least=1)[0] is result


def test_other_media_of_a_result_stay() -> None:
    result = tool_message("1", "r" * 9_000)
    result = replace(result, blocks=(replace(result.results[0], parts=(*result.results[0].parts, ImagePart("u"))),))

    assert pruned([result], tokens_of, protected=0, least=1)[0].results[0].parts[1] == ImagePart("u")


def test_long_arguments_but_for_the_last_messages_are_cut_and_stay_json() -> None:
    long = assistant_message(calls=[ToolCall("1", "write", '{"path":"a","text":"' + "x" * 3000 + '"}')])
    broken = assistant_message(calls=[ToolCall("2", "write", "x" * 3000)])

    made = with_short_arguments([long, broken, *[user_message("x")] * 19, long])

    text = "x" * 20 + "... (3000 characters, left out since)"
    assert made[0].tool_calls[0].arguments == f'{{"path":"a","text":"{text}"}}'
    assert made[1] is broken
    assert made[-1] is long


# In an agent


def sent(bench: Any, place: int = -1) -> list[tuple[str, str]]:
    return [(message["role"], message.get("content") or "") for message in bench.model.requests[place].messages]


async def begun(bench: Any, *replies: Any, **compaction: Any) -> None:
    """Load an agent that has had two runs of a call each, and makes its conversation shorter at eight messages."""
    bench.engine.tool(look)
    first = [calls("look", n=1), "a0", calls("look", n=2), "a1"]
    settings = {"triggerMessages": 8, "keepMessages": 2, **compaction}
    bench.load(*first, *replies, tools=["look"], session="k", compaction=settings)
    for text in ("q0", "q1"):
        outcome = await bench.say(text)
        assert outcome.ok, outcome.error


def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


async def test_a_summary_takes_the_place_of_older_messages_and_is_seen_at_once(bench: Any) -> None:
    await begun(bench, "THE SUMMARY", "a2")
    outcome = await bench.say("q2")

    assert outcome.ok
    asked = sent(bench, -2)
    assert "Session intent" in asked[0][1]
    assert "[user]\nq0" in asked[1][1]
    assert "[result of look, success]\nseen 1" in asked[1][1]
    assert [role for role, _ in sent(bench)] == ["user", "assistant", "user"]
    assert "THE SUMMARY" in sent(bench)[0][1]
    assert sent(bench)[1:] == [("assistant", "a1"), ("user", "q2")]


async def test_the_summary_is_what_the_session_keeps(bench: Any) -> None:
    await begun(bench, "THE SUMMARY", "a2")
    await bench.say("q2")

    record = await memory_of(bench.engine).load("k")
    assert record is not None
    kept = record.value["messages"]
    assert [message.get("name", "") for message in kept] == [SUMMARY_NAME, "", "", ""]
    assert kept[0]["id"] == "compaction-summary"


async def test_an_earlier_summary_is_part_of_the_next_and_is_replaced(bench: Any) -> None:
    await begun(bench, "FIRST", "a2", "SECOND", "a3", keepMessages=1, triggerMessages=4)
    bench.model.requests.clear()
    await bench.say("q2")
    await bench.say("q3")

    summaries = [request for request in bench.model.requests if "Session intent" in request.system_text]
    assert "[Summary from before]" in summaries[-1].messages[1]["content"]
    record = await memory_of(bench.engine).load("k")
    assert record is not None
    assert sum(message.get("name") == SUMMARY_NAME for message in record.value["messages"]) == 1


async def test_the_tokens_of_a_summary_count_and_it_is_no_step(bench: Any) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
    small = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    await begun(bench, Reply(text="SUMMARY", usage=usage), Reply(text="a2", usage=small), maxStep=1)
    outcome = await bench.say("q2")

    assert outcome.message.metadata["steps"] == "1"
    assert outcome.message.metadata["total_tokens"] == "103"
    assert outcome.message.metadata["last_total_tokens"] == "2"
    (summary,) = [request for request in bench.model.requests if "Session intent" in request.system_text]
    assert not {"tools", "tool_choice"} & summary.body.keys()


async def test_the_summary_is_not_streamed(bench: Any) -> None:
    await begun(bench, "THE SUMMARY", "a2")
    outcome = await bench.say("q2", stream="true")

    pieces = [end.message.text for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    assert "".join(pieces) == "a2"


@pytest.mark.parametrize("reply", [server_error(), "", "  \n"])
async def test_a_summary_that_fails_leaves_the_conversation_as_it_is(
    bench: Any, reply: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.engine.tool(look)
    bench.load("a0", "a1", reply, "a2", session="k", maxRetries=0, compaction={"triggerMessages": 5, "keepMessages": 1})
    for text in ("q0", "q1"):
        await bench.say(text)
    outcome = await bench.say("q2")

    assert outcome.ok
    assert [text for _, text in sent(bench)] == ["q0", "a0", "q1", "a1", "q2"]
    assert "was not made shorter" in caplog.text


async def test_a_summary_that_is_no_shorter_is_not_used(bench: Any) -> None:
    await begun(bench, "x" * 9_000, "a2")
    await bench.say("q2")

    assert len(sent(bench)) == 9


async def test_within_one_run_the_question_is_kept_to_the_letter(bench: Any) -> None:
    def long(n: int) -> str:
        """Look."""
        return "seen " * 100

    bench.engine.tool(long)
    bench.load(
        calls("long", n=1),
        calls("long", n=2),
        "SUMMARY",
        "done",
        tools=["long"],
        compaction={"triggerMessages": 5, "keepMessages": 2},
    )
    outcome = await bench.say("how many bolts?")

    assert outcome.ok
    assert [role for role, _ in sent(bench)] == ["user", "assistant", "tool"]
    assert "## Latest request of the user\nhow many bolts?" in sent(bench)[0][1]


async def test_many_rounds_are_summed_up_again_and_again_and_nothing_hangs(bench: Any) -> None:
    def long(n: int) -> str:
        """Look."""
        return f"{n} " * 300

    bench.engine.tool(long)

    def answer(request: Any) -> Any:
        if "Session intent" in request.system_text:
            return "SUMMARY"
        return "done" if len(bench.model.requests) > 30 else calls("long", n=len(bench.model.requests))

    bench.load(tools=["long"], compaction={"triggerMessages": 6, "keepMessages": 2})
    bench.model.add(*[answer] * 40)
    outcome = await asyncio.wait_for(bench.say("go"), 15)

    assert outcome.ok, outcome.error
    assert max(len(request.messages) for request in bench.model.requests) <= 7


async def test_rounds_are_counted_anew_behind_a_summary(bench: Any) -> None:
    bench.engine.tool(look)
    script = iter([*(calls("look", n=n) for n in range(5)), "done"])
    summed_up: list[int] = []

    def reply(request: Any) -> Any:
        if "Session intent" in request.system_text:
            summed_up.append(len(bench.model.requests))
            return "S"
        return next(script)

    bench.load(*[reply] * 9, tools=["look"], compaction={"triggerRounds": 2, "triggerMessages": 0, "keepMessages": 0})
    assert (await bench.say("find out " * 40)).message.data == "done"
    assert summed_up == [3, 6]


async def test_a_stop_during_the_summary_ends_the_agent_and_changes_nothing(bench: Any) -> None:
    states: list[AgentState] = []

    def long(ctx: Any, n: int) -> str:
        """Look."""
        states.append(ctx.scope[AgentState])
        return "seen " * 500

    def summing(request: Any) -> str:
        states[0].stop.set()
        return "half a summary"

    bench.engine.tool(long)
    bench.load(
        calls("long", n=1),
        calls("long", n=2),
        summing,
        tools=["long"],
        compaction={"triggerMessages": 5, "keepMessages": 1},
    )
    outcome = await bench.say("q")

    assert outcome.ok, outcome.error
    assert len(bench.model.requests) == 3
    assert (len(states[0].messages), states[0].compactions) == (5, 0)


async def test_a_cancellation_during_the_summary_ends_the_run_and_no_model_is_asked(bench: Any) -> None:
    loop, begun_summing = asyncio.get_running_loop(), asyncio.Event()

    def summing(request: Any) -> Reply:
        loop.call_soon_threadsafe(begun_summing.set)
        return Reply(text="late", delay_s=600)

    await begun(bench, summing, "a2")
    task = asyncio.create_task(bench.say("q2"))
    await begun_summing.wait()
    task.cancel()
    await asyncio.wait([task])

    assert len(bench.model.requests) == 5
    record = await memory_of(bench.engine).load("k")
    assert record is not None
    assert len(record.value["messages"]) == 9


async def test_the_run_tells_what_is_made_shorter(bench: Any) -> None:
    told: list[Any] = []
    await begun(bench, "SUMMARY", "a2")

    def listen(event: Event) -> None:
        if event.name.startswith("compaction"):
            told.append(event.to_dict())

    bench.engine.subscribe(listen)
    await bench.say("q2")

    start, end = (event["data"] for event in told)
    assert (start["messages"], end["messages"], end["status"]) == (9, 3, "done")
    assert end["tokens"] < start["tokens"]


# Rescue


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_conversation_that_proves_too_long_is_made_shorter_and_sent_again(bench: Any, stream: str) -> None:
    await begun(bench, OVERFLOW, "SUMMARY", "a2", triggerMessages=0)
    outcome = await bench.say("q2", stream=stream)

    assert outcome.ok, outcome.error
    assert "SUMMARY" in sent(bench)[0][1]
    assert [text for _, text in sent(bench)].count("q2") == 1
    assert outcome.message.metadata["steps"] == "1"


async def test_it_is_sent_again_once(bench: Any) -> None:
    await begun(bench, OVERFLOW, "SUMMARY", OVERFLOW, triggerMessages=0)
    outcome = await bench.say("q2")

    assert outcome.status == "failed"
    assert "maximum context length" in outcome.message.text


async def test_one_result_that_is_too_long_by_itself_is_cut(bench: Any) -> None:
    def much() -> str:
        """Give much."""
        return "x" * 40_000

    bench.engine.tool(much)
    bench.load(calls("much"), OVERFLOW, "SUMMARY", "done", tools=["much"], compaction=True)
    outcome = await bench.say("q")

    assert outcome.ok, outcome.error
    assert len(sent(bench)[-1][1]) < 3_000


async def test_what_cannot_be_made_shorter_is_not_sent_again(bench: Any) -> None:
    bench.load(OVERFLOW, compaction=True)
    outcome = await bench.say("q")

    assert "maximum context length" in outcome.message.text
    assert len(bench.model.requests) == 1


async def test_the_window_that_an_error_tells_of_counts_from_then_on(bench: Any) -> None:
    overflow = Reply(status=400, body={"error": {"message": "maximum context length is 1000 tokens, not 99999"}})
    bench.load("a " * 900, overflow, "SUMMARY", "b", session="k", compaction=True)
    await bench.say("word " * 900)
    outcome = await bench.say("q2")

    assert outcome.ok, outcome.error
    assert len(bench.model.requests[2].messages[1]["content"]) < 1_100
    assert [text for _, text in sent(bench)][-1] == "q2"


async def test_results_are_pruned_without_a_summary_when_that_is_enough(bench: Any) -> None:
    def much() -> str:
        """Give much."""
        return "x" * 50_000

    bench.engine.tool(much)
    replies = [calls("much") for _ in range(4)]
    bench.load(*replies, "done", tools=["much"], maxRepeats=0, foldRepeats=False, compaction=True)
    outcome = await bench.say("q")

    assert outcome.ok, outcome.error
    assert len(bench.model.requests) == 5
    lengths = [len(text) for role, text in sent(bench) if role == "tool"]
    assert [length < 2_100 for length in lengths] == [True, True, False, False]


def test_long_arguments_make_a_conversation_too_long_if_that_is_asked_for() -> None:
    call = ToolCall("1", "write", '{"text":"' + "x" * 3000 + '"}')
    messages = [user_message("q"), assistant_message(calls=[call]), tool_message("1", "ok"), *talk(6)]

    assert due(messages, truncate_arguments=True)
    assert not due(messages[:-3], truncate_arguments=True)
    assert not due(messages)
    with_list = replace(messages[1], blocks=(ToolCall("1", "write", "[" + "1," * 2000 + "1]"),))
    assert not due([messages[0], with_list, *messages[2:]], truncate_arguments=True)


@pytest.mark.parametrize(("value", "is_on"), [(True, True), ("true", True), ({}, True), (False, False), ("", False)])
def test_the_switch_may_be_written_as_text(value: Any, is_on: bool) -> None:
    from catenary_components.ai.options.compaction import CompactionSetting

    assert (CompactionSetting(compaction=value).compaction_options is not None) is is_on


async def test_without_compaction_the_error_is_told_at_once(bench: Any) -> None:
    bench.load(OVERFLOW)
    outcome = await bench.say("q")

    assert "maximum context length" in outcome.message.text
    assert len(bench.model.requests) == 1


@pytest.mark.parametrize(
    "text",
    [
        "context_length_exceeded",
        "the context length is 5",
        "Maximum context is 5",
        "token limit reached",
        "too many tokens",
        "it exceeds the model's maximum",
        "please reduce the length of the messages",
    ],
)
def test_errors_that_say_that_it_is_too_long_are_known(text: str) -> None:
    compactor, state = Compactor(CompactionOptions()), AgentState(messages=talk(2))

    assert compactor.rescues(state, ModelError(text))
    assert not compactor.rescues(state, ModelError(text))
    assert not Compactor(CompactionOptions()).rescues(state, ModelError("overloaded"))


# Settings


async def test_compaction_is_off_unless_it_is_asked_for(bench: Any) -> None:
    bench.load(*["a"] * 30, session="k")
    for _ in range(30):
        await bench.say("q")

    assert len(sent(bench)) == 59


async def test_true_has_the_usual_limits(bench: Any) -> None:
    bench.load(*["a"] * 25, "SUMMARY", "b", session="k", compaction="true")
    for _ in range(26):
        await bench.say("q")

    assert len(sent(bench)) == 21


def test_pictures_are_told_in_a_transcript() -> None:
    assert transcript([user_message([ImagePart("u")])]) == "[1 pictures or other media]"


async def test_summaries_from_before_are_merged_into_one(bench: Any) -> None:
    def summary(text: str) -> ChatMessage:
        return replace(user_message(f"{text} {'x' * 300}", name=SUMMARY_NAME))

    bench.load("all of it", "done", compaction={"triggerMessages": 5, "keepMessages": 1}, session="s")
    state = AgentState(messages=[summary("first"), user_message("q" * 300), summary("second"), *talk(1, 300)])
    await memory_of(bench.engine).save("s", state.to_json(), 0)
    assert (await bench.say("well?")).message.text == "done"
    assert "[Summary from before]\nsecond" in bench.model.requests[0].messages[-1]["content"]
    record: Any = (await memory_of(bench.engine).load("s")).value
    assert [one.get("name") for one in record["messages"]].count(SUMMARY_NAME) == 1


def test_a_summary_alone_is_not_summed_up_again() -> None:
    messages = [replace(user_message("x" * 3_000, name=SUMMARY_NAME)), *talk(1)]
    assert not due(messages, trigger_messages=1, keep_messages=4)
    assert not due(messages, trigger_messages=1, keep_messages=3)


async def test_stopping_one_session_while_it_is_summed_up_does_not_touch_another(bench: Any) -> None:
    from catenary_components.ai.calling import AgentCall

    options = {"triggerMessages": 5, "keepMessages": 1}
    bench.load("sum b", "done b", compaction=options, session="${metadata.who}")
    for who in ("a", "b"):
        await memory_of(bench.engine).save(who, AgentState(messages=talk(2, 300)).to_json(), 0)
    call = AgentCall()
    call.stop.set("stop")
    stopped = await bench.engine.run("c", Message("hi", data_type="TEXT", metadata={"who": "a"}), scope=[call])
    assert stopped.message.metadata["finish_reason"] == "stopped"
    assert (await bench.say("hi", who="b")).message.text == "done b"
    record: Any = (await memory_of(bench.engine).load("a")).value
    assert SUMMARY_NAME not in str(record)

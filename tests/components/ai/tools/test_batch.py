"""Several calls of one reply: which are run, beside which others, and which are refused."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from catenary.runtime.scope import Scope
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.folding import folded
from catenary_components.ai.messages import ChatMessage, assistant_message, tool_message, user_message
from catenary_components.ai.messages import ToolCall as Call
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.batch import ReadyCall, prepare, run_batch
from catenary_components.ai.tools.execute import CallResult
from catenary_components.ai.tools.repetition import fingerprint
from catenary_components.ai.tools.tool import Tool, Toolbox


class Work:
    """Notes when calls begin and end."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def check(self, arguments: Any) -> None: ...

    async def run(self, ctx: Any, arguments: Any, text: str) -> str:
        self.log.append(f"+{arguments['n']}")
        for _ in range(3):
            await asyncio.sleep(0)
        self.log.append(f"-{arguments['n']}")
        return str(arguments["n"])


@pytest.fixture
def log() -> list[str]:
    return []


def setup_of(log: list[str], **serial: bool) -> AgentSetup:
    tools = [Tool(name, "", {}, Work(log), is_serial=serial.get(name, False)) for name in ("read", "write")]
    return AgentSetup(None, Toolbox(tools))  # type: ignore[arg-type]


async def run(setup: AgentSetup, *names: str) -> tuple[list[str], list[int]]:
    """Give the texts of the results, and the places in the order in which they were told."""
    state, told = AgentState(), []
    prepared = [prepare(setup, state, Call(f"c{n}", name, f'{{"n": {n}}}')) for n, name in enumerate(names)]

    async def tell(place: int, result: CallResult) -> None:
        told.append(place)

    results = await run_batch(SimpleNamespace(scope=Scope([])), setup, prepared, tell)  # type: ignore[arg-type]
    return [result.text for result in results], told


async def test_neighbours_run_beside_each_other_and_a_serial_call_alone(log: list[str]) -> None:
    texts, _ = await run(setup_of(log, write=True), "read", "read", "write", "read", "read")
    assert texts == ["0", "1", "2", "3", "4"]
    assert log == ["+0", "+1", "-0", "-1", "+2", "-2", "+3", "+4", "-3", "-4"]


async def test_a_refused_call_keeps_its_place_and_is_told_at_once(log: list[str]) -> None:
    texts, told = await run(setup_of(log), "read", "nothing", "read")
    assert texts[1].startswith("Error: Unknown tool 'nothing'")
    assert (texts[0], texts[2]) == ("0", "2")
    assert told[0] == 1


async def test_no_more_calls_run_at_a_time_than_allowed(bench: Any) -> None:
    busy, most = 0, 0

    async def work(n: int) -> int:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1
        return n

    bench.engine.tool(work)
    bench.load(
        Reply(tool_calls=[ToolCall("work", {"n": n}) for n in range(6)]), "ok", tools=["work"], maxParallelTools=2
    )
    await bench.say()
    assert most == 2
    assert [message["content"] for message in bench.last[-6:]] == ["0", "1", "2", "3", "4", "5"]


async def test_only_so_many_calls_of_a_reply_are_run(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    many = [ToolCall("ping", {}) for _ in range(3)]
    bench.load(Reply(tool_calls=many), "ok", tools=["ping"], maxCallsPerTurn=2)
    await bench.say()
    assert [message["content"] for message in bench.last[-3:]] == [
        "pong",
        "pong",
        "Error: Too many tool calls: 3 were asked for in one reply, and at most 2 are run.",
    ]


async def test_all_calls_of_a_reply_are_run_and_their_results_stand_in_the_order_of_the_calls(bench: Any) -> None:
    async def ping(n: int) -> int:
        await asyncio.sleep(0.001 * (n % 7))
        return n

    bench.engine.tool(ping)
    bench.load(Reply(tool_calls=[ToolCall("ping", {"n": n}) for n in range(100)]), "ok", tools=["ping"])
    assert (await bench.say()).ok
    told = [message for message in bench.last if message["role"] == "tool"]
    assert [message["content"] for message in told] == [str(n) for n in range(100)]
    asked = next(message for message in bench.last if message.get("tool_calls"))["tool_calls"]
    assert [message["tool_call_id"] for message in told] == [call["id"] for call in asked]


async def test_one_tool_a_turn_if_so_set(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    bench.load(Reply(tool_calls=[ToolCall("ping")] * 2), "ok", tools=["ping"], callsPerTurn="first")
    await bench.say()
    assert [str(message["content"])[:22] for message in bench.last[-2:]] == ["pong", "Error: One tool a turn"]


async def test_the_third_call_with_the_same_arguments_is_not_run(bench: Any) -> None:
    seen: list[int] = []

    def look(a: int, b: int) -> str:
        seen.append(a)
        return "nothing"

    bench.engine.tool(look)
    script = [
        calls("look", a=1, b=2),
        Reply(tool_calls=[ToolCall("look", '{"b": 2, "a": 1}')]),
        calls("look", a=1, b=2),
        "I give up",
    ]
    bench.load(*script, tools=["look"], foldRepeats=False)
    assert (await bench.say()).message.data == "I give up"
    assert seen == [1, 1]
    assert str(bench.last[-1]["content"]).startswith("Error: doom_loop_repeated - this is call 3 of look")


async def test_the_fifth_time_the_advice_is_to_give_up(bench: Any) -> None:
    bench.engine.tool(lambda: "x", name="look")
    bench.load(*[calls("look")] * 5, "ok", tools=["look"], foldRepeats=False)
    await bench.say()
    assert "Give up this plan" in str(bench.last[-1]["content"])


async def test_a_tool_that_may_repeat_is_run_as_often_as_it_is_asked_for(bench: Any) -> None:
    seen: list[str] = []
    bench.engine.tool(lambda: seen.append("x") or "nothing", name="poll")
    bench.load(*[calls("poll")] * 6, "ok", tools=[{"name": "poll", "mayRepeat": True}])
    assert (await bench.say()).message.data == "ok"
    assert len(seen) == 6


async def test_refused_repeats_count_as_calls_and_as_failures(bench: Any) -> None:
    bench.engine.tool(lambda: "nothing", name="look")
    bench.load(*[calls("look")] * 7, "ok", tools=["look"], foldRepeats=False)
    outcome = await bench.say()
    texts = [str(message["content"]) for message in bench.last if message["role"] == "tool"]
    assert [text.startswith("Warning: the last 5 tool calls failed") for text in texts] == [False] * 6 + [True]
    assert outcome.message.metadata["tool_calls"] == "7"


def test_repeats_need_not_be_neighbours_but_lie_among_the_last_calls(log: list[str]) -> None:
    setup, state = setup_of(log), AgentState()

    def asks(n: int) -> bool:
        return isinstance(prepare(setup, state, Call("c", "read", f'{{"n": {n}}}')), ReadyCall)

    assert [asks(n) for n in (1, 2, 1, 3)] == [True] * 4
    assert not asks(1)
    assert all(asks(n) for n in range(100, 120))
    assert asks(1)


@pytest.mark.parametrize(("between", "runs"), [(17, False), (18, True)])
def test_of_the_last_twenty_calls_with_this_one_the_third_alike_is_refused(
    log: list[str], between: int, *, runs: bool
) -> None:
    setup, state = setup_of(log), AgentState()
    numbers = [0, *range(100, 100 + between), 0, 0]
    found = [prepare(setup, state, Call("c", "read", f'{{"n": {n}}}')) for n in numbers]
    assert isinstance(found[-1], ReadyCall) is runs


def test_the_same_arguments_in_another_order_are_the_same_call(log: list[str]) -> None:
    assert fingerprint(Call("1", "a", '{"x":{"b":[{"d":1,"c":2}],"a":1},"y":2}')) == fingerprint(
        Call("2", "a", ' {"y":2, "x":{"a":1,"b":[{"c":2,"d":1}]}} ')
    )
    assert fingerprint(Call("1", "a", "[1,2]")) != fingerprint(Call("1", "a", "[2,1]"))
    assert fingerprint(Call("1", "a", "[[[")) != fingerprint(Call("1", "b", "[[["))


def test_identical_calls_of_one_reply_are_counted_too(log: list[str]) -> None:
    setup, state = setup_of(log), AgentState()
    found = [prepare(setup, state, Call(f"c{n}", "read", '{"n": 1}')) for n in range(3)]
    assert [isinstance(call, ReadyCall) for call in found] == [True, True, False]


async def test_five_failures_in_a_row_put_a_warning_before_the_result(bench: Any) -> None:
    def fail(n: int) -> str:
        if n == 7:
            return "well"
        raise ValueError("no")

    bench.engine.tool(fail)
    bench.load(*[calls("fail", n=n) for n in range(5)], calls("fail", n=7), calls("fail", n=8), "ok", tools=["fail"])
    await bench.say()
    texts = [str(message["content"]) for message in bench.last if message["role"] == "tool"]
    assert [text.startswith("Warning: the last 5 tool calls failed") for text in texts] == [False] * 4 + [True] + [
        False
    ] * 2
    assert texts[4].endswith("\n\nError: Tool execution failed: no")


def rounds(*calls: tuple[str, str]) -> list[ChatMessage]:
    said: list[ChatMessage] = [user_message("q")]
    for number, (name, arguments) in enumerate(calls):
        said += [assistant_message("", [Call(f"c{number}", name, arguments)]), tool_message(f"c{number}", str(number))]
    return said


def shown(messages: list[ChatMessage]) -> list[str]:
    return [result.text for message in messages for result in message.results]


def test_repeated_rounds_are_sent_as_the_last_two() -> None:
    once = folded(rounds(*[("a", "{}")] * 4, ("b", "{}")))
    assert shown(once) == ["(2 earlier rounds with the same call are left out.)\n2", "3", "4"]
    assert folded(once) == once


def test_what_is_said_in_between_ends_a_row_of_repeats() -> None:
    said = rounds(("a", "{}"), ("a", "{}"))
    assert folded([*said, *said]) == [*said, *said]


@pytest.mark.parametrize("between", [user_message("go on"), assistant_message("I see")])
def test_a_message_of_either_side_ends_a_row_of_repeats(between: ChatMessage) -> None:
    said = [message for message in rounds(("a", "{}"), ("a", "{}")) if message.role != "user"]
    assert len(said) == 4
    assert folded([*said, between, *said]) == [*said, between, *said]
    assert len(folded([*said, *said])) == 4


def test_what_a_model_said_beside_its_calls_is_not_left_out() -> None:
    told = [assistant_message("Once more.", [Call("1", "a")]), tool_message("1", "x")]
    assert folded(told * 4) == told * 4


def test_rounds_of_several_calls_stay() -> None:
    several = [assistant_message("", [Call("1", "a"), Call("2", "a")]), tool_message("1", "x"), tool_message("2", "y")]
    assert folded(several * 3) == several * 3

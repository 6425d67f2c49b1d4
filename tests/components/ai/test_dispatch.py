"""What comes next in the react loop: every way out of each phase, and which goes first when several are open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary.testing import Reply, calls
from catenary_components.ai.messages import ImagePart
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from catenary.component import Context


@pytest.fixture
def path(bench: Any) -> list[str]:
    """The phases that were visited, in order."""
    visited: list[str] = []

    @bench.engine.before(types=["ai/*"], chains=["ai.*"])
    def note(ctx: Context, msg: Any, relation: str) -> None:
        visited.append(ctx.node_id)

    return visited


@pytest.fixture
def tools(bench: Any) -> dict[str, Any]:
    def halt(ctx: Context) -> str:
        ctx.scope[AgentState].stop.set()
        return "halted"

    bench.engine.tool(lambda n=0: "pong", name="ping")
    bench.engine.tool(lambda: "that is it", name="final")
    bench.engine.tool(halt)
    return {"tools": ["ping", {"name": "final", "returnDirect": True}, "halt"]}


def both(*names: str) -> Reply:
    """Give a reply with a call of each tool."""
    return Reply(tool_calls=[calls(name).tool_calls[0] for name in names])


ASK = ["reason", "act", "observe"]
END = ["verify", "answer"]

# Reasoning


async def test_an_answer_ends_the_loop(bench: Any, tools: Any, path: list[str]) -> None:
    bench.load("done", **tools)
    assert (await bench.say()).message.data == "done"
    assert path == ["begin", "reason", *END]


async def test_calls_are_run_and_the_model_reads_their_results(bench: Any, tools: Any, path: list[str]) -> None:
    bench.load(calls("ping"), "done", **tools)
    await bench.say()
    assert path == ["begin", *ASK, "reason", *END]


async def test_each_visit_of_reasoning_is_one_model_call(bench: Any, tools: Any, path: list[str]) -> None:
    bench.load(both("ping", "ping"), calls("ping"), "done", **tools)
    outcome = await bench.say()
    assert path.count("reason") == len(bench.model.requests) == int(outcome.message.metadata["steps"]) == 3


async def test_at_the_limit_no_model_is_asked_before_the_limit_is_told(bench: Any, tools: Any, path: list[str]) -> None:
    bench.load(calls("ping"), "at last", maxRounds=1, onLimit="answer", **tools)
    outcome = await bench.say()
    assert path == ["begin", *ASK, "limit", *END]
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"
    assert "tools" not in bench.model.requests[-1].body


async def test_the_limit_has_priority_over_a_conversation_that_is_too_long(
    bench: Any, tools: Any, path: list[str]
) -> None:
    bench.load(
        calls("ping"),
        "over",
        maxRounds=1,
        onLimit="answer",
        compaction={"triggerRounds": 1, "keepMessages": 0},
        **tools,
    )
    await bench.say()
    assert path == ["begin", *ASK, "limit", *END]


async def test_a_conversation_that_is_too_long_is_made_shorter_before_the_model_is_asked(
    bench: Any, tools: Any, path: list[str]
) -> None:
    told = [{"role": role, "content": "tell me " * 50} for role in ("user", "assistant", "user")]
    bench.load("SUMMARY", "done", compaction={"triggerMessages": 3, "keepMessages": 1}, **tools)
    outcome = await bench.say({"messages": told}, "JSON")
    assert path == ["begin", "reason", "summarize", "reason", *END]
    assert outcome.message.metadata["finish_reason"] == "summarized"


@pytest.mark.parametrize("mode", ["react", "plain_tooling"])
async def test_a_ready_answer_is_never_thrown_away_at_a_limit(bench: Any, tools: Any, mode: str) -> None:
    """Neither in the last model call there is, nor when five calls a round are made."""
    bench.load("done", maxStep=1, mode=mode, **tools)
    assert (await bench.say()).message.data == "done"


async def test_five_model_calls_a_round_are_too_many(bench: Any, tools: Any, path: list[str]) -> None:
    bench.load(*[""] * 4, calls("ping"), maxRounds=1, emptyReplies=9, **tools)
    outcome = await bench.say()
    assert path == ["begin", *["reason"] * 5, "limit"]
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"
    assert outcome.message.data == (
        "the agent exceeds max steps: 0 of 1 rounds of tools are over, after 5 model calls, "
        "and the model still asks for ping"
    )
    assert outcome.error.hint.startswith("raise maxRounds")


async def test_an_answer_in_the_last_of_five_model_calls_a_round_counts(bench: Any, tools: Any) -> None:
    bench.load(*[""] * 4, "done", maxRounds=1, emptyReplies=9, **tools)
    assert (await bench.say()).message.data == "done"


async def test_a_model_that_must_use_a_tool_and_never_does_comes_to_the_limit(
    bench: Any, tools: Any, path: list[str]
) -> None:
    bench.load(*["no"] * 10, "so be it", maxRounds=2, toolPolicy="required", onLimit="answer", **tools)
    outcome = await bench.say()
    assert path == ["begin", *["reason"] * 11, "limit", *END]
    assert outcome.message.data == "so be it"


# Observation


async def test_a_result_that_is_the_answer_ends_the_loop_though_a_limit_is_reached(
    bench: Any, tools: Any, path: list[str]
) -> None:
    bench.load(calls("final"), maxRounds=1, **tools)
    outcome = await bench.say()
    assert path == ["begin", *ASK, "answer"]
    assert (outcome.message.data, outcome.message.metadata["finish_reason"]) == ("that is it", "return_direct")


async def test_a_result_that_is_the_answer_counts_beside_others(bench: Any, tools: Any) -> None:
    bench.load(both("ping", "final"), **tools)
    assert (await bench.say()).message.data == "that is it"


async def test_several_results_that_are_the_answer_stand_under_the_names_of_their_tools(bench: Any, tools: Any) -> None:
    bench.engine.tool(lambda: "and that", name="more")
    listed = [*tools["tools"], {"name": "more", "returnDirect": True}]
    bench.load(both("final", "ping", "more"), tools=listed)
    assert (await bench.say()).message.data == "## final\n\nthat is it\n\n## more\n\nand that"


async def test_a_result_that_is_the_answer_is_whole_and_the_model_knows_it_in_the_next_turn(bench: Any) -> None:
    bench.engine.tool(lambda: "the report " * 20, name="report")
    tools = [{"name": "report", "returnDirect": True}]
    bench.load(calls("report"), "It was long.", tools=tools, session="s", maxToolOutputLength=10)
    assert (await bench.say()).message.data == "the report " * 20
    assert (await bench.say("How was it?")).message.data == "It was long."
    assert [message["role"] for message in bench.last] == ["user", "assistant", "tool", "user"]
    assert str(bench.last[2]["content"]).startswith("the report...(truncated")


async def test_a_result_that_is_the_answer_but_failed_goes_to_the_model(bench: Any) -> None:
    def report() -> str:
        raise OSError("the printer is on fire")

    bench.engine.tool(report)
    bench.load(calls("report"), "I could not print it.", tools=[{"name": "report", "returnDirect": True}])
    assert (await bench.say()).message.data == "I could not print it."
    assert "on fire" in str(bench.last[-1]["content"])


@pytest.mark.parametrize("given", [{"directResults": "withheld"}, {"preset": "agent_api"}])
async def test_a_result_that_is_withheld_is_for_the_user_alone(bench: Any, given: dict[str, Any]) -> None:
    picture = ImagePart.of(b"x")
    bench.engine.tool(lambda: ["the report", picture], name="report")
    tools = [{"name": "report", "returnDirect": True}]
    bench.load(calls("report"), "I cannot say.", tools=tools, session="s", **given)
    assert "the report" in (await bench.say()).message.data
    assert (await bench.say("How was it?")).message.data == "I cannot say."
    assert [message["role"] for message in bench.last] == ["user", "assistant", "tool", "user"]
    told = "[The result of report was given to the user as the answer. It is not shown here.]"
    assert bench.last[2]["content"] == told


async def test_of_a_failure_of_a_withheld_result_the_model_is_told_no_more_than_that(bench: Any) -> None:
    def report(page: int) -> str:
        raise OSError("no file /home/ann/salaries.csv")

    bench.engine.tool(report)
    tools = [{"name": "report", "returnDirect": True}]
    asks = [calls("report", page=1), calls("report", page="x"), "I could not print it."]
    bench.load(*asks, tools=tools, directResults="withheld")
    assert (await bench.say()).message.data == "I could not print it."
    failed, refused = (str(message["content"]) for message in bench.last if message["role"] == "tool")
    assert failed == "Error: Tool execution failed"
    assert "invalid or empty arguments" in refused


@pytest.mark.parametrize("kept", ["told", "withheld"])
async def test_a_result_that_is_the_answer_is_whole_behind_a_pause_too(bench: Any, kept: str) -> None:
    bench.engine.tool(lambda: "the report " * 20, name="report")
    tools = [{"name": "report", "returnDirect": True}, {"type": "external", "name": "far", "description": "Far."}]
    bench.load(both("report", "far"), tools=tools, directResults=kept, maxToolOutputLength=10, session="s")
    paused = await bench.say()
    assert paused.status == "paused"
    agent = bench.engine.chains["c"].compiled.by_id["agent"].component
    shown = "".join(message.results[0].text for message in (await agent.sessions.read("s")).messages[2:])
    assert shown.startswith("the report...(truncated" if kept == "told" else "[The result of report was given")
    (asked,) = json.loads(paused.message.text)["toolCalls"]
    done = await bench.engine.answer(paused.run_id, "agent", data=[{"toolCallId": asked["id"], "output": "ok"}])
    assert done.message.data == "the report " * 20
    assert (await agent.sessions.read("s")).messages[2].results[0].metadata == {}


async def test_a_question_has_priority_over_a_result_that_is_the_answer(
    bench: Any, tools: Any, path: list[str]
) -> None:
    bench.load(both("final", "ping"), permission={"mode": "bypass", "ask": ["ping"]}, **tools)
    outcome = await bench.say()
    assert (outcome.status, path) == ("paused", ["begin", "reason", "act"])


async def test_long_results_are_made_shorter_before_the_model_reads_them(
    bench: Any, tools: Any, path: list[str]
) -> None:
    bench.load(calls("ping"), "SUMMARY", "done", compaction={"triggerRounds": 1, "keepMessages": 0}, **tools)
    await bench.say()
    assert path == ["begin", *ASK, "summarize", "reason", *END]


@pytest.mark.parametrize("on_limit", ["fail", "answer"])
async def test_an_error_of_observing_leads_to_the_limit(bench: Any, tools: Any, path: list[str], on_limit: str) -> None:
    @bench.engine.around(types=["ai/observe"], chains=["ai.react"])
    async def fall(ctx: Any, msg: Any, proceed: Any) -> None:
        raise OSError("the disk is full")

    bench.load(calls("ping"), "I could not look.", onLimit=on_limit, **tools)
    outcome = await bench.say()
    assert path[:5] == ["begin", *ASK, "limit"]
    if on_limit == "fail":
        assert outcome.message.data == "the disk is full"
        assert len(bench.model.requests) == 1
    else:
        assert outcome.message.data == "I could not look."
        assert [message["role"] for message in bench.last] == ["user", "assistant", "tool", "user"]


# Stopping


async def test_a_stop_while_a_tool_runs_ends_the_loop_behind_it(bench: Any, tools: Any, path: list[str]) -> None:
    bench.load(Reply(text="Let me halt.", tool_calls=calls("halt").tool_calls), **tools)
    outcome = await bench.say()
    assert path == ["begin", *ASK, "answer"]
    assert (outcome.message.data, outcome.message.metadata["finish_reason"]) == ("Let me halt.", "stopped")
    assert len(bench.model.requests) == 1


@pytest.mark.parametrize(
    ("phase", "replies", "settings", "visited", "said"),
    [
        ("begin", [], {}, ["begin", "reason", "answer"], ""),
        ("reason", [], {}, ["begin", "reason", "answer"], ""),
        ("act", [calls("ping")], {}, ["begin", "reason", "act", "answer"], ""),
        ("observe", [calls("ping")], {}, ["begin", *ASK, "answer"], ""),
        (
            "summarize",
            [calls("ping")],
            {"compaction": {"triggerRounds": 1, "keepMessages": 0}},
            ["begin", *ASK, "summarize", "answer"],
            "",
        ),
        ("limit", [calls("ping")], {"maxRounds": 1, "onLimit": "answer"}, ["begin", *ASK, "limit", *END], ""),
        ("verify", ["3"], {"verify": "second_pass"}, ["begin", "reason", *END], "3"),
    ],
)
async def test_a_stop_is_seen_at_each_phase(
    bench: Any,
    tools: Any,
    path: list[str],
    phase: str,
    replies: list[Any],
    settings: dict[str, Any],
    visited: list[str],
    said: str,
) -> None:
    """Nothing is asked of the model from then on, and no call is left open."""
    records: list[AgentState] = []

    @bench.engine.before(nodes=[phase], chains=["ai.react"])
    def stop(ctx: Context, msg: Any, relation: str) -> None:
        records.append(ctx.scope[AgentState])
        records[0].stop.set()

    bench.load(*replies, **settings, **tools)
    outcome = await bench.say()
    assert (outcome.status, path) == ("completed", visited)
    assert (outcome.message.data, outcome.message.metadata["finish_reason"]) == (said, "stopped")
    assert len(bench.model.requests) == len(replies)
    assert not records[0].pending


async def test_a_stop_between_two_pieces_of_a_stream_is_seen_though_the_next_ones_are_there(
    bench: Any, tools: Any
) -> None:
    def stop(event: Any) -> None:
        if event.name == "content.delta":
            records[0].stop.set()

    records: list[AgentState] = []

    @bench.engine.before(nodes=["reason"], chains=["ai.react"])
    def note(ctx: Context, msg: Any, relation: str) -> None:
        records.append(ctx.scope[AgentState])

    bench.engine.subscribe(stop)
    bench.load(Reply(pieces=["word "] * 50), **tools)
    outcome = await bench.say(stream="true")
    assert outcome.message.metadata["finish_reason"] == "stopped"
    assert 0 < len(outcome.message.data) < 50


# Going round


async def test_a_model_that_asks_for_ever_comes_to_the_limit_of_rounds_and_one_call_more(
    bench: Any, tools: Any, path: list[str]
) -> None:
    """`N` rounds are `N` calls of the model, and one without tools: the guard against circles never fires first."""
    most = 12
    bench.load(*[calls("ping", n=n) for n in range(most)], "enough", maxRounds=most, onLimit="answer", **tools)
    outcome = await bench.say()
    assert path == ["begin", *ASK * most, "limit", *END]
    assert (outcome.message.data, len(bench.model.requests)) == ("enough", most + 1)


async def test_reminders_and_summaries_are_no_decisions_of_the_loop(bench: Any, tools: Any) -> None:
    """Every round comes with one of each, and the loop is not taken for a circle."""
    script = iter([reply for n in range(4) for reply in ("", "", calls("ping", n=n))])
    summed_up: list[str] = []

    def reply(request: Any) -> Any:
        if "Session intent" in request.system_text:
            summed_up.append(request.system_text)
            return "S"
        return next(script, "done")

    settings = {"maxRounds": 5, "emptyReplies": 9, "compaction": {"triggerMessages": 4, "keepMessages": 1}}
    bench.load(*[reply] * 40, **settings, **tools)
    assert (await bench.say("go on " * 50)).message.data == "done"
    assert len(summed_up) > 3


async def test_a_loop_without_a_limit_of_rounds_is_guarded_by_its_model_calls(bench: Any, path: list[str]) -> None:
    nodes = [
        {"id": "reason", "type": "ai/reason"},
        {"id": "back", "type": "exprFilter", "configuration": {"expr": "true"}},
    ]
    connections = [
        {"fromId": "reason", "toId": "back", "type": "Answer"},
        {"fromId": "reason", "toId": "back", "type": "Limit"},
        {"fromId": "back", "toId": "reason", "type": "True"},
    ]
    settings = {"id": "circle", "root": False, "configuration": {"allowCycle": True}}
    bench.engine.load({"ruleChain": settings, "metadata": {"nodes": nodes, "connections": connections}})
    bench.load(*["more"] * 3, mode="circle", maxStep=3)
    outcome = await bench.say()
    assert (
        outcome.message.data == "the loop of the agent has decided 12 times what comes next, which 3 rounds never need"
    )
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"
    assert len(bench.model.requests) == 3

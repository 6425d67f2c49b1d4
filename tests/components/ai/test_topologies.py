"""The loops that come with the agent: what each asks the model, and what those who listen hear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine
from catenary.testing import Reply, calls, dropped, server_error
from catenary_components.ai import topologies
from catenary_components.ai.models.types import Piece
from catenary_components.ai.models.types import Reply as ModelReply
from catenary_components.ai.phases._final_text import FinalTextReader
from catenary_components.ai.topologies import NAMES

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary import Outcome

THOUGHT = '{"reasoningSummary": "twice two", "finalText": "It is 4."}'


@pytest.fixture
def engine() -> Generator[Engine]:
    with Engine() as made:
        yield made


@pytest.fixture
def tool(bench: Any) -> dict[str, Any]:
    bench.engine.tool(lambda: "pong", name="ping")
    return {"tools": ["ping"]}


def heard(outcome: Outcome) -> list[str]:
    return [end.message.text for end in outcome.ends if end.relation == "Stream" and end.message.text]


def asked(bench: Any) -> list[tuple[bool, str]]:
    """Whether tools were offered, and what was said last, of each request."""
    return [("tools" in request.body, str(request.messages[-1]["content"])) for request in bench.model.requests]


def test_these_loops_come_with_it() -> None:
    assert NAMES == ("plain", "plain_tooling", "react", "thinking", "thinking_tooling")


_OUTSIDE = {"Stream", "Failure", "AwaitConfirm", "AwaitExternal"}
_OF_TOOLS = {"ToolCalls", "NoCalls"}


@pytest.mark.parametrize("name", NAMES)
def test_no_way_out_of_a_phase_leads_nowhere(engine: Engine, name: str) -> None:
    """Those that leave the agent, and those of tools where there are none, apart."""
    definition = engine.make(Path(topologies.__file__).parent / f"{name}.json").definition
    connected = {(one.from_id, one.type) for one in definition.connections}
    for node in definition.nodes:
        component = engine.registry.find(node.type)
        assert component is not None
        ways = {str(relation) for relation in component.relations} - _OUTSIDE
        if node.configuration.get("tools") == "none":
            ways -= _OF_TOOLS
        if node.id == "answer":
            ways -= {"Success"}
        assert {way for way in ways if (node.id, way) not in connected} == set(), node.id


async def test_plain_is_one_call_without_tools(bench: Any, tool: dict[str, Any]) -> None:
    bench.load("done", mode="plain", **tool)
    assert (await bench.say()).message.data == "done"
    assert asked(bench) == [(False, "hi")]


async def test_thinking_has_reasoning_and_text_apart(bench: Any) -> None:
    bench.load(Reply(pieces=list(THOUGHT)), mode="thinking")
    outcome = await bench.say(stream="true")
    assert "".join(heard(outcome)) == "It is 4."
    assert outcome.message.data == "It is 4."
    assert outcome.message.metadata["reasoning_content"] == "twice two"
    assert "reasoningSummary" in asked(bench)[0][1]


async def test_reasoning_is_not_told_when_it_is_not_exposed(bench: Any) -> None:
    bench.load(Reply(pieces=list(THOUGHT)), mode="thinking", exposeReasoning=False)
    outcome = await bench.say(stream="true")
    assert not [end for end in outcome.ends if end.relation == "Stream" and "reasoning_content" in end.message.metadata]


async def test_prose_where_an_object_was_asked_for_is_the_answer(bench: Any) -> None:
    bench.load(Reply(text="It is 4."), mode="thinking")
    outcome = await bench.say(stream="true")
    assert heard(outcome) == ["It is 4."]
    assert outcome.message.data == "It is 4."


async def test_plain_tooling_is_one_round_and_an_answer(bench: Any, tool: dict[str, Any]) -> None:
    bench.load(calls("ping"), "pong it is", mode="plain_tooling", **tool)
    outcome = await bench.say()
    assert [offered for offered, _ in asked(bench)] == [True, False]
    assert "final answer" in asked(bench)[1][1]
    assert outcome.message.metadata["tool_calls"] == "1"
    assert outcome.message.data == "pong it is"


@pytest.mark.parametrize(
    ("settings", "rounds"),
    [
        ({"mode": "plain"}, 0),
        ({"mode": "plain", "toolPolicy": "required"}, 0),
        ({"toolPolicy": "none"}, 0),
        ({"mode": "plain_tooling"}, 1),
        ({"mode": "thinking_tooling"}, 1),
        ({"maxRounds": 1, "onLimit": "answer"}, 1),
    ],
)
async def test_a_call_of_a_tool_that_was_not_offered_is_left_out(
    bench: Any, tool: dict[str, Any], settings: dict[str, Any], rounds: int
) -> None:
    """And is not taken for an answer: the model is told, or what it says beside the call is the answer."""
    bench.load(
        *[calls("ping")] * rounds, Reply(text="So be it.", tool_calls=calls("ping").tool_calls), **settings, **tool
    )
    outcome = await bench.say()
    assert outcome.message.data == "So be it."
    assert outcome.message.metadata["tool_calls"] == str(rounds)


async def test_a_model_that_only_asks_for_what_was_not_offered_is_told(bench: Any, tool: dict[str, Any]) -> None:
    bench.load(calls("ping"), "done", mode="plain", **tool)
    assert (await bench.say()).message.data == "done"
    assert asked(bench)[1] == (False, "Your last reply had no text, and no tool can be used here. Give your answer.")
    assert [message["role"] for message in bench.last] == ["user", "user"]


async def test_a_limit_at_which_the_model_says_nothing_says_so(bench: Any, tool: dict[str, Any]) -> None:
    bench.load(calls("ping"), calls("ping"), maxRounds=1, onLimit="answer", **tool)
    outcome = await bench.say()
    assert outcome.message.data == "Maximum iterations (1) reached, and the model gave no answer."
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"


async def test_plain_tooling_without_a_call_is_one_model_call(bench: Any, tool: dict[str, Any]) -> None:
    bench.load("no need", mode="plain_tooling", **tool)
    assert (await bench.say()).message.data == "no need"
    assert len(bench.model.requests) == 1


async def test_a_tool_that_is_required_is_asked_for_once_more(bench: Any, tool: dict[str, Any]) -> None:
    bench.load("no", calls("ping"), "done", mode="plain_tooling", toolPolicy="required", **tool)
    assert (await bench.say()).message.data == "done"
    assert [request.body.get("tool_choice") for request in bench.model.requests] == ["required", "required", None]
    assert "use a tool" in asked(bench)[1][1]


async def test_a_model_that_will_not_use_a_tool_is_heard_in_the_end(bench: Any, tool: dict[str, Any]) -> None:
    bench.load("no", "still no", "I said no", "no", mode="plain_tooling", toolPolicy="required", session="s", **tool)
    outcome = await bench.say()
    assert (outcome.message.data, outcome.message.metadata["finish_reason"]) == ("still no", "normal")
    await bench.say("And why?")
    said = [(message["role"], message["content"]) for message in bench.model.requests[2].messages]
    asked_again = ("user", "You are to use a tool here: ask for at least one of them.")
    assert said == [("user", "hi"), asked_again, ("assistant", "still no"), ("user", "And why?")]


@pytest.mark.parametrize("mode", ["plain_tooling", "react"])
async def test_a_text_in_place_of_a_tool_that_is_required_is_shown_and_no_part_of_the_conversation(
    bench: Any, tool: dict[str, Any], mode: str
) -> None:
    bench.load("I would rather not.", calls("ping"), "done", mode=mode, toolPolicy="required", maxRounds=1, **tool)
    outcome = await bench.say(stream="true")
    assert "".join(heard(outcome)).startswith("I would rather not.")
    assert [message["role"] for message in bench.model.requests[1].messages] == ["user", "user"]


async def test_a_model_that_says_nothing_in_place_of_a_tool_ends_incomplete(bench: Any, tool: dict[str, Any]) -> None:
    bench.load("no", Reply(text=""), mode="plain_tooling", toolPolicy="required", **tool)
    outcome = await bench.say()
    assert (outcome.message.data, outcome.message.metadata["finish_reason"]) == ("", "incomplete")


async def test_what_is_checked_takes_the_place_of_a_text_that_was_accepted(bench: Any, tool: dict[str, Any]) -> None:
    settings = {"mode": "plain_tooling", "toolPolicy": "required", "verify": "second_pass", "session": "s", **tool}
    bench.load("no", "3", "4", "so it is", "it is", "4", **settings)
    assert (await bench.say()).message.data == "4"
    await bench.say("Sure?")
    assert bench.model.requests[3].messages[-2]["content"] == "4"


@pytest.mark.parametrize("mode", ["plain_tooling", "thinking_tooling"])
async def test_an_answer_as_json_that_comes_where_a_tool_was_asked_for_again_is_checked_like_any(
    bench: Any, tool: dict[str, Any], mode: str
) -> None:
    """An answer of a form that was asked for counts wherever it is given, and one that does not fit is repaired."""
    params = {"responseFormat": "json_object"}
    bench.load(Reply(text=""), "no", '{"a": 1}', mode=mode, toolPolicy="required", params=params, **tool)
    outcome = await bench.say()
    assert outcome.message.value == {"a": 1}


async def test_thinking_tooling_gives_its_answer_as_an_object(bench: Any, tool: dict[str, Any]) -> None:
    bench.load(calls("ping"), THOUGHT, mode="thinking_tooling", **tool)
    assert (await bench.say()).message.data == "It is 4."
    bench.model.add("no need of it", THOUGHT)
    assert (await bench.say()).message.data == "It is 4."
    assert [offered for offered, _ in asked(bench)] == [True, False, True, False]


async def test_a_conversation_that_gets_too_long_behind_the_choice_of_tools_costs_no_second_choice(
    bench: Any, tool: dict[str, Any]
) -> None:
    before = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    settings = {"mode": "thinking_tooling", "compaction": {"triggerMessages": 4, "keepMessages": 1}, **tool}
    bench.load("no need of it", "SUMMARY", THOUGHT, **settings)
    outcome = await bench.say({"messages": [*before, {"role": "user", "content": "hi"}]}, "JSON")
    assert outcome.message.data == "It is 4."
    assert [offered for offered, _ in asked(bench)] == [True, False, False]


@pytest.mark.parametrize("mode", ["plain_tooling", "thinking_tooling"])
async def test_a_conversation_that_gets_too_long_where_a_tool_is_asked_for_again_is_not_asked_a_third_time(
    bench: Any, tool: dict[str, Any], mode: str
) -> None:
    before = [{"role": "user", "content": "a " * 90}, {"role": "assistant", "content": "b"}]
    settings = {"mode": mode, "toolPolicy": "required", "compaction": {"triggerMessages": 4, "keepMessages": 1}, **tool}
    script = iter(["no", "still no", THOUGHT])

    def reply(request: Any) -> str:
        return "S" if "Session intent" in request.system_text else next(script)

    bench.load(*[reply] * 9, **settings)
    outcome = await bench.say({"messages": [*before, {"role": "user", "content": "hi"}]}, "JSON")
    assert outcome.message.data == ("It is 4." if mode == "thinking_tooling" else "still no")
    choices = [request.body.get("tool_choice") for request in bench.model.requests]
    assert choices[:3] == ["required", None, "required"]
    assert choices[3:].count("required") == 0


async def test_only_the_verified_answer_is_shown(bench: Any, tool: dict[str, Any]) -> None:
    bench.load(Reply(text="Let me see.", tool_calls=calls("ping").tool_calls), "3", "4", verify="second_pass", **tool)
    outcome = await bench.say(stream="true")
    assert [text for text in heard(outcome) if not text.startswith("{")] == ["Let me see.", "4"]
    assert outcome.message.data == "4"
    assert asked(bench)[-1][1].endswith("3")
    assert "tools" not in bench.model.requests[-1].body


async def test_when_the_check_gives_nothing_the_answer_is_shown(bench: Any) -> None:
    bench.load("3", Reply(text=""), verify="second_pass")
    outcome = await bench.say(stream="true")
    assert heard(outcome) == ["3"]
    assert outcome.message.data == "3"


@pytest.mark.parametrize("stream", ["true", ""])
async def test_when_the_check_fails_the_answer_is_given_and_why_it_is_unchecked(bench: Any, stream: str) -> None:
    heard_of: list[Any] = []
    bench.engine.subscribe(heard_of.append)
    bench.load("3", server_error(), verify="second_pass", maxRetries=0, session="${metadata.who}")
    outcome = await bench.say(stream=stream, who="ann")
    metadata = outcome.message.metadata
    assert (outcome.status, outcome.message.data, metadata["finish_reason"]) == ("completed", "3", "normal")
    assert heard(outcome) == (["3"] if stream else [])
    assert "the server has a problem" in metadata["verify_error"]
    told = next(event for event in heard_of if event.name == "agent.unverified")
    assert told.data == {"error": metadata["verify_error"], "kind": "server_error"}
    bench.model.add("4", "5")
    again = await bench.say("again", who="ann")
    assert [message.get("content") for message in bench.model.requests[2].messages] == ["hi", "3", "again"]
    assert "verify_error" not in again.message.metadata


async def test_a_check_that_breaks_off_in_the_middle_of_what_is_shown_is_a_failure(bench: Any) -> None:
    bench.load("3", dropped(after=3, text="It is four."), verify="second_pass", maxRetries=0)
    outcome = await bench.say(stream="true")
    assert heard(outcome)[0].startswith("It")
    assert (outcome.status, outcome.message.metadata["finish_reason"]) == ("failed", "error_fallback")


async def test_a_model_that_says_nothing_is_reminded(bench: Any) -> None:
    bench.load(Reply(text="", reasoning="hm"), Reply(text=" "), "at last")
    outcome = await bench.say()
    assert outcome.message.data == "at last"
    assert "no text" in asked(bench)[1][1]


async def test_a_model_that_keeps_silent_ends_incomplete(bench: Any) -> None:
    bench.load(Reply(text=""), Reply(text=""), Reply(text=""))
    outcome = await bench.say()
    assert outcome.message.data == ""
    assert outcome.message.metadata["finish_reason"] == "incomplete"
    assert len(bench.model.requests) == 3


async def test_rounds_are_limited_apart_from_model_calls(bench: Any, tool: dict[str, Any]) -> None:
    looping = [calls("ping", n=n) for n in range(2)]
    bench.load(*looping, "that is it", maxRounds=2, onLimit="answer", **tool)
    outcome = await bench.say()
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"
    assert [offered for offered, _ in asked(bench)] == [True, True, False]


async def test_a_loop_that_goes_in_circles_is_an_error_that_is_seen(bench: Any) -> None:
    nodes = [
        {"id": "reason", "type": "ai/reason"},
        {"id": "back", "type": "exprFilter", "configuration": {"expr": "true"}},
    ]
    connections = [
        {"fromId": "reason", "toId": "back", "type": "Answer"},
        {"fromId": "back", "toId": "reason", "type": "True"},
    ]
    settings = {"id": "circle", "root": False, "configuration": {"allowCycle": True}}
    bench.engine.load({"ruleChain": settings, "metadata": {"nodes": nodes, "connections": connections}})
    bench.load(*["more"] * 12, mode="circle", maxRounds=2)
    outcome = await bench.say()
    assert "has decided 10 times what comes next, which 2 rounds never need" in outcome.message.data
    assert not outcome.ok


async def test_a_loop_may_be_a_file_beside_the_chain(bench: Any, tmp_path: Any) -> None:
    loop = "ruleChain: {id: mine, root: false}\nmetadata:\n  nodes:\n"
    loop += "  - {id: reason, type: ai/reason}\n  - {id: answer, type: ai/answer}\n"
    loop += "  connections:\n  - {fromId: reason, toId: answer, type: Answer}\n"
    (tmp_path / "mine.yaml").write_text(loop)
    agent = {"url": f"{bench.url}/v1", "model": "m", "mode": "mine.yaml"}
    chain = tmp_path / "chain.yaml"
    chain.write_text(
        f"ruleChain: {{id: c}}\nmetadata:\n  nodes:\n  - {{id: a, type: ai/agent, configuration: {agent}}}\n"
    )
    bench.model.add("from a file")
    bench.engine.load(chain)
    assert (await bench.say()).message.data == "from a file"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("source", "text", "reasoning"),
    [
        (THOUGHT, "It is 4.", "twice two"),
        ('```json\n{"finalText": "a\\nb\\u00e9\\ud83d\\ude00", "reasoningSummary": "\\"x\\""}\n```', "a\nbé😀", '"x"'),
        ('{"finalText": "cut o', "cut o", ""),
        ("just prose", "just prose", ""),
        ('{"finalText": "a\\uZZ1b", "reasoningSummary": "c"}', "a\\uZZ1b", "c"),
        ('{"other": 1}', '{"other": 1}', ""),
    ],
)
def test_an_object_is_read_while_it_comes(size: int, source: str, text: str, reasoning: str) -> None:
    reader = FinalTextReader()
    shown = [reader.feed(Piece(source[at : at + size])) for at in range(0, len(source), size)]
    reply, rest = reader.finish(ModelReply(source))
    assert (reply.content, reply.reasoning) == (text, reasoning)
    assert "".join(piece.content for piece in shown) + rest.content == text
    assert "".join(piece.reasoning for piece in shown) == reasoning

"""Answers that are JSON: checked always, repaired a few times, and the conversation tidied."""

from __future__ import annotations

from typing import Any

import pytest

from catenary import ChainInvalid
from catenary.jsontext import dumps_in_order as dumps
from catenary.jsontext import loads
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.references import hoisted, inlined

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
GOOD = {"name": "Ada", "age": 36}


def native(**more: Any) -> dict[str, Any]:
    return {"params": {"responseFormat": "json_schema", "jsonSchema": SCHEMA}, **more}


def by_tool(**more: Any) -> dict[str, Any]:
    return native(structuredOutput="tool", **more)


class Keeps(AgentHook):
    """Keeps the conversation as it is at the end."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def completed(self, step: Any) -> None:
        self.messages = list(step.messages)


@pytest.fixture
def kept(bench: Any) -> Keeps:
    keeps = Keeps()
    bench.engine.agent_hook(keeps)
    return keeps


async def test_a_native_answer_is_json_and_the_request_has_the_schema(bench: Any) -> None:
    bench.load('{"name": "Ada", "age": 36}', **native())
    outcome = await bench.say()
    assert outcome.message.value == GOOD
    assert str(outcome.message.data_type) == "JSON"
    assert outcome.message.metadata["finish_reason"] == "structured_output"
    form = bench.model.requests[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == SCHEMA


async def test_text_is_the_default_and_sends_no_form(bench: Any) -> None:
    bench.load('{"name": "Ada"}')
    outcome = await bench.say()
    assert outcome.message.data == '{"name": "Ada"}'
    assert "response_format" not in bench.model.requests[0].body


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "Ada", "age": 36}\n```',
        '<think>hm {</think>{"name": "Ada", "age": 36}',
        ' {"name":"Ada","age":36}',
    ],
)
async def test_a_fence_and_thoughts_around_an_answer_do_no_harm(bench: Any, text: Any) -> None:
    config = native()
    config["params"]["keepThink"] = True
    bench.load(text, **config)
    assert (await bench.say()).message.value == GOOD


async def test_an_answer_that_does_not_fit_is_repaired_and_the_conversation_tidied(bench: Any, kept: Any) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    bench.load(Reply(text='{"name": "Ada"}', usage=usage), Reply(text=dumps(GOOD), usage=usage), **native())
    outcome = await bench.say("who?")
    assert outcome.message.value == GOOD
    assert outcome.message.metadata["steps"] == "2"
    assert outcome.message.metadata["total_tokens"] == "30"
    told = bench.last[-1]["content"]
    assert "age is required" in told
    assert '"additionalProperties":false' in told
    assert [(one.role, one.text) for one in kept.messages] == [("user", "who?"), ("assistant", dumps(GOOD))]
    assert kept.messages[-1].metadata["structured_output"] == GOOD
    assert kept.messages[-1].usage.total == 30


@pytest.mark.parametrize("depth", [200, 500, 900, 1_000, 3_000])
@pytest.mark.parametrize("mode", ["native", "tool"])
async def test_an_answer_that_is_nested_too_deeply_is_repaired(bench: Any, kept: Any, mode: str, depth: int) -> None:
    any_object = {"type": "object", "properties": {"a": {}}}
    given = '{"a":' + "[" * depth + "]" * depth + "}", '{"a":1}'
    by_tool = [Reply(tool_calls=[ToolCall("generate_response", f'{{"response":{one}}}')]) for one in given]
    params = {"responseFormat": "json_schema", "jsonSchema": any_object}
    bench.load(*(given if mode == "native" else by_tool), params=params, structuredOutput=mode, session="s")
    outcome = await bench.say()
    assert outcome.ok, outcome.error
    assert outcome.message.value == {"a": 1}
    assert any(word in bench.last[-1]["content"] for word in ("it is nested", "depth limit"))


async def test_repairs_are_bounded_and_the_failure_has_the_last_text(bench: Any) -> None:
    bench.load("one", "two", "three", **native())
    outcome = await bench.say()
    assert not outcome.ok
    assert len(bench.model.requests) == 3
    assert "the answer does not fit what was asked for after 2 repair rounds" in outcome.message.metadata["errorMsg"]
    assert outcome.message.metadata["answer"] == "three"


async def test_without_repair_rounds_the_first_answer_counts(bench: Any) -> None:
    bench.load("one", **native(repairRounds=0))
    outcome = await bench.say()
    assert not outcome.ok
    assert len(bench.model.requests) == 1


async def test_repairs_count_as_model_calls(bench: Any) -> None:
    bench.load("one", "two", **native(maxStep=2, repairRounds=5))
    outcome = await bench.say()
    assert not outcome.ok
    assert len(bench.model.requests) == 2
    assert outcome.message.metadata["answer"] == "two"


async def test_by_tool_the_answer_is_a_call_that_is_not_left_in_the_conversation(bench: Any, kept: Any) -> None:
    bench.load(calls("generate_response", response=GOOD), **by_tool())
    outcome = await bench.say("who?")
    assert outcome.message.value == GOOD
    request = bench.model.requests[0]
    assert request.tools == ["generate_response"]
    assert request.body["tool_choice"] == {"type": "function", "function": {"name": "generate_response"}}
    assert request.body["tools"][0]["function"]["parameters"]["properties"]["response"] == SCHEMA
    assert [one.role for one in kept.messages] == ["user", "assistant"]
    assert loads(kept.messages[-1].text) == GOOD
    assert kept.messages[-1].tool_calls == ()


async def test_other_tools_may_be_called_before_the_answer(bench: Any, kept: Any) -> None:
    bench.engine.tool(lambda: "Ada is 36", name="look")
    bench.load(calls("look"), calls("generate_response", response=GOOD), **by_tool(tools=["look"]))
    assert (await bench.say()).message.value == GOOD
    assert [request.body["tool_choice"] for request in bench.model.requests] == ["auto", "auto"]
    assert [one.role for one in kept.messages] == ["user", "assistant", "tool", "assistant"]


async def test_an_answer_beside_other_calls_has_to_wait_for_them(bench: Any, kept: Any) -> None:
    ran: list[str] = []
    bench.engine.tool(lambda: ran.append("look") or "36", name="look")
    both = Reply(tool_calls=[ToolCall("generate_response", {"response": GOOD}), ToolCall("look")])
    bench.load(both, calls("generate_response", response=GOOD), **by_tool(tools=["look"]))
    assert (await bench.say()).message.value == GOOD
    assert ran == ["look"]
    results = {one["content"] for one in bench.last if one["role"] == "tool"}
    assert results == {"36", "[ERROR] Call generate_response alone, when the results of the other tools are there."}
    assert all(call.name == "look" for one in kept.messages for call in one.tool_calls)


async def test_a_call_that_does_not_fit_is_told_as_its_result_and_the_next_one_is_forced(bench: Any, kept: Any) -> None:
    bench.engine.tool(lambda: "36", name="look")
    wrong = {"name": "Ada", "age": "old"}
    bench.load(
        calls("generate_response", response=wrong), calls("generate_response", response=GOOD), **by_tool(tools=["look"])
    )
    assert (await bench.say()).message.value == GOOD
    assert bench.last[-1]["content"].startswith("[ERROR] Parameter validation failed for tool 'generate_response': age")
    assert bench.model.requests[1].body["tool_choice"]["function"]["name"] == "generate_response"
    assert [one.role for one in kept.messages] == ["user", "assistant"]


async def test_text_in_the_place_of_the_call_is_taken_if_it_fits_and_reminded_of_the_tool_if_not(bench: Any) -> None:
    bench.load("Ada, 36", dumps(GOOD), **by_tool())
    assert (await bench.say()).message.value == GOOD
    assert "by calling the tool generate_response" in bench.last[-1]["content"]


@pytest.mark.parametrize("arguments", [GOOD, {"response": dumps(GOOD)}], ids=["without the wrapping", "as a text"])
async def test_a_call_as_small_models_write_it_is_understood(bench: Any, arguments: Any) -> None:
    bench.load(Reply(tool_calls=[ToolCall("generate_response", arguments)]), **by_tool())
    assert (await bench.say()).message.value == GOOD


async def test_a_service_that_refuses_the_schema_is_asked_by_tool(bench: Any, kept: Any) -> None:
    refused = Reply(status=400, body={"error": {"message": "response_format is not supported"}})
    bench.load(refused, calls("generate_response", response=GOOD), **native())
    outcome = await bench.say()
    assert outcome.message.value == GOOD
    assert "response_format" not in bench.model.requests[1].body
    assert [one.role for one in kept.messages] == ["user", "assistant"]


async def test_native_that_was_asked_for_does_not_fall_back(bench: Any) -> None:
    bench.load(
        Reply(status=400, body={"error": {"message": "response_format is not supported"}}),
        **native(structuredOutput="native"),
    )
    outcome = await bench.say()
    assert not outcome.ok
    assert len(bench.model.requests) == 1


async def test_any_json_object_will_do_without_a_schema(bench: Any) -> None:
    bench.load("[1]", '{"any": 1}', params={"responseFormat": "json_object"})
    outcome = await bench.say()
    assert outcome.message.value == {"any": 1}
    assert bench.model.requests[0].body["response_format"] == {"type": "json_object"}


async def test_nobody_who_listens_is_shown_an_attempt(bench: Any) -> None:
    shown: list[str] = []
    bench.engine.function("show")(lambda ctx, msg: shown.append(msg.text))
    bench.load(
        "no", dumps(GOOD), **native(),
        connections=[{"fromId": "agent", "toId": "show", "type": "Stream"}],
        nodes=[{"id": "show", "type": "functions", "configuration": {"functionName": "show"}}],
    )  # fmt: skip
    outcome = await bench.say(stream="true")
    assert outcome.message.value == GOOD
    assert "".join(shown) == dumps(GOOD)


async def test_at_a_limit_the_last_answer_has_to_fit_too(bench: Any) -> None:
    bench.engine.tool(lambda: "36", name="look")
    config = {"tools": ["look"], "maxRounds": 1, "onLimit": "answer"}
    bench.load(calls("look"), calls("generate_response", response=GOOD), **by_tool(**config))
    outcome = await bench.say()
    assert outcome.message.value == GOOD
    assert outcome.message.metadata["finish_reason"] == "max_iterations_reached"
    assert bench.model.requests[-1].tools == ["generate_response"]


async def test_a_result_that_is_the_answer_is_checked_too(bench: Any) -> None:
    bench.engine.tool(lambda: "just text", name="look")
    bench.load(calls("look"), **native(tools=[{"name": "look", "returnDirect": True}]))
    outcome = await bench.say()
    assert "the answer does not fit" in outcome.message.metadata["errorMsg"]


async def test_a_hook_that_changes_the_reply_changes_what_is_checked(bench: Any) -> None:
    from dataclasses import replace

    @bench.engine.agent_hook(at="chunk_model_call")
    def change(step: Any, piece: Any) -> Any:
        return replace(piece, content=piece.content.replace("Eve", "Ada"))

    bench.load('{"name": "Eve", "age": 36}', **native())
    assert (await bench.say()).message.value == GOOD


async def test_a_schema_with_references_is_checked_all_the_way(bench: Any) -> None:
    schema = {
        "$ref": "#/$defs/Tree",
        "$defs": {
            "Tree": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                },
                "required": ["size"],
            }
        },
    }
    deep = {"size": 1, "kids": [{"size": 2, "kids": [{"size": "three"}]}]}
    good = {"size": 1, "kids": [{"size": 2, "kids": [{"size": 3}]}]}
    bench.load(dumps(deep), dumps(good), params={"responseFormat": "json_schema", "jsonSchema": dumps(schema)})
    assert (await bench.say()).message.value == good
    assert "kids[0].kids[0].size" in bench.last[-1]["content"]


def test_a_reference_to_nothing_allows_nothing() -> None:
    assert inlined({"$ref": "#/$defs/none"}, 1) is False
    assert inlined({"$ref": "https://example.com/schema"}, 1) is False


def test_definitions_stay_where_references_find_them() -> None:
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}
    assert hoisted("response", schema)["$defs"] == {"A": {"type": "string"}}
    assert hoisted("response", schema)["properties"] == {"response": {"$ref": "#/$defs/A"}}


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"responseFormat": "json_schema"}, "responseFormat json_schema needs a jsonSchema"),
        ({"responseFormat": "json_schema", "jsonSchema": "{"}, "the schema of the answer is not JSON"),
    ],
)
async def test_a_schema_that_cannot_be_used_is_told_at_load(bench: Any, params: Any, text: Any) -> None:
    with pytest.raises(ChainInvalid, match=text):
        bench.load(params=params)


# With sessions


@pytest.mark.parametrize("form", [native(), by_tool()], ids=["native", "tool"])
async def test_the_present_conversation_is_answered_from_when_nothing_new_is_said(bench: Any, form: Any) -> None:
    answer = calls("generate_response", response=GOOD) if "structuredOutput" in form else dumps(GOOD)
    bench.load(answer, answer, session="s", **form)
    await bench.say("Ada is 36.")
    assert (await bench.say("")).message.value == GOOD
    assert [one["role"] for one in bench.last] == ["user", "assistant"]


async def test_a_session_keeps_no_attempts_and_no_reminders(bench: Any) -> None:
    from catenary_components.ai.sessions.memory import memory_of

    bench.load("Ada, 36", dumps(GOOD), "done", session="s", **native())
    await bench.say("who?")
    record: Any = (await memory_of(bench.engine).load("s")).value
    assert [one["role"] for one in record["messages"]] == ["user", "assistant"]
    assert record["messages"][1]["metadata"]["structured_output"] == GOOD


async def test_the_last_thoughts_stay_with_the_answer(bench: Any, kept: Any) -> None:
    bench.load(Reply(text="36", reasoning="a first thought"), Reply(text=dumps(GOOD), reasoning="so it is"), **native())
    await bench.say("who?")
    thoughts = [block.text for block in kept.messages[-1].blocks if type(block).__name__ == "ThinkingPart"]
    assert thoughts == ["so it is"]


async def test_an_answer_that_never_fits_leaves_the_question_in_the_session(bench: Any) -> None:
    bench.load("1", "2", "3", dumps(GOOD), session="s", **native())
    assert (await bench.say("who?")).status == "failed"
    assert (await bench.say("well?")).message.value == GOOD
    assert [one["content"] for one in bench.last if one["role"] != "system"][:2] == ["who?", "well?"]


async def test_a_stop_by_a_hook_asks_for_no_repair(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: step.stop(), at="after_reasoning")
    bench.load("no json", **native())
    outcome = await bench.say()
    assert (outcome.message.text, outcome.message.metadata["finish_reason"]) == ("no json", "stopped")

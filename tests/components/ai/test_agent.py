"""`ai/agent` without a stream: what goes in, what comes out, what goes wrong."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from catenary import ChainInvalid, Engine
from catenary.testing import Reply, ToolCall, calls, dropped, mock, server_error, too_many_requests
from catenary.testing.model import ScriptedModel

if TYPE_CHECKING:
    from catenary import Outcome


def failed(outcome: Outcome) -> tuple[str, dict[str, Any]]:
    (end,) = outcome.ends
    assert (end.relation, outcome.status) == ("Failure", "failed")
    return end.message.text, dict(end.message.metadata)


async def test_the_answer_is_text_with_model_and_tokens(bench: Any) -> None:
    bench.load(Reply(text="hello", usage={"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}))
    (end,) = (await bench.say(kept="yes")).ends
    assert (end.relation, end.message.data, end.message.data_type) == ("Success", "hello", "TEXT")
    metadata = end.message.metadata
    assert {key: metadata[key] for key in ("model", "prompt_tokens", "completion_tokens", "total_tokens")} == {
        "model": "m",
        "prompt_tokens": "5",
        "completion_tokens": "2",
        "total_tokens": "7",
    }
    assert metadata["cached_tokens"] == "0"
    assert metadata["kept"] == "yes"
    assert (metadata["steps"], metadata["tool_calls"]) == ("1", "0")
    assert "full_content" not in metadata


async def test_without_counts_there_are_no_token_keys(bench: Any) -> None:
    bench.load(Reply(text="hello", usage={}))
    (end,) = (await bench.say()).ends
    assert not [key for key in end.message.metadata if key.endswith("_tokens")]


async def test_reasoning_is_told_beside_the_answer(bench: Any) -> None:
    bench.load(Reply(text="hello", reasoning="be kind"))
    assert (await bench.say()).message.metadata["reasoning_content"] == "be kind"


async def test_only_what_the_chain_sets_is_sent(bench: Any) -> None:
    bench.load("ok")
    await bench.say()
    assert bench.model.requests[0].body == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def test_parameters_are_sent_under_their_names(bench: Any) -> None:
    params = {
        "temperature": 0,
        "topP": 0.5,
        "presencePenalty": 0.1,
        "frequencyPenalty": 0,
        "maxTokens": "600",
        "stop": ["END"],
        "extraFields": {"thinking.type": "off", "seed": 7},
    }
    bench.load("ok", params=params)
    await bench.say()
    body = bench.model.requests[0].body
    del body["messages"], body["model"]
    assert body == {
        "temperature": 0,
        "top_p": 0.5,
        "presence_penalty": 0.1,
        "frequency_penalty": 0,
        "max_completion_tokens": 600,
        "stop": ["END"],
        "thinking": {"type": "off"},
        "seed": 7,
    }


async def test_no_limit_of_tokens_is_sent_for_zero(bench: Any) -> None:
    bench.load("ok", params={"maxTokens": 0})
    await bench.say()
    assert "max_completion_tokens" not in bench.model.requests[0].body


async def test_the_prompt_is_a_template(bench: Any) -> None:
    bench.load("ok", systemPrompt="You work in ${global.site} on ${msg} for ${who}${missing}.")
    await bench.say("bolts", who="Ada")
    assert bench.last[0] == {"role": "system", "content": "You work in Hull on bolts for Ada."}


async def test_a_failing_prompt_is_a_failure(bench: Any) -> None:
    bench.load("ok", systemPrompt="Hello ${1 / msg.zero}", messages=[])
    text, metadata = failed(await bench.say({"zero": "x"}, "JSON"))
    assert metadata["errorMsg"] == f"node 'agent': {text}"
    assert not bench.model.requests


async def test_url_key_and_model_are_trimmed(bench: Any) -> None:
    bench.load("ok", url=f" {bench.url}/v1/ ", key=" k ", model=" big ")
    outcome = await bench.say()
    assert outcome.message.metadata["model"] == "big"
    assert bench.model.requests[0].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("url", ["", "  ", None])
def test_a_missing_url_is_refused_at_load(url: str | None) -> None:
    with Engine() as engine, pytest.raises(ChainInvalid, match="URL is missing"):
        engine.load(chain_with(url=url))


@pytest.mark.parametrize("url", ["api.example.com/v1", "ftp://api.example.com"])
def test_an_address_without_its_scheme_is_refused_at_load(url: str) -> None:
    with Engine() as engine, pytest.raises(ChainInvalid, match="url must begin with http:// or https://"):
        engine.load(chain_with(url=url))


def test_all_that_is_wrong_is_told_at_once_tools_included() -> None:
    tools = [{"type": "magic"}, {"type": "rulechain", "name": "stock"}]
    with Engine() as engine, pytest.raises(ChainInvalid) as raised:
        engine.load(chain_with(url="x", maxStep="many", tools=tools))
    assert [problem.code for problem in raised.value.problems] == ["config.invalid"] * 4


@pytest.mark.parametrize("field", ["url", "key", "model"])
def test_a_placeholder_nobody_set_is_refused_at_load(field: str) -> None:
    config = {"url": "http://127.0.0.1:1", field: "${global.models.providers.default.base_url}"}
    with Engine() as engine, pytest.raises(ChainInvalid) as raised:
        engine.load(chain_with(**config))
    what = "URL is missing" if field == "url" else f"the {field} is missing"
    assert f"{what}: ${{global.models.providers.default.base_url}} is not set" in str(raised.value)


def test_checking_does_not_need_the_properties() -> None:
    with Engine() as engine:
        problems = engine.check(chain_with(url="${global.u}", key="${global.k}", model="${global.m}"))
    assert not [problem for problem in problems if problem.severity == "error"]


def test_wrong_settings_are_all_told() -> None:
    config = {"url": "http://127.0.0.1:1", "params": {"temperature": "hot"}, "onLimit": "stop", "messages": [{}]}
    with Engine() as engine, pytest.raises(ChainInvalid) as raised:
        engine.load(chain_with(**config))
    text = str(raised.value)
    assert "temperature" in text
    assert "onLimit" in text
    assert "role" in text


def chain_with(**config: Any) -> dict[str, Any]:
    return {
        "ruleChain": {"id": "c"},
        "metadata": {"nodes": [{"id": "agent", "type": "ai/agent", "configuration": config}], "connections": []},
    }


async def test_a_failure_has_the_error_as_data_and_in_parts(bench: Any) -> None:
    bench.load(Reply(status=400, body={"error": {"message": "bad"}}))
    text, metadata = failed(await bench.say())
    assert text == "error, status code: 400, status: 400 Bad Request, message: bad"
    assert metadata["errorMsg"] == text
    assert (metadata["status"], metadata["attempts"]) == ("400", "1")
    assert metadata["endpoint"] == urlsplit(bench.url).netloc
    assert "stream_completed" not in metadata


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_failure_has_what_came_in_when_that_is_asked_for(bench: Any, stream: str) -> None:
    bench.load(Reply(status=400), Reply(status=400), keepInput=True)
    for data, text in (("how many?", "how many?"), ({"a": 1}, '{"a":1}')):
        outcome = await bench.say(data, "TEXT" if data == text else "JSON", stream=stream)
        assert {end.message.metadata["input_data"] for end in outcome.ends} == {text}
    bench.engine.remove("c")
    bench.load(Reply(status=400))
    assert "input_data" not in (await bench.say(stream=stream)).message.metadata


async def test_a_retryable_failure_is_tried_again(bench: Any) -> None:
    bench.load(too_many_requests(retry_after=7), server_error(503), dropped(), "at last")
    outcome = await bench.say()
    assert outcome.message.data == "at last"
    assert bench.clock.slept[0] == 7
    assert 1 <= bench.clock.slept[1] < 3
    assert 2 <= bench.clock.slept[2] < 6


async def test_exhausted_tries_are_told(bench: Any) -> None:
    bench.load(*[server_error()] * 3, maxRetries=2)
    text, metadata = failed(await bench.say())
    assert text.startswith("Generate failed after 3 attempts: error, status code: 500")
    assert (metadata["attempts"], metadata["status"]) == ("3", "500")


async def test_no_retries_means_one_attempt(bench: Any) -> None:
    bench.load(server_error(), "never", maxRetries=0)
    text, _ = failed(await bench.say())
    assert text.startswith("Generate failed after 1 attempts: ")
    assert len(bench.model.requests) == 1


async def test_retries_below_zero_mean_three(bench: Any) -> None:
    bench.load(*[server_error()] * 4, maxRetries=-1)
    assert failed(await bench.say())[1]["attempts"] == "4"


async def test_a_service_that_is_not_there_is_a_failure_without_status(bench: Any) -> None:
    bench.load(url="http://127.0.0.1:9", maxRetries=0)
    text, metadata = failed(await bench.say())
    assert "nothing listens there" in text
    assert metadata["endpoint"] == "127.0.0.1:9"
    assert "status" not in metadata


async def test_the_key_is_in_no_error(bench: Any) -> None:
    bench.load(Reply(status=401, body={"error": "no such key: sk-1234567890abcdef"}))
    outcome = await bench.say()
    assert "sk-1****cdef" in outcome.message.text
    assert "sk-1234567890abcdef" not in repr(outcome) + str(outcome.error) + json.dumps(outcome.message.to_dict())


async def test_an_answer_without_choices_is_a_failure(bench: Any) -> None:
    bench.load(Reply(body={"choices": []}))
    assert failed(await bench.say())[0].startswith("the model's reply has no choices")


async def test_the_session_chooses_the_model(bench: Any) -> None:
    bench.load("a", "b", "c", params={"extraFields": {"seed": 1, "x.y": 1}})
    outcome = await bench.say(session_model=" big ", session_extra_fields='{"x.z": 2, "seed": 3}')
    await bench.say(session_model=" ")
    assert outcome.message.metadata["model"] == "big"
    first, second = (request.body for request in bench.model.requests)
    assert (first["model"], first["seed"], first["x"]) == ("big", 3, {"y": 1, "z": 2})
    assert (second["model"], second["seed"], second["x"]) == ("m", 1, {"y": 1})


@pytest.mark.parametrize("fields", ["[1]", "{half"])
async def test_session_fields_that_are_no_object_are_a_failure(bench: Any, fields: str) -> None:
    bench.load("a")
    assert failed(await bench.say(session_extra_fields=fields))[0].startswith(
        "metadata session_extra_fields is not a JSON object"
    )


async def test_cancelling_a_run_closes_the_call(bench: Any) -> None:
    asked = threading.Event()

    def answer(_request: object) -> Reply:
        asked.set()
        return Reply(text="late", delay_s=600)

    bench.load(answer)
    task = asyncio.create_task(bench.say())
    await asyncio.to_thread(asked.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(bench.model.requests[0].wait_disconnected)


async def test_a_model_may_be_played_in_this_process() -> None:
    with mock("agent-test", ScriptedModel(["hello"])) as url:
        async with Engine() as engine:
            engine.load(chain_with(url=url, model="m"))
            assert (await engine.run("c", "hi")).message.data == "hello"


async def test_messages_do_not_share_a_conversation(bench: Any) -> None:
    bench.load(default := Reply(text="ok"), default)
    await asyncio.gather(bench.say("one"), bench.say("two"))
    assert sorted(request.user_text for request in bench.model.requests) == ["one", "two"]
    assert all(len(request.messages) == 1 for request in bench.model.requests)


def test_it_runs_without_a_loop_of_the_callers() -> None:
    with mock("agent-sync", ScriptedModel(["hello"])) as url, Engine() as engine:
        engine.load(chain_with(url=url, model="m"))
        assert engine.run_sync("c", "hi").message.data == "hello"


async def test_events_tell_what_happens(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    reply = Reply(text="Look.", reasoning="hm", tool_calls=[ToolCall("ping"), ToolCall("pong", "{half")])
    bench.load(reply, calls("ping"), "done", tools=["ping"])
    seen = [
        (event.name, dict(event.data))
        async for event in bench.engine.stream("c", "hi")
        if event.name.split(".")[0] in ("content", "reasoning", "tool", "usage")
    ]
    blocks = [name for name, _ in seen if name.endswith((".start", ".end")) and not name.startswith("tool")]
    assert blocks == [
        "reasoning.start", "reasoning.end", "content.start", "content.end", "content.start", "content.end",
    ]  # fmt: skip
    seen = [(name, data) for name, data in seen if not name.endswith((".start", ".end")) or name == "tool.start"]
    assert [name for name, _ in seen] == [
        "reasoning.delta", "content.delta", "usage", "tool.start", "tool.args", "tool.run", "tool.start", "tool.args",
        "tool.result", "tool.result", "usage", "tool.start", "tool.args", "tool.run", "tool.result", "content.delta",
        "usage",
    ]  # fmt: skip
    assert seen[0][1]["delta"] == "hm"
    assert seen[1][1]["delta"] == "Look."
    assert seen[1][1]["contentId"] != seen[-2][1]["contentId"]
    assert seen[3][1]["toolName"] == "ping"
    assert seen[3][1]["toolParams"] == {}
    assert (seen[6][1]["toolType"], seen[6][1]["toolParams"]) == ("unknown", "{half")
    results = {data["toolId"]: (data["result"], data["isError"]) for name, data in seen if name == "tool.result"}
    assert results[seen[3][1]["toolId"]] == ("pong", False)
    assert results[seen[6][1]["toolId"]][1] is True
    assert seen[2][1] == {
        "model": "m",
        "promptTokens": 10,
        "completionTokens": 3,
        "totalTokens": 13,
        "cachedTokens": 0,
    }


def test_options_of_the_field_that_are_not_there_are_told() -> None:
    with Engine() as engine:
        problems = engine.check(chain_with(url="http://127.0.0.1:1", failOver=[], brain=1, streamToolCallCheck="drain"))
    assert [(problem.severity, "'brain'" in problem.text) for problem in problems] == [("warning", True)]


async def test_without_a_model_the_service_chooses(bench: Any) -> None:
    bench.load("ok", model="")
    await bench.say()
    assert "model" not in bench.model.requests[0].body


async def test_closing_an_agent_twice_is_fine() -> None:
    async with Engine() as engine:
        chain = engine.load(chain_with(url="http://127.0.0.1:1"))
        await chain.close()
        await chain.close()


def test_the_key_is_not_shown_by_a_chain() -> None:
    with Engine({"k": "sk-1234567890abcdef"}) as engine:
        chain = engine.load(chain_with(url="http://127.0.0.1:1", key="${global.k}"))
        component = chain.compiled.by_id["agent"].component
        shown = repr(chain) + repr(chain.to_dict()) + repr(component.config) + component.config.model_dump_json()
    assert "sk-1234567890abcdef" not in shown
    assert "sk-1****cdef" in shown


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"systemPrompt": "Be ${include('/etc/x')}"},
            "systemPrompt: expression \"include('/etc/x')\", line 1, column 6:",
        ),
        ({"messages": [{"role": "user", "content": "${include('/etc/x')}"}]}, "content: expression"),
    ],
)
async def test_a_template_that_fails_names_its_option(bench: Any, config: dict[str, Any], text: str) -> None:
    bench.load("ok", **config)
    outcome = await bench.say()
    assert outcome.message.text.startswith(text)
    assert not bench.model.requests

"""The models of an agent: named with their provider, tried again, replaced by others, paid for."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from catenary import ChainInvalid, Engine, Message
from catenary.testing import (
    FakeClock,
    RecordingApi,
    Reply,
    ScriptedModel,
    ToolCall,
    calls,
    mock,
    server_error,
    too_many_requests,
)
from catenary.testing.api import Answer
from catenary_components.ai.messages import Usage
from catenary_components.ai.models.registry import register_model
from catenary_components.ai.models.types import ChatRequest, Piece
from catenary_components.ai.models.types import Reply as ModelReply
from catenary_components.ai.phases._calls import stopped_by
from catenary_components.ai.state import AgentState, StopFlag

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from catenary.jsontext import Json


def chain_with(**config: Json) -> Json:
    agent = {"id": "agent", "type": "ai/agent", "configuration": config}
    return {"ruleChain": {"id": "c", "name": "C"}, "metadata": {"nodes": [agent], "connections": []}}


def events(engine: Engine, *names: str) -> list[dict[str, Any]]:
    heard: list[dict[str, Any]] = []

    def listen(event: Any) -> None:
        if event.name in names:
            heard.append({"name": event.name, **event.data})

    engine.subscribe(listen)
    return heard


async def test_a_model_with_its_provider_is_enough(outlet: Any) -> None:
    outlet.app = ScriptedModel(["hello"])
    environ = {"OPENAI_API_KEY": "sk-from-environ", "OPENAI_BASE_URL": f"{outlet.url}/v1"}
    async with Engine(environ=environ) as engine:
        engine.load(chain_with(model="openai:gpt-4o"))
        outcome = await engine.run("c", Message("hi", data_type="TEXT"))
    (request,) = outlet.app.requests
    assert (outcome.message.text, outcome.message.metadata["model"]) == ("hello", "gpt-4o")
    assert (request.path, request.body["model"]) == ("/v1/chat/completions", "gpt-4o")
    assert request.headers["authorization"] == "Bearer sk-from-environ"


async def test_anthropic_is_spoken_to_in_its_format_through_a_round_of_tools(outlet: Any) -> None:
    outlet.app = ScriptedModel([Reply(reasoning="hm", tool_calls=[ToolCall("stock", {"sku": "bolt"})]), "120 bolts"])
    environ = {"ANTHROPIC_API_KEY": "sk-ant-0123456789", "ANTHROPIC_BASE_URL": outlet.url}
    async with Engine(environ=environ) as engine:

        @engine.tool
        def stock(sku: str) -> int:
            """How many there are."""
            return len(sku) * 30

        engine.load(chain_with(model="anthropic:claude-sonnet-4-5", systemPrompt="S", tools=["stock"]))
        outcome = await engine.run("c", Message("bolts?", data_type="TEXT", metadata={"stream": "true"}))
    last = outlet.app.requests[-1]
    assert outcome.message.text == "120 bolts"
    assert [request.path for request in outlet.app.requests] == ["/v1/messages"] * 2
    assert (last.system_text, last.tools) == ("S", ["stock"])
    assert last.messages[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "signed"}
    assert last.messages[2]["content"][0]["content"] == [{"type": "text", "text": "120"}]
    assert float(outcome.message.metadata["cost"]) == pytest.approx((20 * 3 + 3 * 15) / 1e6)


def test_a_missing_key_is_told_when_the_chain_is_loaded() -> None:
    with Engine(environ={}) as engine, pytest.raises(ChainInvalid, match="set the environment variable OPENAI_API_KEY"):
        engine.load(chain_with(model="openai:gpt-4o"))


def test_an_unknown_provider_is_told_at_load() -> None:
    with Engine() as engine, pytest.raises(ChainInvalid, match="URL is missing"):
        engine.load(chain_with(model="opnai:gpt-4o"))


async def test_a_key_of_the_environment_is_seen_nowhere(outlet: Any) -> None:
    secret = "sk-environ-secret-1"
    outlet.app = ScriptedModel([Reply(status=401, body={"error": {"message": f"bad key {secret}"}})])
    environ = {"OPENAI_API_KEY": secret, "OPENAI_BASE_URL": outlet.url}
    async with Engine(environ=environ) as engine:
        engine.load(chain_with(model="openai:gpt-4o", maxRetries=0))
        heard = events(engine, "model.start", "model.end")
        outcome = await engine.run("c", Message("hi", data_type="TEXT"))
    assert secret not in json.dumps(heard) + outcome.ends[0].message.text + str(outcome.ends[0].message.metadata)


async def test_one_model_call_is_one_pair_of_events(bench: Any) -> None:
    @bench.engine.tool
    def ping() -> str:
        """Ping."""
        return "pong"

    bench.load(calls("ping"), "ok", tools=["ping"])
    heard = events(bench.engine, "model.start", "model.end")
    await bench.say(stream="true")
    assert [event["name"] for event in heard] == ["model.start", "model.end"] * 2
    assert heard[0]["model"] == "m"
    assert (heard[1]["finishReason"], heard[1]["toolCalls"], heard[1]["totalTokens"]) == ("tool_calls", 1, 11)
    assert heard[1]["ms"] >= 0


async def test_a_call_that_fails_ends_its_pair_too_and_each_retry_is_told(bench: Any) -> None:
    bench.load(too_many_requests(retry_after=7), server_error(), maxRetries=1)
    heard = events(bench.engine, "model.start", "model.retry", "model.end")
    await bench.say()
    assert [event["name"] for event in heard] == ["model.start", "model.retry", "model.end"]
    assert (heard[1]["waitMs"], heard[1]["kind"], heard[1]["attempt"]) == (7000, "rate_limit", 1)
    assert (heard[2]["finishReason"], heard[2]["kind"], heard[2]["status"]) == ("error", "server_error", 500)
    assert heard[2]["attempts"] == 2


async def test_a_backup_answers_and_its_tokens_are_counted_by_its_name(bench: Any) -> None:
    bench.load(server_error(), "from the backup", maxRetries=0, failover=[{"model": "spare", "params": {"topP": 0.5}}])
    heard = events(bench.engine, "model.failover", "model.end")
    outcome = await bench.say(stream="true")
    assert outcome.message.text == "from the backup"
    assert [request.body["model"] for request in bench.model.requests] == ["m", "spare"]
    assert bench.model.requests[1].body["top_p"] == 0.5
    assert bench.model.requests[1].headers["authorization"] == "Bearer sk-1234567890abcdef"
    assert [event["name"] for event in heard] == ["model.failover", "model.end"]
    assert heard[1]["model"] == "spare"
    agent = bench.engine.chains["c"].compiled.by_id["agent"].component
    assert [(state.model, state.state, state.calls, state.failures) for state in agent.endpoints] == [
        ("m", "open", 1, 1),
        ("spare", "closed", 1, 0),
    ]


async def test_the_tokens_of_each_model_are_told_when_several_have_answered(bench: Any) -> None:
    bench.engine.tool(lambda: "pong", name="ping")
    first = Reply(tool_calls=[ToolCall("ping")], usage={"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6})
    last = Reply(text="ok", usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})
    bench.load(first, server_error(), last, maxRetries=0, tools=["ping"], failover=[{"model": "spare"}])
    metadata = (await bench.say()).message.metadata
    by_model = json.loads(metadata["usage_by_model"])
    assert {name: counts["total_tokens"] for name, counts in by_model.items()} == {"m": "6", "spare": "9"}
    assert (metadata["total_tokens"], metadata["last_total_tokens"]) == ("15", "9")

    bench.model.add("alone")
    assert "usage_by_model" not in (await bench.say()).message.metadata


async def test_while_a_circuit_is_open_its_service_is_not_asked(bench: Any) -> None:
    bench.load(server_error(), "one", "two", maxRetries=0, failover=[{"model": "spare"}])
    await bench.say()
    await bench.say()
    assert [request.body["model"] for request in bench.model.requests] == ["m", "spare", "spare"]


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize(
    ("status", "text"),
    [(401, "no"), (403, "no"), (400, "Unauthorized"), (400, "invalid_api_key: x"), (429, "slow down"), (500, "broken")],
)
async def test_a_service_that_refuses_the_key_or_cannot_answer_has_its_backup_asked(
    bench: Any, stream: str, status: int, text: str
) -> None:
    refusal = Reply(status=status, body={"error": {"message": text}})
    bench.load(refusal, "from the backup", maxRetries=0, failover=[{"model": "spare"}])
    assert (await bench.say(stream=stream)).message.text == "from the backup"


async def test_a_refused_request_goes_to_no_backup(bench: Any) -> None:
    bench.load(Reply(status=400, body={"error": "no"}), "never", failover=[{"model": "spare"}])
    assert (await bench.say()).status == "failed"
    assert len(bench.model.requests) == 1


@pytest.mark.parametrize(("mode", "text"), [("full", "all is well"), ("off", "")])
async def test_a_late_break_goes_to_a_backup_only_where_replies_are_held_back(bench: Any, mode: str, text: str) -> None:
    broken = Reply(text="a b c d e f g", drop_after=6)
    bench.load(broken, "all is well", maxRetries=0, streamRetryMode=mode, failover=[{"model": "spare"}])
    outcome = await bench.say(stream="true")
    assert (outcome.message.text if outcome.ok else "", len(bench.model.requests)) == (text, 2 if text else 1)


async def test_each_service_has_all_its_tries_before_the_next_one_is_asked(bench: Any) -> None:
    bench.load(*[server_error()] * 4, "ok", maxRetries=1, failover=[{"model": "b"}, {"model": "c"}])
    assert (await bench.say()).message.text == "ok"
    assert [request.body["model"] for request in bench.model.requests] == ["m", "m", "b", "b", "c"]


async def test_a_backup_keeps_its_model_and_its_parameters_though_a_message_chose_another(bench: Any) -> None:
    backups = [{"model": "spare", "params": {"topP": 0.5}}]
    bench.load(server_error(), "ok", maxRetries=0, params={"temperature": 0.1, "seed": 4}, failover=backups)
    await bench.say(session_model="big", session_extra_fields='{"x": 1}')
    first, second = (request.body for request in bench.model.requests)
    assert (first["model"], first["seed"], first["x"]) == ("big", 4, 1)
    assert (second["model"], second["top_p"]) == ("spare", 0.5)
    assert second.keys().isdisjoint({"temperature", "seed", "x"})


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_chosen_model_that_cannot_be_asked_leaves_the_nodes_own(
    bench: Any, caplog: pytest.LogCaptureFixture, stream: str
) -> None:
    bench.load("ok")
    heard = events(bench.engine, "model.fallback")
    outcome = await bench.say(session_model="anthropic:claude-opus-5", stream=stream)
    assert (outcome.message.text, outcome.message.metadata["model"]) == ("ok", "m")
    assert (heard[0]["model"], heard[0]["fallback"]) == ("anthropic:claude-opus-5", "m")
    assert "ANTHROPIC_API_KEY" in heard[0]["error"]
    assert any("a message chose" in record.message for record in caplog.records)


async def test_tools_are_offered_to_a_chosen_model_too(bench: Any) -> None:
    @bench.engine.tool
    def ping() -> str:
        """Ping."""
        return "pong"

    bench.load(calls("ping"), "ok", tools=["ping"])
    assert (await bench.say(session_model="big")).message.text == "ok"
    assert [(request.body["model"], request.tools) for request in bench.model.requests] == [("big", ["ping"])] * 2


async def test_retries_may_be_counted_by_what_went_wrong(bench: Any) -> None:
    bench.load(*[server_error()] * 3, too_many_requests(), "never", retriesByError={"serverError": 5, "rateLimit": 0})
    text = (await bench.say()).ends[0].message.text
    assert text.startswith("Generate failed after 4 attempts: error, status code: 429")


async def test_the_longest_wait_a_service_may_ask_for_can_be_chosen(bench: Any) -> None:
    bench.load(too_many_requests(retry_after=500), "ok", retryAfterLimit=7)
    heard = events(bench.engine, "model.retry")
    await bench.say()
    assert heard[0]["waitMs"] == 7000


@pytest.mark.parametrize(("config", "requests"), [({"streamProbe": 1}, 1), ({}, 2)])
async def test_how_much_of_a_stream_is_held_back_can_be_chosen(bench: Any, config: Any, requests: int) -> None:
    bench.load(Reply(text="a b c d", drop_after=2), "ok", **config)
    await bench.say(stream="true")
    assert len(bench.model.requests) == requests


async def test_the_fallback_model_answers_after_a_refusal(bench: Any) -> None:
    with mock("spare-tank", ScriptedModel(["spare"])):
        bench.load(Reply(status=400, body={"error": "no"}), fallbackModel="mock:spare-tank")
        assert (await bench.say()).message.text == "spare"


async def test_only_allowed_models_can_be_chosen(bench: Any) -> None:
    bench.load("a", "b", allowedModels=["m-*"])
    assert (await bench.say(session_model="m-big")).message.metadata["model"] == "m-big"
    refused = await bench.say(session_model="other")
    assert refused.ends[0].message.text == "the model 'other' is not allowed here; allowed: m-*"
    assert (await bench.say(session_model="m")).message.text == "b"
    assert len(bench.model.requests) == 2


async def test_a_message_may_choose_a_model_of_another_provider(bench: Any) -> None:
    with mock("elsewhere", ScriptedModel(["from elsewhere"])):
        bench.load()
        outcome = await bench.say(session_model="mock:elsewhere")
    assert outcome.message.text == "from elsewhere"
    assert not bench.model.requests


async def test_the_cost_of_a_run_is_the_sum_of_its_calls(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("models: {m: {input: 1000, output: 2000}}")
    bench.engine.environ = {"CATENARY_PRICES": str(tmp_path / "prices.yaml")}
    bench.load("ok")
    heard = events(bench.engine, "model.end")
    assert (await bench.say()).message.metadata["cost"] == "0.012"
    assert heard[0]["cost"] == 0.012


async def test_the_path_of_a_call_can_be_another_one(outlet: Any) -> None:
    api = RecordingApi([Answer(body={"choices": [{"message": {"content": "ok"}}]})])
    outlet.app = api
    async with Engine() as engine:
        engine.load(chain_with(url=f"{outlet.url}/base/", model="m", endpointPath="/deep/chat"))
        assert (await engine.run("c", Message("hi", data_type="TEXT"))).message.text == "ok"
        shown = engine.chains["c"].compiled.by_id["agent"].component.preview(None, Message("hi", data_type="TEXT"))
    assert api.requests[0].path == "/base/deep/chat"
    assert shown["url"] == f"{outlet.url}/base/deep/chat"


@pytest.mark.parametrize("url", ["foo", "http://", "http://[::1", "ftp://x.example"])
@pytest.mark.parametrize("is_backup", [False, True])
def test_an_address_that_is_none_is_told_at_load(url: str, is_backup: bool) -> None:
    config = {"url": "http://127.0.0.1:1", "failover": [{"url": url}]} if is_backup else {"url": url}
    place = "failover.0.url" if is_backup else "url"
    with Engine() as engine, pytest.raises(ChainInvalid, match=f"'agent' .ai/agent.: {place} "):
        engine.load(chain_with(model="m", **config))


async def test_what_stands_behind_a_question_mark_in_an_address_stays_there(outlet: Any) -> None:
    api = RecordingApi([Answer(body={"choices": [{"message": {"content": "ok"}}]})])
    outlet.app = api
    async with Engine() as engine:
        params = {"extraQuery": {"b": "2"}}
        engine.load(chain_with(url=f"{outlet.url}/v1/?api-version=1", model="m", params=params))
        assert (await engine.run("c", Message("hi", data_type="TEXT"))).message.text == "ok"
    assert (api.requests[0].path, api.requests[0].query) == ("/v1/chat/completions", {"api-version": "1", "b": "2"})


async def test_a_model_without_a_price_has_no_cost(bench: Any) -> None:
    bench.load("ok")
    assert "cost" not in (await bench.say()).message.metadata


async def test_a_wrong_file_of_prices_is_told_at_load(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("models: 5")
    async with Engine(roots=[tmp_path]) as engine:
        with pytest.raises(ChainInvalid, match="must have `models`"):
            engine.load(chain_with(url="http://127.0.0.1:1", prices="p.yaml"))


async def test_requests_of_a_run_begin_with_the_same_bytes(bench: Any) -> None:
    bench.load("one", systemPrompt="You work in ${global.site}.")
    await bench.say({"messages": [{"role": "user", "content": "a"}]}, "JSON")
    bench.model.add("two")
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "one"}, {"role": "user", "content": "b"}]
    await bench.say({"messages": said}, "JSON")
    first, second = (json.dumps(request.messages) for request in bench.model.requests)
    assert second.startswith(first[:-1])


async def test_calls_and_results_of_the_input_are_paired_before_they_are_sent(bench: Any) -> None:
    bench.load("ok")
    call = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    said = [{"role": "tool", "tool_call_id": "x", "content": "?"}, {"role": "assistant", "tool_calls": [call]}]
    await bench.say({"messages": [*said, {"role": "user", "content": "hi"}]}, "JSON")
    assert [message["role"] for message in bench.last] == ["assistant", "tool", "user"]


async def test_a_model_that_does_not_see_is_told_of_pictures(bench: Any) -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
        {"type": "text", "text": "here"},
    ]
    bench.load("ok", "ok", vision=False)
    await bench.say({"messages": [{"role": "user", "content": parts}]}, "JSON")
    assert [part["text"] for part in bench.last[0]["content"]] == [
        "look",
        "[a picture: https://x.example/a.png]",
        "here",
    ]


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_call_written_as_text_is_run_when_that_is_asked_for(bench: Any, stream: str) -> None:
    asked: list[str] = []

    @bench.engine.tool
    def look_up(sku: str) -> str:
        """Look up."""
        asked.append(sku)
        return "120"

    written = '{"name": "look_up", "arguments": {"sku": "bolt"}}'
    bench.load(written, "120 bolts", written, tools=["look_up"], readCallsInText=True)
    assert (await bench.say(stream=stream)).message.text == "120 bolts"
    assert asked == ["bolt"]


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_thoughts_between_tags_are_no_answer(bench: Any, stream: str) -> None:
    bench.load("<think>so\nso</think>\n\nYes.", params={})
    outcome = await bench.say(stream=stream)
    assert (outcome.message.text, outcome.message.metadata["reasoning_content"]) == ("Yes.", "so\nso")


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_thoughts_between_tags_stay_where_they_are_when_that_is_asked_for(bench: Any, stream: str) -> None:
    bench.load("<think>so</think>\n\nYes.", params={"keepThink": True})
    outcome = await bench.say(stream=stream)
    assert outcome.message.text == "<think>so</think>\n\nYes."
    assert "reasoning_content" not in outcome.message.metadata


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_service_that_was_too_slow_is_asked_again(bench: Any, stream: str) -> None:
    bench.load(Reply(text="late", delay_s=600), *["in time"] * 20, firstByteTimeout=0.5, maxRetries=20)
    heard = events(bench.engine, "model.retry")
    assert (await bench.say(stream=stream)).message.text == "in time"
    assert heard[0]["kind"] == "network"


async def test_members_of_the_body_change_neither_the_model_nor_its_parameters(bench: Any) -> None:
    bench.load("ok", params={"seed": 1})
    body = {"model": "other", "tools": [{"x": 1}], "params": {"seed": 2}, "seed": 3, "stream": True}
    await bench.say({"messages": [{"role": "user", "content": "hi"}], **body}, "JSON")
    sent = bench.model.requests[0].body
    assert (sent["model"], sent["seed"]) == ("m", 1)
    assert sent.keys() == {"model", "messages", "seed"}


async def test_tools_are_offered_in_the_order_of_the_list(bench: Any) -> None:
    for tool in (zeta, alpha, mid):
        bench.engine.tool(tool)
    bench.load("ok", tools=["zeta", "alpha", "mid"])
    await bench.say()
    assert bench.model.requests[0].tools == ["zeta", "alpha", "mid"]


def zeta() -> None:
    """Nothing."""


def alpha() -> None:
    """Nothing."""


def mid() -> None:
    """Nothing."""


async def test_a_service_that_does_not_begin_to_answer_is_given_up(bench: Any) -> None:
    bench.load(Reply(text="late", delay_s=600), firstByteTimeout=0.05, maxRetries=0)
    text = (await bench.say(stream="true")).ends[-1].message.text
    assert "did not begin to answer within 0.05 s" in text


async def test_a_service_to_which_no_connection_comes_about_is_given_up(bench: Any) -> None:
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # the queue of connections is full then, and no further one is answered
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        bench.load(url=url, connectTimeout=0.1, firstByteTimeout=600, silenceTimeout=600, maxRetries=0)
        outcome = await asyncio.wait_for(bench.say(), 15)
    assert (outcome.status, outcome.ends[-1].relation) == ("failed", "Failure")


async def test_a_service_may_be_silent_for_longer_before_it_begins(bench: Any) -> None:
    slow = Reply(pieces=["a", "b"], delay_s=0.2, piece_delay_s=600)
    bench.load(slow, firstByteTimeout=600, silenceTimeout=0.05, maxRetries=0, streamRetryMode="off")
    text = (await bench.say(stream="true")).ends[-1].message.text
    assert "did not go on within 0.05 s" in text


async def test_a_call_may_not_take_longer_than_its_total_time(bench: Any) -> None:
    bench.load(Reply(text="late", delay_s=600), totalTimeout=0.05, maxRetries=0)
    assert "took longer than 0.05 s" in (await bench.say()).ends[0].message.text


@pytest.mark.parametrize("reply", [server_error(), Reply(text="late", delay_s=600)])
@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_stop_ends_the_wait_for_a_model(outlet: Any, reply: Reply, stream: str) -> None:
    states: list[AgentState] = []
    outlet.app = ScriptedModel([reply], default=reply)
    async with Engine(clock=FakeClock()) as engine:  # whose waits before another try never end
        engine.load(chain_with(url=outlet.url, key="k", model="m"))

        def stop_soon(event: Any) -> None:
            if event.name == "model.retry" or (event.name == "model.start" and reply.delay_s):
                threading.Timer(0.02, states[-1].stop.set).start()

        engine.subscribe(stop_soon)
        run = engine.run("c", Message("hi", data_type="TEXT", metadata={"stream": stream}))
        with pytest.MonkeyPatch.context() as patch:
            made = AgentState.__init__

            def note(state: AgentState, *args: Any, **fields: Any) -> None:
                made(state, *args, **fields)
                states.append(state)

            patch.setattr(AgentState, "__init__", note)
            outcome = await asyncio.wait_for(run, 10)
    assert outcome.message.metadata["finish_reason"] == "stopped"


@pytest.mark.parametrize(
    ("model", "url", "place"),
    [
        ("openai:gpt-4o", "https://api.openai.com/v1/chat/completions", "messages"),
        ("anthropic:claude", "https://api.anthropic.com/v1/messages", "system"),
    ],
)
def test_what_would_be_sent_is_shown_as_its_provider_gets_it(model: str, url: str, place: str) -> None:
    environ = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    with Engine(environ=environ) as engine:
        chain = engine.load(chain_with(model=model, systemPrompt="S", params={"maxTokens": 5}))
        shown = chain.compiled.by_id["agent"].component.preview(None, Message("hi", data_type="TEXT"))
    assert (shown["url"], shown["model"]) == (url, model.partition(":")[2])
    assert "S" in str(shown[place])
    assert 5 in (shown.get("max_tokens"), shown.get("max_completion_tokens"))


async def test_half_a_character_in_the_input_does_not_keep_a_request_from_being_sent(bench: Any) -> None:
    bench.load("ok")
    assert (await bench.say("odd \ud83d text")).message.text == "ok"


class Parrot:
    """A model in this process."""

    name = "parrot"

    async def generate(self, request: ChatRequest) -> ModelReply:
        return ModelReply(f"{request.messages[-1].text}!", usage=Usage(1, 2, 3))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        for word in request.messages[-1].text.split():
            yield Piece(f"{word} ")
        yield Piece(finish_reason="stop", usage=Usage(1, 2, 3))


@pytest.mark.parametrize("name", ["parrot", "house:parrot"])
async def test_a_model_of_the_programs_own_is_asked_by_its_name(bench: Any, name: str) -> None:
    register_model(name, Parrot())
    try:
        bench.load(model=name, url="")
        assert (await bench.say("one two")).message.text == "one two!"
        streamed = await bench.say("one two", stream="true")
        assert (streamed.message.text, streamed.message.metadata["total_tokens"]) == ("one two ", "3")
    finally:
        register_model(name, None)
    with pytest.raises(ChainInvalid, match="URL is missing"):
        bench.engine.reload(chain_with(model=name))


async def test_a_message_may_choose_a_model_of_the_programs_own(bench: Any) -> None:
    register_model("parrot", Parrot())
    try:
        bench.load(server_error(), maxRetries=0, fallbackModel="parrot")
        assert (await bench.say("hi", session_model="parrot")).message.text == "hi!"
        assert (await bench.say("ho")).message.text == "ho!"
    finally:
        register_model("parrot", None)
    assert len(bench.model.requests) == 1


async def test_a_conversation_may_change_its_provider_from_message_to_message(outlet: Any) -> None:
    asks = [Reply(reasoning="r", text="A", tool_calls=[ToolCall("zeta", id="functions.zeta:0")])]
    outlet.app = script = ScriptedModel([*asks, "one", calls("zeta"), "two", "three"])
    urls = {"ANTHROPIC_BASE_URL": outlet.url, "DEEPSEEK_BASE_URL": outlet.url}
    async with Engine(environ={"ANTHROPIC_API_KEY": "k-anthropic", "DEEPSEEK_API_KEY": "k-deepseek", **urls}) as engine:
        engine.tool(zeta)
        engine.load(chain_with(model="deepseek:d", tools=["zeta"], session={"key": "s"}))
        for chosen in ("", "anthropic:claude", ""):
            message = Message("hi", data_type="TEXT", metadata={"session_model": chosen, "stream": "true"})
            assert (await engine.run("c", message)).ok
    assert [request.path.rpartition("/")[2] for request in script.requests] == [
        *["completions"] * 2,
        *["messages"] * 2,
        "completions",
    ]
    first, second = script.requests[2].messages[1:3]
    assert first["content"][1]["id"] == second["content"][0]["tool_use_id"]
    assert first["content"][1]["id"].isidentifier()
    assert script.requests[4].messages[1]["tool_calls"][0]["id"] == "functions.zeta:0"
    assert "reasoning_content" not in str(script.requests[4].messages)


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize(("model", "reply_id"), [("m", "chatcmpl-1"), ("anthropic:m", "msg_1")])
async def test_what_the_service_calls_a_reply_is_kept_with_its_message_and_told(
    bench: Any, model: str, reply_id: str, stream: str
) -> None:
    told: list[Any] = []
    bench.engine.subscribe(lambda event: told.append(event.data) if getattr(event, "name", "") == "model.end" else None)
    bench.load("hello", model=model, session={"key": "s"})
    await bench.say(stream=stream)
    (agent,) = [one.component for one in bench.engine.chains["c"].instances]
    state = await agent.sessions.read("s")
    assert [data["responseId"] for data in told] == [reply_id]
    assert state.messages[-1].metadata == {"responseId": reply_id}


async def test_what_was_asked_to_stop_already_does_not_wait() -> None:
    stop = StopFlag(outer := StopFlag())
    for flag in (stop, outer):
        async with asyncio.timeout(10):
            flag.set()
            async with stopped_by(StopFlag(stop)) as waiting:
                with waiting:
                    await asyncio.Event().wait()


async def test_whoever_asks_twice_to_stop_is_heard_once(caplog) -> None:
    stop = StopFlag()
    async with asyncio.timeout(10), stopped_by(stop) as waiting:
        with waiting:
            stop.set()
            stop.set()
            try:
                await asyncio.Event().wait()
            finally:
                stop.set()
                await asyncio.sleep(0)
    assert caplog.messages == []

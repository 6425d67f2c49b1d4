"""`ai/agent` against a small real model: what it writes is its own affair, how it comes is asserted."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from catenary import STREAM, SUCCESS, TEXT, Engine, Message
from catenary.events import BranchEnded
from catenary.testing import RecordingApi, serve

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.local_model.model_server import ModelServer

    from catenary import End, Outcome

# The first test waits for the download and for the server.
pytestmark = [pytest.mark.local_model, pytest.mark.timeout(240)]

_CHAIN = Path(__file__).parents[2] / "chains" / "intent-router.json"
_RUN_TIMEOUT_S = 60.0
_MORE_THAN_IT_HOLDS = "word " * 3000


@pytest.fixture
async def engine(model_server: ModelServer) -> AsyncGenerator[Engine]:
    default = {"base_url": f"{model_server.url}/v1", "api_key": "none", "model": "SmolLM2"}
    async with Engine({"models": {"providers": {"default": default}}}) as made:
        yield made


def load_agent(engine: Engine, **params: Any) -> None:
    """Load the chain `c` of one agent, in place of another."""
    provider = "${global.models.providers.default"
    settings = {
        "url": f"{provider}.base_url}}",
        "key": f"{provider}.api_key}}",
        "model": f"{provider}.model}}",
        "systemPrompt": "You are a friendly clerk. Be short.",
        "maxRetries": 0,
        "params": {"temperature": 0.3, "maxTokens": 24, **params},
    }
    nodes = [{"id": "agent", "type": "ai/agent", "configuration": settings}]
    engine.reload({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": []}})


async def say(engine: Engine, text: str = "Who are you?", chain: str = "c", **metadata: str) -> Outcome:
    return await engine.run(chain, Message(text, data_type=TEXT, metadata=metadata), timeout=_RUN_TIMEOUT_S)


def assert_counted(metadata: Any) -> None:
    """The tokens were counted, and the counts agree."""
    prompt, completion, total = (int(metadata[f"{name}_tokens"]) for name in ("prompt", "completion", "total"))
    assert prompt > 10
    assert completion > 0
    assert total == prompt + completion
    assert metadata["last_total_tokens"] == metadata["total_tokens"]
    assert (metadata["model"], metadata["steps"], metadata["tool_calls"]) == ("SmolLM2", "1", "0")


async def test_an_answer_comes_with_its_token_counts(engine: Engine) -> None:
    load_agent(engine)
    outcome = await say(engine)
    assert outcome.error is None
    assert [(end.node_id, end.relation) for end in outcome.ends] == [("agent", SUCCESS)]
    assert outcome.message.text.strip()
    assert_counted(outcome.message.metadata)
    assert "full_content" not in outcome.message.metadata


async def test_a_stream_is_pieces_an_end_mark_and_the_whole(engine: Engine) -> None:
    load_agent(engine, extraFields={"ignore_eos": True})
    outcome = await say(engine, stream="true")
    assert outcome.error is None
    *pieces, mark, answer = outcome.ends
    assert [end.relation for end in outcome.ends] == [STREAM] * (len(pieces) + 1) + [SUCCESS]
    assert len(pieces) > 2
    assert all(end.message.metadata["chunk"] == "true" for end in pieces)
    assert (mark.message.text, mark.message.metadata["stream_completed"]) == ("", "true")
    assert answer.message.metadata["full_content"] == "true"
    assert answer.message.data == "".join(end.message.text for end in pieces)
    assert_counted(answer.message.metadata)


@pytest.mark.parametrize("stream", ["", "true"])
@pytest.mark.parametrize("limit", [3, 17])
async def test_max_tokens_is_honoured(engine: Engine, limit: int, stream: str) -> None:
    # Without an end of its own the model writes as much as it may, so the count is exact.
    load_agent(engine, maxTokens=limit, extraFields={"ignore_eos": True})
    outcome = await say(engine, stream=stream)
    assert outcome.message.metadata["completion_tokens"] == str(limit)


async def test_what_the_service_refuses_is_a_failure(engine: Engine) -> None:
    load_agent(engine)
    outcome = await say(engine, _MORE_THAN_IT_HOLDS)
    metadata = outcome.message.metadata
    assert outcome.status == "failed"
    assert (metadata["status"], metadata["attempts"]) == ("400", "1")
    assert "context size" in outcome.message.text


async def test_leaving_a_stream_stops_the_model(engine: Engine, model_server: ModelServer) -> None:
    """It is idle sooner than after a fifth of what it was asked to write."""
    load_agent(engine, maxTokens=100, extraFields={"ignore_eos": True})
    started = time.monotonic()
    await say(engine, stream="true")
    time_of_a_fifth = time.monotonic() - started

    load_agent(engine, maxTokens=500, extraFields={"ignore_eos": True})
    message = Message("Who are you?", data_type=TEXT, metadata={"stream": "true"})
    async with aclosing(engine.stream("c", message, timeout=_RUN_TIMEOUT_S)) as events:
        async for event in events:
            if isinstance(event, BranchEnded):
                break
        assert model_server.is_busy()
    started = time.monotonic()
    await asyncio.to_thread(model_server.wait_idle)
    assert time.monotonic() - started < time_of_a_fifth


@pytest.mark.parametrize("stream", ["", "true"])
async def test_the_intent_router_posts_what_the_model_wrote(engine: Engine, stream: str) -> None:
    """The service is asked for a command by its own means; the chain stays as it is, but for the port of the API."""
    api = RecordingApi()
    with serve(api) as api_server:
        engine.load(_CHAIN.read_text(encoding="utf-8").replace("http://127.0.0.1/", f"{api_server.url}/"))
        extra_fields = json.dumps({"response_format": command_format()})
        outcome = await say(
            engine, "Switch the kitchen light on.", "intent-router", stream=stream, session_extra_fields=extra_fields
        )
    assert outcome.error is None
    assert not [end for end in outcome.ends if end.node_id != "node_end"]
    (posted,) = api.requests
    assert (posted.method, posted.path) == ("POST", "/api/v1/cmd")
    assert set(json.loads(posted.text)) == {"action", "target"}
    if stream:
        assert posted.text == "".join(end.message.text for end in outcome.ends if is_piece(end))


def is_piece(end: End) -> bool:
    return end.message.metadata.get("chunk") == "true"


def command_format() -> dict[str, Any]:
    """Ask the service for a command of the house and nothing else."""
    properties = {"action": {"enum": ["turn_on", "turn_off"]}, "target": {"enum": ["kitchen", "garage"]}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "command", "strict": True, "schema": schema}}

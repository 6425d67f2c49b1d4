"""A small real model, named with its provider: JSON by a schema, and loops with tools that end well all the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary import TEXT, Engine, Message

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.local_model.model_server import ModelServer

    from catenary import Outcome

# The first test waits for the download and for the server.
pytestmark = [pytest.mark.local_model, pytest.mark.timeout(240)]


@pytest.fixture
async def engine(model_server: ModelServer) -> AsyncGenerator[Engine]:
    async with Engine(environ={"LLAMACPP_BASE_URL": model_server.url}) as made:
        made.tool(stock)
        yield made


def stock(item: str) -> int:
    """Look up how many pieces of an item are in stock."""
    return len(item)


async def ask(engine: Engine, text: str, *, stream: str = "", **config: Any) -> Outcome:
    limits = {"temperature": 0, "maxTokens": 48, **config.pop("params", {})}
    settings = {"model": "llamacpp:SmolLM2", "maxRetries": 0, "params": limits, **config}
    nodes = [{"id": "agent", "type": "ai/agent", "configuration": settings}]
    engine.reload({"ruleChain": {"id": "p"}, "metadata": {"nodes": nodes, "connections": []}})
    return await engine.run("p", Message(text, data_type=TEXT, metadata={"stream": stream}), timeout=60)


@pytest.mark.parametrize("stream", ["", "true"])
async def test_the_name_of_the_provider_is_enough_and_costs_nothing(engine: Engine, stream: str) -> None:
    outcome = await ask(engine, "Who are you?", stream=stream)
    metadata = outcome.message.metadata
    assert outcome.error is None
    assert outcome.message.text.strip()
    assert (metadata["model"], metadata["cost"]) == ("SmolLM2", "0")


@pytest.mark.parametrize("stream", ["", "true"])
async def test_an_answer_fits_the_schema_that_is_asked_for(engine: Engine, stream: str) -> None:
    properties = {"colour": {"enum": ["red", "green"]}, "size": {"enum": [1, 2]}}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    outcome = await ask(
        engine, "Choose one.", stream=stream, params={"responseFormat": "json_schema", "jsonSchema": schema}
    )
    assert (outcome.error, outcome.message.data_type) == (None, "JSON")
    assert set(json.loads(outcome.message.text)) == {"colour", "size"}
    assert int(outcome.message.metadata["completion_tokens"]) > 0


@pytest.mark.parametrize("stream", ["", "true"])
@pytest.mark.parametrize("read", [False, True])
async def test_the_loop_ends_well_although_the_model_is_too_small_for_tools(
    engine: Engine, stream: str, read: bool
) -> None:
    outcome = await ask(
        engine, "How many bolts are in stock?", stream=stream, tools=["stock"], toolPolicy="required", maxStep=3,
        onLimit="answer", readCallsInText=read,
    )  # fmt: skip
    metadata = outcome.message.metadata
    assert (outcome.status, outcome.error) == ("completed", None)
    assert 1 <= int(metadata["steps"]) <= 6
    assert int(metadata["total_tokens"]) > 0

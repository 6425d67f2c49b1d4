"""Spans around agents, model calls and tools."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from catenary.testing import Reply, calls, server_error, too_many_requests
from catenary_components.ai import spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import ReadableSpan


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[ReadableSpan]]:
    """The spans that are over, in the order in which they began."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return lambda: sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def names(found: list[ReadableSpan]) -> list[str]:
    return [span.name for span in found]


def facts(span: ReadableSpan, prefix: str = "gen_ai.") -> dict[str, Any]:
    given = span.attributes or {}
    return {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_one_model_call_is_one_span_below_that_of_its_agent(bench: Any, finished: Any, stream: str) -> None:
    @bench.engine.tool
    def ping() -> str:
        """Ping."""
        seen.append(trace.get_current_span().get_span_context().span_id)
        return "pong"

    seen: list[int] = []
    bench.load(calls("ping"), "ok", tools=["ping"])
    await bench.say(stream=stream)
    agent, *others = found = finished()
    assert names(found) == ["invoke_agent agent", "chat m", "execute_tool ping", "chat m"]
    assert {span.parent.span_id for span in others if span.parent} == {agent.context.span_id}
    assert seen == [others[1].context.span_id]
    assert facts(others[0]) == {
        "operation.name": "chat",
        "request.model": "m",
        "response.id": "chatcmpl-1",
        "response.model": "m",
        "response.finish_reasons": ("tool_calls",),
        "usage.input_tokens": 10,
        "usage.output_tokens": 1,
        "usage.cache_read.input_tokens": 0,
    }
    assert facts(agent, "catenary.")["chain.id"] == "c"
    assert all(span.status.is_ok or span.status.is_unset for span in found)


async def test_a_call_that_fails_ends_its_span_as_failed_with_each_retry_noted(bench: Any, finished: Any) -> None:
    bench.load(too_many_requests(retry_after=7), server_error(), maxRetries=1)
    await bench.say()
    agent, chat = finished()
    assert (chat.status.is_ok, chat.attributes["error.type"]) == (False, "server_error")
    assert chat.attributes["http.response.status_code"] == 500
    assert [(event.name, event.attributes["waitMs"]) for event in chat.events] == [("model.retry", 7000)]
    assert (agent.status.is_ok, agent.attributes["error.type"]) == (False, "ModelError")


async def test_a_tool_that_fails_ends_its_span_as_failed(bench: Any, finished: Any) -> None:
    @bench.engine.tool
    def broken() -> str:
        """Break."""
        raise ValueError("no bolts")

    bench.load(calls("broken"), "ok", tools=["broken"])
    await bench.say()
    tool = finished()[2]
    assert (tool.attributes["error.type"], tool.status.description) == ("tool_error", "no bolts")
    assert finished()[0].status.is_unset


async def test_the_provider_and_the_cost_are_in_the_span(bench: Any, finished: Any, tmp_path: Any) -> None:
    (tmp_path / "prices.yaml").write_text("models: {m: {input: 1000, output: 2000}}")
    bench.engine.environ = {"CATENARY_PRICES": str(tmp_path / "prices.yaml")}
    bench.load(Reply(text="ok"), model="openai:m")
    await bench.say()
    chat = finished()[1]
    assert (chat.attributes["gen_ai.provider.name"], chat.attributes["catenary.cost"]) == ("openai", 0.012)


async def test_what_is_said_is_in_no_span(bench: Any, finished: Any) -> None:
    bench.load("the answer is bolts", systemPrompt="the prompt")
    await bench.say("the question")
    told = " ".join(str(span.attributes) + str(span.events) for span in finished())
    assert not any(word in told for word in ("bolts", "the prompt", "the question", "sk-1234567890abcdef"))


async def test_without_a_tracer_of_the_program_no_span_is_made(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.load("ok")
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert (await bench.say()).message.text == "ok"
    assert spans._tracer() is None


def test_a_program_that_imports_the_package_alone_has_no_tracer() -> None:
    assert spans._tracer() is None

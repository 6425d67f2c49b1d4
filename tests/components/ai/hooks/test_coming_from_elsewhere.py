"""Each row of the tables that tell where hooks, middleware and aspects of other programs are found here."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from catenary import ChainInvalid, EngineError
from catenary.testing import Reply, ToolCall, calls, server_error
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.hooks.builtin import BUILTINS, make
from catenary_components.ai.messages import user_message
from catenary_components.ai.models.types import Reply as ModelReply
from catenary_components.ai.sessions.memory import memory_of
from catenary_components.ai.state import FinishReason

Row: TypeAlias = Callable[[Any], Awaitable[None]]
ROWS: dict[str, Row] = {}


def row(there: str) -> Callable[[Row], Row]:
    """Say which row of the guide a function shows."""

    def keep(function: Row) -> Row:
        ROWS[there] = function
        return function

    return keep


def of_guide() -> list[str]:
    guide = Path(__file__).parents[4] / "docs" / "agent-hooks.md"
    part = guide.read_text().split("## Coming from elsewhere")[1].split("| Priority there")[0]
    return [found for found in re.findall(r"^\| (.+?) \| .+ \|$", part, re.MULTILINE) if found not in ("There", "---")]


@pytest.mark.parametrize("there", of_guide())
async def test_what_the_guide_maps_is_so(bench: Any, there: str) -> None:
    assert there in ROWS, f"nothing shows the row {there!r}"
    await ROWS[there](bench)


def test_no_row_is_missing_in_the_guide() -> None:
    assert sorted(ROWS) == sorted(of_guide())


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("memory", 5),
        ("compaction", 10),
        ("eviction", 50),
        ("loop_guard", 80),
        ("task_reminder", 85),
        ("logging", 200),
        ("workspace", 900),
    ],
)
async def test_the_hooks_that_come_with_agents_keep_their_priorities(bench: Any, name: str, order: int) -> None:
    bench.load()
    (_, agent), *_ = bench.engine.get("c")._nodes
    made = make(name, {}, agent_context(agent))
    assert made is not None
    assert made.order == order
    assert name in BUILTINS
    assert AgentHook.order == 100


def agent_context(agent: Any) -> Any:
    return agent._models._ctx


# What the rows use


def hook(bench: Any, at: str, **options: Any) -> Callable[[Any], Any]:
    return bench.engine.agent_hook(at=at, **options)


def with_ping(bench: Any, *replies: Any, **settings: Any) -> list[str]:
    ran: list[str] = []

    def ping(to: str = "all") -> str:
        ran.append(to)
        return f"pong {to}"

    bench.engine.tool(ping)
    bench.load(*replies, tools=["ping"], **settings)
    return ran


def events(bench: Any, name: str) -> list[Any]:
    found: list[Any] = []
    bench.engine.subscribe(lambda event: found.append(event.data) if event.name == name else None)
    return found


async def text(bench: Any, said: str = "hi", **metadata: str) -> str:
    return (await bench.say(said, **metadata)).message.text


# Hooks


@row("PRE_CALL")
async def _(bench: Any) -> None:
    @hook(bench, "before_agent")
    def change(step: Any) -> None:
        step.system_prompt = "Changed."
        step.messages.append(user_message("and this"))

    with_ping(bench, calls("ping"), "done", systemPrompt="S.")
    await bench.say()
    assert [request.system_text for request in bench.model.requests] == ["Changed."] * 2
    assert all("and this" in str(request.messages) for request in bench.model.requests)


@row("POST_CALL")
async def _(bench: Any) -> None:
    hook(bench, "after_agent")(lambda step: setattr(step, "answer", step.answer.with_data("changed")))
    bench.load("done")
    assert await text(bench) == "changed"


@row("PRE_REASONING")
async def _(bench: Any) -> None:
    @hook(bench, "before_reasoning")
    def change(step: Any) -> None:
        if len(step.messages) == 1:
            step.messages, step.system_prompt, step.options["seed"] = [user_message("only now")], "Once.", 7

    with_ping(bench, calls("ping"), "done", systemPrompt="S.")
    await bench.say()
    first, second = bench.model.requests
    assert (first.system_text, first.body["seed"], first.messages[1]["content"]) == ("Once.", 7, "only now")
    assert (second.system_text, "seed" in second.body, second.messages[1]["content"]) == ("S.", False, "hi")


@row("POST_REASONING")
async def _(bench: Any) -> None:
    hook(bench, "after_reasoning")(lambda step: setattr(step, "reply", replace(step.reply, content="changed")))
    bench.load("done", session="s")
    assert await text(bench) == "changed"
    assert "changed" in str((await memory_of(bench.engine).load("s")).value)


@row("REASONING_CHUNK")
async def _(bench: Any) -> None:
    seen: list[str] = []

    @hook(bench, "chunk_reasoning")
    async def change(step: Any, piece: Any) -> Any:
        seen.append(piece.content)
        return replace(piece, content=piece.content.upper())

    bench.load("one two three")
    assert await text(bench, stream="true") == "ONE TWO THREE"
    assert "".join(seen) == "one two three"


@row("PRE_ACTING")
async def _(bench: Any) -> None:
    hook(bench, "before_tool")(lambda step: step.arguments.update(to="you"))
    ran = with_ping(bench, calls("ping", to="me"), "done")
    await bench.say()
    assert ran == ["you"]


@row("POST_ACTING")
async def _(bench: Any) -> None:
    hook(bench, "after_tool")(lambda step: setattr(step, "result", replace(step.result, text="changed")))
    with_ping(bench, calls("ping"), "done", session="s")
    await bench.say()
    assert bench.last[-1]["content"] == "changed"
    kept = str((await memory_of(bench.engine).load("s")).value)
    assert "changed" in kept
    assert "pong" not in kept


@row("ACTING_CHUNK")
async def _(bench: Any) -> None:
    from catenary_components.ai.tools.live import ToolCallInfo

    @bench.engine.tool
    async def count(call: ToolCallInfo) -> str:
        """Count."""
        for number in ("one", "two"):
            await call.show(number)
        return "three"

    hook(bench, "chunk_tool")(lambda step, piece: f"{step.call.name} {piece.upper()}")
    hook(bench, "chunk_acting")(lambda step, result: replace(result, text=result.text.upper()))
    shown = events(bench, "tool.delta")
    bench.load(calls("count"), "done", tools=["count"])
    await bench.say()
    assert [one["delta"] for one in shown] == ["count ONE", "count TWO"]
    assert bench.last[-1]["content"] == "THREE"


def at_the_limit(bench: Any) -> None:
    with_ping(bench, calls("ping"), "in short", onLimit="answer", maxRounds=1)


@row("PRE_SUMMARY")
async def _(bench: Any) -> None:
    hook(bench, "before_summary")(
        lambda step: (step.messages.append(user_message(step.purpose)), step.options.update(seed=7))
    )
    at_the_limit(bench)
    await bench.say()
    assert bench.last[-1]["content"] == "limit"
    assert bench.model.requests[-1].body["seed"] == 7


@row("POST_SUMMARY")
async def _(bench: Any) -> None:
    hook(bench, "after_summary")(lambda step: setattr(step, "reply", replace(step.reply, content="changed")))
    at_the_limit(bench)
    assert await text(bench) == "changed"


@row("SUMMARY_CHUNK")
async def _(bench: Any) -> None:
    hook(bench, "chunk_summary")(lambda step, piece: replace(piece, content=piece.content.upper()))
    at_the_limit(bench)
    assert await text(bench, stream="true") == "IN SHORT"


@row("ERROR")
async def _(bench: Any) -> None:
    heard: list[Any] = []
    hook(bench, "completed")(lambda step: heard.append(step.error))
    bench.load(server_error(), "done", maxRetries=0)
    await bench.say()
    await bench.say()
    assert [type(one).__name__ for one in heard] == ["ModelError", "NoneType"]


@row("`gotoReasoning`")
async def _(bench: Any) -> None:
    hook(bench, "after_reasoning")(lambda step: step.goto("without") if step.reply.tool_calls else None)
    ran = with_ping(bench, calls("ping"), "done")
    outcome = await bench.say()
    assert (outcome.message.text, outcome.message.metadata["steps"], ran) == ("done", "2", [])
    assert [one["role"] for one in bench.last] == ["user", "assistant", "tool", "user"]


@row("`stopAgent`")
async def _(bench: Any) -> None:
    hook(bench, "after_tool")(lambda step: step.stop() if step.call.arguments == "{}" else None)
    replies = (Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", {"to": "b"})]), "done")
    ran = with_ping(bench, *replies, session="s")
    assert (await bench.say()).message.metadata["finish_reason"] == "stopped"
    assert sorted(ran) in (["all"], ["all", "b"])
    assert await text(bench, "") == "done"


@row("hooks that bring tools")
async def _(bench: Any) -> None:
    class Brings(AgentHook):
        tools = (lambda: "brought",)

    Brings.tools[0].__name__ = "bring"
    bench.engine.agent_hook(Brings())
    bench.load(calls("bring"), "done")
    await bench.say()
    assert bench.last[-1]["content"] == "brought"


async def in_order(bench: Any, at: str) -> list[int]:
    seen: list[int] = []
    for order in (300, 20, 100):
        if at.startswith("around"):

            async def around(step: Any, proceed: Any, order: int = order) -> None:
                seen.append(order)
                await proceed()
                seen.append(-order)

            hook(bench, at, order=order)(around)
        else:
            hook(bench, at, order=order)(lambda step, order=order: seen.append(order))
    bench.load("done")
    await bench.say()
    return seen


@row("priority, ascending")
async def _(bench: Any) -> None:
    assert await in_order(bench, "after_reasoning") == [20, 100, 300]


# Middleware


@row("`order()`, larger outermost")
async def _(bench: Any) -> None:
    assert await in_order(bench, "around_model_call") == [20, 100, 300, -300, -100, -20]


@row("onAgent")
async def _(bench: Any) -> None:
    async def around(step: Any, proceed: Any) -> None:
        step.messages = [user_message("changed")]
        await proceed()
        step.answer = step.answer.with_data(f"<{step.answer.text}>")

    hook(bench, "around_agent")(around)
    bench.load("done")
    assert await text(bench) == "<done>"
    assert bench.last[0]["content"] == "changed"


@row("onReasoning")
async def _(bench: Any) -> None:
    async def around(step: Any, proceed: Any) -> None:
        step.tools = []
        await proceed()
        step.reply = replace(step.reply, content=f"<{step.reply.content}>")

    hook(bench, "around_reasoning")(around)
    with_ping(bench, "done")
    assert await text(bench) == "<done>"
    assert bench.model.requests[0].tools == []


@row("onModelCall")
async def _(bench: Any) -> None:
    purposes: list[str] = []

    async def around(step: Any, proceed: Any) -> None:
        purposes.append(step.purpose)
        await proceed()

    hook(bench, "around_model_call")(around)
    hook(bench, "chunk_model_call")(lambda step, piece: replace(piece, content=piece.content.replace("n", "N")))
    with_ping(bench, calls("ping"), "in short", onLimit="answer", maxRounds=1, session="s")
    assert await text(bench, stream="true") == "iN short"
    assert purposes == ["reasoning", "limit"]
    assert "iN short" in str((await memory_of(bench.engine).load("s")).value)


@row("onActing")
async def _(bench: Any) -> None:
    batches: list[int] = []
    heard = events(bench, "batch.seen")

    async def around(step: Any, proceed: Any) -> None:
        batches.append(len(step.calls))
        step.publish("batch.seen", calls=len(step.calls))
        await proceed()

    hook(bench, "around_acting")(around)
    with_ping(bench, Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", {"to": "b"})]), "done")
    await bench.say()
    assert (batches, heard) == ([2], [{"calls": 2}])


@row("onSystemPrompt")
async def _(bench: Any) -> None:
    hook(bench, "before_system_prompt")(lambda step: setattr(step, "prompt", f"{step.prompt}!"))
    with_ping(bench, calls("ping"), "done", systemPrompt="S")
    await bench.say()
    assert [request.system_text for request in bench.model.requests] == ["S!", "S!"]


@row("REQUEST_STOP with a reason")
async def _(bench: Any) -> None:
    hook(bench, "after_model_call")(lambda step: step.stop("why", FinishReason.EVIDENCE_INSUFFICIENT))
    heard = events(bench, "hook.stop")
    bench.load("done")
    assert (await bench.say()).message.metadata["finish_reason"] == "evidence_insufficient"
    assert heard == [{"message": "why", "reason": "evidence_insufficient"}]


@row("events inserted into those of `next`")
async def _(bench: Any) -> None:
    places = ("agent", "reasoning", "model_call", "acting", "tool", "summary", "system_prompt")
    for point in places:
        hook(bench, f"before_{point}")(lambda step, point=point: step.publish("seen.at", point=point))
    heard = events(bench, "seen.at")
    at_the_limit(bench)
    await bench.say()
    assert {one["point"] for one in heard} == set(places)


@row("not calling `next`, or twice")
async def _(bench: Any) -> None:
    async def around(step: Any, proceed: Any) -> None:
        if step.messages[-1].text == "twice":
            await proceed()
            await proceed()
        else:
            step.reply = ModelReply("from here")

    hook(bench, "around_model_call")(around)
    bench.load("one", "two")
    assert [await text(bench, "not"), len(bench.model.requests)] == ["from here", 0]
    assert [await text(bench, "twice"), len(bench.model.requests)] == ["two", 2]


# Aspects


@row("aspects Start, Before")
async def _(bench: Any) -> None:
    heard: list[str] = []

    @hook(bench, "before_agent")
    def refuse(step: Any) -> None:
        raise PermissionError("closed today")

    hook(bench, "completed")(lambda step: heard.append(str(step.error)))
    bench.load()
    told = "hook refuse at before_agent of agent c/agent: closed today"
    assert (await text(bench), heard, bench.model.requests) == (told, [told], [])


@row("aspect Around, `SkippedAI`")
async def _(bench: Any) -> None:
    heard: list[str] = []

    async def around(step: Any, proceed: Any) -> None:
        if step.messages[-1].text == "skip":
            step.answer = step.message.with_data("mine", "TEXT")
        else:
            step.messages.append(user_message("more"))
            await proceed()

    hook(bench, "around_agent")(around)
    for at in ("after_agent", "completed"):
        hook(bench, at)(lambda step, at=at: heard.append(at))
    bench.load("done")
    assert (await text(bench, "skip"), bench.model.requests, heard) == ("mine", [], ["after_agent", "completed"])
    await text(bench, "hi")
    assert [one["content"] for one in bench.last] == ["hi", "more"]


@row("aspects BeforeLLM, AfterLLM")
async def _(bench: Any) -> None:
    seen: list[str] = []
    for at in ("before_model_call", "after_model_call"):
        hook(bench, at)(lambda step, at=at: seen.append(at))
    with_ping(bench, calls("ping"), "done")
    await bench.say()
    assert seen == ["before_model_call", "after_model_call"] * 2


@row("aspect Chunk")
async def _(bench: Any) -> None:
    @hook(bench, "chunk_model_call")
    def refuse(step: Any, piece: Any) -> None:
        raise ValueError("not this word")

    bench.load("done")
    outcome = await bench.say(stream="true")
    assert (outcome.status, outcome.message.text) == (
        "failed",
        "hook refuse at chunk_model_call of agent c/agent: not this word",
    )


@row("aspects BeforeToolCall, AfterToolCall")
async def _(bench: Any) -> None:
    @hook(bench, "before_tool")
    def veto(step: Any) -> None:
        if step.arguments["to"] == "me":
            raise PermissionError("not to me")
        step.arguments["to"] = "them"

    @hook(bench, "after_tool")
    def fail(step: Any) -> None:
        raise ValueError("too late")

    ran = with_ping(bench, Reply(tool_calls=[ToolCall("ping", {"to": "me"}), ToolCall("ping", {"to": "us"})]), "done")
    assert await text(bench) == "done"
    assert ran == ["them"]


@row("aspects After, Completed")
async def _(bench: Any) -> None:
    heard: list[str] = []

    @hook(bench, "after_agent")
    def fail(step: Any) -> None:
        heard.append("after")
        raise ValueError("ignored")

    hook(bench, "completed")(lambda step: heard.append("completed"))
    bench.load("done")
    assert (await text(bench), heard) == ("done", ["after", "completed"])


@row("`PointCut`")
async def _(bench: Any) -> None:
    seen: list[str] = []

    class Cut(AgentHook):
        chains = ("c",)

        def applies(self, point: str, step: Any) -> bool:
            return point == "reasoning"

        def before_agent(self, step: Any) -> None:
            seen.append("agent")

        def before_reasoning(self, step: Any) -> None:
            seen.append("reasoning")

    class Elsewhere(Cut):
        chains = ("other",)

    for one in (Cut(), Elsewhere()):
        bench.engine.agent_hook(one)
    bench.load("done")
    await bench.say()
    assert seen == ["reasoning"]


@row("`New`")
async def _(bench: Any) -> None:
    class Own(AgentHook):
        def __init__(self) -> None:
            self.count = 0

        def new(self, ctx: Any) -> Own:
            return Own()

        def after_agent(self, step: Any) -> None:
            self.count += 1
            step.answer = step.answer.with_data(str(self.count))

    given = Own()
    bench.engine.agent_hook(given)
    bench.load("a", "b")
    assert [await text(bench), await text(bench)] == ["1", "2"]
    assert given.count == 0


@row("a name that is registered")
async def _(bench: Any) -> None:
    hook(bench, "after_agent", name="mark")(lambda step: setattr(step, "answer", step.answer.with_data("marked")))
    with pytest.raises(EngineError, match="there is a hook 'mark' already"):
        hook(bench, "after_agent", name="mark")(lambda step: None)
    with pytest.raises(ChainInvalid, match="hook not found: other"):
        bench.load(hooks=["other"])
    bench.load("done", hooks=["mark"])
    assert await text(bench) == "marked"

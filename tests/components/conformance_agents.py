"""How the phases of an agent's loop get by each of their relations: in agents whose model says what a script says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from catenary import Engine, Message
from catenary.component import Context
from catenary.testing import Reply, ScriptedModel, calls, mock, server_error
from catenary.testing.conformance import About, Case
from catenary_components.ai.sessions.memory import memory_of
from catenary_components.ai.state import AgentState

MODEL = {"url": "${global.url}", "model": "m", "key": "sk-123456", "maxRetries": 0}
OUTSIDE = Case("outside of an agent", leaves_by=["Failure"])
NOT_SHOWN = "a summary is for the model alone"


@contextmanager
def model(*replies: Any) -> Iterator[dict[str, Any]]:
    with mock("conformance-model", ScriptedModel([*replies] * 100)) as url:
        yield {"url": f"{url}/v1"}


def says(text: str, leaves: str, *replies: Any, **message: str) -> Case:
    """Give an agent with what its model replies."""
    sent = Message("hi", data_type="TEXT", metadata=message)
    return Case(text, MODEL, [sent], leaves_by=[leaves], around=partial(model, *replies))


def within(
    text: str, *replies: Any, data: Any = "hi", stream: bool = False, prepare: Any = None, **config: Any
) -> Case:
    """Give a chain with an agent, in which the nodes of its loop count."""
    agent = {"id": "n", "type": "ai/agent", "configuration": {**MODEL, "tools": ["ping"], **config}}
    chain = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [agent], "connections": []}}
    sent = Message(data, metadata={"stream": "true"} if stream else {})

    def prepared(engine: Engine) -> None:
        engine.tool(lambda: "pong", name="ping")
        if prepare is not None:
            prepare(engine)

    return Case(text, chain=chain, inputs=[sent], around=partial(model, *replies), prepare=prepared)


def loop(text: str, phase: str, change: Callable[[AgentState], object]) -> Case:
    """Give an agent with a loop of its own: its state is changed, then one phase is visited."""

    def prepare(engine: Engine) -> None:
        def changed(ctx: Context, msg: Message) -> str:
            change(ctx.scope[AgentState])
            return "Success"

        engine.function("change")(changed)
        first = {"id": "a", "type": "functions", "configuration": {"functionName": "change"}}
        relation = "Continue" if phase == "ai/observe" else "Answer" if phase == "ai/reason" else "Success"
        ways = [
            {"fromId": "a", "type": "Success", "toId": "b"},
            {"fromId": "b", "type": relation, "toId": "c"},
            {"fromId": "b", "type": "Stopped", "toId": "c"},
        ]
        nodes = [first, {"id": "b", "type": phase}, {"id": "c", "type": "ai/answer"}]
        engine.load({"ruleChain": {"id": "loop"}, "metadata": {"nodes": nodes, "connections": ways}})

    return within(text, "Hello", prepare=prepare, mode="loop")


def damage(engine: Engine) -> None:
    """Put something that is no session where one is looked for."""
    saved = memory_of(engine).save("k", "[]", 0)
    with suppress(StopIteration):  # it waits for nothing
        saved.send(None)


def stopped(phase: str) -> Case:
    return loop("somebody asks it to stop", phase, lambda state: setattr(state, "stop", True))


def about(*cases: Case, **unreached: str) -> About:
    return {"cases": [OUTSIDE, *cases], "unreached": unreached}


ANSWERS = within("an answer", "Hello")
STREAMS = within("an answer in pieces", calls("ping"), "Hello there", stream=True)
TOOLS = within("a tool", calls("ping"), "Hello")
LIMIT = within("a limit, and an answer", calls("ping"), "Hello", stream=True, maxRounds=1, onLimit="answer")
NO_ANSWER = within(
    "a limit, and no answer",
    calls("ping"),
    Reply(status=400, body="no"),
    stream=True,
    maxRounds=1,
    onLimit="answer",
)
ASKED = within("a tool that is asked about", calls("ping"), permission="default")
OUTSIDE_TOOL = within(
    "a tool whose result comes from outside",
    calls("ask"),
    tools=[{"type": "external", "name": "ask", "description": "?"}],
)
CHECKED = within("an answer that is checked", "Hello", "Hello!", stream=True, verify="second_pass")
TOO_LONG = within(
    "a conversation that is too long",
    "A",
    "Hello",
    data={"messages": [{"role": "user", "content": "tell me " * 50}] * 3},
    compaction={"triggerMessages": 3, "keepMessages": 1},
)
TOO_MANY_RESULTS = within(
    "too many results", calls("ping"), "A", "Hello", compaction={"triggerRounds": 1, "keepMessages": 0}
)
LEFT_OPEN = {
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}],
        },
    ]
}

AGENTS: Mapping[str, About] = {
    "ai/agent": {
        "needs": {"url": "http://127.0.0.1:9/v1", "maxRetries": 0},
        "cases": [
            says("an answer", "Success", "Hello"),
            says("a stream", "Success", "Hello there", stream="true"),
            says("a service that fails", "Failure", server_error()),
            ASKED,
            OUTSIDE_TOOL,
        ],
    },
    "ai/session": {
        "cases": [
            Case("no key", {"key": "${metadata.who}", "agent": "a"}, [Message("x")], leaves_by=["Success"]),
            Case("a session that is damaged", {"key": "k"}, [Message("x")], leaves_by=["Failure"], prepare=damage),
        ]
    },
    "ai/begin": about(ANSWERS, within("a call without a result", "Hello", data=LEFT_OPEN)),
    "ai/reason": about(
        STREAMS,
        within("a reply that says nothing", Reply(text=""), "Hello"),
        within("no call where one is wanted", "Hello", toolPolicy="required", maxStep=1),
        within("a call in the last model call", calls("ping"), maxStep=1),
        stopped("ai/reason"),
        TOO_LONG,
    ),
    "ai/act": about(STREAMS, ASKED, OUTSIDE_TOOL, stopped("ai/act")),
    "ai/observe": about(
        TOOLS,
        LIMIT,
        within("a tool whose result is the answer", calls("ping"), tools=[{"name": "ping", "returnDirect": True}]),
        stopped("ai/observe"),
        TOO_MANY_RESULTS,
    ),
    "ai/refuse": about(loop("calls that are not run", "ai/refuse", lambda state: state)),
    "ai/summarize": about(
        loop("a conversation as it is", "ai/summarize", lambda state: state),
        stopped("ai/summarize"),
        Stream=NOT_SHOWN,
    ),
    "ai/limit": about(LIMIT),
    "ai/verify": about(CHECKED),
    "ai/answer": about(ANSWERS, NO_ANSWER),
}

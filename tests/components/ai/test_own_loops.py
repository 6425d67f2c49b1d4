"""Loops of one's own: what is wrong with one is told where it stands, and no question is taken for an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from catenary import Engine, Message
from catenary.cli.check import check
from catenary.component import Component, Config
from catenary.errors import ChainInvalid
from catenary.testing import calls
from catenary_components.ai import topologies

if TYPE_CHECKING:
    from catenary.component import Context

HEAD = """\
ruleChain: {id: mine, root: false, configuration: {allowCycle: true}}
metadata:
  nodes:
  - {id: begin, type: ai/begin}
  - {id: reason, type: ai/reason}
  - {id: act, type: ai/act}
  - {id: observe, type: ai/observe}
  - {id: answer, type: ai/answer}
  connections:
"""
WHOLE = (
    ("begin", "Reason", "reason"),
    ("begin", "Act", "act"),
    ("reason", "ToolCalls", "act"),
    ("reason", "Answer", "answer"),
    ("reason", "Limit", "answer"),
    ("act", "Success", "observe"),
    ("observe", "Continue", "reason"),
    ("observe", "Direct", "answer"),
    ("observe", "Stopped", "answer"),
)


def wired(*connections: tuple[str, str, str]) -> str:
    """Give the text of a loop."""
    lines = [f"  - {{fromId: {start}, toId: {end}, type: {relation}}}\n" for start, relation, end in connections]
    return HEAD + "".join(lines)


def without(start: str, relation: str) -> str:
    """Give the loop without one of its connections."""
    return wired(*(one for one in WHOLE if one[:2] != (start, relation)))


@pytest.fixture
def load(bench: Any, tmp_path: Path) -> Any:
    def load(loop: str, name: str = "loop.yaml", **settings: Any) -> None:
        (tmp_path / name).write_text(loop, encoding="utf-8")
        agent = {"url": f"{bench.url}/v1", "model": "m", "mode": name, **settings}
        (tmp_path / "c.yaml").write_text(
            f"ruleChain: {{id: c}}\nmetadata:\n  nodes:\n  - {{id: a, type: ai/agent, configuration: {agent}}}\n"
        )
        bench.engine.tool(lambda: "pong", name="ping")
        bench.engine.load(tmp_path / "c.yaml")

    return load


def told(load: Any, loop: str, **settings: Any) -> ChainInvalid:
    with pytest.raises(ChainInvalid) as caught:
        load(loop, **settings)
    return caught.value


async def test_a_loop_that_is_whole_runs_from_its_file(bench: Any, load: Any) -> None:
    load(wired(*WHOLE), tools=["ping"])
    bench.model.add(calls("ping"), "done")
    assert (await bench.say()).message.data == "done"


@pytest.mark.parametrize(
    ("start", "relation", "line"),
    [("begin", "Reason", 4), ("reason", "Answer", 5), ("act", "Success", 6), ("observe", "Continue", 7)],
)
async def test_a_relation_that_has_to_lead_on_and_does_not_is_told_with_its_place(
    load: Any, start: str, relation: str, line: int
) -> None:
    error = told(load, without(start, relation))
    assert f"loop.yaml:{line}:5: chain.leads-nowhere: node {start!r}" in str(error)
    assert f"nothing is connected to its relation {relation!r}" in str(error)
    assert "connect it to another node." in error.hint


@pytest.mark.parametrize(
    ("loop", "what"),
    [
        (wired(*WHOLE).replace("ai/answer", "ai/anser"), "loop.yaml:8:24: chain.unknown-type: node 'answer'"),
        (wired(*WHOLE).replace("true", "false"), "chain.cycle: cycle detected in rule chain: reason -> act -> observe"),
        (wired(*WHOLE).replace("toId: answer", "toId: answr", 1), "chain.unknown-node: toId names no node: 'answr'"),
        ("ruleChain: {id: x\n", "loop.yaml:2:1: chain.syntax: expected"),
    ],
)
async def test_what_is_wrong_with_the_file_of_a_loop_is_told_with_its_place_and_a_hint(
    load: Any, loop: str, what: str
) -> None:
    error = told(load, loop)
    assert what in str(error)
    assert "loop.yaml:" in str(error)
    assert error.hint


async def test_a_file_that_is_not_there_or_may_not_be_read_is_told(load: Any) -> None:
    assert "mode: there is no file 'other.yaml'" in str(told(load, wired(*WHOLE), mode="other.yaml"))
    assert "outside of the folders" in str(told(load, wired(*WHOLE), mode="../../../etc/loop.yaml"))
    assert "mode" in str(told(load, wired(*WHOLE), mode=""))


async def test_a_loop_with_an_agent_that_has_this_same_loop_is_told(load: Any) -> None:
    inner = "  - {id: inner, type: ai/agent, configuration: {url: 'http://x.example/v1', mode: loop.yaml}}\n"
    loop = wired(*WHOLE).replace("  connections:", f"{inner}  connections:")
    error = told(load, loop)
    assert "has a node that uses this same chain" in str(error)
    assert error.hint == "give that node another `mode`"


@pytest.fixture
def chain(bench: Any, tmp_path: Path) -> Any:
    """Write an agent with a loop of its own, and whatever else; gives the file of its chain."""

    def chain(loop: str, guard: str = "", **settings: Any) -> Path:
        agent = {"url": f"{bench.url}/v1", "model": "m", "mode": "loop.yaml", **settings}
        if guard:
            agent["permission"] = {"guard": "guard.yaml"}
            (tmp_path / "guard.yaml").write_text(guard, encoding="utf-8")
        (tmp_path / "loop.yaml").write_text(loop, encoding="utf-8")
        text = f"ruleChain: {{id: c}}\nmetadata:\n  nodes:\n  - {{id: a, type: ai/agent, configuration: {agent}}}\n"
        (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "c.yaml"

    return chain


async def test_a_check_tells_what_is_wrong_in_the_file_of_a_loop_with_all_else(bench: Any, chain: Any) -> None:
    guard = (
        "ruleChain: {id: g, root: false}\nmetadata: {nodes: [{id: s, type: jsFilter, configuration: {jsScrip: 1}}]}\n"
    )
    broken = wired(*WHOLE).replace("ai/answer", "ai/anser").replace("toId: answer", "toId: answr", 1)
    file = chain(broken, guard, maxStepp=3, verify="maybe")
    loop, guarding = str(file.parent / "loop.yaml"), str(file.parent / "guard.yaml")
    found = [(problem.file, problem.line, problem.code) for problem in bench.engine.check(file)]
    assert (str(file), 4, "config.invalid") in found
    assert (str(file), 4, "config.unknown-option") in found
    assert {(loop, 8, "chain.unknown-type"), (loop, 13, "chain.unknown-node")} <= set(found)
    assert (guarding, 2, "config.unknown-option") in found
    with pytest.raises(ChainInvalid) as caught:
        bench.engine.load(file)
    assert [(one.file, one.line, one.code) for one in caught.value.problems] == found


async def test_a_loop_inside_a_loop_is_looked_into_and_one_that_names_the_first_is_told(bench: Any, chain: Any) -> None:
    nested = "  - {id: inner, type: ai/agent, configuration: {url: 'http://x.example/v1', mode: %s}}\n  connections:"
    file = chain(wired(*WHOLE).replace("  connections:", nested % "inner.yaml"))
    inner = wired(*WHOLE).replace("ai/act", "ai/akt").replace("  connections:", nested % "c.yaml")
    (file.parent / "inner.yaml").write_text(inner, encoding="utf-8")
    told = "\n".join(map(str, bench.engine.check(file)))
    assert "inner.yaml:6:21: chain.unknown-type" in told
    assert "inner.yaml:9:83: config.invalid: node 'inner' (ai/agent): mode: the chain in 'c.yaml' has a node" in told


def test_the_command_tells_a_problem_of_a_file_once_though_two_chains_name_it(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").write_text(wired(*WHOLE).replace("ai/answer", "ai/anser"), encoding="utf-8")
    for name in ("c", "d"):
        agent = "{id: a, type: ai/agent, configuration: {url: 'http://x.example/v1', model: m, mode: loop.yaml}}"
        chain = f"ruleChain: {{id: {name}}}\nmetadata: {{nodes: [{agent}]}}\n"
        (tmp_path / f"{name}.yaml").write_text(chain, encoding="utf-8")
    result = CliRunner().invoke(check, [str(tmp_path)])
    assert result.exit_code == 3
    assert result.stdout.count("loop.yaml:8:24: chain.unknown-type") == 1
    alone = CliRunner().invoke(check, [str(tmp_path / "c.yaml")])
    assert (alone.exit_code, alone.stdout.count("loop.yaml:8:24: chain.unknown-type")) == (3, 1)


async def test_a_mode_that_is_like_a_known_one_is_told_so(bench: Any) -> None:
    bench.load(mode="reakt")
    outcome = await bench.say()
    assert outcome.message.data == "mode: ruleChain id=reakt not found"
    assert outcome.error.hint == "did you mean 'react'?"


@pytest.mark.parametrize(
    ("start", "relation", "settings", "replies"),
    [
        ("reason", "ToolCalls", {}, [calls("ping")]),
        ("reason", "Limit", {"maxStep": 1}, [calls("ping")]),
        ("observe", "Direct", {"tools": [{"name": "ping", "returnDirect": True}]}, [calls("ping")]),
        ("reason", "Again", {}, [""]),
    ],
)
async def test_a_loop_that_ends_by_a_relation_that_leads_nowhere_fails_rather_than_echo_the_question(
    bench: Any, load: Any, start: str, relation: str, settings: dict[str, Any], replies: list[Any]
) -> None:
    load(without(start, relation), **{"tools": ["ping"], **settings})
    bench.model.add(*replies)
    outcome = await bench.say("What is it?")
    assert outcome.status == "failed"
    wrong = f"the loop of the agent ended at its node {start!r} by {relation!r}, which leads nowhere"
    assert outcome.message.data == wrong
    assert outcome.error.hint.startswith(f"connect {relation!r} of {start!r}.")
    assert outcome.message.metadata["finish_reason"] == "error_fallback"


@pytest.mark.parametrize(
    ("past", "wrong"),
    [
        ("act", "there are calls of tools and no results of them"),
        ("observe", "there are results of tools that nobody has put before the model"),
    ],
)
async def test_a_loop_that_leads_past_a_phase_is_told_so(bench: Any, load: Any, past: str, wrong: str) -> None:
    """Rather than leave the model without the result of a tool."""
    ways = {"act": ("reason", "ToolCalls", "observe"), "observe": ("act", "Success", "reason")}
    start, relation, _ = ways[past]
    load(wired(*(one for one in WHOLE if one[:2] != (start, relation)), ways[past]), tools=["ping"])
    bench.model.add(calls("ping"), "done")
    outcome = await bench.say()
    assert (outcome.status, outcome.message.data) == ("failed", wrong)
    assert "to `ai/observe`" in outcome.error.hint


async def test_a_call_is_run_once_though_the_loop_leads_there_twice(bench: Any, load: Any) -> None:
    ran: list[str] = []
    bench.engine.tool(lambda: ran.append("once") or "ok", name="note")
    again = "  - {id: again, type: ai/act}\n"
    ways = (("act", "Success", "again"), ("again", "Success", "observe"))
    loop = wired(*(one for one in WHOLE if one[:2] != ("act", "Success")), *ways)
    load(loop.replace("  connections:", f"{again}  connections:"), tools=["note"])
    bench.model.add(calls("note"), "done")
    assert (await bench.say()).message.data == "done"
    assert ran == ["once"]


async def test_an_approved_call_is_run_by_a_loop_that_begins_with_reasoning(bench: Any, load: Any) -> None:
    ran: list[str] = []
    bench.engine.tool(lambda: ran.append("once") or "ok", name="note")
    loop = wired(*WHOLE[2:]).replace("  - {id: begin, type: ai/begin}\n", "")
    load(loop, tools=["note"], permission="default", session="s")
    bench.model.add(calls("note"), "done")
    paused = await bench.say()
    asked = paused.message.value["toolCalls"][0]["id"]
    done = await bench.say({"answers": [{"toolCallId": asked, "decision": "approve"}]}, "JSON")
    assert (paused.status, done.message.data, ran) == ("paused", "done", ["once"])


async def test_without_a_phase_for_it_a_conversation_is_not_made_shorter(bench: Any, load: Any) -> None:
    """And the agent goes on: the results that would be too long by themselves lead to the next model call."""
    load(wired(*WHOLE), tools=["ping"], compaction={"triggerRoundCharacters": 1, "keepMessages": 1})
    bench.model.add(calls("ping"), calls("ping"), "done")
    assert (await bench.say()).message.data == "done"
    assert len(bench.model.requests) == 3


async def test_a_circle_that_never_asks_the_model_is_an_error_that_names_it(bench: Any, load: Any) -> None:
    load(wired(("begin", "Reason", "begin"), *WHOLE[1:]))
    outcome = await bench.say()
    assert outcome.message.data == (
        "node 'begin' was visited 10000 times in one run, which is the limit; the cycle is begin -> begin"
    )
    assert not bench.model.requests


async def test_an_agent_that_is_closed_closes_its_loop_its_guard_and_its_hooks(
    bench: Any, load: Any, tmp_path: Path
) -> None:
    closed: list[str] = []

    class Closing(Component[Config]):
        """Notes that it is closed."""

        def open(self, ctx: Context) -> None:
            self.where = ctx.chain_id

        def close(self) -> None:
            closed.append(self.where)

        def run(self, ctx: Context, msg: Message) -> str:
            return "Success"

    bench.engine.registry.register("test/closingInALoop", category="test")(Closing)
    (tmp_path / "guard.yaml").write_text(
        "ruleChain: {id: guard, root: false}\nmetadata: {nodes: [{id: x, type: test/closingInALoop}]}"
    )
    held = "  - {id: x, type: test/closingInALoop}\n"
    loop = wired(*WHOLE).replace("  connections:", f"{held}  connections:")
    hook = {"at": "before_tool", "component": "test/closingInALoop"}
    load(loop, permission={"guard": "guard.yaml"}, hooks=[hook])
    assert closed == []
    await bench.engine.close()
    assert sorted(closed) == ["c.a.before_tool", "guard", "mine"]


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_reasoning_and_text_come_apart_after_rounds_of_tools_in_a_copy_of_the_usual_loop(
    bench: Any, stream: str
) -> None:
    loop: Any = json.loads((Path(topologies.__file__).parent / "react.json").read_text(encoding="utf-8"))
    loop["ruleChain"]["id"] = "apart"
    nodes, connections = loop["metadata"]["nodes"], loop["metadata"]["connections"]
    next(node for node in nodes if node["id"] == "reason")["configuration"] = {"candidate": True}
    nodes.append({"id": "apart", "type": "ai/reason", "configuration": {"tools": "none", "output": "thinking"}})
    next(one for one in connections if (one["fromId"], one["type"]) == ("reason", "Answer"))["toId"] = "apart"
    ways = (("Answer", "verify"), ("Again", "apart"), ("Limit", "limit"), ("Stopped", "answer"))
    connections += [{"fromId": "apart", "type": way, "toId": place} for way, place in ways]
    bench.engine.load(loop)
    apart = json.dumps({"reasoningSummary": "I multiplied.", "finalText": "It is 42!"})
    tools = [{"type": "builtin", "name": "calculator"}]
    bench.load(calls("calculator", expression="6*7"), "It is 42.", apart, mode="apart", tools=tools)
    said: list[tuple[str, str]] = []

    def note(event: Any) -> None:
        name = getattr(event, "name", "")
        if name in ("content.delta", "reasoning.delta"):
            said.append((name, event.data["delta"]))

    message = Message("6*7?", data_type="TEXT", metadata={"stream": stream})
    outcome = await bench.engine.run("c", message, listener=note)
    assert (outcome.message.text, outcome.message.metadata["reasoning_content"]) == ("It is 42!", "I multiplied.")
    for name, text in (("reasoning.delta", "I multiplied."), ("content.delta", "It is 42!")):
        assert "".join(delta for kind, delta in said if kind == name) == text


def agent_with(mode: str) -> str:
    node = {"id": "a", "type": "ai/agent", "configuration": {"model": "mock:x", "mode": mode}}
    return json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})


@pytest.mark.parametrize(
    ("mode", "meant"),
    [
        ("raect", "react"),
        ("React", "react"),
        ("thinking-tooling", "thinking_tooling"),
        ("plain_toolin", "plain_tooling"),
        ("parts/loop", "parts/loop.yaml"),
        ("my-loop", None),
        ("react2", None),
        ("my_react", None),
        ("react", None),
    ],
)
async def test_a_loop_whose_name_is_misspelt_is_a_warning_unless_it_may_be_the_id_of_a_chain(
    bench: Any, tmp_path: Path, mode: str, meant: str | None
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "loop.yaml").write_text(wired(*WHOLE))
    (tmp_path / "agent.json").write_text(agent_with(mode))
    problems = bench.engine.check(tmp_path / "agent.json")
    told = [(problem.code, problem.hint, problem.severity) for problem in problems]
    assert told == ([("config.unknown-name", f"did you mean {meant!r}?", "warning")] if meant else [])


def test_a_chain_that_is_loaded_or_checked_beside_an_agent_may_be_called_nearly_as_a_loop(tmp_path: Path) -> None:
    agent, loop, broken = (str(tmp_path / name) for name in ("agent.json", "loop.yaml", "broken.yaml"))
    Path(agent).write_text(agent_with("raect"))
    Path(loop).write_text(wired(*WHOLE).replace("id: mine", "id: raect"))
    Path(broken).write_text("ruleChain: {id: [\n")
    assert "did you mean 'react'?" in CliRunner().invoke(check, [agent]).stdout
    assert CliRunner().invoke(check, [agent, loop]).stdout == ""
    assert "agent.json" not in CliRunner().invoke(check, [agent, loop, broken]).stdout
    with Engine() as engine:
        assert len(engine.check(Path(agent))) == 1
        assert not engine.check(Path(agent), beside=["raect"])
        engine.load(loop)
        assert not engine.check(Path(agent))


async def test_a_file_of_a_loop_that_is_not_there_is_told_with_one_that_is_called_nearly_so(load: Any) -> None:
    assert "did you mean 'loop.yaml'?" in told(load, wired(*WHOLE), mode="lop.yaml").hint
    assert "did you mean" not in told(load, wired(*WHOLE), mode="nowhere/loop.yaml").hint


REVIEWED = """\
ruleChain: {id: reviewed, root: false, configuration: {allowCycle: true}}
metadata:
  nodes:
  - {id: reason, type: ai/reason, configuration: {candidate: true}}
  - {id: draft, type: ai/answer}
  - {id: is-good, type: exprFilter, configuration: {expr: data contains "good"}}
  - {id: revise, type: ai/reason, configuration: {candidate: true, prompt: "Not good: ${data}"}}
  - {id: answer, type: ai/answer}
  connections:
  - {fromId: reason, type: Answer, toId: draft}
  - {fromId: reason, type: Stopped, toId: answer}
  - {fromId: draft, type: Success, toId: is-good}
  - {fromId: is-good, type: "True", toId: answer}
  - {fromId: is-good, type: "False", toId: revise}
  - {fromId: revise, type: Answer, toId: draft}
"""


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_a_loop_leads_back_with_what_is_wrong_and_only_the_last_answer_is_shown(
    bench: Any, load: Any, stream: str
) -> None:
    load(REVIEWED)
    bench.model.add("a bad one", "a better one", "a good one")
    shown: list[str] = []

    def note(event: Any) -> None:
        if getattr(event, "name", "") == "content.delta":
            shown.append(event.data["delta"])

    outcome = await bench.engine.run("c", Message("?", data_type="TEXT", metadata={"stream": stream}), listener=note)
    assert outcome.message.text == "a good one"
    assert "".join(shown) == "a good one"
    streamed = [end.message.text for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    assert "".join(streamed) == ("a good one" if stream == "true" else "")
    assert [request.user_text for request in bench.model.requests[1:]] == [
        "Not good: a bad one",
        "Not good: a better one",
    ]

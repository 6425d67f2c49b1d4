"""The hooks that come with agents."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pytest

from catenary import ChainInvalid, Engine, Message
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.runtime_context import RuntimeContext
from catenary_components.ai.sessions.memory import memory_of


@pytest.fixture
def ping(bench: Any) -> list[str]:
    ran: list[str] = []

    def ping(to: str = "all") -> str:
        ran.append(to)
        return f"pong {to}"

    bench.engine.tool(ping)
    return ran


@dataclass
class Desk:
    """An agent that has a folder."""

    bench: Any
    folder: Any


@pytest.fixture
async def desk(bench: Any, tmp_path: Any) -> Any:
    async with Engine({"data_dir": str(tmp_path)}, clock=bench.clock) as engine:
        bench.engine = engine
        yield Desk(bench, tmp_path)


def prompts(bench) -> list[str]:
    return [request.system_text for request in bench.model.requests]


def lines(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "catenary.agent"]


async def test_logging_writes_a_line_for_each_thing_and_cuts_what_is_long(
    bench: Any, ping: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "catenary.agent")
    hook = {"name": "logging", "config": {"level": "info"}}
    bench.load(calls("ping", to="x" * 300), "the answer", tools=["ping"], hooks=[hook])
    await bench.say("the question")
    written = lines(caplog)
    assert written[0] == "the agent begins: 1 messages"
    assert written[-1] == "the agent ends: normal, 2 model calls"
    assert len(written) == 6
    assert max(map(len, written)) < 250
    assert not any("question" in line or "answer" in line for line in written)


async def test_logging_tells_of_a_run_that_fails(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "catenary.agent")
    bench.load(Reply(status=400, body={"error": {"message": "no"}}), hooks=["logging"])
    await bench.say()
    assert lines(caplog)[-2].startswith("the agent fails after 1 model calls")
    assert lines(caplog)[-1] == "the agent is error"


async def test_the_loop_guard_reminds_once_and_stops_then(bench: Any, ping: Any) -> None:
    same = Reply(tool_calls=[ToolCall("ping", {"to": "a"}), ToolCall("ping", {"to": "b"})])
    bench.load(*[same] * 8, tools=["ping"], hooks=["loop_guard"], maxRepeats=0)
    outcome = await bench.say()
    assert outcome.message.metadata["finish_reason"] == "incomplete"
    assert len(bench.model.requests) == 4
    assert "several times in a row" in bench.last[-1]["content"]
    assert sorted(ping) == ["a", "a", "b", "b"]


async def test_the_loop_guard_lets_other_calls_pass(bench: Any, ping: Any) -> None:
    bench.load(*[calls("ping", to=str(n)) for n in range(5)], "done", tools=["ping"], hooks=["loop_guard"])
    assert (await bench.say()).message.text == "done"
    assert len(ping) == 5


async def test_the_loop_guard_stops_at_once_if_it_is_to(bench: Any, ping: Any) -> None:
    hook = {"name": "loop_guard", "config": {"rounds": 2, "then": "stop"}}
    bench.load(*[calls("ping")] * 3, tools=["ping"], hooks=[hook])
    assert (await bench.say()).message.metadata["finish_reason"] == "incomplete"
    assert len(bench.model.requests) == 2


async def test_the_same_request_is_answered_out_of_the_cache(bench: Any) -> None:
    bench.load("done", hooks=["reply_cache"])
    assert (await bench.say()).message.text == "done"
    second = await bench.say()
    assert second.message.text == "done"
    assert second.message.metadata["steps"] == "0"
    assert "total_tokens" not in second.message.metadata
    assert len(bench.model.requests) == 1


async def test_another_request_another_model_or_another_time_is_asked_anew(bench: Any) -> None:
    bench.load("a", "b", "c", "d", hooks=[{"name": "reply_cache", "config": {"ttl": "1m"}}])
    assert (await bench.say("one")).message.text == "a"
    assert (await bench.say("two")).message.text == "b"
    assert (await bench.say("one", session_model="other")).message.text == "c"
    await bench.clock.sleep(61)
    assert (await bench.say("one")).message.text == "d"


async def test_replies_that_were_cut_off_are_not_kept(bench: Any) -> None:
    bench.load(Reply(text="a", finish_reason="length"), "b", hooks=["reply_cache"])
    assert (await bench.say()).message.text == "a"
    assert (await bench.say()).message.text == "b"


async def test_replies_that_said_the_same_again_and_again_are_not_kept(bench: Any) -> None:
    copy = "The bolts are in the third drawer. "
    bench.load(copy * 9, "b", hooks=["reply_cache"], sameText=4)
    assert (await bench.say()).message.text == copy.strip()
    assert (await bench.say()).message.text == "b"


async def test_a_cached_reply_may_call_tools_and_streams_as_well(bench: Any, ping: Any) -> None:
    shown: list[str] = []
    bench.engine.subscribe(lambda event: shown.append(event.data["delta"]) if event.name == "content.delta" else None)
    bench.load(Reply(tool_calls=[ToolCall("ping", id="one")]), "hello", tools=["ping"], hooks=["reply_cache"])
    await bench.say()
    shown.clear()
    outcome = await bench.say(stream="true")
    assert outcome.message.text == "hello"
    assert "".join(shown) == "hello"
    assert len(ping) == 2
    assert len(bench.model.requests) == 2


async def test_something_else_under_the_key_of_a_reply_is_no_reply(bench: Any) -> None:
    bench.load("a", "b", hooks=[{"name": "reply_cache", "config": {"scope": "all"}}])
    await bench.say()
    (key,) = bench.engine.cache.get_by_prefix("ai.reply:all:")
    bench.engine.cache.set(key, "no reply")
    assert (await bench.say()).message.text == "b"


async def test_a_long_result_goes_to_a_file_and_the_model_gets_its_start_and_its_end(desk: Any) -> None:
    text = "start" + "x" * 400 + "end"
    desk.bench.engine.tool(lambda: text, name="dump")
    hook = {"name": "eviction", "config": {"maxLength": 100, "preview": 20}}
    desk.bench.load(calls("dump"), "done", tools=["dump"], hooks=[hook])
    assert (await desk.bench.say()).message.text == "done"
    told = desk.bench.last[-1]["content"]
    assert "has 408 characters" in told
    assert "startxxx" in told
    assert told.endswith("xxxxxxxend")
    assert len(told) < 400
    (path,) = list((desk.folder / "large_tool_results" / "c.agent").iterdir())
    assert path.read_text() == text
    assert f"large_tool_results/c.agent/{path.name}" in told


@pytest.mark.parametrize(
    ("place", "shown"), [({}, "large_tool_results/c.agent/"), ({"workDir": "spool"}, "/spool/large_tool_results/")]
)
async def test_a_tool_that_reads_in_a_folder_of_its_own_reads_the_file_of_a_long_result(
    desk: Any, place: Any, shown: str
) -> None:
    (desk.folder / "papers").mkdir()
    (desk.folder / "spool").mkdir()
    desk.bench.engine.tool(lambda: "\n".join(f"line {n}" for n in range(500)), name="dump")
    hook = {"name": "eviction", "config": {"maxLength": 100, "preview": 20, **place}}
    read = {"type": "builtin", "name": "read", "config": {"workDir": "papers", "allowPaths": ["spool"]}}
    paths: list[str] = []

    def reads_on(request: Any) -> Any:
        paths.append(request.messages[-1]["content"].partition("is in the file ")[2].partition(";")[0])
        return calls("read", path=paths[0], line_from=400, line_to=400)

    desk.bench.load(calls("dump"), reads_on, "done", tools=["dump", read], hooks=[hook])
    assert (await desk.bench.say()).message.text == "done"
    assert shown in paths[0]
    assert "400: line 399" in desk.bench.last[-1]["content"]


async def test_a_result_of_more_than_80000_characters_shows_2000_of_its_start_and_1000_of_its_end(desk: Any) -> None:
    desk.bench.engine.tool(lambda n: "a" * 40_000 + "b" * (n - 40_000), name="dump")
    many = Reply(tool_calls=[ToolCall("dump", {"n": n}) for n in (80_000, 80_001)])
    desk.bench.load(many, "done", tools=["dump"], hooks=["eviction"], maxToolOutputLength=100_000)
    assert (await desk.bench.say()).message.text == "done"
    short, long = [message["content"] for message in desk.bench.last if message["role"] == "tool"]
    assert short == "a" * 40_000 + "b" * 40_000
    assert long.partition("Its start:]\n")[2] == "a" * 2_000 + "\n\n... its end:\n" + "b" * 1_000


async def test_the_longest_results_of_a_round_go_to_files_until_its_budget_holds(desk: Any) -> None:
    desk.bench.engine.tool(lambda n: "x" * n, name="dump")
    desk.bench.engine.tool(lambda n: "r" * n, name="read_file")
    hook = {"name": "eviction", "config": {"preview": 100}}
    many = Reply(tool_calls=[ToolCall("dump", {"n": n}) for n in (2_000, 9_000, 5_000)])
    many.tool_calls.append(ToolCall("read_file", {"n": 6_000}))
    desk.bench.load(many, "done", tools=["dump", "read_file"], hooks=[hook], turnBudget=9_000)
    assert (await desk.bench.say()).message.text == "done"
    told = [message["content"] for message in desk.bench.last if message["role"] == "tool"]
    assert [text[:8] for text in told] == ["x" * 8, "[The res", "[The res", "r" * 8]
    assert sum(map(len, told)) <= 9_000
    assert sorted(path.stat().st_size for path in (desk.folder / "large_tool_results" / "c.agent").iterdir()) == [
        5_000,
        9_000,
    ]


async def test_results_of_reading_tools_and_answers_stay_whole(desk: Any) -> None:
    text = "x" * 300
    desk.bench.engine.tool(lambda: text, name="read_file")
    desk.bench.engine.tool(lambda: text, name="dump")
    hook = {"name": "eviction", "config": {"maxLength": 100}}
    tools = ["read_file", {"name": "dump", "returnDirect": True}]
    desk.bench.load(calls("read_file"), calls("dump"), tools=tools, hooks=[hook])
    assert (await desk.bench.say()).message.text == text
    assert desk.bench.last[-1]["content"] == text
    assert not (desk.folder / "large_tool_results").exists()


async def test_a_result_that_cannot_be_written_stays_whole(desk: Any) -> None:
    (desk.folder / "large_tool_results").write_text("in the way")
    desk.bench.engine.tool(lambda: "x" * 300, name="dump")
    desk.bench.load(calls("dump"), "done", tools=["dump"], hooks=[{"name": "eviction", "config": {"maxLength": 100}}])
    assert (await desk.bench.say()).message.text == "done"
    assert desk.bench.last[-1]["content"] == "x" * 300


async def test_each_long_result_has_its_own_file_though_calls_have_one_id_and_results_look_evicted(desk: Any) -> None:
    texts = [f"[The result has {n} characters and is in the file x]" + "x" * 300 for n in range(2)]
    given = iter(texts)
    desk.bench.engine.tool(lambda: next(given), name="dump")
    twice = [Reply(tool_calls=[ToolCall("dump", id="one")]) for _ in texts]
    hook = {"name": "eviction", "config": {"maxLength": 100, "preview": 20}}
    desk.bench.load(*twice, "done", tools=["dump"], hooks=[hook], session="s")
    assert (await desk.bench.say()).message.text == "done"
    files = list((desk.folder / "large_tool_results" / "c.agent").iterdir())
    assert sorted(file.read_text() for file in files) == texts
    kept = str((await memory_of(desk.bench.engine).load("s")).value)
    assert "x" * 50 not in kept
    assert all(file.name in kept for file in files)


async def test_eviction_without_a_folder_is_told_at_load(bench: Any) -> None:
    with pytest.raises(ChainInvalid, match="no folder may be used"):
        bench.load(hooks=["eviction"])


async def test_settings_that_are_unknown_are_told_at_load(bench: Any) -> None:
    with pytest.raises(ChainInvalid, match=r"hook loop_guard: .*turns"):
        bench.load(hooks=[{"name": "loop_guard", "config": {"turns": 3}}])


async def test_the_workspace_is_told_behind_the_prompt_and_read_once_a_run(desk: Any) -> None:
    agents = desk.folder / "AGENTS.md"
    agents.write_text("Be exact.")
    (desk.folder / "MEMORY.md").write_text("The user likes tea.")
    (desk.folder / "knowledge").mkdir()
    (desk.folder / "knowledge" / "KNOWLEDGE.md").write_text("About bolts.")
    (desk.folder / "knowledge" / "sizes.csv").write_text("1,2")
    (desk.folder / "STYLE.md").write_text("Short.")
    desk.bench.engine.tool(lambda: str(agents.write_text("Changed.")), name="change")
    hook = {"name": "workspace", "config": {"extraFiles": ["STYLE.md", "NONE.md"]}}
    desk.bench.load(calls("change"), "done", "again", tools=["change"], systemPrompt="S.", hooks=[hook])
    await desk.bench.say()
    first, second = prompts(desk.bench)
    assert first == second
    assert first.startswith("S.\n\n## Session Context\n- Date: ")
    assert "## Workspace\n- Folder: " in first
    for part in (
        "<agents_context>\nBe exact.\n</agents_context>",
        "<memory_context>\nThe user likes tea.\n</memory_context>",
        "About bolts.\n\nFiles that may be read:\n- knowledge/sizes.csv\n</domain_knowledge_context>",
        '<file path="STYLE.md">\nShort.\n</file>',
    ):
        assert part in first
    assert "NONE" not in first
    await desk.bench.say()
    assert "Changed." in prompts(desk.bench)[2]


async def test_what_is_beyond_the_budget_is_cut_with_a_notice_and_the_instructions_stay_whole(desk: Any) -> None:
    (desk.folder / "AGENTS.md").write_text("a" * 50)
    (desk.folder / "MEMORY.md").write_text("m" * 100)
    desk.bench.load("done", hooks=[{"name": "workspace", "config": {"maxTokens": 15}}])
    await desk.bench.say()
    (prompt,) = prompts(desk.bench)
    assert "a" * 50 in prompt
    assert "m" * 10 + "\n... (cut: 100 characters in all, 10 are left here" in prompt
    assert "m" * 11 not in prompt


async def test_an_empty_workspace_still_says_where_it_is(desk: Any) -> None:
    desk.bench.load("done", hooks=["workspace"])
    await desk.bench.say()
    assert "## Workspace" in prompts(desk.bench)[0]
    assert "<loaded_context>" not in prompts(desk.bench)[0]


def by_script(at: str, said: str) -> dict[str, Any]:
    script = f"return {{msg: {said}, metadata: metadata, msgType: msgType}};"
    return {"at": at, "component": "jsTransform", "config": {"jsScript": script}}


async def test_a_component_as_a_hook_changes_arguments(bench: Any, ping: Any) -> None:
    bench.load(
        calls("ping", to="me"), "done", tools=["ping"], hooks=[by_script("before_tool", "{arguments: {to: 'you'}}")]
    )
    assert (await bench.say()).message.text == "done"
    assert ping == ["you"]


async def test_a_chain_as_a_hook_blocks_a_call_by_failing(bench: Any, ping: Any) -> None:
    node = {
        "id": "n",
        "type": "jsTransform",
        "configuration": {"jsScript": "throw new Error('not ' + msg.arguments.to);"},
    }
    bench.engine.load({"ruleChain": {"id": "guard"}, "metadata": {"nodes": [node]}})
    bench.load(calls("ping", to="me"), "done", tools=["ping"], hooks=[{"at": "before_tool", "chain": "guard"}])
    assert (await bench.say()).message.text == "done"
    assert ping == []
    assert bench.last[-1]["content"].startswith("Tool call blocked by hook: ")
    assert "not me" in bench.last[-1]["content"]


@pytest.mark.parametrize(
    ("at", "said", "answer"),
    [
        ("after_agent", "{answer: msg.answer + '!'}", "one!"),
        ("after_reasoning", "{content: msg.content.toUpperCase()}", "ONE"),
        ("after_model_call", "(msg.content == 'one' ? {goto: 'Again.'} : {})", "two"),
        ("before_agent", "{stop: 'no'}", ""),
    ],
)
async def test_what_a_chain_answers_is_what_goes_on(bench: Any, at: Any, said: Any, answer: Any) -> None:
    bench.load("one", "two", hooks=[by_script(at, said)])
    assert (await bench.say()).message.text == answer


async def test_a_chain_changes_prompt_and_options_and_results(bench: Any, ping: Any) -> None:
    hooks = [
        by_script("before_reasoning", "{systemPrompt: 'P', options: {seed: 3}}"),
        by_script("after_system_prompt", "{prompt: msg.prompt + '.'}"),
        by_script("after_tool", "{result: msg.name + ':' + msg.result}"),
        by_script("after_acting", "{seen: msg.results.length}"),
    ]
    bench.load(calls("ping"), "one", tools=["ping"], hooks=hooks)
    await bench.say()
    assert prompts(bench) == ["P.", "P."]
    assert bench.model.requests[0].body["seed"] == 3
    assert bench.last[-1]["content"] == "ping:pong all"


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        ({"name": "logging", "chain": "c"}, "either a name, or a chain, or a component"),
        ({"chain": "c"}, "which point a chain or a component fills"),
        ({"name": "logging", "at": "before_tool"}, "which point a chain or a component fills"),
        ({"chain": "c", "at": "around_tool"}, "a chain cannot stand at 'around_tool'"),
    ],
)
async def test_a_hook_that_cannot_be_is_told_at_load(bench: Any, hook: Any, text: Any) -> None:
    with pytest.raises(ChainInvalid, match=text):
        bench.load(hooks=[hook])


async def test_hooks_and_tools_see_what_the_caller_gave_along(bench: Any) -> None:
    seen: list[Any] = []
    bench.engine.agent_hook(lambda step: seen.append(step.context), at="before_reasoning")

    async def look(ctx: Any) -> str:
        seen.append(ctx.scope[RuntimeContext])
        return "seen"

    bench.engine.tool(look)
    bench.load(calls("look"), "done", tools=["look"])
    given = RuntimeContext(user_id="u", tenant="t")
    await bench.engine.run("c", Message("hi", data_type="TEXT"), scope=[given])
    assert len(seen) == 3
    assert all(one is given for one in seen)


async def test_a_summary_passes_its_hooks(bench: Any, ping: Any) -> None:
    seen: list[tuple[str, str]] = []

    @bench.engine.agent_hook(at="after_summary")
    def look(step: Any) -> None:
        seen.append((step.purpose, step.reply.content if step.reply else ""))

    bench.load(calls("ping"), "so far", tools=["ping"], maxRounds=1, onLimit="answer")
    assert (await bench.say()).message.text == "so far"
    assert seen == [("limit", "so far")]

"""Conversations that are made shorter by a hook, and what is kept of them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.components.ai.conftest import Bench

from catenary import Engine
from catenary.testing import FakeClock, Reply, ScriptedModel, calls, server_error
from catenary_components.ai.hooks.builtin.memory import PROMPT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

SHORT = {"triggerMessages": 5, "keepMessages": 1}
LONG = "It rains in Hull, and the customer Ada wants bolts. " * 20


@pytest.fixture
async def desk(outlet: Any, tmp_path: Path) -> AsyncGenerator[Bench]:
    model, clock = ScriptedModel(), FakeClock(auto=True)
    outlet.app = model
    async with Engine({"data_dir": str(tmp_path)}, clock=clock) as engine:
        yield Bench(engine, model, clock, outlet.url)


def memory(**config: Any) -> dict[str, Any]:
    return {"hooks": [{"name": "memory", "config": config}], "compaction": SHORT, "session": "ann"}


def prompts(desk: Bench) -> list[str]:
    return [request.system_text for request in desk.model.requests]


async def until_too_long(desk: Bench, *replies: Any, **config: Any) -> None:
    """Have two runs, and a third one before which the conversation is made shorter."""
    desk.load("yes", "yes", *replies, **config)
    for text in (LONG, "and then?", "well?"):
        assert (await desk.say(text)).ok


async def test_facts_and_messages_that_leave_a_conversation_are_kept(desk: Bench, tmp_path: Path) -> None:
    await until_too_long(desk, "a summary", "- Ada buys bolts.", "done", **memory())
    (day,) = (tmp_path / "memory").glob("*.md")
    assert day.read_text() == "- Ada buys bolts.\n"
    lines = (tmp_path / "memory/sessions/ann.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    assert [one["role"] for one in kept] == ["user", "assistant", "user", "assistant"]
    assert kept[0]["blocks"][0]["text"] == LONG
    assert prompts(desk)[3] == PROMPT
    assert "Ada wants bolts" in desk.model.requests[3].messages[-1]["content"]


async def test_no_summary_reaches_the_facts(desk: Bench) -> None:
    desk.load("yes", "yes", "first summary", "- a", "3", "yes", "second summary", "- b", "done", **memory())
    for text in (LONG, "and then?", "well? " * 50, "so? " * 50, "and?"):
        await desk.say(text)
    asked = [request for request in desk.model.requests if request.system_text == PROMPT]
    assert len(asked) == 2
    assert "first summary" not in asked[1].messages[-1]["content"]
    assert "first summary" in str([request.messages for request in desk.model.requests])


async def test_facts_that_cannot_be_had_hold_nothing_up(desk: Bench, tmp_path: Path, caplog: Any) -> None:
    await until_too_long(desk, "a summary", server_error(), "done", maxRetries=0, **memory())
    assert not list((tmp_path / "memory").glob("*.md"))
    assert "facts of a conversation were not kept" in caplog.text


async def test_a_folder_that_cannot_be_written_holds_nothing_up(desk: Bench, tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "memory").write_text("a file")
    await until_too_long(desk, "a summary", "- a", "done", **memory())
    assert "what left a conversation was not kept" in caplog.text


@pytest.mark.parametrize("said", ["NOTHING", "nothing.", "  "])
async def test_no_facts_are_no_lines(desk: Bench, tmp_path: Path, said: str) -> None:
    await until_too_long(desk, "a summary", said, "done", **memory(offload=False))
    assert not (tmp_path / "memory").exists()


async def test_a_summary_that_fails_keeps_nothing_as_nothing_is_gone(desk: Bench, tmp_path: Path) -> None:
    await until_too_long(desk, server_error(), "done", maxRetries=0, **memory())
    assert not (tmp_path / "memory").exists()
    assert PROMPT not in prompts(desk)


async def test_facts_of_each_run_are_kept_when_that_is_asked_for(desk: Bench, tmp_path: Path) -> None:
    desk.load("yes", "- Ada buys bolts.", hooks=[{"name": "memory", "config": {"eachRun": True}}])
    outcome = await desk.say(LONG)
    assert (outcome.message.text, outcome.message.metadata["steps"]) == ("yes", "1")
    assert [day.read_text() for day in (tmp_path / "memory").glob("*.md")] == ["- Ada buys bolts.\n"]


async def test_the_model_can_look_for_what_was_kept(desk: Bench, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-01-02.md").write_text("- Ada buys bolts.\n- It rains.\n")
    (tmp_path / "memory/2026-01-03.md").write_text("- Ada buys nuts.\n")
    for words in ("ada buys", "snow", " "):
        desk.model.add(calls("memory_search", words=words))
    desk.load("done", hooks=["memory"])
    await desk.say()
    results = [one["content"] for one in desk.last if one["role"] == "tool"]
    assert results == [
        "2026-01-03.md: - Ada buys nuts.\n2026-01-02.md: - Ada buys bolts.",
        "Nothing was kept about that.",
        "Say which words to look for.",
    ]


async def test_a_session_is_a_file_that_leads_nowhere_else(desk: Bench, tmp_path: Path) -> None:
    settings = {**memory(facts=False), "session": "../../out"}
    await until_too_long(desk, "a summary", "done", **settings)
    assert [file.parent for file in files_in(tmp_path, "*.jsonl")] == [tmp_path / "memory" / "sessions"]


def files_in(folder: Path, pattern: str) -> list[Path]:
    return list(folder.rglob(pattern))


# Compaction as a hook


async def test_compaction_as_a_hook_shortens_the_conversation_of_any_loop(desk: Bench) -> None:
    hook = {"name": "compaction", "config": SHORT}
    desk.load("yes", "yes", "a summary", "done", hooks=[hook], session="ann", mode="plain", systemPrompt="S.")
    for text in (LONG, "and then?", "well?"):
        assert (await desk.say(text)).ok
    assert [one["role"] for one in desk.last] == ["system", "user", "user"]
    assert "a summary" in desk.last[1]["content"]
    assert prompts(desk)[2] != "S."
    assert prompts(desk)[3] == "S."


async def test_a_service_that_finds_it_too_long_is_asked_again_by_the_hook(desk: Bench) -> None:
    overflow = Reply(status=400, body={"error": {"message": "maximum context length is 8192 tokens", "code": "x"}})
    desk.load("yes", overflow, "a summary", "done", hooks=["compaction"], session="ann")
    await desk.say(LONG)
    assert (await desk.say("well?")).message.text == "done"
    assert "a summary" in desk.last[0]["content"]


async def test_the_hook_stands_at_ten_and_other_errors_pass_through_it(desk: Bench) -> None:
    desk.load(server_error(), hooks=["compaction", "memory"], maxRetries=0)
    assert (await desk.say()).status == "failed"
    (_, agent), *_ = desk.engine.get("c")._nodes
    assert [(one["name"], one["order"]) for one in agent.hooks] == [("Memory", 5), ("CompactionHook", 10)]


@pytest.mark.parametrize(
    ("config", "gone"),
    [
        ({}, {"2023-08-15.md", "old.jsonl"}),
        ({"keepDays": 0, "keepSessionDays": 0}, set[str]()),
        ({"keepDays": 1, "keepSessionDays": 0}, {"2023-08-15.md", "2023-08-17.md"}),
    ],
)
async def test_files_that_are_too_old_go_when_something_is_kept(
    desk: Bench, tmp_path: Path, config: dict[str, Any], gone: set[str]
) -> None:
    """The clock of the engine is at the 14th of November 2023."""
    now = desk.clock.time_ms() / 1000
    sessions = tmp_path / "memory/sessions"
    sessions.mkdir(parents=True)
    days = ["2023-08-15.md", "2023-08-17.md", "2001-99-99.md", "MEMORY.md", "2001-01-01.txt"]
    files = {tmp_path / "memory" / name: now for name in days}
    files |= {sessions / "old.jsonl": now - 181 * 86400, sessions / "new.jsonl": now - 179 * 86400}
    files[sessions / "old.txt"] = 0
    for path, changed in files.items():
        path.write_text("x")
        os.utime(path, (changed, changed))
    await until_too_long(desk, "a summary", "- a", "done", **memory(**config))
    assert {path.name for path in files if not path.exists()} == gone


async def test_old_files_are_looked_for_at_most_every_six_hours(desk: Bench, tmp_path: Path) -> None:
    desk.load(*["yes", "- a"] * 3, hooks=memory(eachRun=True)["hooks"])
    there: list[bool] = []
    for hours in (0, 5.9, 0.2):
        old = tmp_path / "memory/2001-01-01.md"
        old.parent.mkdir(exist_ok=True)
        old.write_text("x")
        desk.clock.advance(hours * 3600)
        await desk.say("hi")
        there.append(old.exists())
    assert there == [False, True, False]


async def test_a_link_to_another_folder_is_not_followed(desk: Bench, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "old.jsonl").write_text("x")
    os.utime(outside / "old.jsonl", (0, 0))
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/sessions").symlink_to(outside)
    desk.load("yes", "- a", hooks=memory(eachRun=True)["hooks"])
    await desk.say("hi")
    assert (outside / "old.jsonl").exists()

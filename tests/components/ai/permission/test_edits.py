"""Files that agents change: the mode `accept_edits`, its folders, and places that are always asked about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary.testing import Reply, ToolCall

if TYPE_CHECKING:
    from pathlib import Path

    from catenary import Outcome


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.txt").write_text("one")
    (tmp_path / "docs").mkdir()
    return tmp_path


async def ask(bench: Any, work: Path, name: str, permission: Any, **arguments: Any) -> Outcome:
    """Have the model ask for one call of a built-in tool that works in a folder."""
    tool = {"type": "builtin", "name": name, "config": {"workDir": str(work)}}
    node = {"url": f"{bench.url}/v1", "key": "k", "model": "m", "tools": [tool], "permission": permission}
    chain = work / "chain.json"
    nodes = [{"id": "agent", "type": "ai/agent", "configuration": node}]
    chain.write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes}}))
    bench.model.add(Reply(tool_calls=[ToolCall(name, arguments, "c1")]), "done")
    bench.engine.load(chain)
    return await bench.say()


def reason(outcome: Outcome) -> str:
    return json.loads(outcome.message.text)["toolCalls"][0]["reason"]


async def test_files_in_the_folder_of_the_tool_may_be_changed(bench: Any, work: Path) -> None:
    assert (await ask(bench, work, "write", "accept_edits", path="src/b.txt", content="x")).message.text == "done"
    assert (work / "src" / "b.txt").read_text() == "x"


async def test_the_same_is_asked_about_in_the_mode_default(bench: Any, work: Path) -> None:
    paused = await ask(bench, work, "write", "default", path="src/b.txt", content="x")
    assert (paused.status, reason(paused)) == ("paused", "no rule allows it")
    assert not (work / "src" / "b.txt").exists()


@pytest.mark.parametrize(("path", "status"), [("src/b.txt", "completed"), ("docs/b.txt", "paused")])
async def test_only_the_named_folders_are_free(bench: Any, work: Path, path: str, status: str) -> None:
    permission = {"mode": "accept_edits", "workingDirectories": ["src"]}
    assert (await ask(bench, work, "write", permission, path=path, content="x")).status == status
    assert (work / path).exists() == (status == "completed")


async def test_a_folder_is_not_another_one_whose_name_begins_so(bench: Any, work: Path) -> None:
    (work / "src2").mkdir()
    permission = {"mode": "accept_edits", "workingDirectories": ["src"]}
    assert (await ask(bench, work, "write", permission, path="src2/b.txt", content="x")).status == "paused"


async def test_a_link_that_leads_out_of_the_folder_is_no_part_of_it(bench: Any, work: Path) -> None:
    (work / "src" / "out").symlink_to(work / "docs")
    permission = {"mode": "accept_edits", "workingDirectories": ["src"]}
    assert (await ask(bench, work, "write", permission, path="src/out/b.txt", content="x")).status == "paused"
    assert not (work / "docs" / "b.txt").exists()


@pytest.mark.parametrize("mode", ["accept_edits", "bypass", "listed", "default"])
@pytest.mark.parametrize("path", [".env", ".git/config", "src/../.env", "src/.vscode/x", "src/.SSH/config"])
async def test_dangerous_places_are_asked_about_in_every_mode(bench: Any, work: Path, mode: str, path: str) -> None:
    paused = await ask(bench, work, "write", {"mode": mode, "allow": ["write"]}, path=path, content="x")
    assert paused.status == "paused"
    assert "is a dangerous place" in reason(paused)


async def test_a_link_to_a_dangerous_place_is_one(bench: Any, work: Path) -> None:
    (work / ".env").write_text("KEY=1")
    (work / "src" / "plain.txt").symlink_to(work / ".env")
    assert (await ask(bench, work, "read", "bypass", path="src/plain.txt")).status == "paused"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("grep", {"pattern": "KEY", "path": ".env"}),
        ("grep", {"pattern": ".", "include": ".env"}),
        ("glob", {"pattern": "*", "path": ".ssh"}),
        ("glob", {"pattern": ".ssh/*"}),
    ],
)
async def test_who_searches_in_a_dangerous_place_is_asked_about_as_well(
    bench: Any, work: Path, name: str, arguments: dict[str, Any]
) -> None:
    (work / ".env").write_text("KEY=1")
    assert (await ask(bench, work, name, "bypass", **arguments)).status == "paused"


async def test_a_search_is_not_taken_for_a_path(bench: Any, work: Path) -> None:
    assert (await ask(bench, work, "grep", "default", pattern=".env", path="src")).message.text == "done"


async def test_a_deny_rule_is_about_the_place_of_a_search(bench: Any, work: Path) -> None:
    await ask(bench, work, "grep", {"deny": ["grep(docs*)"]}, pattern="x", path="src/../docs")
    assert bench.last[-1]["content"] == "Permission denied by rules"


async def test_the_lists_of_dangerous_places_may_be_ones_own(bench: Any, work: Path) -> None:
    permission = {"mode": "bypass", "dangerousFiles": ["a.txt"], "dangerousFolders": []}
    assert (await ask(bench, work, "read", permission, path="src/a.txt")).status == "paused"


async def test_what_is_taken_off_the_lists_is_asked_about_no_more(bench: Any, work: Path) -> None:
    permission = {"mode": "bypass", "dangerousFiles": [], "dangerousFolders": []}
    assert (await ask(bench, work, "write", permission, path=".env", content="x")).ok
    assert (work / ".env").read_text() == "x"


async def test_where_nobody_may_be_asked_a_dangerous_place_is_refused(bench: Any, work: Path) -> None:
    done = await ask(bench, work, "write", {"mode": "dont_ask", "allow": ["write"]}, path=".env", content="x")
    assert done.message.text == "done"
    assert bench.last[-1]["content"] == "Permission denied by rules"
    assert not (work / ".env").exists()


async def test_an_allow_rule_lets_a_write_pass_in_no_explorer(bench: Any, work: Path) -> None:
    await ask(bench, work, "write", {"mode": "explore", "allow": ["write"]}, path="src/b.txt", content="x")
    assert bench.last[-1]["content"] == "Permission denied by rules"
    assert not (work / "src" / "b.txt").exists()


async def test_files_are_all_that_accept_edits_lets_be_changed(bench: Any, work: Path) -> None:
    paused = await ask(bench, work, "bash", "accept_edits", command="touch src/b.txt")
    assert paused.status == "paused"
    assert not (work / "src" / "b.txt").exists()


async def test_a_shell_text_that_only_looks_runs_in_an_explorer(bench: Any, work: Path) -> None:
    await ask(bench, work, "bash", "explore", command="cat src/a.txt")
    assert "one" in bench.last[-1]["content"]


async def test_a_shell_text_that_reads_a_dangerous_file_is_asked_about(bench: Any, work: Path) -> None:
    (work / ".env").write_text("KEY=1")
    assert (await ask(bench, work, "bash", "bypass", command="cat <.env")).status == "paused"


async def test_what_a_tool_refuses_by_itself_no_mode_and_no_rule_lets_pass(bench: Any, work: Path) -> None:
    await ask(bench, work, "bash", {"mode": "bypass", "allow": ["bash"]}, command="chmod 644 src/a.txt")
    assert bench.last[-1]["content"].startswith("Error: Permission denied - ")


async def test_a_dangerous_command_is_asked_about_though_everything_else_runs(bench: Any, work: Path) -> None:
    paused = await ask(bench, work, "bash", {"mode": "bypass", "allow": ["bash"]}, command="ls; rm -rf src")
    assert (paused.status, (work / "src").exists()) == ("paused", True)
    assert "dangerous command" in reason(paused)

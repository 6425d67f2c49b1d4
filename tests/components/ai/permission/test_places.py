"""Rules are about where a call really works: the folder of the tool, that of the run, and that of the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine
from catenary.testing import Reply, ToolCall
from catenary_components.ai.tools.builtin.paths import WorkFolder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from catenary import Outcome

DENIED = "Permission denied by rules"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for folder in ("job/secret", "job/src", "secret", "run/secret"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.txt").write_text("hidden")
    return tmp_path


@pytest.fixture
async def engine(bench: Any, work: Path) -> AsyncGenerator[Engine]:
    async with Engine({"data_dir": str(work)}, clock=bench.clock) as engine:
        bench.engine = engine
        yield engine


async def ask(bench: Any, name: str, permission: Any, config: Any, arguments: Any, **more: Any) -> Outcome:
    """Have the model ask for one call of a built-in tool whose work folder is below that of the agent."""
    tool = {"type": "builtin", "name": name, "config": {"workDir": "job", **config}}
    bench.load(Reply(tool_calls=[ToolCall(name, arguments, "c1")]), "done", tools=[tool], permission=permission)
    return await bench.engine.run("c", "go", **more)


CALLS = [
    ("read", {"path": "secret/a.txt"}),
    ("write", {"path": "secret/a.txt", "content": "x", "mode": "overwrite"}),
    ("edit", {"path": "secret/a.txt", "search": "hidden", "replace": "x"}),
    ("grep", {"pattern": "hidden", "path": "secret"}),
    ("glob", {"pattern": "*", "path": "secret"}),
]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_a_rule_that_names_a_whole_path_is_about_the_work_folder_of_the_tool(
    bench: Any, work: Path, name: str, arguments: Any
) -> None:
    await ask(bench, name, {"mode": "bypass", "deny": [f"{name}({work}/job/secret*)"]}, {}, arguments)
    assert bench.last[-1]["content"] == DENIED
    assert (work / "job/secret/a.txt").read_text() == "hidden"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_a_rule_is_about_the_folder_that_the_program_around_has_chosen(
    bench: Any, work: Path, name: str, arguments: Any
) -> None:
    rule = f"{name}({work}/run/secret*)"
    scope = [WorkFolder(str(work / "run"))]
    await ask(bench, name, {"mode": "bypass", "deny": [rule]}, {}, arguments, scope=scope)
    assert bench.last[-1]["content"] == DENIED
    assert (work / "run/secret/a.txt").read_text() == "hidden"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "plain.txt"}),
        ("grep", {"pattern": "KEY", "path": "plain.txt"}),
        ("bash", {"command": "cat plain.txt"}),
        ("bash", {"command": "cat ../plain.txt", "work_dir": "src"}),
    ],
)
async def test_a_link_in_the_work_folder_to_a_dangerous_file_is_one(
    bench: Any, work: Path, name: str, arguments: Any
) -> None:
    (work / "job/.env").write_text("KEY=1")
    (work / "job/plain.txt").symlink_to(".env")
    paused = await ask(bench, name, "bypass", {}, arguments)
    assert paused.status == "paused"
    assert "is a dangerous place (.env)" in json.loads(paused.message.text)["toolCalls"][0]["reason"]


@pytest.mark.usefixtures("engine")
async def test_a_path_of_a_command_is_relative_to_where_it_runs(bench: Any, work: Path) -> None:
    (work / "job/.env").write_text("KEY=1")
    (work / "job/src/plain.txt").symlink_to("../.env")
    assert (await ask(bench, "bash", "bypass", {}, {"command": "cat plain.txt", "work_dir": "src"})).status == "paused"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ("bash(git push*)", {"command": "git", "args": ["push", "--force"]}),
        ("bash(touch *)", {"command": "xargs touch", "args": ["x"]}),
        ("bash(*secret*)", {"command": "ls", "args": ["secret"]}),
    ],
)
async def test_a_deny_rule_sees_the_further_arguments_of_a_command(bench: Any, rule: str, arguments: Any) -> None:
    await ask(bench, "bash", {"mode": "bypass", "deny": [rule]}, {}, arguments)
    assert bench.last[-1]["content"] == DENIED


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"command": "touch a", "args": ["b"]}, "paused"),
        ({"command": "git", "args": ["commit"]}, "paused"),
        ({"command": "touch", "args": ["a"]}, "completed"),
    ],
)
async def test_an_allow_rule_sees_the_further_arguments_of_a_command(bench: Any, arguments: Any, status: str) -> None:
    permission = {"mode": "default", "allow": ["bash(touch a)", "bash(git status)"]}
    assert (await ask(bench, "bash", permission, {}, arguments)).status == status


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("arguments", [{"command": "cat", "args": [".env"]}, {"command": "cat <", "args": [".env"]}])
async def test_a_dangerous_file_among_further_arguments_is_asked_about(bench: Any, arguments: Any) -> None:
    assert (await ask(bench, "bash", "bypass", {}, arguments)).status == "paused"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "command", ["cat .env", "cat .env '", "cat # .env", "cat $( .env", "cat .en*", "head -n1 ./.env"]
)
async def test_without_a_shell_a_dangerous_file_is_asked_about_however_it_is_written(
    bench: Any, work: Path, command: str
) -> None:
    (work / "job/.env").write_text("KEY=1")
    assert (await ask(bench, "bash", "bypass", {"shell": False}, {"command": command})).status == "paused"


@pytest.mark.usefixtures("engine")
async def test_without_a_shell_a_rule_sees_the_words_as_they_are_cut(bench: Any) -> None:
    permission = {"mode": "bypass", "deny": ["bash(cat *secret*)"]}
    for command in ("cat # secret/a.txt", "cat ' secret/a.txt", "cat  secret/a.txt"):
        await ask(bench, "bash", permission, {"shell": False}, {"command": command})
        assert bench.last[-1]["content"] == DENIED


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "command",
    ["cat .e*", "cat ./.e?v", "cat {.env,x}", "cat < .en*", "cat src/../.[e]nv", "cat keys/*", "cat ./keys/id*"],
)
async def test_a_pattern_of_the_shell_that_fits_a_dangerous_file_is_asked_about(
    bench: Any, work: Path, command: str
) -> None:
    (work / "job/.env").write_text("KEY=1")
    (work / "job/keys").mkdir()
    (work / "job/keys/id_rsa").write_text("KEY=2")
    assert (await ask(bench, "bash", "bypass", {}, {"command": command})).status == "paused"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("command", ["ls *", "cat src/*", "ls src/{a,b}.txt || true"])
async def test_a_pattern_that_fits_nothing_dangerous_is_not(bench: Any, work: Path, command: str) -> None:
    (work / "job/.env").write_text("KEY=1")
    assert (await ask(bench, "bash", "bypass", {}, {"command": command})).ok


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("grep -r key .", "paused"),
        ("grep -rn key", "paused"),
        ("grep --recursive key deep", "paused"),
        ("rg key", "paused"),
        ("ls && cat x.txt | grep -R key ../job", "paused"),
        ("tar czf x.tgz deep", "paused"),
        ("cp -a deep copy", "paused"),
        ("find . -name x -exec cat {} +", "paused"),
        ("grep key src/a.txt", "completed"),
        ("grep -r key src", "completed"),
        ("rg key src", "completed"),
        ("rg key -A 3", "paused"),
        ("cp -r src copy", "completed"),
        ("find . -name a.txt", "completed"),
        ("ls -R", "completed"),
    ],
)
async def test_a_command_that_reads_a_whole_folder_is_asked_about_when_a_secret_is_in_it(
    bench: Any, engine: Engine, work: Path, command: str, status: str
) -> None:
    (work / "job/deep/er").mkdir(parents=True)
    (work / "job/deep/er/.env").write_text("KEY=1")
    (work / "job/src/.git").mkdir()
    (work / "job/src/.git/config").write_text("[x]")
    config = {"allow": ["grep", "rg", "ls", "cat", "tar", "cp", "find"]}
    assert (await ask(bench, "bash", "bypass", config, {"command": command})).status == status
    if status == "paused":
        assert "is read, and in it is a dangerous place (.env)" in str(next(iter(engine.pauses)).ask.details)


async def test_of_a_very_large_folder_the_nearest_files_are_looked_at(bench: Any, engine: Engine, work: Path) -> None:
    many = work / "job/many/below"
    many.mkdir(parents=True)
    for number in range(5001):
        (many / f"{number}").touch()
    (work / "job/many/.netrc").touch()
    assert (await ask(bench, "bash", "bypass", {}, {"command": "grep -r key many"})).status == "paused"

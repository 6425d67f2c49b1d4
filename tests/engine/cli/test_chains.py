"""Chains that the chain of a command runs, given by `--chains`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary import SUCCESS
from catenary.component import Component, ComponentInfo, registered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    from catenary.component import Context, Emission
    from catenary.message import Message

    Call = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a chain that runs two others, one of them below it and without id."""
    made = tmp_path / "chains"
    (made / "parts").mkdir(parents=True)
    write(made / "main.json", "main", flow("a", "sub"), flow("b", "twice"), connect=("a", "b"))
    write(made / "sub.json", "sub", expression("msg.n + 1"))
    write(made / "parts" / "twice.json", "", expression("msg * 2"))
    return made


def write(path: Path, chain_id: str, *nodes: dict[str, Any], connect: tuple[str, str] | None = None) -> Path:
    ways = [{"fromId": connect[0], "type": "Success", "toId": connect[1]}] if connect else []
    head = {"id": chain_id} if chain_id else {}
    path.write_text(json.dumps({"ruleChain": head, "metadata": {"nodes": nodes, "connections": ways}}))
    return path


def flow(node_id: str, target: str) -> dict[str, Any]:
    return {"id": node_id, "type": "flow", "configuration": {"targetId": target, "extend": True}}


def expression(text: str) -> dict[str, Any]:
    return {"id": "e", "type": "exprTransform", "configuration": {"expr": text}}


def test_chains_of_a_folder_and_those_below_it_are_run(call: Call, folder: Path) -> None:
    done = call("run", folder / "main.json", "--chains", folder, "-d", '{"n": 2}')
    assert (done.exit_code, done.stdout, done.stderr) == (0, "6\n", "")


def test_chains_are_given_file_by_file(call: Call, folder: Path) -> None:
    files = ("--chains", folder / "sub.json", "--chains", folder / "parts" / "twice.json")
    assert call("run", folder / "main.json", *files, "-d", '{"n": 2}').stdout == "6\n"


def test_each_line_runs_the_chains(call: Call, folder: Path) -> None:
    done = call("run", folder / "main.json", "--chains", folder, "--lines", "-", stdin='{"n": 2}\n{"n": 3}\n')
    assert sorted(done.stdout.split()) == ["6", "8"]


def test_chains_may_be_named_twice(call: Call, folder: Path) -> None:
    given = ("--chains", folder, "--chains", folder / "parts", "--chains", folder / "sub.json")
    assert call("run", folder / "main.json", *given, "-d", '{"n": 2}').exit_code == 0


def test_the_chain_that_is_run_keeps_its_changes_when_it_lies_in_the_folder(call: Call, folder: Path) -> None:
    given = ("--chains", folder, "--config", "b.targetId=sub", "--config", "a.targetId=start")
    write(folder / "start.json", "start", expression("{n: msg.n}"))
    assert call("run", folder / "main.json", *given, "-d", '{"n": 2}').stdout == "3\n"


@pytest.mark.parametrize("chain_id", ["counted", ""])
def test_the_chain_that_is_run_is_loaded_once(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, chain_id: str
) -> None:
    opened: list[str] = []

    class CliCounted(Component[Any]):
        """Counts how often it is opened."""

        info = ComponentInfo("test/cliCounted", "test")

        def open(self, ctx: Context) -> None:
            opened.append(chain_id)

        async def run(self, ctx: Context, msg: Message) -> Emission:
            return SUCCESS, msg

    monkeypatch.setitem(registered, "test/cliCounted", CliCounted)
    file = write(folder / "counted.json", chain_id, {"id": "a", "type": "test/cliCounted"})
    done = call("run", file, "--chains", folder)
    assert (done.exit_code, done.stderr) == (0, "")
    assert len(opened) == 1


def test_a_missing_chain_is_told_with_the_option(call: Call, folder: Path) -> None:
    alone = call("run", folder / "main.json", "-d", '{"n": 2}')
    assert alone.exit_code == 1
    assert "node 'a' (flow): ruleChain id=sub not found\n" in alone.stderr
    assert "hint: name the file of the chain 'sub', or a folder with it, by --chains PATH; loaded" in alone.stderr
    some = call("run", folder / "main.json", "-d", '{"n": 2}', "--chains", folder / "sub.json")
    assert "hint: name the file of the chain 'twice', " in some.stderr
    assert "loaded chains: 'main', 'sub'" in some.stderr


def test_a_path_that_is_not_there_and_a_folder_without_chains_are_wrong_usage(call: Call, folder: Path) -> None:
    wrong = call("run", folder / "main.json", "--chains", folder / "absent")
    assert (wrong.exit_code, "'--chains': Path" in wrong.stderr, "does not exist" in wrong.stderr) == (2, True, True)
    (folder / "empty").mkdir()
    empty = call("run", folder / "main.json", "--chains", folder / "empty")
    assert (empty.exit_code, "there are no chains in" in empty.stderr) == (2, True)


def test_all_that_is_wrong_with_the_chains_is_told(call: Call, folder: Path) -> None:
    (folder / "broken.json").write_text('{"ruleChain": ')
    write(folder / "unknown.json", "unknown", {"id": "a", "type": "nix"}, {"id": "b", "type": "nux"})
    done = call("run", folder / "main.json", "--chains", folder, "-d", '{"n": 2}')
    assert (done.exit_code, done.stdout) == (3, "")
    assert f"{folder / 'broken.json'}:1:" in done.stderr
    assert "componentType=nix" in done.stderr
    assert "componentType=nux" in done.stderr


def test_two_files_with_one_id_are_told(call: Call, folder: Path) -> None:
    other = write(folder / "zero.json", "sub", expression("0"))
    done = call("run", folder / "main.json", "--chains", folder, "-d", '{"n": 2}')
    assert done.exit_code == 3
    assert f"the chain 'sub' is in {folder / 'sub.json'} already, and also in {other}" in done.stderr
    write(other, "main", expression("0"))
    done = call("run", folder / "main.json", "--chains", folder, "-d", '{"n": 2}')
    assert done.exit_code == 3
    assert f"the chain 'main' is in {folder / 'main.json'} already, and also in {other}" in done.stderr


def test_disabled_chains_and_tests_of_a_folder_are_left_out(call: Call, folder: Path) -> None:
    (folder / "off.yaml").write_text("ruleChain: {id: off, disabled: true}\nmetadata: {nodes: []}\n")
    (folder / "main.test.yaml").write_text("cases: 7\n")
    (folder / "package.json").write_text('{"name": "other"}')
    assert call("run", folder / "main.json", "--chains", folder, "-d", '{"n": 2}').exit_code == 0


def test_a_recorded_run_is_run_again_with_its_chains(call: Call, folder: Path, tmp_path: Path) -> None:
    main, store = folder / "main.json", ("--store", tmp_path / "store.db")
    assert call("run", main, "--chains", folder, "-d", '{"n": 2}', "--record", *store).exit_code == 0
    write(main, "main", flow("a", "sub"))
    assert call("run", "--of", "last", "--chains", folder, *store).stdout == "6\n"
    assert call("run", main, "--of", "last", "--chains", folder, *store).stdout == "3\n"
    assert call("run", "--of", "last", "--chains", folder, "--pin", "sub:e", *store).stdout == "6\n"
    assert "--chains PATH" in call("run", "--of", "last", *store).stderr

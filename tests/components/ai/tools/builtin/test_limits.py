"""The limits of built-in tools, those they have by themselves among them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from catenary_components.ai.tools.builtin import bash
from catenary_components.ai.tools.builtin.bash import BashConfig
from catenary_components.ai.tools.builtin.edit import EditConfig
from catenary_components.ai.tools.builtin.finding import FindConfig
from catenary_components.ai.tools.builtin.read import ReadConfig
from catenary_components.ai.tools.builtin.shell.lists import DEFAULT_ALLOW, DEFAULT_DENY
from catenary_components.ai.tools.builtin.write import WriteConfig

if TYPE_CHECKING:
    from .conftest import Shop


def test_the_settings_that_nobody_gave_are_those_of_the_guide() -> None:
    shell = BashConfig()
    assert (shell.timeout, shell.max_output_size, shell.mode, shell.shell) == (60, 50_000, "allow", True)
    assert (ReadConfig().max_read_lines, ReadConfig().max_search_results) == (1_000, 30)
    assert (FindConfig().max_results, FindConfig().hard_max_limit) == (100, 500)
    assert (WriteConfig().max_file_size, EditConfig().max_history) == (10 * 1024 * 1024, 10)
    assert {"git", "python3", "ls", "cat", "rm", "sed", "awk", "npm", "docker", "kubectl"} <= set(DEFAULT_ALLOW)
    assert not {"curl", "wget", "sudo"} & set(DEFAULT_ALLOW)
    assert {"su", "chmod", "chown", "dd", "mkfs", "fdisk", "shutdown", "reboot"} <= set(DEFAULT_DENY)


@pytest.mark.parametrize(("wanted", "given"), [(None, 60), (5, 5), (300, 300), (100_000, 480)])
async def test_a_command_has_the_time_that_the_model_names_and_480_seconds_at_most(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, wanted: float | None, given: float
) -> None:
    seen: list[float] = []
    run = bash.run_program

    async def noted(command: Any, options: Any) -> Any:
        seen.append(options.timeout_s)
        return await run(command, options)

    monkeypatch.setattr(bash, "run_program", noted)
    await shop.call("bash", command="true", timeout=wanted)
    assert seen == [given]


async def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("a.txt", "old\n")
    shop.make("write")
    shop.make("edit", maxHistory=0)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for name, arguments in (
        ("write", {"path": "a.txt", "content": "new", "mode": "overwrite"}),
        ("write", {"path": "b.txt", "content": "new"}),
        ("edit", {"path": "a.txt", "search": "old", "replace": "new"}),
    ):
        assert await shop.call(name, **arguments) == f"Error: No space left on device - {arguments['path']}"
    assert [one.name for one in shop.folder.iterdir()] == ["a.txt"]
    assert shop.text("a.txt") == "old\n"


async def test_a_home_folder_is_looked_up_and_has_to_lie_inside(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("home/a.txt", "mine\n")
    monkeypatch.setenv("HOME", str(shop.folder / "home"))
    assert (await shop.call("read", path="~/a.txt")).endswith("1: mine")
    monkeypatch.setenv("HOME", "/root")
    assert "Path escapes allowed directory" in await shop.call("read", path="~/a.txt")


async def test_a_path_of_more_than_4096_characters_is_refused(shop: Shop) -> None:
    assert "at most 4096 characters" in await shop.call("read", path="a/" * 2048 + "b")
    assert "at most 4096 characters" not in await shop.call("read", path="a/" * 2048)


async def test_grep_shows_lines_before_and_after(shop: Shop) -> None:
    shop.write("a.txt", "1\n2\nhit\n4\n5\n6\nhit\n8\n")
    after: Any = {"-A": 1}
    around: Any = {"-C": 1}
    assert await shop.call("grep", pattern="hit", **after) == ("a.txt:3:hit\na.txt-4-4\n--\na.txt:7:hit\na.txt-8-8")
    assert await shop.call("grep", pattern="hit", **around) == (
        "a.txt-2-2\na.txt:3:hit\na.txt-4-4\n--\na.txt-6-6\na.txt:7:hit\na.txt-8-8"
    )


async def test_ten_versions_of_a_file_are_kept(shop: Shop) -> None:
    shop.write("a.txt", "v0\n")
    for n in range(12):
        await shop.call("edit", path="a.txt", search=f"v{n}", replace=f"v{n + 1}")
    told = await shop.call("edit", path="a.txt", operation="list_backups")
    assert told == f"Backups of a.txt, the latest last: {', '.join(str(n) for n in range(3, 13))}"

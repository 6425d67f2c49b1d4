"""No path leads out of the folders that tools may use."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.expr import Environment
from catenary_components.ai.tools.builtin import make
from catenary_components.ai.tools.builtin.base import ToolFailure, Workplace
from catenary_components.ai.tools.builtin.files import read_bytes, write_bytes
from catenary_components.ai.tools.builtin.paths import PathEscape, PathPolicy, WorkFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Shop

ESCAPES = [
    "../outside.txt",
    "/etc/passwd",
    "d/../../outside.txt",
    "link",
    "links/outside.txt",
    "links",
    "d/up/outside.txt",
    "~/x",
    "loop",
    "./links/../outside.txt",
]


def _lay_out(shop: Shop) -> None:
    outside = shop.folder.parent / "outside.txt"
    outside.write_text("secret")
    (shop.folder / "d").mkdir()
    (shop.folder / "link").symlink_to(outside)
    (shop.folder / "links").symlink_to(shop.folder.parent)
    (shop.folder / "d" / "up").symlink_to("../..")
    (shop.folder / "loop").symlink_to("loop")


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_file_tool_goes_outside(shop: Shop, path: str) -> None:
    _lay_out(shop)
    for name, arguments in (
        ("read", {}),
        ("read", {"query": "secret"}),
        ("write", {"content": "x", "mode": "overwrite"}),
        ("write", {"content": "x", "mode": "append"}),
        ("edit", {"search": "secret", "replace": "x"}),
        ("grep", {"pattern": "secret"}),
        ("glob", {"pattern": "*.txt"}),
    ):
        text = await shop.call(name, path=path, **arguments)
        assert text.startswith("Error: ")
        assert "secret\n" not in text
    assert (shop.folder.parent / "outside.txt").read_text() == "secret"


async def test_an_escape_reads_as_a_failed_call(shop: Shop) -> None:
    assert await shop.call("read", path="../x") == (
        "Error: Tool execution failed: Path escapes allowed directory - ../x"
    )
    for path in ("//server/share", "\\\\server\\share"):
        assert "is a network path" in await shop.call("read", path=path)


async def test_links_that_stay_inside_are_followed(shop: Shop) -> None:
    shop.write("d/a.txt", "inside\n")
    (shop.folder / "short").symlink_to("d")
    assert (await shop.call("read", path="short/a.txt")).endswith("1: inside")
    assert (await shop.call("write", path="short/b.txt", content="x")) == "Wrote 1 bytes to d/b.txt"


async def test_walks_do_not_follow_links(shop: Shop) -> None:
    _lay_out(shop)
    shop.write("d/a.txt", "secret inside\n")
    assert await shop.call("grep", pattern="secret") == "d/a.txt:1:secret inside"
    assert await shop.call("glob", pattern="**/*.txt") == "d/a.txt"
    assert await shop.call("read", query="secret") == "d/a.txt:1:secret inside"


async def test_more_folders_may_be_allowed_and_some_excluded(shop: Shop, tmp_path: Path) -> None:
    shop.workplace = Workplace(Environment(roots=(tmp_path,)), shop.http, shop.clock)
    shop.write("own/a.txt", "own\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "b.txt").write_text("shared\n")
    shop.write("own/private/c.txt", "private\n")
    shop.make("read", workDir="work/own", allowPaths=[str(tmp_path / "shared")], denyPaths=["private"])
    assert (await shop.call("read", path="a.txt")).endswith("1: own")
    assert (await shop.call("read", path=str(tmp_path / "shared" / "b.txt"))).endswith("1: shared")
    assert "Path is excluded - private/c.txt" in await shop.call("read", path="private/c.txt")
    assert await shop.call("read", query="private") == "No matches for private"
    assert "escapes" in await shop.call("read", path=str(tmp_path / "other"))
    shop.make("read", workDir="work/own", crossDirectory=True, denyPaths=["private"])
    assert (await shop.call("read", path=str(tmp_path / "shared" / "b.txt"))).endswith("1: shared")
    assert "Path is excluded" in await shop.call("read", path="private/c.txt")


async def test_hidden_files_may_be_kept_from_being_written(shop: Shop) -> None:
    shop.make("write", writeHidden=False)
    for path in (".env", ".config/a", "d/.x/y"):
        assert "Hidden files may not be written" in await shop.call("write", path=path, content="x")
    assert await shop.call("write", path="d/a.b", content="x") == "Wrote 1 bytes to d/a.b"


async def test_the_program_around_may_choose_the_folder_of_a_run(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    shop.visit.scope.set(WorkFolder(str(tmp_path / "run")))
    assert await shop.call("write", path="a.txt", content="x") == "Wrote 1 bytes to a.txt"
    assert (tmp_path / "run" / "a.txt").exists()
    assert "escapes" in await shop.call("read", path=str(shop.folder))


async def test_the_work_directory_is_below_the_folders_of_the_chain(shop: Shop, tmp_path: Path) -> None:
    for config in ({"workDir": "/etc"}, {"workDir": str(tmp_path)}, {"workDir": "../"}, {"workDir": "nowhere"}):
        with pytest.raises(ValueError, match="builtin tool read: workDir: "):
            shop.make("read", **config)
    with pytest.raises(ValueError, match=r"builtin tool read: allowPaths: .*outside of the folders"):
        shop.make("read", allowPaths=["/etc"])
    nowhere = Workplace(Environment(), shop.http, shop.clock)
    with pytest.raises(ValueError, match="builtin tool read: workDir: no folder may be used"):
        make("read", {}, nowhere)


async def test_the_data_folder_comes_first(shop: Shop, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    environment = Environment(properties={"data_dir": str(data)}, roots=(shop.folder, data))
    tool: Any = make("read", {}, Workplace(environment, shop.http, shop.clock))
    assert tool.work.builtin.policy.work == str(data)


NAMES = ["a.txt", "d", "..", ".", "link", "links", "up", "loop", "", "work", "outside.txt", "e", "\u00e9", "~", "//"]


@given(st.lists(st.sampled_from(NAMES), max_size=7), st.booleans())
@example(["loop", "..", "link"], False)
@settings(max_examples=times(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_opened_lies_inside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], absolute: bool
) -> None:
    base = _maze(tmp_path_factory)
    policy = PathPolicy(str(base / "work"))
    path = ("/" if absolute else "") + "/".join(parts)
    try:
        real = policy.resolve(path)
        assert real == os.path.realpath(real)
        assert Path(real).is_relative_to(base / "work")
        content = read_bytes(policy, real)
    except (PathEscape, ToolFailure, OSError):
        return
    assert content == b"inside"


_MAZES: dict[str, Path] = {}


def _maze(factory: pytest.TempPathFactory) -> Path:
    if "one" not in _MAZES:
        base = Path(os.path.realpath(factory.mktemp("maze")))
        work = base / "work"
        (work / "d" / "e").mkdir(parents=True)
        for place in (work, work / "d", work / "d" / "e"):
            (place / "a.txt").write_bytes(b"inside")
            (place / "link").symlink_to(base / "outside.txt")
            (place / "links").symlink_to(base)
            (place / "up").symlink_to("..")
            (place / "loop").symlink_to("loop")
        (base / "outside.txt").write_bytes(b"outside")
        (base / "a.txt").write_bytes(b"outside")
        (base / "d").mkdir()
        (base / "d" / "a.txt").write_bytes(b"outside")
        _MAZES["one"] = base
    return _MAZES["one"]


class _Swapping:
    """Swaps a folder, or a file, for a link to the outside and back, as fast as it can."""

    def __init__(self, place: Path, target: Path) -> None:
        self._place, self._target = place, target
        self._aside = place.with_name("aside")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._swap)

    def _swap(self) -> None:
        while not self._stop.is_set():
            self._place.rename(self._aside)
            self._put(lambda: self._place.symlink_to(self._target))
            self._place.unlink(missing_ok=True)
            self._put(lambda: self._aside.rename(self._place))

    def _put(self, put: Callable[[], object]) -> None:
        """Put something at the place, and take away what a writer has made there meanwhile."""
        while True:
            try:
                put()
            except OSError:
                self._clear()
            else:
                return

    def _clear(self) -> None:
        if self._place.is_dir() and not self._place.is_symlink():
            shutil.rmtree(self._place, ignore_errors=True)
        else:
            self._place.unlink(missing_ok=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.mark.parametrize("swapped", ["d", "d/a.txt"])
def test_no_link_that_is_put_into_the_way_is_followed(
    tmp_path: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # how fast the disk is has no part in it
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "d", outside):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_bytes(b"inside" if folder != outside else b"outside")
    policy = PathPolicy(str(work))
    seen: set[bytes] = set()
    target = outside if swapped == "d" else outside / "a.txt"
    with _Swapping(work / swapped, target):
        for _ in range(times(1_500)):
            try:
                seen.add(read_bytes(policy, policy.resolve("d/a.txt")))
                write_bytes(policy, policy.resolve("d/a.txt"), b"inside")
            except (PathEscape, ToolFailure, OSError):
                continue
    assert seen <= {b"inside"}
    assert (outside / "a.txt").read_bytes() == b"outside"
    assert sorted(one.name for one in outside.iterdir()) == ["a.txt"]


def test_opening_what_was_resolved_before_a_link_was_put_there_is_an_error(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "d").mkdir(parents=True)
    (work / "d" / "a.txt").write_text("inside")
    (tmp_path / "a.txt").write_text("outside")
    policy = PathPolicy(str(work))
    real = policy.resolve("d/a.txt")
    (work / "d").rename(work / "e")
    (work / "d").symlink_to(tmp_path)
    with pytest.raises(PathEscape, match="d was replaced by a link"):
        read_bytes(policy, real)
    with pytest.raises(PathEscape, match="d was replaced by a link"):
        write_bytes(policy, real, b"x")
    (work / "d").unlink()
    (work / "e").rename(work / "d")
    (work / "d" / "a.txt").unlink()
    (work / "d" / "a.txt").symlink_to(tmp_path / "a.txt")
    with pytest.raises(PathEscape, match=r"a\.txt is a link"):
        read_bytes(policy, real)

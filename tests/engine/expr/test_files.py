"""Files in templates are confined to the allowed folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Environment, Expression, Template
from catenary.expr.files import locate_folder
from catenary.message import Message

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.md").write_bytes(b"\xef\xbb\xbfhello \xff")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    (root / "inner.md").symlink_to(root / "sub" / "a.md")
    return root


def call(source: str, *roots: Path, **settings: int) -> object:
    return Expression.compile(source, Environment(roots=roots, **settings)).evaluate(Message({}))  # type: ignore[arg-type]


def test_a_file_is_read_by_full_and_by_relative_path(root: Path) -> None:
    assert call(f"include('{root}/sub/a.md')", root) == "hello \ufffd"
    assert call("include('sub/a.md')", root) == "hello \ufffd"
    assert call("include('inner.md')", root) == "hello \ufffd"
    assert call("fileExists('sub/../sub/a.md')", root) is True


def test_a_missing_file_is_empty(root: Path) -> None:
    for path in ["none.md", "sub", "a\\x00b", "x" * 4000, f"{root}/none.md"]:
        assert call(f"include('{path}')", root) == ""
        assert call(f"fileExists('{path}')", root) is False


def test_the_log_tells_once_of_a_file_that_is_missed(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    environment = Environment(roots=(root,))
    template = Template.compile("${include('none.md')}${include('none.md', true)}${include('sub/a.md')}", environment)
    guarded = Template.compile("${fileExists('other.md') ? include('other.md') : ''}", environment)
    for _ in range(2):
        template.render(Message({}))
        guarded.render(Message({}))
    assert [(record.levelname, vars(record)["file"]) for record in caplog.records] == [("WARNING", "none.md")]


@pytest.mark.parametrize("path", ["../secret.md", "/etc/passwd", "link.md", "sub/../../secret.md"])
def test_nothing_outside_of_the_folders_is_read(root: Path, path: str) -> None:
    with pytest.raises(ExpressionError, match="outside of the folders"):
        call(f"include('{path}')", root)
    assert call(f"fileExists('{path}')", root) is False


@pytest.mark.parametrize("path", ["loop/../link.md", "sub/../loop/../link.md", "./loop/./../link.md"])
def test_a_loop_of_links_does_not_hide_where_a_path_leads(root: Path, path: str) -> None:
    (root / "loop").symlink_to("loop")
    (root / "link").symlink_to(root.parent)
    assert call(f"include('{path}')", root) == ""
    assert call(f"fileExists('{path}')", root) is False
    assert call(f"include('{root}/{path}')", root) == ""
    assert locate_folder("loop/../link", Environment(roots=(root,))) is None


def test_without_folders_nothing_is_read() -> None:
    with pytest.raises(ExpressionError, match="no folder is allowed"):
        call("include('/etc/passwd')")


def test_addresses_are_refused(root: Path) -> None:
    with pytest.raises(ExpressionError, match="web addresses is off"):
        call("include('HTTP://127.0.0.1/x')", root)
    assert call("fileExists('https://127.0.0.1/x')", root) is False


def test_a_path_is_text(root: Path) -> None:
    for source in ["include(1)", "fileExists(2.5)"]:
        with pytest.raises(ExpressionError, match="takes string as argument 1"):
            call(source, root)
    with pytest.raises(ExpressionError, match="a path is a string, not nil"):
        call("include(msg.nope)", root)


def test_large_files_are_refused(root: Path) -> None:
    with pytest.raises(ExpressionError, match="larger than 3 bytes"):
        call("include('sub/a.md')", root, max_file_bytes=3)


def test_an_unreadable_file_is_empty(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:  # in the place of file modes, which do not stop the superuser
        raise PermissionError("refused")

    monkeypatch.setattr(os, "open", refuse)
    assert call("include('sub/a.md')", root) == ""


def test_a_device_is_no_file(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert call("include('pipe')", root) == ""

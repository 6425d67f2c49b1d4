"""`read`, `write` and `edit` with real files."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from catenary_components.ai.messages import ChatMessage, ToolCall, user_message

if TYPE_CHECKING:
    from .conftest import Shop


# read


async def test_a_file_is_read_by_lines(shop: Shop) -> None:
    shop.write("a.txt", "one\ntwo\nthree\n")
    assert await shop.call("read", path="a.txt") == "File: a.txt (3 lines)\n1: one\n2: two\n3: three"
    assert await shop.call("read", path="a.txt", line_from=2, line_to=2) == "File: a.txt (3 lines, here 2-2)\n2: two"


async def test_a_long_file_comes_in_parts(shop: Shop) -> None:
    shop.make("read", maxReadLines=2)
    shop.write("a.txt", "1\n2\n3\n4\n5\n")
    first = await shop.call("read", path="a.txt")
    assert first.endswith("2: 2\n(go on with line_from=3)")
    assert (await shop.call("read", path="a.txt", line_from=5)).endswith("5: 5")
    assert "Invalid range" in await shop.call("read", path="a.txt", line_from=6)
    assert "Invalid range" in await shop.call("read", path="a.txt", line_from=3, line_to=2)


async def test_a_result_is_cut_at_50_kb(shop: Shop) -> None:
    shop.write("a.txt", "x" * 1_999 + "\n" + "y" * 2_001 + "\n" + ("z" * 1000 + "\n") * 100)
    text = await shop.call("read", path="a.txt")
    assert len(text) < 50_100
    assert text.endswith("(cut after 50000 characters; read fewer lines)")
    assert f"1: {'x' * 1_999}\n2: {'y' * 2_000}... (2001 characters)\n" in text


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.png", b"not really", "Binary file"),
        ("a.dat2", b"a\0b", "Binary file"),
        ("a.bin2", b"\x01" * 31 + b"a" * 69, "Binary file"),
        ("big.txt", b"x" * (10 * 1024 * 1024 + 1), "File too large"),
    ],
)
async def test_what_is_no_text_is_not_read(shop: Shop, name: str, content: bytes, text: str) -> None:
    shop.write(name, content)
    assert (await shop.call("read", path=name)).startswith(f"Error: {text}")


async def test_a_file_with_up_to_30_percent_of_unprintable_bytes_is_text(shop: Shop) -> None:
    shop.write("a.txt", b"\x01" * 30 + b"a" * 70)
    assert (await shop.call("read", path="a.txt")).startswith("File: a.txt (1 lines)")


async def test_wrong_input_is_a_result(shop: Shop) -> None:
    (shop.folder / "d").mkdir()
    os.mkfifo(shop.folder / "pipe")
    assert await shop.call("read", path="nowhere.txt") == "Error: File not found - nowhere.txt"
    assert await shop.call("read", operation="file", path="") == "Error: Missing path - name a file or folder"
    assert (await shop.call("read", operation="file", path="d")).startswith("Error: Is a directory - d")
    assert (await shop.call("read", path="pipe")).startswith("Error: Not a file - pipe")
    assert (await shop.call("read", path="x" * 5000)).startswith("Error: Invalid path")
    assert (await shop.call("read", path="a\0b")).startswith("Error: Invalid path")
    assert (await shop.call("read", query="(", use_regex=True)).startswith("Error: Invalid pattern")


async def test_a_folder_is_listed(shop: Shop) -> None:
    shop.write("b.txt", "12345")
    shop.write("d/c.txt", "")
    (shop.folder / "l").symlink_to("/etc")
    assert await shop.call("read") == "Folder: . (3 entries)\nb.txt (5 bytes)\nd/\nl@"
    assert await shop.call("read", path="d") == "Folder: d (1 entries)\nc.txt (0 bytes)"
    assert await shop.call("read", operation="list", pattern="*.txt") == "Folder: . (1 entries)\nb.txt (5 bytes)"


async def test_a_search_ignores_case_and_shows_lines_around(shop: Shop) -> None:
    shop.write("a.txt", "x\nThe Bolt\ny\n")
    shop.write("d/b.md", "bolts\n")
    assert await shop.call("read", query="bolt") == "a.txt:2:The Bolt\nd/b.md:1:bolts"
    assert await shop.call("read", query="bolt", pattern="*.md") == "d/b.md:1:bolts"
    assert await shop.call("read", query="bolt", path="a.txt", context=1) == "a.txt-1-x\na.txt:2:The Bolt\na.txt-3-y"
    assert await shop.call("read", query="^b.lts$", use_regex=True) == "d/b.md:1:bolts"
    assert await shop.call("read", query="bolt", output_mode="files_with_matches") == "a.txt\nd/b.md"
    assert await shop.call("read", query="bolt", output_mode="count") == "a.txt:1\nd/b.md:1"
    assert await shop.call("read", query="nut") == "No matches for nut"


async def test_a_search_has_30_results_at_most_and_reads_100_kb_of_each_file(shop: Shop) -> None:
    shop.write("a.txt", "hit\n" * 50)
    shop.write("b.txt", "x" * 100_000 + "\nlate\n")
    text = await shop.call("read", query="hit")
    assert text.count("hit") == 30
    assert text.endswith("(the first 30 results; there are more)")
    assert await shop.call("read", query="late") == "No matches for late"


# write


async def test_a_file_is_made_with_its_folders(shop: Shop) -> None:
    assert await shop.call("write", path="d/e/a.txt", content="né\n") == "Wrote 4 bytes to d/e/a.txt"
    assert shop.text("d/e/a.txt") == "né\n"
    again = await shop.call("write", path="d/e/a.txt", content="other")
    assert again.startswith("Error: File exists - d/e/a.txt")
    assert shop.text("d/e/a.txt") == "né\n"


async def test_overwriting_takes_the_place_and_keeps_the_permissions(shop: Shop) -> None:
    path = shop.write("run.sh", "old")
    path.chmod(0o750)
    assert await shop.call("write", path="run.sh", content="new", mode="overwrite") == "Wrote 3 bytes to run.sh"
    assert shop.text("run.sh") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert [one.name for one in shop.folder.iterdir()] == ["run.sh"]


async def test_an_addition_is_set_off_with_the_time(shop: Shop) -> None:
    shop.write("log.md", "first\n")
    assert (await shop.call("write", path="log.md", content="second", mode="append")).startswith("Appended ")
    lines = shop.text("log.md").split("\n")
    assert lines[0] == "first"
    assert lines[1] == ""
    assert set(lines[2]) == set(lines[4]) == {"-"}
    assert lines[3].startswith("Time: ")
    assert lines[5:] == ["second", ""]


async def test_what_cannot_be_written_is_a_result(shop: Shop) -> None:
    shop.make("write", maxFileSize=10)
    (shop.folder / "d").mkdir()
    shop.write("plain", "x")
    assert (await shop.call("write", path="a", content="")).startswith("Error: Missing content")
    assert (await shop.call("write", path="a", content="x" * 11)).startswith("Error: Content too large")
    assert (await shop.call("write", path="plain", content="x" * 10, mode="append")).startswith(
        "Error: Content too large"
    )
    assert (await shop.call("write", path="d", content="x")).startswith("Error: Is a directory")
    assert (await shop.call("write", path="plain/a", content="x")).startswith("Error: Not a directory")
    assert sorted(one.name for one in shop.folder.iterdir()) == ["d", "plain"]


async def test_a_checker_says_what_is_wrong_with_what_was_written(shop: Shop) -> None:
    checker: Any = [sys.executable, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read(), 'a.py')", "{path}"]
    shop.make("write", diagnostics={".py": checker})
    shop.make("edit", diagnostics={".py": checker})
    assert await shop.call("write", path="a.py", content="x = 1\n") == "Wrote 6 bytes to a.py"
    broken = await shop.call("edit", path="a.py", search="1", replace="(")
    assert "\nDiagnostics:\n" in broken
    assert "line 1" in broken
    assert shop.text("a.py") == "x = (\n"
    shop.make("write", diagnostics={".c": ["sh", "-c", "seq -f 'error %g' 1 30; exit 1"]})
    told = (await shop.call("write", path="a.c", content="x")).partition("\nDiagnostics:\n")[2]
    assert told.split("\n") == [f"error {n}" for n in range(1, 11)]


# edit


async def test_a_text_that_is_unique_is_replaced(shop: Shop) -> None:
    shop.write("a.py", "a = 1\nb = 2\nc = 3\n")
    text = await shop.call("edit", path="a.py", search="b = 2", replace="b = 20\nbb = 21")
    assert text == "Edited a.py: replaced at 1 place\n1: a = 1\n2: b = 20\n3: bb = 21\n4: c = 3\n5: "
    assert shop.text("a.py") == "a = 1\nb = 20\nbb = 21\nc = 3\n"


async def test_a_text_that_is_not_unique_needs_global(shop: Shop) -> None:
    shop.write("a.txt", "x\ny x\nz\nx\nx\n")
    text = await shop.call("edit", path="a.txt", search="x", replace="w")
    assert text.startswith("Error: Not unique - 'x' is found 4 times, in the lines 1, 2, 4 ...")
    assert (await shop.call("edit", path="a.txt", search="x", replace="w", **{"global": True})).startswith(
        "Edited a.txt: replaced at 4 places"
    )
    assert shop.text("a.txt") == "w\ny w\nz\nw\nw\n"


async def test_blanks_count_and_a_near_line_is_named(shop: Shop) -> None:
    shop.write("a.py", "def f():\n    return colour\n")
    text = await shop.call("edit", path="a.py", search="  return  colour", replace="x")
    assert text.startswith("Error: Not found - '  return  colour' is not in the file; did you mean line 2: ")
    assert (await shop.call("edit", path="a.py", search="zzzzzz", replace="")).endswith("is not in the file")


async def test_an_edit_that_changes_nothing_is_refused(shop: Shop) -> None:
    shop.write("a.txt", "x\n")
    for arguments in ({"search": "x", "replace": "x"}, {"line_number": 1, "new_content": "x"}):
        assert (await shop.call("edit", path="a.txt", **arguments)).startswith("Error: Nothing to do")
    assert await shop.call("edit", path="a.txt", operation="list_backups") == "There are no backups of a.txt"


async def test_regular_expressions_replace_with_groups(shop: Shop) -> None:
    shop.write("a.txt", "k: 1\nm: 2\n")
    arguments: Any = {"search": r"^(\w): (\d)$", "replace": r"\2=\1", "use_regex": True, "global": True}
    await shop.call("edit", path="a.txt", **arguments)
    assert shop.text("a.txt") == "1=k\n2=m\n"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a*)*b", "(", "x" * 1001])
async def test_regular_expressions_that_may_run_away_are_refused(shop: Shop, pattern: str) -> None:
    shop.write("a.txt", "a" * 50)
    text = await shop.call("edit", path="a.txt", search=pattern, replace="", use_regex=True)
    assert text.startswith("Error: Invalid pattern")


async def test_lines_are_replaced_inserted_and_deleted(shop: Shop) -> None:
    shop.write("a.txt", "1\n2\n3\n4\n5")
    await shop.call("edit", path="a.txt", line_number=2, new_content="two")
    await shop.call("edit", path="a.txt", insert_after=0, new_content="zero")
    await shop.call("edit", path="a.txt", insert_before=6, new_content="4.5")
    assert shop.text("a.txt") == "zero\n1\ntwo\n3\n4\n4.5\n5"
    await shop.call("edit", path="a.txt", delete_lines="1,4-5")
    assert shop.text("a.txt") == "1\ntwo\n4.5\n5"
    await shop.call("edit", path="a.txt", delete_lines=[1])
    assert shop.text("a.txt") == "two\n4.5\n5"


@pytest.mark.parametrize(
    "arguments",
    [
        {"line_number": 9, "new_content": "x"},
        {"line_number": 1},
        {"delete_lines": "2-9"},
        {"delete_lines": "a"},
        {"delete_lines": "0"},
        {"insert_after": 9, "new_content": "x"},
        {"operation": "insert", "new_content": "x"},
        {"search": "", "replace": "x"},
        {"search": "1"},
        {"operation": "restore"},
        {},
    ],
)
async def test_an_edit_that_cannot_be_changes_nothing(shop: Shop, arguments: dict[str, Any]) -> None:
    shop.write("a.txt", "1\n2\n")
    assert (await shop.call("edit", path="a.txt", **arguments)).startswith("Error: ")
    assert shop.text("a.txt") == "1\n2\n"


async def test_line_ends_of_windows_are_kept(shop: Shop) -> None:
    shop.write("a.txt", "1\r\n2\r\n3\r\n")
    await shop.call("edit", path="a.txt", search="1\n2", replace="one\ntwo")
    await shop.call("edit", path="a.txt", line_number=3, new_content="three\r\nfour")
    assert shop.text("a.txt") == "one\r\ntwo\r\nthree\r\nfour\r\n"


async def test_bytes_that_are_no_utf8_survive_an_edit(shop: Shop) -> None:
    shop.write("a.txt", b"caf\xe9 1\n")
    await shop.call("edit", path="a.txt", search="1", replace="2")
    assert (shop.folder / "a.txt").read_bytes() == b"caf\xe9 2\n"


async def test_earlier_versions_are_kept_and_come_back(shop: Shop) -> None:
    shop.make("edit", maxHistory=3)
    shop.write("d/a.txt", "v0\n")
    for n in range(5):
        await shop.call("edit", path="d/a.txt", search=f"v{n}", replace=f"v{n + 1}")
    listed = await shop.call("edit", path="d/a.txt", operation="list_backups")
    assert listed == "Backups of d/a.txt, the latest last: 3, 4, 5"
    assert (await shop.call("edit", path="d/a.txt", operation="restore", version=3)) == "Restored version 3 of d/a.txt"
    assert shop.text("d/a.txt") == "v2\n"
    await shop.call("edit", path="d/a.txt", operation="restore")
    assert shop.text("d/a.txt") == "v5\n"
    assert "No such backup - a.txt has the versions" in await shop.call(
        "edit", path="d/a.txt", operation="restore", version=1
    )


async def test_in_a_session_a_file_is_read_before_it_is_edited(shop: Shop) -> None:
    shop.state.session_id = "s"
    shop.write("a.txt", "1\n")
    edit: Any = {"path": "a.txt", "search": "1", "replace": "2"}
    assert (await shop.call("edit", **edit)).startswith("Error: Read first - a.txt was not read within the last 20")
    shop.state.messages.append(ChatMessage("assistant", (ToolCall("1", "read", '{"path": "./a.txt"}'),)))
    assert (await shop.call("edit", **edit)).startswith("Edited a.txt")
    shop.state.messages += [user_message("hm")] * 20
    assert (await shop.call("edit", path="a.txt", search="2", replace="3")).startswith("Error: Read first")


async def test_edits_at_the_same_time_all_count(shop: Shop) -> None:
    shop.write("a.txt", "".join(f"<{n}>\n" for n in range(20)))
    shop.make("edit")
    await asyncio.gather(*[shop.call("edit", path="a.txt", search=f"<{n}>", replace=f"[{n}]") for n in range(20)])
    assert shop.text("a.txt") == "".join(f"[{n}]\n" for n in range(20))


# grep and glob


async def test_grep_finds_lines_and_minds_gitignore(shop: Shop) -> None:
    shop.write(".gitignore", "build/\n*.log\n!keep.log\n/only-top.txt\n")
    shop.write("src/a.py", "import os\nx = 1\n")
    shop.write("src/b.ts", "import y\n")
    shop.write("build/c.py", "import z\n")
    shop.write("a.log", "import log\n")
    shop.write("keep.log", "import kept\n")
    shop.write("only-top.txt", "import top\n")
    shop.write("d/only-top.txt", "import deep\n")
    shop.write("d/.gitignore", "e/**\n")
    shop.write("d/e/f.txt", "import hidden\n")
    shop.write("bin.py", b"import \0\n")
    shop.write(".git/config", "import git\n")
    text = await shop.call("grep", pattern="^import ")
    assert text.split("\n") == [
        "keep.log:1:import kept",
        "d/only-top.txt:1:import deep",
        "src/a.py:1:import os",
        "src/b.ts:1:import y",
    ]
    assert await shop.call("grep", pattern="import", include="*.{py,ts}", exclude="src/b*") == "src/a.py:1:import os"
    assert await shop.call("grep", pattern="IMPORT", path="src", **{"-i": True}, output_mode="count") == (
        "src/a.py:1\nsrc/b.ts:1"
    )
    assert (
        await shop.call("grep", pattern="x", path="src/a.py", **{"-B": 1}) == "src/a.py-1-import os\nsrc/a.py:2:x = 1"
    )
    assert await shop.call("grep", pattern="nothing") == "No matches for nothing"


async def test_grep_is_bounded(shop: Shop) -> None:
    shop.make("grep", maxResults=3, hardMaxLimit=5)
    shop.write("a.txt", "hit\n" * 10 + "y" * 3000 + "hit\n")
    assert (await shop.call("grep", pattern="hit")).count("hit") == 3
    assert (await shop.call("grep", pattern="hit", head_limit=100)).count("hit") == 5
    assert "... (3003 characters)" in await shop.call("grep", pattern="^y")
    assert "blocked_invalid_arguments" in await shop.call("grep", pattern="x" * 1001)


async def test_the_files_changed_last_come_first_when_asked(shop: Shop) -> None:
    for age, name in ((30, "a.txt"), (10, "b.txt"), (20, "d/c.txt")):
        path = shop.write(name, "hit\n")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert await shop.call("grep", pattern="hit", sort_by_mtime=True, output_mode="files_with_matches") == (
        "b.txt\nd/c.txt\na.txt"
    )
    assert await shop.call("glob", pattern="**/*.txt", sort_by_mtime=True) == "b.txt\nd/c.txt\na.txt"


async def test_glob_fits_the_top_unless_it_is_told_to_go_deeper(shop: Shop) -> None:
    for name in ("a.py", "d/b.py", "d/e/c.py", "d/e/c.md", ".hidden.py"):
        shop.write(name, "")
    assert await shop.call("glob", pattern="*.py") == ".hidden.py\na.py"
    assert await shop.call("glob", pattern="**/*.py") == ".hidden.py\na.py\nd/b.py\nd/e/c.py"
    assert await shop.call("glob", pattern="d/**") == "d/b.py\nd/e/c.md\nd/e/c.py"
    assert await shop.call("glob", pattern="*.{md,py}", path="d/e") == "d/e/c.md\nd/e/c.py"
    assert await shop.call("glob", pattern="[ab].p?", path=".") == "a.py"
    assert await shop.call("glob", pattern="*.zip") == "No files fit *.zip"
    assert await shop.call("glob", pattern="**/*", head_limit=2) == ".hidden.py\na.py\n(the first 2 of 5 files)"
    for wrong in ("../*", "/etc/*", "{a,../b}"):
        assert (await shop.call("glob", pattern=wrong)).startswith("Error: Invalid pattern")


async def test_tools_know_what_they_are_for_the_rules_of_permission(shop: Shop) -> None:
    for name in ("read", "grep", "glob"):
        assert shop.make(name).is_read_only
    for name in ("write", "edit"):
        tool: Any = shop.make(name)
        assert not tool.is_read_only
        assert tool.main_argument == "path"

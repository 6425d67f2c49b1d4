"""Lines, marks and ends of text files, and texts that are large: what every file tool has in common."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.expr import regex
from catenary_components.ai.tools import threads
from catenary_components.ai.tools.builtin import files, replacing, walk
from catenary_components.ai.tools.builtin.searching import line_test
from catenary_components.ai.tools.builtin.texts import FileText, lines_of
from catenary_components.ai.tools.threads import WorkStopped, check_stopped, in_thread

if TYPE_CHECKING:
    from .conftest import Shop

ODD = "one\x0cpage\ntwo\u2028lines\x85or\x1cmore\nthree\rreturns\nfour\n"


async def test_all_tools_count_lines_alike(shop: Shop) -> None:
    shop.write("a.txt", ODD)
    assert (await shop.call("read", path="a.txt")).startswith("File: a.txt (4 lines)\n1: one")
    assert (await shop.call("read", path="a.txt", line_from=4)).endswith("\n4: four")
    assert await shop.call("grep", pattern="four") == "a.txt:4:four"
    assert (await shop.call("read", query="four")) == "a.txt:4:four"
    await shop.call("edit", path="a.txt", line_number=4, new_content="4")
    assert shop.text("a.txt") == ODD.replace("four", "4")


async def test_a_carriage_return_before_the_end_of_a_line_is_a_part_of_it_for_all_tools(shop: Shop) -> None:
    shop.write("a.txt", b"one\r\r\nb")
    assert (await shop.call("grep", pattern="one$|b")) == "a.txt:2:b"
    assert (await shop.call("read", path="a.txt")) == "File: a.txt (2 lines)\n1: one\r\n2: b"


async def test_a_byte_order_mark_is_no_part_of_the_first_line_and_stays(shop: Shop) -> None:
    shop.write("a.txt", b"\xef\xbb\xbffirst\r\nsecond\r\n")
    assert await shop.call("grep", pattern="^first$") == "a.txt:1:first"
    await shop.call("edit", path="a.txt", line_number=1, new_content="uno")
    await shop.call("edit", path="a.txt", use_regex=True, search="^s", replace="S")
    assert (shop.folder / "a.txt").read_bytes() == b"\xef\xbb\xbfuno\r\nSecond\r\n"


async def test_a_file_of_mixed_line_ends_keeps_those_of_the_lines_that_are_not_changed(shop: Shop) -> None:
    shop.write("a.txt", b"1\r\n2\n3\r\n4\n")
    await shop.call("edit", path="a.txt", search="1\n2", replace="one\ntwo")
    assert (shop.folder / "a.txt").read_bytes() == b"one\r\ntwo\n3\r\n4\n"
    await shop.call("edit", path="a.txt", insert_after=2, new_content="new")
    assert (shop.folder / "a.txt").read_bytes() == b"one\r\ntwo\nnew\r\n3\r\n4\n"
    await shop.call("edit", path="a.txt", delete_lines="1-2")
    assert (shop.folder / "a.txt").read_bytes() == b"new\r\n3\r\n4\n"


@given(st.lists(st.sampled_from(["a\n", "b\r\n", "\n", "\r\n", "\x0c\n"])), st.sampled_from(["", "\ufeff"]), st.data())
@settings(max_examples=times(300), deadline=None)
def test_an_edit_changes_what_it_says_and_nothing_else(lines: list[str], mark: str, data: st.DataObject) -> None:
    content = (mark + "".join(lines)).encode()
    text = FileText(content)
    assert text.changed(text.plain) == content
    own = text.plain.split("\n")
    at, end = sorted((data.draw(st.integers(0, len(own))), data.draw(st.integers(0, len(own)))))
    other = "\n".join([*own[:at], *data.draw(st.lists(st.sampled_from(["x", ""]), max_size=3)), *own[end:]])
    changed = text.changed(other)
    assert FileText(changed).plain == other
    raw = content.decode().removeprefix("\ufeff").split("\n")
    if b"\r\n" in content and at < end <= len(own) - 1:
        assert changed.decode().removeprefix("\ufeff").split("\n")[:at] == raw[:at]


def test_only_line_feeds_end_lines() -> None:
    assert lines_of("a\r\nb\n\nc\rd\x0b") == ["a", "b", "", "c\rd\x0b"]
    assert lines_of("a\n") == ["a"]
    assert lines_of("") == []


async def test_a_regular_expression_needs_text_in_utf8(shop: Shop) -> None:
    shop.write("a.txt", b"caf\xe9 1\n")
    text = await shop.call("edit", path="a.txt", use_regex=True, search="1", replace="2")
    assert text == "Error: Not UTF-8 - a regular expression needs a file in UTF-8; search to the letter"


async def test_a_regular_expression_changes_so_many_places_and_a_text_any_number(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacing, "MAX_PLACES", 50)
    shop.write("a.txt", "ab" * 51)
    wanted: Any = {"path": "a.txt", "replace": "c", "global": True}
    text = await shop.call("edit", use_regex=True, search="a", **wanted)
    assert text == "Error: Too many places - more than 50 fit; make the pattern narrower"
    assert "replaced at 51 places" in await shop.call("edit", search="a", **wanted)
    assert shop.text("a.txt") == "cb" * 51


# Searching


@given(
    st.sampled_from(
        ["^a", "a$", "^$", r"\ba", "a.b", r"a\s*b", "[^a]", "(?i)A", r"\Aa", r"a\z", "(?-m:^b)", "", "a|^b$"]
    ),
    st.text(alphabet="ab \n\r\x0b\u00e4"),
    st.booleans(),
)
@settings(max_examples=times(500), deadline=None)
def test_no_line_that_fits_is_missed_by_the_look_at_the_whole_text(pattern: str, text: str, ignores_case: bool) -> None:
    test = line_test(pattern, is_regex=True, ignores_case=ignores_case)
    if any(map(test.fits, lines_of(text))):
        assert test.may_fit(text.replace("\r\n", "\n"))


def test_a_pattern_as_long_as_may_be_needs_no_look_at_the_whole_text() -> None:
    pattern = "a" * 1000
    assert line_test(pattern, is_regex=True, ignores_case=False).may_fit("no")
    assert line_test("[a]+[b]+", is_regex=True, ignores_case=False).fits("ab")


def test_without_google_re2_a_text_that_is_too_long_is_searched_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "re2", None)
    regex.pattern_of.cache_clear()
    try:
        test = line_test("q+w+e+r+", is_regex=True, ignores_case=False)
        assert test.may_fit("a\n" * 100_000)
        assert not test.fits("a")
    finally:
        regex.pattern_of.cache_clear()


async def test_a_search_looks_at_no_more_lines_than_it_shows(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def noted(pattern: str) -> Any:
        def found(text: str) -> bool:
            looked_at.append(text)
            return bool(re.search(pattern, text))

        return found

    monkeypatch.setattr("catenary_components.ai.tools.builtin.searching.pattern_of", noted)
    shop.write("a.txt", "a\n" * 5000)
    text = await shop.call("grep", pattern="a", head_limit=3)
    assert text == "a.txt:1:a\na.txt:2:a\na.txt:3:a\n(the first 3 results; there are more)"
    assert len(looked_at) == 1 + 4
    await shop.call("grep", pattern="a", output_mode="files_with_matches")
    assert len(looked_at) == 5 + 2
    assert await shop.call("grep", pattern="a", output_mode="count") == "a.txt:5000"


# Nobody waits


async def test_work_that_nobody_waits_for_can_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    raised: list[bool] = []

    def work() -> None:
        check_stopped()
        begun.set()
        go_on.wait(10)
        try:
            check_stopped()
        except WorkStopped:
            raised.append(True)
        ended.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.to_thread(ended.wait, 10)
    assert raised == [True]
    check_stopped()  # not of this task
    await in_thread(check_stopped)


@pytest.mark.parametrize(
    "call", [("edit", {"search": "old", "replace": "new"}), ("write", {"mode": "overwrite", "content": "new"})]
)
async def test_a_call_that_is_cancelled_changes_no_file_afterwards(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, call: tuple[str, dict[str, Any]]
) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    write_draft = files._write_draft

    def slow(*args: Any) -> None:
        write_draft(*args)
        begun.set()
        go_on.wait(10)

    monkeypatch.setattr(files, "_write_draft", slow)
    monkeypatch.setattr(threads, "WorkStopped", _telling(ended))
    shop.make("edit", maxHistory=0)
    shop.write("a.txt", "old\n")
    task = asyncio.create_task(shop.call(call[0], path="a.txt", **call[1]))
    await _cancelled(task, begun, go_on, ended)
    monkeypatch.setattr(files, "_write_draft", write_draft)
    await shop.call("write", path="b.txt", content="then")  # waits for no lock, and is behind the unlinking of a draft
    assert shop.text("a.txt") == "old\n"


async def _cancelled(
    task: asyncio.Task[str], begun: threading.Event, go_on: threading.Event, ended: threading.Event
) -> None:
    """Cancel a call while its thread is held up, and wait until that has found out."""
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert await asyncio.to_thread(ended.wait, 10)


def _telling(event: threading.Event) -> type[Exception]:
    class Telling(WorkStopped):
        def __init__(self) -> None:
            super().__init__()
            event.set()

    return Telling


async def test_a_search_that_is_cancelled_ends_at_the_next_file(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []
    read = walk.Found.read

    def slow(self: walk.Found, most: int) -> bytes:
        seen.append(self.name)
        begun.set()
        go_on.wait(10)
        return read(self, most)

    for n in range(5):
        shop.write(f"{n}.txt", "a")
    ended = threading.Event()
    monkeypatch.setattr(walk.Found, "read", slow)
    monkeypatch.setattr(threads, "WorkStopped", _telling(ended))
    task = asyncio.create_task(shop.call("grep", pattern="a"))
    await _cancelled(task, begun, go_on, ended)
    assert seen == ["0.txt"]

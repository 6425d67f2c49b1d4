"""Event streams, cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.errors import Refused
from catenary.http import SseEvent, SseParser, sse_events, sse_lines


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    """Cut bytes at these places, counted around."""
    edges = sorted({place % (len(raw) + 1) for place in places} | {0, len(raw)})
    return [raw[start:end] for start, end in pairwise(edges)]


def parse(pieces: list[bytes]) -> list[SseEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.end()


async def stream(*pieces: bytes):
    for piece in pieces:
        yield piece


line_ends = st.sampled_from(["\n", "\r", "\r\n"])
characters = st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])
lines = st.one_of(
    st.just(""),
    st.builds("{}:{}".format, st.sampled_from(["data", "event", "id", "retry", "", "other"]), st.text(characters)),
    st.text(characters),
)
streams = st.lists(st.builds(str.__add__, lines, line_ends)).map("".join)


@given(streams, st.lists(st.integers(min_value=0)))
def test_where_the_pieces_are_cut_does_not_matter(text, places):
    raw = text.encode()
    assert parse(cut(raw, places)) == parse([raw])


@given(st.lists(st.text(characters, min_size=1)), line_ends, st.lists(st.integers(min_value=0)))
def test_each_data_line_is_an_event_with_its_text(texts, end, places):
    raw = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    assert [event.data for event in parse(cut(raw, places))] == texts


@given(st.lists(streams.map("data: {}\n\n".format) | streams))
def test_an_event_that_comes_alone_is_read_like_one_among_others(texts):
    pieces = [text.encode() for text in texts]
    assert parse(pieces) == parse([b"".join(pieces)])


@given(st.binary(), st.lists(st.integers(min_value=0)))
def test_any_bytes_are_read_alike_wherever_they_are_cut(raw, places):
    assert parse(cut(raw, places)) == parse([raw])


def test_all_fields_of_an_event_are_read():
    raw = b": hello\nevent: note\nid: 7\nretry: 1500\ndata: one\ndata:two\ndata\n\n"
    assert parse([raw]) == [SseEvent("note", "one\ntwo\n", "7", 1500)]


def test_the_id_stays_and_the_name_does_not():
    raw = b"id: 7\nevent: note\ndata: a\n\ndata: b\n\n"
    assert parse([raw])[1] == SseEvent("message", "b", "7")


def test_an_event_without_data_is_none():
    assert parse([b"event: ping\n\nretry: 5\n\ndata: a\n\n"]) == [SseEvent("message", "a", "", 5)]


@pytest.mark.parametrize("field", ["retry: soon", "retry: \u0662", "id: a\0b", "unknown: x", ": comment"])
def test_fields_that_mean_nothing_are_left_out(field):
    assert parse([f"{field}\ndata: a\n\n".encode()]) == [SseEvent(data="a")]


def test_a_byte_order_mark_at_the_start_is_skipped():
    assert parse([b"\xef", b"\xbb\xbfdata: a\n\n"]) == [SseEvent(data="a")]


def test_a_newline_after_a_return_of_the_piece_before_ends_no_second_line():
    assert parse([b"data: a\r", b"\ndata: b\r", b"", b"\n\r", b"\n"]) == [SseEvent(data="a\nb")]


def test_the_last_event_may_lack_its_blank_line():
    assert parse([b"data: a\n\ndata: [DONE]"]) == [SseEvent(data="a"), SseEvent(data="[DONE]")]


def test_a_line_without_end_is_refused_before_it_fills_the_memory():
    parser = SseParser(max_event_bytes=100)
    with pytest.raises(Refused, match="longer than 100 bytes"):
        for _ in range(20):
            parser.feed(b"data: xxxx")


def test_an_event_of_endless_lines_is_refused():
    parser = SseParser(max_event_bytes=100)
    with pytest.raises(Refused, match="larger than 100 bytes"):
        for _ in range(20):
            parser.feed(b"data: xxxxxx\n")


async def test_events_come_as_they_arrive():
    events = [event.data async for event in sse_events(stream(b"data: a\n", b"\ndata: b\n\ndata", b": c"))]
    assert events == ["a", "b", "c"]


async def test_lines_come_as_they_arrive():
    assert [line async for line in sse_lines(stream(b"a\nb", b"c\n\nd"))] == ["a", "bc", "", "d"]

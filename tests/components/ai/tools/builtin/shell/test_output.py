"""Outputs of programs: however large and whatever is in them, they are made fit for a model in little time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.tools.builtin import bash
from catenary_components.ai.tools.builtin.shell.output import cleaned, redacted, shortened

if TYPE_CHECKING:
    from tests.components.ai.tools.builtin.conftest import Shop

TOKEN = "eyJhbGciOi.eyJzdWIiOi.abc-DEF_1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a Bearer \tabcdefgh.1234 b", "a Bearer \t**** b"),
        ("Bearer short, xBearer abcdefghij", "Bearer short, xBearer abcdefghij"),
        (f"({TOKEN})\n-{TOKEN}", "(****)\n-****"),
        (f"xeyJ-{TOKEN}", "xeyJ-****"),
        ("eyJabc.eyJabc, eyJabcdef", "eyJabc.eyJabc, eyJabcdef"),
        (f"eyJ-eyJ.eyJ. {TOKEN}", "eyJ-eyJ.eyJ. ****"),
        ("ASIAABCDEFGHIJKLMNOP AKIAABCDEFGHIJKLMNOPQ", "**** AKIAABCDEFGHIJKLMNOPQ"),
        (f'aws_secret_access_key = "{"a/" * 20}"', 'aws_secret_access_key = "****"'),
        ("github_pat_" + "a1" * 11 + ";gho_" + "b" * 20, "****;****"),
        ("ask-for-it-all-and-more sk-abcdefghijklmnop", "ask-for-it-all-and-more ****"),
        ("xoxb-1234567890-a xoxz-1234567890", "**** xoxz-1234567890"),
        ("a\n-----BEGIN PRIVATE KEY-----\nMI\n-----END PRIVATE KEY----- b\nc", "a\n**** (a private key)\nc"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMI\nsk-abcdefghijklmnop", "**** (a private key)"),
        ("-----BEGIN CERTIFICATE-----\nMI", "-----BEGIN CERTIFICATE-----\nMI"),
        ("", ""),
    ],
)
def test_secrets_are_hidden_and_all_else_stays(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize(
    "piece",
    ["eyJ-", "eyJaaaaaa.eyJ-", "Bearer ", "Bearer", "sk-", "xoxb-", "-----BEGIN A", "aws_secret_access_key ", "gh"],
)
def test_no_text_takes_long_to_look_through(piece: str) -> None:
    redacted(piece * (600_000 // len(piece)))  # minutes, where it grows with the square of the length


@given(st.text(alphabet="ab\n\x1b[m\r", max_size=60), st.integers(1, 40))
@settings(max_examples=times(500), deadline=None)
def test_an_output_is_as_long_as_it_may_be_and_its_lines_are_readable(text: str, most: int) -> None:
    whole = "\n".join(map(cleaned, text.split("\n")))
    shown = shortened(text, most, cleaned)
    assert shown.is_cut == (len(whole) > most)
    assert shown.text == whole[:most]


@given(st.text(alphabet="ab\n", max_size=60), st.integers(10, 40))
@settings(max_examples=times(300), deadline=None)
def test_the_end_stays_when_it_tells_an_error(text: str, most: int) -> None:
    whole = f"{text}\nerror: x"
    shown = shortened(whole, most, cleaned)
    if len(whole) <= most:
        assert (shown.text, shown.is_cut) == (whole, False)
        return
    first = int(most * 0.7)
    left_out = len(whole) - most
    assert shown.text == f"{whole[:first]}\n... ({left_out} characters left out) ...\n{whole[first - most :]}"


def test_only_lines_that_are_shown_are_made_readable() -> None:
    seen: list[str] = []

    def noted(line: str) -> str:
        seen.append(line)
        return line

    assert shortened("x\n" * 1_000_000, 1_000, noted).text == "x\n" * 500
    assert len(seen) < 2_000


def test_lines_of_more_than_1000_bytes_are_cut_after_240_characters() -> None:
    assert cleaned("x" * 1000) == "x" * 1000
    assert cleaned("x" * 1001) == "x" * 240 + "... (1001 bytes in this line)"
    assert cleaned("\u00e9" * 501) == "\u00e9" * 240 + "... (1002 bytes in this line)"


def test_a_line_is_readable_without_codes_of_terminals() -> None:
    assert cleaned("10%\r50%\r\x1b]0;title\x07done\x00\x7f\r") == "done"
    assert cleaned("\x1b[1;31mred\x1b[0m\tcell") == "red\tcell"


async def test_of_very_much_output_the_beginning_and_the_end_are_kept_and_that_is_said(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bash, "_MOST_READ_BYTES", 2_000)
    monkeypatch.setattr(bash, "_MOST_OF_END_BYTES", 500)
    shop.make("bash", maxOutputSize=300)
    text = await shop.call("bash", command="seq 1 2000; echo fatal: no more")
    assert "fatal: no more" in text
    shown, _, place = text.partition("(the output is cut; its first 10 MiB and its end are in the file ")
    assert "characters left out" in shown
    kept = shop.text(place.rstrip(")"))
    size = len("\n".join(map(str, range(1, 2001)))) + 1 + len("fatal: no more\n")
    assert f"\n... ({size - 2_500} bytes left out) ...\n" in kept
    assert (kept[:4], kept[-15:]) == ("1\n2\n", "fatal: no more\n")
    assert "the output is cut; all of it is in the file" in await shop.call("bash", command="seq 1 300")

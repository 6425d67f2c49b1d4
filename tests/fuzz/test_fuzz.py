"""Whatever the text: a value or a declared error, in time, and in bounded memory."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.fuzz.targets import TARGETS, check, seeds

MEMORY = 700 * 2**20
"""Bytes by which one test may make this process grow."""

_OPERATORS = (
    "( ) [ ] { } . ?. ?? ? : ; , | || && and or not in + - * / % ** ^ .. == != < > <= >= # #index #acc .a @ $ $env => "
    "${ } {{ }} {% %} {# #} ' \" ` \\ \\u \\x41 // /* */"
)
_WORDS = (
    "let if else true false nil None True 0 1 2.5 .5 1e999 0x1F 1_000 9007199254740993 msg metadata global vars data "
    "before k x _ __class__ map( filter( reduce( len( date( duration( include( repeat( matches contains startsWith "
    "lambda return for while function async await yield b' f' r' endfor endif set macro ${global.p} ${vars."
)
TOKENS = [*_OPERATORS.split(), *_WORDS.split(), *"\n\t\r \0\x7f\u2028\u00e9\u6f22\ud800\U0001f600"]
soups = st.lists(st.sampled_from(TOKENS), max_size=30).map("".join) | st.lists(
    st.sampled_from(TOKENS), max_size=30
).map(" ".join)
raw = st.binary(max_size=80).map(lambda data: data.decode("utf-8", "surrogateescape")) | st.text(max_size=60)


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """Give a seed in which parts are cut out, doubled, exchanged with those of another, or replaced by tokens."""
    text = draw(st.sampled_from(seeds()))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        other = draw(st.sampled_from(seeds()))
        at = draw(st.integers(0, len(other)))
        piece = draw(
            st.sampled_from(["", text[start:end] * 2, other[at : at + 12], text[start:end][::-1]])
            | st.sampled_from(TOKENS)
            | st.characters()
        )
        text = text[:start] + piece + text[end:]
    return text


def used() -> int:
    """Give the most memory that this process ever took, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=times(60), deadline=None)
@given(text=mutants() | soups | raw)
def test_any_text_gives_a_value_or_a_declared_error(target: str, text: str) -> None:
    before = used()
    check(target, text)
    assert used() - before < MEMORY


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_gives_a_value_or_a_declared_error(target: str) -> None:
    for text in seeds()[:: 1 if target != "script" else 3]:
        check(target, text)

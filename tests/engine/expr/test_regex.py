"""Regular expressions, with google-re2 and without."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib import import_module

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Expression, regex
from catenary.message import Message


@pytest.fixture(autouse=True)
def without_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "re2", None)
    regex.pattern_of.cache_clear()
    regex.finder_of.cache_clear()


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a.*c$", "abbc", True),
        ("[0-9]{2,4}", "a12", True),
        ("(?i)abc", "xABC", True),
        ("(jan|feb) (mon|tue)?", "feb mon", True),
        ("(a{3}){2}", "aaaaaa", True),
        ("a|b", "c", False),
        ("(ab)?c", "c", True),
        (r"\d+", "x", False),
        (r"^[\w.]+@\w+\.\w+$", "a.b@c.de", True),
    ],
)
def test_ordinary_patterns_work(pattern: str, text: str, found: bool) -> None:
    assert regex.pattern_of(pattern)(text) is found


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a*)*",
        r"(a)\1",
        "(?=a)",
        "(?<!a)b",
        "(a?){50}",
        "a?" * 50 + "a" * 50,
        "(a|aa)" * 20,
        "(",
        "a" * 2000,
        "(?>a+)+",
        "a{9999999999999}",
    ],
)
def test_patterns_that_could_run_away_are_refused(pattern: str) -> None:
    with pytest.raises(regex.PatternError):
        regex.pattern_of(pattern)


def test_a_text_too_long_for_the_pattern_is_refused() -> None:
    with pytest.raises(regex.PatternError, match="too long for this pattern"):
        regex.pattern_of("a*b*c")("a" * 10_000)


def test_what_is_let_through_is_quick() -> None:
    began = time.process_time()
    assert not regex.pattern_of("a*b*c")("a" * 360)
    assert not regex.pattern_of("a*b")("a" * 7_000)
    assert time.process_time() - began < 3


def test_with_re2_no_pattern_runs_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "re2", import_module("re2"))
    assert regex.pattern_of("(a+)+$")("a" * 50_000)
    assert not regex.pattern_of("(a+)+$")("a" * 50_000 + "b")
    for pattern in ["(", r"(a)\1", "(?=a)"]:
        with pytest.raises(regex.PatternError):
            regex.pattern_of(pattern)


def test_a_refused_pattern_is_told_at_compile_time_or_when_it_comes() -> None:
    with pytest.raises(ExpressionError, match="repeat within a repeat"):
        Expression.compile("msg.s matches '(a+)+'")
    with pytest.raises(ExpressionError, match="repeat within a repeat"):
        Expression.compile("msg.s matches msg.p").evaluate(Message({"s": "a", "p": "(a+)+"}))


def test_half_a_surrogate_pair_is_no_pattern_and_matches_as_the_replacement_character() -> None:
    with pytest.raises(regex.PatternError, match="surrogate"):
        regex.pattern_of("\ud800")
    assert regex.pattern_of("^a.b$")("a\udc80b")


BEYOND = [
    r"(?=a)",
    r"(?!a)b",
    r"(?<=a)b",
    r"(?<!a)b",
    r"(a)\1",
    r"(?P<n>a)(?P=n)",
    r"(?>a)",
    r"a*+",
    r"(a)(?(1)b|c)",
    r"a{1001}",
]


@pytest.mark.parametrize("pattern", BEYOND)
def test_what_no_pattern_may_have_is_refused_with_re2_and_without(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(regex.PatternError):
        regex.pattern_of(pattern)
    monkeypatch.setattr(regex, "re2", import_module("re2"))
    regex.pattern_of.cache_clear()
    regex.finder_of.cache_clear()
    with pytest.raises(regex.PatternError):
        regex.pattern_of(pattern)


def test_a_search_with_re2_takes_time_in_proportion_to_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "re2", import_module("re2"))
    regex.pattern_of.cache_clear()
    regex.finder_of.cache_clear()
    expression = Expression.compile(r"msg.s matches '^(([a-z])+.)+[A-Z]([a-z])+$' or msg.s matches '(x+x+)+y'")
    began = time.process_time()
    assert not expression.evaluate(Message({"s": "a" * 300_000}))
    assert not expression.evaluate(Message({"s": "x" * 300_000}))
    assert time.process_time() - began < 5


def test_without_the_extra_ordinary_patterns_work_and_dangerous_ones_name_it() -> None:
    program = """
import sys
sys.modules["re2"] = None  # what an import finds when the extra is not installed
from catenary.errors import ExpressionError
from catenary.expr import Expression
from catenary.message import Message
assert Expression.compile("msg.s matches '^[a-z]+$'").evaluate(Message({"s": "abc"}))
try:
    Expression.compile("msg.s matches '(a+)+$'")
except ExpressionError as error:
    assert "install catenary[regex]" in str(error), error
else:
    raise SystemExit("a dangerous pattern was let through")
print("sound")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "sound\n", done.stderr


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b+", "abbc", "bb"),
        ("a(b*)c", "xabbc", "bb"),
        ("z", "abc", ""),
        ("a(z)?", "ab", ""),
        ("id=([0-9]+)", "id=7;", "7"),
    ],
)
def test_a_finder_gives_the_first_group_or_all_that_is_found(pattern, text, found):
    assert regex.finder_of(pattern)(text) == found


def test_a_finder_refuses_what_is_refused_elsewhere():
    with pytest.raises(regex.PatternError, match="not a regular expression"):
        regex.finder_of("(")

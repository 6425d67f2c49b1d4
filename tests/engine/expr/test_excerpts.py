"""The place of an error: line, column and the line with a caret below it."""

from __future__ import annotations

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Expression
from catenary.message import Message


def refused(source: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source)
    return raised.value


def test_a_refused_text_shows_its_line_with_a_caret_under_the_place() -> None:
    error = refused("msg.a > * 1")
    assert (error.line, error.column, error.position) == (1, 9, 8)
    assert error.excerpt == "    msg.a > * 1\n            ^"
    assert str(error) == f"expected a value, found '*' (line 1, column 9)\n{error.excerpt}"


def test_of_several_lines_the_right_one_is_shown() -> None:
    error = refused("msg.a == 1 and\n  msg.b ~ 2\nand true")
    assert (error.line, error.column) == (2, 9)
    assert error.excerpt == "      msg.b ~ 2\n            ^"


def test_a_tab_counts_as_one_column_and_is_shown_as_one_blank() -> None:
    error = refused("\tmsg.a\t~ 2")
    assert error.column == 8
    assert error.excerpt == "     msg.a ~ 2\n           ^"


def test_lines_that_end_with_carriage_returns_are_shown_without() -> None:
    assert refused("1 ~ 2\r\n+ 3").excerpt == "    1 ~ 2\n      ^"


@pytest.mark.parametrize(
    ("text", "columns"),
    [("'\u6e29\u5ea6'", 6), ("'\U0001f600'", 4), ("'e\u0301'", 3), ("'\u00e9'", 3), ("'\uff11'", 4)],
)
def test_the_caret_stands_below_the_place_behind_wide_and_combining_characters(text: str, columns: int) -> None:
    error = refused(f"{text} ~ 1")
    assert error.column == len(text) + 2
    assert error.excerpt == f"    {text} ~ 1\n    {' ' * (columns + 1)}^"


def test_what_cannot_be_printed_never_reaches_the_terminal() -> None:
    assert refused("'\x1b[31m\u202e\x07\u2028' ~ 1").excerpt == "    ' [31m   ' ~ 1\n               ^"


def test_a_long_line_is_shortened_around_the_place() -> None:
    for source in ["1 + " * 60 + "~" + " + 1" * 60, "~" + " + 1" * 90, "1 + " * 90 + "~"]:
        shown, caret = refused(source).excerpt.split("\n")
        assert len(shown) <= 80
        assert shown[len(caret) - 1] == "~"


def test_the_end_of_a_text_is_a_place_too() -> None:
    assert refused("1 +").excerpt == "    1 +\n       ^"
    assert refused("1 +\n").line == 2


def test_a_failure_on_a_message_has_line_column_and_excerpt_too() -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile("1 +\n  msg.a.b").evaluate(Message({}))
    error = raised.value
    assert (error.line, error.column) == (2, 3)
    assert error.excerpt == "      msg.a.b\n      ^"


def test_an_error_without_a_place_has_no_excerpt() -> None:
    error = ExpressionError("x")
    assert (error.line, error.column, error.excerpt) == (0, 0, "")


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("a = 1", "Compare with `==`."),
        ("a === 1", "Compare with `==`."),
        ("a is nil", "Compare with `==`"),
        ("a AND b", "Write `and`."),
        ("a & b", "Write `&&` or `and`."),
        ("a ?: b", "Write `a ?? b`"),
        ("'a' + 1", "Make it text with `string(...)`."),
        ("'a' in 'abc'", "Use `text contains part`."),
        ("not a == 1", "write `a != b` or `not (a == b)`"),
        ("not 'a' in b", "Write `a not in b`"),
        ("a | upper", "Write it as in `list | map(# + 1)`"),
        ("# > 1", "Use it as in `filter(list, # > 1)`."),
        ("a ?? b + 1", "Put one of them into parentheses."),
        ("upper(1)", "Give a string in upper case."),
        ("\u201ca\u201d", "Use straight quotes."),
        ("99999999999999999999", "Write int('99999999999999999999')"),
        ("let x = 1", "`let` is written `let name = value; expression`."),
        ("if a { 1 }", "`if` needs an `else`"),
    ],
)
def test_a_refused_text_comes_with_what_to_do(source: str, hint: str) -> None:
    assert hint in refused(source).hint

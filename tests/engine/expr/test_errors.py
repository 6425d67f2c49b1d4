"""What an author is told about a wrong expression."""

from __future__ import annotations

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Environment, Expression
from catenary.message import Message

MESSAGE = Message({"t": 41, "s": "abc", "l": [1], "o": {}, "d": "2020-01-01"})


@pytest.mark.parametrize(
    ("source", "position", "text"),
    [
        ("", 0, "the expression is empty"),
        ("  ", 2, "the expression is empty"),
        ("1 +", 3, "expected a value, found the end"),
        ("a b", 2, "unexpected 'b'"),
        ("a = 1", 2, "unexpected '='"),
        ("(1", 2, "expected ')'"),
        ("[1", 2, "expected ']'"),
        ("{a 1}", 3, "expected ':'"),
        ("{[1]: 2}", 1, "expected a key"),
        ("'abc", 0, "a text is not closed"),
        ("`abc", 0, "a text is not closed"),
        ("/* x", 0, "a comment is not closed"),
        ("1 & 2", 2, "unexpected character"),
        ("1 ~ 2", 2, "unexpected character"),
        ("\u201cx\u201d", 0, "unexpected character"),
        ("$x", 0, "unexpected character '$'"),
        ("12abc", 0, "is not a number"),
        ("1__0", 0, "is not a number"),
        (r"'\q'", 1, "is no escape"),
        (r"'\u12'", 1, "not a valid escape"),
        (r"'\uD83D\uD83D'", 1, "not a valid escape"),
        ("x ? 1", 5, "expected ':'"),
        ("1 if x", 6, "expected 'else'"),
        ("if x { 1 }", 10, "expected 'else'"),
        ("if x 1", 5, "expected '{'"),
        ("let x = 1", 9, "expected ';'"),
        ("let x = 1;", 10, "needs an expression"),
        ("let x = 1; let x = 2; x", 15, "declared already"),
        ("let true = 1; 2", 4, "cannot be declared"),
        ("let x 1; 2", 6, "expected '='"),
        ("a ?? b + c", 7, "cannot be mixed"),
        ("a + b ?? c", 6, "cannot be mixed"),
        ("# > 1", 0, "outside of a predicate"),
        ("map(l, #acc)", 7, "outside of `reduce`"),
        ("x | y", 4, "must be a call"),
        ("x | 1", 4, "must be a call"),
        (".x", 0, "expected a value"),
        ("a.", 2, "expected a name"),
        ("a.1", 1, "unexpected"),
        ("f(1", 3, "expected ')'"),
        ("a[1", 3, "expected ']'"),
        ("a[1:2", 5, "expected ']'"),
        ("and", 0, "expected a value"),
        ("1 }", 2, "unexpected '}'"),
        ("len()", 0, "takes 1 argument, not 0"),
        ("trim(1,2,3)", 0, "takes 1 to 2 arguments"),
        ("max()", 0, "takes at least 1 argument"),
        ("get(1)", 0, "takes 2 arguments"),
        ("'a' + 1", 0, "'+' cannot take string and number"),
        ("'1' == 1", 0, "'==' cannot take"),
        ("1 == true", 0, "'==' cannot take"),
        ("'a' - 1", 0, "'-' cannot take"),
        ("'a' in 'abc'", 0, "'in' cannot take"),
        ("not 'a' in msg.l", 0, "'not' takes a bool"),
        ("-'a'", 0, "'-' takes a number"),
        ("1 < 'a'", 0, "'<' cannot take"),
        ("true < msg.t", 0, "'<' cannot take"),
        ("1 && msg.t", 0, "'and' takes a bool"),
        ("1 ? 2 : 3", 0, "a condition must be a bool"),
        ("1 contains 'a'", 0, "'contains' cannot take"),
        ("msg.s matches '('", 14, "not a regular expression"),
        ("[1] + [2]", 0, "'+' cannot take array and array"),
    ],
)
def test_a_wrong_expression_does_not_compile(source: str, position: int, text: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source)
    assert text in str(raised.value)
    assert raised.value.position == position
    assert raised.value.source == source


def test_the_error_shows_the_place_and_a_hint() -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile("msg.a > 1 &&\n  msg.b = 2")
    assert str(raised.value) == "unexpected '=' (line 2, column 9)\n      msg.b = 2\n            ^"
    assert raised.value.hint == "Compare with `==`."


def test_long_lines_are_cut_around_the_place() -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile("1 + " * 60 + "~" + " + 1" * 60)
    shown, caret = str(raised.value).split("\n")[1:]
    assert len(shown) <= 80
    assert shown[len(caret) - 1] == "~"


@pytest.mark.parametrize(
    ("source", "position", "reason"),
    [
        ("msg.t + msg.s", 0, "'+' cannot take int and string"),
        ("1 + (msg.no - 2)", 5, "'-' cannot take nil and int"),
        ("msg.no > 5", 0, "'>' cannot take nil and int"),
        ("msg.no.x", 0, "cannot fetch x from nil"),
        ("msg.t.x", 0, "cannot fetch x from int"),
        ("msg.l[3]", 0, "index out of range: 3"),
        ("msg.no[0]", 0, "cannot fetch 0 from nil"),
        ("msg.l['a']", 0, "an index is a number"),
        ("msg.o[1]", 0, "a key of a map is a string"),
        ("msg.l[1.0/0]", 0, "an index is a number"),
        ("msg.no[[1]]", 0, "cannot fetch array from nil"),
        ("not msg.no", 0, "'not' takes a bool, not nil"),
        ("msg.t && true && msg.s", 0, "'and' takes a bool"),
        ("msg.no || msg.s", 0, "'or' takes a bool, not nil"),
        ("msg.t ? 1 : 2", 0, "a condition must be a bool"),
        ("-msg.s", 0, "'-' cannot take string"),
        ("+msg.s", 0, "'+' cannot take string"),
        ("msg.t % 0", 0, "'%' by zero"),
        ("msg.t % 1.5", 0, "whole numbers only"),
        ("msg.s % 2", 0, "'%' cannot take"),
        ("msg.s / 2", 0, "'/' cannot take"),
        ("msg.s * 2", 0, "'*' cannot take"),
        ("msg.s ** 2", 0, "'**' cannot take"),
        ("msg.s..2", 0, "'..' cannot take"),
        ("msg.s in msg.s", 0, "use `text contains part`"),
        ("1 in msg.t", 0, "'in' cannot take"),
        ("msg.t contains 'a'", 0, "'contains' cannot take"),
        ("msg.s <= msg.t", 0, "'<=' cannot take"),
        ("msg.s < msg.t", 0, "'<' cannot take"),
        ("msg.s >= msg.t", 0, "'>=' cannot take"),
        ("{(msg.t): 1}", 2, "a key of a map is a string"),
        ("msg.l[msg.s:]", 0, "a bound of a slice"),
        ("msg.o[1:]", 0, "cannot take a slice of map"),
        ("nope(1)", 0, "cannot call nil: there is no function 'nope'"),
        ("uper(1)", 0, "did you mean 'upper'?"),
        ("filter(msg.l, #)", 0, "must give a bool, not int"),
        ("map(msg.l, # + msg.s)", 11, "'+' cannot take int and string"),
        ("map(msg.o, #)", 0, "map() takes a list, not map"),
        ("msg.s.Year()", 0, "string has no method 'Year'"),
        ("date(msg.d).Year(1)", 0, "takes 0 arguments"),
        ("0..(1.0/0)", 0, "finite numbers"),
        ("date(msg.d).Add(1)", 0, "a method cannot take int here"),
        ("msg.t / msg.s", 0, "'/' cannot take"),
    ],
)
def test_a_failure_names_expression_place_and_reason(source: str, position: int, reason: str) -> None:
    expression = Expression.compile(source)
    with pytest.raises(ExpressionError) as raised:
        expression.evaluate(MESSAGE)
    assert reason in str(raised.value)
    assert f"expression {source!r}, line 1, column {position + 1}: " in str(raised.value)
    assert raised.value.position == position


def test_what_a_hosts_function_raises_is_the_reason() -> None:
    def broken() -> None:
        raise KeyError

    with pytest.raises(ExpressionError, match=r"column 5: broken\(\): KeyError") as raised:
        Expression.compile("1 + broken()", Environment(functions={"broken": broken})).evaluate(MESSAGE)
    assert isinstance(raised.value.__cause__.__cause__, KeyError)

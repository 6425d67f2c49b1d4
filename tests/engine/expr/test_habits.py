"""What other languages have and this one has not: each is told at its place, with what to write instead."""

from __future__ import annotations

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Expression
from catenary.message import Message

MESSAGE = Message({"n": 5, "name": "bob", "items": [1, 2, 3], "when": None})


@pytest.mark.parametrize(
    ("source", "column", "hint"),
    [
        ("msg.n === 5", 7, "Compare with `==`."),
        ("msg.n !== 5", 7, "Compare with `!=`."),
        ("msg.n <> 5", 7, "Compare with `!=`."),
        ("msg.n =< 5", 7, "Compare with `<=`."),
        ("msg.n => 5", 7, "Compare with `>=`"),
        ("msg.name =~ 'b'", 10, "Write `text matches 'pattern'`."),
        ("msg.n >> 1", 7, "Write `bitshr(number, places)`."),
        ("msg->n", 4, "A field is read with `.`"),
        ("msg.n += 1", 7, "Nothing can be changed here"),
        ("let x := 1; x", 7, "`let` is written `let name = value; expression`."),
        ("filter(msg.items, x => x > 1)", 21, "as in `filter(list, # > 1)`"),
        ("any(msg.items, # = 2)", 18, "Compare with `==`."),
        ("msg.n > 1 OR msg.n < 9", 11, "Write `or`."),
        ("NOT msg.n", 1, "Write `not`."),
        ("return msg.n", 1, "leave out `return`"),
        ("const x = 1; x", 1, "`let name = value; expression`"),
        ("typeof msg", 1, "Write `type(x)`."),
        ("lambda x: x", 1, "is written with `#`"),
        ("[x for x in msg.items]", 4, "Write `map(list, # * 2)`"),
        ("f'n is {msg.n}'", 1, "joined with `+`"),
        ("msg.name LIKE 'b%'", 10, "Write `text contains 'part'`"),
        ("msg.n BETWEEN 1 AND 5", 7, "Write `1 <= x <= 5`."),
        ("msg.n in (1, 2)", 12, "A list is written in brackets"),
        ("1, 2", 2, "A list is written in brackets"),
        ("msg.items.0", 10, "as in `list[1]`"),
        ("msg.items[0:2:1]", 14, "A slice has no step."),
        ("msg.name matches /b/", 18, "A pattern is written as text"),
        ("contains(msg.name, 'b')", 1, "as in `text contains 'part'`"),
        ("if msg.n > 1 then 2 else 3", 14, "`if test { value } else { other }`"),
        ("{{ msg.n }}", 2, "belongs into documents"),
        ("$.n", 1, "the payload is `msg`"),
        ("${msg.n", 1, "Close it with `}`"),
        ("msg.n)", 6, "Nothing is open that it closes."),
        ("msg.n &&", 9, "Something is missing at the end."),
        ("&& msg.n", 1, "A value is missing before it."),
        ("msg.n not", 7, "Write `not a`, or `a not in b`."),
        ('"say "hi""', 7, "with a backslash before it"),
        ("msg\uff0en", 4, "Use the plain `.`."),
        ("len\uff08msg\uff09", 4, "Use the plain `(`."),
        ("1e400", 1, "The largest number"),
        ("12abc", 1, "A name begins with a letter."),
    ],
)
def test_a_habit_of_another_language_is_told_at_its_place(source: str, column: int, hint: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source)
    assert (raised.value.line, raised.value.column) == (1, column)
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("msg.items.length", "cannot fetch length from array; write `len(x)`"),
        ("msg.items.filter(1)", "array has no method 'filter'; write `filter(x, ...)`"),
        ("msg.items.includes(2)", "write `x contains 'part'`, or `element in x`"),
        ("msg.name.toUpperCase()", "string has no method 'toUpperCase'; write `upper(x)`"),
        ("msg.get('n')", "map has no method 'get'; write `get(x, ...)`"),
        ("JSON.parse(data)", "nil has no method 'parse'; write `fromJSON(x)`"),
        ("parseInt(msg.n)", "there is no function 'parseInt'; write `int(x)`"),
        ("str(msg.n)", "there is no function 'str'; write `string(x)`"),
        ("ifnull(msg.n, 1)", "write `x ?? other`"),
        ("'n is ' + msg.n", "'+' cannot take string and int; `string(x)` makes a string"),
        ("now() > msg.name", "'>' cannot take time and string; `date(text)` reads a time"),
        ("now() - msg.n", "a duration is written as in `duration('90s')`"),
        ("msg.when || 'd'", "'or' takes a bool, not nil; `a ?? b` is b where a is nil"),
    ],
)
def test_what_another_language_calls_otherwise_is_told_with_its_name_here(source: str, told: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source).evaluate(MESSAGE)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    "source", ["let x =-1; x", "1--1", "2*-1", "[1,2][-1]-1", "1<-1 ? 2 : 0", "let y =!true; y ? 1 : 0"]
)
def test_signs_that_stand_close_together_keep_their_meaning(source: str) -> None:
    assert Expression.compile(source).evaluate(MESSAGE) in {-1, 2, -2, 1, 0}


def test_words_of_other_languages_stay_names() -> None:
    message = Message({"like": 1, "return": 2, "for": 3})
    assert Expression.compile("msg.like + msg.return + msg.for").evaluate(message) == 6
    assert Expression.compile("let like = 4; like").evaluate(message) == 4
    assert Expression.compile("{return: 1, then: 2}").evaluate(message) == {"return": 1, "then": 2}

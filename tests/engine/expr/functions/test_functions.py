"""The functions that expressions may call."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from catenary.errors import ExpressionError
from catenary.expr import FUNCTIONS, Expression, text_of
from catenary.message import Message

MESSAGE = Message(
    {"l": [3, 1, 2], "e": [], "o": {"b": 1, "a": 2}, "rows": [{"q": 1, "n": "x"}, {"q": 5, "n": "y"}], "t": 4}
)


def value(source: str) -> Any:
    return Expression.compile(source).evaluate(MESSAGE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("len('\u00e9')", 1),
        ("len(msg.l)", 3),
        ("len(msg.o)", 2),
        ("type(nil)", "nil"),
        ("type(1)", "int"),
        ("type(1.0)", "float"),
        ("type('')", "string"),
        ("type([])", "array"),
        ("type({})", "map"),
        ("type(true)", "bool"),
        ("type(now())", "time.Time"),
        ("type(duration('1s'))", "time.Duration"),
        ("type(b'')", "bytes"),
        ("int(1.9)", 1),
        ("int('-12')", -12),
        ("float('1.5')", 1.5),
        ("float(1)", 1.0),
        ("float('Inf')", math.inf),
        ("string(41.0)", "41"),
        ("string(1e21)", "1e+21"),
        ("string(1e-7)", "1e-07"),
        ("string(nil)", "<nil>"),
        ("string([1, 'a'])", "[1 a]"),
        ("string({b: 1, a: nil})", "map[a:<nil> b:1]"),
        ("string(true)", "true"),
        ("string(123456789.5)", "123456789.5"),
        ("abs(-2)", 2),
        ("abs(-2.5)", 2.5),
        ("ceil(1.2)", 2.0),
        ("floor(-1.2)", -2.0),
        ("round(2.5)", 3.0),
        ("round(-2.5)", -3.0),
        ("round(2.4)", 2.0),
        ("round(3)", 3.0),
        ("round(1.0/0)", math.inf),
        ("ceil(1.0/0)", math.inf),
        ("floor(-1.0/0)", -math.inf),
        ("max(1, [2, [5]], 3)", 5),
        ("min(msg.l)", 1),
        ("max([])", None),
        ("mean(1, 2)", 1.5),
        ("mean([])", 0.0),
        ("median(3, 1, 2)", 2.0),
        ("median(1, 2)", 1.5),
        ("median([])", 0.0),
    ],
)
def test_kinds_and_numbers(source: str, expected: Any) -> None:
    found = value(source)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("upper('aB')", "AB"),
        ("lower('aB')", "ab"),
        ("trim(' a ')", "a"),
        ("trim('xax', 'x')", "a"),
        ("trimPrefix('abc', 'a')", "bc"),
        ("trimSuffix('abc', 'c')", "ab"),
        ("split('a,b,c', ',')", ["a", "b", "c"]),
        ("split('a,b,c', ',', 2)", ["a", "b,c"]),
        ("split('abc', '')", ["a", "b", "c"]),
        ("split('abc', '', 2)", ["a", "bc"]),
        ("split('a', ',', 0)", []),
        ("splitAfter('a,b', ',')", ["a,", "b"]),
        ("join(['a', 'b'], '-')", "a-b"),
        ("join([])", ""),
        ("replace('aaa', 'a', 'b')", "bbb"),
        ("replace('aaa', 'a', 'b', 1)", "baa"),
        ("repeat('ab', 2)", "abab"),
        ("hasPrefix('abc', 'a')", True),
        ("hasSuffix('abc', 'a')", False),
        ("indexOf('\u00e9b', 'b')", 2),
        ("indexOf('a', 'z')", -1),
        ("lastIndexOf('abab', 'b')", 3),
        ("'a b' | split(' ') | len()", 2),
        ("toBase64('a')", "YQ=="),
        ("fromBase64('YQ==')", "a"),
        ("fromJSON('{\"a\": [1]}').a[0]", 1),
        ("toJSON({b: [1.0], a: '<'})", '{\n  "a": "\\u003c",\n  "b": [\n    1\n  ]\n}'),
        ("toJSON([])", "[]"),
    ],
)
def test_strings(source: str, expected: Any) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("all(msg.l, # > 0)", True),
        ("any(msg.l, {# > 2})", True),
        ("none(msg.e, # > 2)", True),
        ("one(msg.l, # == 3)", True),
        ("all([], # > 1)", True),
        ("any([], # > 1)", False),
        ("filter(msg.rows, .q > 1)", [{"q": 5, "n": "y"}]),
        ("map(msg.rows, .n)", ["x", "y"]),
        ("map(msg.l, # * #index)", [0, 1, 4]),
        ("map([1], {a: #})", [{"a": 1}]),
        ("map([1], {let x = #; x + 1})", [2]),
        ("map([1], {})", [{}]),
        ("find(msg.l, # < 3)", 1),
        ("find(msg.l, # > 9)", None),
        ("findLast(msg.l, # < 3)", 2),
        ("findIndex(msg.l, # == 1)", 1),
        ("findIndex(msg.l, # == 9)", None),
        ("findLastIndex(msg.l, # > 1)", 2),
        ("count(msg.l, # > 1)", 2),
        ("count([true, false, true])", 2),
        ("sum(msg.l)", 6),
        ("sum(msg.rows, .q)", 6),
        ("sum([])", 0),
        ("reduce(msg.l, #acc + #)", 6),
        ("reduce(msg.l, #acc + #, 10)", 16),
        ("reduce([], #acc + #, 1)", 1),
        ("reduce(msg.l, #acc + string(#) + string(#index), '')", "301122"),
        ("groupBy(msg.l, # > 1)", {True: [3, 2], False: [1]}),
        ("map(sortBy(msg.rows, .q, 'desc'), .n)", ["y", "x"]),
        ("sort(msg.l)", [1, 2, 3]),
        ("sort(['b', 'a'], 'desc')", ["b", "a"]),
        ("first(msg.l)", 3),
        ("first([])", None),
        ("last(msg.l)", 2),
        ("last([])", None),
        ("take(msg.l, 2)", [3, 1]),
        ("take(msg.l, 9)", [3, 1, 2]),
        ("reverse(msg.l)", [2, 1, 3]),
        ("uniq([1, 1.0, true, [1], [1], nil, nil])", [1, True, [1], None]),
        ("flatten([1, [2, [3]]])", [1, 2, 3]),
        ("concat([1], [2], [])", [1, 2]),
        ("keys(msg.o)", ["b", "a"]),
        ("values(msg.o)", [1, 2]),
        ("toPairs({a: 1})", [["a", 1]]),
        ("fromPairs([['a', 1]])", {"a": 1}),
        ("get(msg.l, 9)", None),
        ("get(msg.l, -1)", 2),
        ("get(nil, 'a')", None),
        ("get(msg.o, 'a')", 2),
        ("map([[1, 2], [3]], map(#, # + 1))", [[2, 3], [4]]),
        ("map([1, 2], {let x = #; map([10], # + x)})", [[11], [12]]),
        ("msg.l | filter(# > 1) | map(# * 2) | sum()", 10),
        ("reduce([[1], [2]], concat(#acc, #))", [1, 2]),
        ("[1, 2] | first() == 1", True),
        ("(msg.rows | first()).n", "x"),
        ("msg.rows | first().n", "x"),
    ],
)
def test_lists_and_maps(source: str, expected: Any) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("bitand(6, 3)", 2),
        ("bitor(6, 3)", 7),
        ("bitxor(6, 3)", 5),
        ("bitnand(6, 3)", 4),
        ("bitnot(0)", -1),
        ("bitshl(1, 4)", 16),
        ("bitshr(-8, 1)", -4),
        ("bitushr(-1, 63)", 1),
    ],
)
def test_bits(source: str, expected: int) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("date('2024-02-03')", datetime(2024, 2, 3, tzinfo=UTC)),
        ("date('2024-02-03 04:05:06').Hour()", 4),
        ("date('2024-02-03T04:05:06+02:00').UTC().Hour()", 2),
        ("date('03/02/24', '02/01/06').Month()", 2),
        ("date('2024-02-03 04:05', '2006-01-02 15:04', 'Europe/Berlin').Unix()", 1706929500),
        ("date(now()).Year() > 2000", True),
        ("date('2024-02-03').Format('Mon, 02 Jan 2006 15:04:05.000 Z07:00')", "Sat, 03 Feb 2024 00:00:00.000 Z"),
        ("date('2024-02-03').In(timezone('Asia/Tokyo')).Format('15:04 -07:00 -0700')", "09:00 +09:00 +0900"),
        ("date('2024-02-03').In(timezone('Asia/Tokyo')).Format('Z07:00')", "+09:00"),
        ("date('2024-02-03').Weekday()", "Saturday"),
        ("date('2024-02-03').YearDay()", 34),
        ("date('2024-02-03').UnixMilli()", 1706918400000),
        ("date('2024-02-03').String()", "2024-02-03T00:00:00Z"),
        ("date('2024-02-03').Add(duration('1h')).Hour()", 1),
        ("date('2024-02-03').Sub(date('2024-02-02')).Hours()", 24.0),
        ("date('2024-02-03').Before(date('2024-02-04'))", True),
        ("date('2024-02-03').After(date('2024-02-04'))", False),
        ("date('2024-02-03').Equal(date('2024-02-03'))", True),
        ("date('2024-02-03') - date('2024-02-02') == duration('24h')", True),
        ("date('2024-02-03') < date('2024-02-04')", True),
        ("(date('2024-02-03') + duration('1h')).Hour()", 1),
        ("(duration('1h') + date('2024-02-03')).Hour()", 1),
        ("(date('2024-02-03') - duration('1h')).Hour()", 23),
        ("duration('1h30m') + duration('1ms')", timedelta(hours=1.5, milliseconds=1)),
        ("duration('2s') - duration('1s')", timedelta(seconds=1)),
        ("duration('2s') * 2", timedelta(seconds=4)),
        ("2 * duration('2s')", timedelta(seconds=4)),
        ("-duration('2s')", timedelta(seconds=-2)),
        ("duration('-1.5s').Milliseconds()", -1500),
        ("duration('90s').Minutes()", 1.5),
        ("duration('0')", timedelta()),
        ("duration('1m').Seconds()", 60.0),
        ("duration('90s').String()", "1m30s"),
        ("duration('1s') < duration('2s')", True),
        ("now() > date('2020-01-01')", True),
        ("timezone('UTC') == timezone('Z')", True),
        ("date('15:04:05').Minute()", 4),
        ("date('2024-02-03 04:05:06.25', '2006-01-02 15:04:05.00').Second()", 6),
        ("date('2024-02-03').Format('05.999')", "00"),
        ("type(timezone('Local')) != 'nil'", True),
        ("date('2024-02-03').Day()", 3),
    ],
)
def test_times(source: str, expected: Any) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "len(nil)",
        "int('1.5')",
        "int(' 1')",
        "int(nil)",
        "int(true)",
        "float('x')",
        "float(nil)",
        "abs('a')",
        "max('a')",
        "upper(1)",
        "split('a', 1)",
        "split('a', ',', 'x')",
        "repeat('a', -1)",
        "join([1])",
        "join('a')",
        "fromJSON('{')",
        "fromJSON(1)",
        "toBase64(1)",
        "fromBase64('!')",
        "fromBase64(nil)",
        "keys([])",
        "fromPairs([1])",
        "fromPairs([[1, 2]])",
        "bitand(1, 2.0)",
        "bitshl(1, -1)",
        "bitshl(fromJSON('99999999999999999999'), 1)",
        "sum(['a'])",
        "sum(['a'], #)",
        "reduce([], #acc)",
        "groupBy([1], [#])",
        "sort([1, 'a'])",
        "sort([1], 'up')",
        "take([1], -1)",
        "take([1], 'a')",
        "first('a')",
        "duration('x')",
        "duration(1)",
        "date('x')",
        "date(1)",
        "date('x', '2006')",
        "timezone('No/Where')",
        "timezone(1)",
        "date('2024-02-30')",
        "date('2024-99-99T00:00:00')",
        "toJSON([1.0/0])",
        "toJSON(groupBy([1], #))",
        "now() + now()",
        "now() - 1",
        "count([1])",
        "flatten(1)",
        "uniq(1)",
        "all({}, true)",
        "mean(nil)",
        "duration('1s').Nope()",
        "now().In('UTC')",
    ],
)
def test_functions_refuse_what_they_cannot_take(source: str) -> None:
    with pytest.raises(ExpressionError):
        value(source)


def test_now_is_rfc_3339_as_text() -> None:
    assert datetime.fromisoformat(text_of(value("now()"))).tzinfo is not None


def test_functions_do_not_change_the_payload() -> None:
    before = MESSAGE.data
    for source in [
        "sort(msg.l)",
        "reverse(msg.l)",
        "concat(msg.l, [1])",
        "take(msg.l, 1)",
        "uniq(msg.l)",
        "values(msg.o)",
    ]:
        value(source)
    assert Message(MESSAGE.value).data == before


def test_each_function_says_what_it_does() -> None:
    assert all(function.doc.endswith(".") and len(function.doc) > 8 for function in FUNCTIONS.values())
    assert len(FUNCTIONS) > 70


def test_a_year_has_four_digits() -> None:
    assert Expression.compile("date('0012-03-04').Format('2006-01-02')").evaluate(Message("")) == "0012-03-04"

"""Builtins: what each row of the table of functions says beyond its examples."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from tests.engine.expr.language import fails, gives, refuses

from catenary.clock import SystemClock
from catenary.expr import Environment, Expression, budget
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.message import Message


def test_count_without_a_predicate_counts_the_trues() -> None:
    gives({"count([true, false, true])": 2, "count(msg.l, # > 1)": 2})
    fails({"count(msg.l)": "must give a bool"})


def test_sum_is_an_int_or_a_float_and_zero_of_nothing() -> None:
    gives({"sum(msg.l)": 6, "sum([1, 2.0])": 3.0, "sum([])": 0, "sum(msg.rows, .q)": 6})
    fails({"sum(['a'])": "takes numbers"})


def test_group_by_gives_a_map_with_keys_of_any_kind() -> None:
    gives({"groupBy(msg.l, # > 1)": {True: [3, 2], False: [1]}, "groupBy(msg.l, # % 2)[1]": [3, 1]})
    fails({"toJSON(groupBy(msg.l, #))": "cannot be written as JSON", "groupBy([1], [#])": "cannot group by array"})


def test_sorts_give_a_new_list_and_mixed_kinds_are_an_error() -> None:
    gives(
        {
            "sort(msg.l)": [1, 2, 3],
            "msg.l": [3, 1, 2],
            "sort(['b', 'a'], 'desc')": ["b", "a"],
            "sort([2, 1.5])": [1.5, 2],
        }
    )
    fails(
        {
            "sort([1, 'a'])": "cannot take",
            "sortBy(msg.l, # > 1 ? 'a' : 1)": "cannot take",
            "sort(msg.l, 'up')": "'asc' or 'desc'",
        }
    )


def test_statistics_take_numbers_and_lists_nested_at_any_depth() -> None:
    gives(
        {"max(1, [2, [5]], 3)": 5, "min(msg.l, 0)": 0, "mean([1, [2]])": 1.5, "median(1, 2)": 1.5, "max(1, 1.5)": 1.5}
    )
    gives({"mean([])": 0.0, "median([])": 0.0, "max([])": None, "min([])": None})
    fails({"max(msg.s)": "takes a number, not string", "mean(msg.no)": "not nil"})


def test_first_and_last_of_an_empty_list_are_nil_and_take_clamps() -> None:
    gives({"first([])": None, "last([])": None, "take(msg.l, 9)": [3, 1, 2], "take(msg.l, 0)": []})
    fails({"take([1], -1)": "no negative number", "first(msg.s)": "takes a list"})


def test_uniq_compares_fractions_and_maps_by_value() -> None:
    gives(
        {
            "uniq([1.5, 1.5, 2.5])": [1.5, 2.5],
            "uniq([{'a': 1}, {'a': 1.0}, {'a': 2}, {'b': 1}])": [{"a": 1}, {"a": 2}, {"b": 1}],
        }
    )


def test_uniq_is_by_value_and_flatten_is_deep() -> None:
    gives({"uniq([1, 1.0, true, [1], [1.0], nil, nil])": [1, True, [1], None], "flatten([1, [2, [3, []]]])": [1, 2, 3]})


def test_maps_become_lists_and_lists_become_maps() -> None:
    gives({"keys({b: 1, a: 2})": ["b", "a"], "fromPairs(toPairs({a: 1}))": {"a": 1}})
    fails({"fromPairs([1])": "[key, value]", "fromPairs([[1, 2]])": "is a string", "keys(msg.l)": "takes a map"})


def test_get_is_nil_where_an_index_is_an_error() -> None:
    gives(
        {
            "get(msg.l, 9)": None,
            "get(msg.l, -1)": 2,
            "get(nil, 'a')": None,
            "get(msg.o, '_x')": 1,
            "get(msg.t, 'a')": None,
        }
    )


def test_len_counts_characters_and_elements_and_refuses_nil() -> None:
    gives({"len('\u00e9\u4e2d')": 2, "len(msg.l)": 3, "len({a: 1})": 1, "len('')": 0})
    fails({"len(nil)": "len() cannot take nil", "len(msg.t)": "len() cannot take int"})


def test_type_names_the_kind() -> None:
    gives(
        {
            "type(nil)": "nil",
            "type(true)": "bool",
            "type(1)": "int",
            "type(1.0)": "float",
            "type('')": "string",
            "type([])": "array",
            "type({})": "map",
            "type(now())": "time.Time",
            "type(duration('1s'))": "time.Duration",
        }
    )


def test_int_truncates_floats_and_takes_plain_decimal_strings_only() -> None:
    gives({"int(1.9)": 1, "int(-1.9)": -1, "int('-12')": -12, "int('+7')": 7, "int(5)": 5})
    texts = ["'1.5'", "' 1'", "'1 '", "''", "'0x1F'", "msg.no", "msg.yes", "1/0"]
    fails({f"int({text})": "int() cannot take" for text in texts})
    refuses({"int(true)": "takes number or string as argument 1, not bool"})


def test_float_takes_numbers_and_numbers_as_text() -> None:
    gives({"float(1)": 1.0, "float('1.5e2')": 150.0, "float('-.5')": -0.5})
    fails({"float('x')": "float() cannot take 'x'", "float(nil)": "cannot take nil"})


def test_string_has_a_form_of_its_own_for_nil_lists_maps_and_large_floats() -> None:
    gives(
        {
            "string(1e21)": "1e+21",
            "string(41.0)": "41",
            "string(nil)": "<nil>",
            "string([1, 'a'])": "[1 a]",
            "string({a: 1})": "map[a:1]",
            "string({b: [nil], a: true})": "map[a:true b:[<nil>]]",
            "string(1e-7)": "1e-07",
            "string('a')": "a",
        }
    )


def test_abs_keeps_the_kind_and_rounding_gives_floats() -> None:
    gives({"abs(-2)": 2, "abs(-2.5)": 2.5, "ceil(1)": 1.0, "floor(-1.5)": -2.0, "round(2.4)": 2.0})


def test_a_half_is_rounded_away_from_zero() -> None:
    gives({"round(2.5)": 3.0, "round(-2.5)": -3.0, "round(0.5)": 1.0, "round(0.49999999999999994)": 0.0})


def test_trims_take_blanks_or_what_is_given() -> None:
    gives(
        {
            "trim(' a\\n')": "a",
            "trim('xyaxy', 'xy')": "a",
            "trimPrefix('abc', 'x')": "abc",
            "trimSuffix('abc', 'c')": "ab",
        }
    )


def test_replace_and_repeat_are_bounded_and_refuse_negative_counts() -> None:
    gives({"replace('aaa', 'a', 'b', 2)": "bba", "replace('aaa', 'a', '', -1)": "", "repeat('a', 0)": ""})
    fails({"repeat('a', -1)": "no negative number", "repeat('a', 10000000)": "longer than"})


def test_split_cuts_per_character_at_an_empty_separator() -> None:
    gives(
        {
            "split('abc', '')": ["a", "b", "c"],
            "split('abc', '', 2)": ["a", "bc"],
            "split('a,b', ',', 0)": [],
            "split('', ',')": [""],
        }
    )


def test_join_takes_strings_only() -> None:
    gives({"join(['a', 'b'])": "ab", "join([], ',')": ""})
    fails({"join([1, 2])": "takes a string, not int", "join(msg.l, ',')": "not int"})


def test_index_of_counts_bytes_and_is_minus_one_for_nothing() -> None:
    gives(
        {
            "indexOf('\u00e9b', 'b')": 2,
            "indexOf('a', 'z')": -1,
            "lastIndexOf('abab', 'b')": 3,
            "lastIndexOf('a', 'z')": -1,
        }
    )


def test_to_json_is_indented_by_two_blanks_with_sorted_keys_and_escapes_html() -> None:
    gives(
        {
            "toJSON({b: [1.0], a: '<&>'})": '{\n  "a": "\\u003c\\u0026\\u003e",\n  "b": [\n    1\n  ]\n}',
            "toJSON([])": "[]",
        }
    )


def test_what_cannot_be_decoded_is_an_error() -> None:
    gives({"fromJSON('[1, 2.0]')": [1, 2.0], "fromBase64(toBase64('\u00e9'))": "\u00e9"})
    fails({"fromJSON('{')": "not JSON", "fromBase64('!')": "fromBase64()"})


def test_bit_functions_take_ints_of_64_bits_and_refuse_floats() -> None:
    gives(
        {
            "bitshl(1, 63)": -(2**63),
            "bitshl(1, 64)": 0,
            "bitshr(-8, 1)": -4,
            "bitshr(-1, 99)": -1,
            "bitushr(-1, 63)": 1,
            "bitnot(0)": -1,
        }
    )
    fails(
        {
            "bitand(1, 2.0)": "takes whole numbers, not float",
            "bitshl(1, -1)": "a shift is not negative",
            "bitnot(msg.big)": "64 bits",
        }
    )


class FakeClock(SystemClock):
    """Always the same moment."""

    def time_ms(self) -> int:
        return 1_000_000_000_500


class Timed:
    """A context with a clock."""

    clock = FakeClock()


def test_now_asks_the_clock_of_the_run_and_else_that_of_the_machine() -> None:
    program = compile_program("now()", Environment())
    moment = datetime(2001, 9, 9, 1, 46, 40, 500_000, tzinfo=UTC)
    assert program.call(Message(""), Timed()) == moment
    assert evaluate(program, Environment(), Message(""), Timed()) == moment
    assert abs((program.call(Message("")) - datetime.now(UTC)).total_seconds()) < 60
    assert Expression.compile("map([1], now().Unix())").evaluate(Message(""), Timed()) == [1_000_000_000]


def test_date_without_a_layout_tries_the_usual_forms() -> None:
    moment = "2024-02-03T04:05:06Z"
    gives(
        {
            "string(date('2024-02-03'))": "2024-02-03T00:00:00Z",
            "date('04:05:06').Hour()": 4,
            "string(date('2024-02-03 04:05:06'))": moment,
            "string(date('2024-02-03T04:05:06Z'))": moment,
            "string(date('2024-02-03T06:05:06+02:00').UTC())": moment,
            "string(date('03 Feb 24 04:05 UTC'))": "2024-02-03T04:05:00Z",
            "string(date('Saturday, 03-Feb-24 04:05:06 UTC'))": moment,
            "string(date('Sat, 03 Feb 2024 04:05:06 GMT'))": moment,
            "string(date('Sat, 03 Feb 2024 06:05:06 +0200').UTC())": moment,
        }
    )
    fails(
        {
            "date('x')": "date(): 'x' is no time",
            "date('2024-02-30')": "is no time",
            "date(msg.no)": "takes strings, not nil",
        }
    )


def test_layouts_show_how_one_moment_is_written() -> None:
    gives(
        {
            "string(date('3/2/2024 4:05 pm', '2/1/2006 3:04 pm'))": "2024-02-03T16:05:00Z",
            "string(date('03.02.24', '02.01.06'))": "2024-02-03T00:00:00Z",
            "date('2024-02-03 16:05:06').Format('Mon Jan _2 15:04:05 2006')": "Sat Feb  3 16:05:06 2024",
            "date('2024-02-03 16:05:06').Format('1/2/06, 3:4:5 PM')": "2/3/24, 4:5:6 PM",
            "date('2024-02-03 16:05:06').Format('3:04pm Monday, January 002')": "4:05pm Saturday, February 034",
            "date('2024-02-03').Format('2006-01-02T15:04:05Z07:00')": "2024-02-03T00:00:00Z",
            "date('2024-02-03').Format('Z0700 -0700 -07:00')": "Z +0000 +00:00",
            "date('2024-02-03').Format('02.01.2006')": "03.02.2024",
            "date('2024-02-03 04:05:06.25', '2006-01-02 15:04:05.00').Format('05.000')": "06.250",
        }
    )
    fails({"date('x', '2006')": "of the form '2006'"})


def test_a_zone_is_given_by_name_or_as_a_time_zone() -> None:
    gives(
        {
            "string(date('2024-02-03', '2006-01-02', 'Asia/Tokyo'))": "2024-02-03T00:00:00+09:00",
            "string(date('2024-02-03').In(timezone('Asia/Tokyo')))": "2024-02-03T09:00:00+09:00",
            "string(date('2024-02-03', '2006-01-02', timezone('UTC')))": "2024-02-03T00:00:00Z",
        }
    )
    fails(
        {"timezone('No/Where')": "there is no time zone 'No/Where'", "now().In('UTC')": "a method cannot take string"}
    )


def test_times_have_methods() -> None:
    moment = "date('2024-02-03 04:05:06')"
    gives(
        {
            f"[{moment}.Year(), {moment}.Month(), {moment}.Day()]": [2024, 2, 3],
            f"[{moment}.Hour(), {moment}.Minute(), {moment}.Second()]": [4, 5, 6],
            f"{moment}.Weekday()": "Saturday",
            f"{moment}.YearDay()": 34,
            f"{moment}.Unix()": 1706933106,
            f"{moment}.UnixMilli()": 1706933106000,
            f"string({moment}.Add(duration('1h')))": "2024-02-03T05:05:06Z",
            f"{moment}.Sub(date('2024-02-03')).Minutes()": 245.1,
            f"{moment}.Before(now()) and {moment}.After(date('2024-02-03'))": True,
        }
    )
    fails(
        {
            "msg.s.Year()": "string has no method 'Year'",
            "now().Nope()": "time has no method 'Nope'",
            "now().Year(1)": "takes 0 arguments",
        }
    )


def test_durations_have_methods_and_a_text() -> None:
    gives(
        {
            "duration('1h30m').Hours()": 1.5,
            "duration('90s').Minutes()": 1.5,
            "duration('1.5s').Seconds()": 1.5,
            "duration('-1.5s').Milliseconds()": -1500,
            "duration('1h30m').String()": "1h30m0s",
            "string(duration('250ms') * 2)": "500ms",
            "string(duration('0'))": "0s",
        }
    )
    fails({"duration('x')": "is no duration", "duration('1')": "is no duration", "duration('1h').Nope()": "no method"})


def test_the_number_of_arguments_is_told_with_the_meaning_of_the_function() -> None:
    refuses(
        {
            "upper()": "upper() takes 1 argument, not 0",
            "split('a')": "split() takes 2 to 3 arguments, not 1",
            "now(1)": "now() takes no arguments, not 1",
            "max()": "max() takes at least 1 argument",
            "filter(msg.l)": "Give the elements that pass.",
        }
    )


def test_ten_thousand_syntax_nodes_are_allowed_and_no_more() -> None:
    gives({"len([" + "1," * 9_990 + "])": 9_990})
    refuses({"len([" + "1," * 10_000 + "])": "the expression is too long"})


def test_a_million_units_of_memory_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "monotonic", lambda: 1.0)  # a slow machine runs out of time before
    fails({"map(1..2000, map(1..2000, #))": "memory budget exceeded"})


def test_upper_and_lower_change_the_case_of_strings_only() -> None:
    gives({"upper('a\u00e9')": "A\u00c9", "lower('A\u00c9')": "a\u00e9"})
    fails({"upper(msg.t)": "upper() takes a string, not int", "lower(msg.no)": "lower() takes a string, not nil"})


def test_has_prefix_and_has_suffix_are_bools() -> None:
    gives({"hasPrefix('abc', 'ab')": True, "hasPrefix('abc', 'b')": False, "hasPrefix('abc', '')": True})
    gives({"hasSuffix('abc', 'bc')": True, "hasSuffix('abc', 'b')": False, "hasSuffix('abc', '')": True})


def test_base64_goes_both_ways() -> None:
    gives({"toBase64('\u00e9')": "w6k=", "fromBase64('w6k=')": "\u00e9", "fromBase64(toBase64(''))": ""})


def test_reverse_and_concat_give_new_lists() -> None:
    gives({"reverse([1, 2, 3])": [3, 2, 1], "concat([1], [], [2, [3]])": [1, 2, [3]], "reverse([])": []})
    gives({"let x = [1, 2]; [reverse(x), x]": [[2, 1], [1, 2]], "let x = [1]; [concat(x, x), x]": [[1, 1], [1]]})


def test_a_short_name_of_a_zone_is_read_only_if_it_means_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        gives({"string(date('03 Feb 24 04:05 GMT'))": "2024-02-03T04:05:00Z"})
        fails({"date('03 Feb 24 04:05 CET')": "is no time"})
    finally:
        monkeypatch.undo()
        time.tzset()

"""What the operators take and give."""

from __future__ import annotations

import math

from tests.engine.expr.language import MESSAGE, Outputs, fails, gives, refuses

from catenary.expr import Environment, Expression
from catenary.message import Message


def test_plus_takes_two_numbers_two_strings_a_time_and_a_duration_or_two_durations() -> None:
    gives(
        {
            "1 + 2": 3,
            "1 + 2.0": 3.0,
            "'a' + 'b'": "ab",
            "string(duration('1h') + duration('30m'))": "1h30m0s",
            "string(date('2024-02-03') + duration('1h'))": "2024-02-03T01:00:00Z",
            "string(duration('1h') + date('2024-02-03'))": "2024-02-03T01:00:00Z",
        }
    )


def test_plus_refuses_any_other_pair() -> None:
    refuses({"'a' + 1": "Make it text with `string(...)`", "[1] + [2]": "'+' cannot take array", "true + 1": "bool"})
    fails(
        {
            "msg.s + msg.t": "'+' cannot take string and int",
            "msg.no + 1": "'+' cannot take nil and int",
            "1 + msg.nope": "'+' cannot take int and nil",
            "msg.l + msg.l": "'+' cannot take array and array",
            "msg.o + msg.o": "'+' cannot take map and map",
            "msg.yes + 1": "'+' cannot take bool and int",
            "now() + now()": "'+' cannot take time and time",
        }
    )


def test_minus_and_times_keep_ints_and_any_float_makes_a_float() -> None:
    gives({"5 - 3": 2, "5 - 3.0": 2.0, "5 * 3": 15, "5 * 3.0": 15.0, "msg.t - 1": 40, "msg.t * msg.f": 102.5})
    fails({"msg.s * 2": "'*' cannot take", "msg.s - 1": "'-' cannot take", "msg.no - 2": "'-' cannot take nil and int"})


def test_ints_of_any_size_are_exact_and_never_wrap() -> None:
    # the numbers of a payload are ints here: wrapping would make a wrong number of a sum that is right as a float
    gives(
        {
            "msg.big": 123456789012345678901234567890,
            "msg.big + 1": 123456789012345678901234567891,
            "9223372036854775807 + 1": 2**63,
            "-9223372036854775808 - 1": -(2**63) - 1,
            "9223372036854775807 * 2": 2**64 - 2,
            "msg.big - msg.big": 0,
            "msg.big % 10": 0,
            "int('123456789012345678901234567890') == msg.big": True,
            "msg.big > 1e29": True,
            "toJSON([msg.big])": "[\n  123456789012345678901234567890\n]",
        }
    )
    fails({"int(repeat('9', 4000)) * int(repeat('9', 4000))": "the number is too large"})


def test_a_time_minus_a_time_is_a_duration() -> None:
    gives(
        {
            "string(date('2024-02-03') - date('2024-02-02'))": "24h0m0s",
            "string(date('2024-02-03') - duration('1h'))": "2024-02-02T23:00:00Z",
            "string(duration('2s') - duration('1s'))": "1s",
        }
    )
    fails({"now() - 1": "'-' cannot take time and int", "duration('1s') - now()": "'-' cannot take duration and time"})


def test_division_is_always_a_float() -> None:
    gives({"10/5": 2.0, "7/2": 3.5, "1/2": 0.5, "msg.t / 1": 41.0})
    fails({"msg.s / 2": "'/' cannot take", "msg.t / msg.s": "'/' cannot take", "msg.no / 1": "'/' cannot take nil"})


def test_what_is_too_large_for_a_fraction_is_infinite() -> None:
    huge = Message({"n": 10**400})
    gives({"msg.n / 1": math.inf, "-msg.n / 1": -math.inf, "msg.n ** 2": math.inf, "-msg.n ** 1": -math.inf}, huge)


def test_division_by_zero_is_infinite_and_zero_by_zero_is_no_number() -> None:
    gives({"1/0": math.inf, "-1/0": -math.inf, "0/0": math.nan, "0.0/0": math.nan, "msg.t / (1 - 1)": math.inf})


def test_remainder_takes_whole_numbers_and_has_the_sign_of_the_dividend() -> None:
    gives({"7 % 3": 1, "-7 % 3": -1, "7 % -3": 1, "-7 % -3": -1, "msg.t % 2": 1})
    fails(
        {
            "msg.t % 1.5": "whole numbers only",
            "msg.f % 2": "whole numbers only",
            "msg.s % 2": "'%' cannot take",
            "1 % (1 - 1)": "by zero",
        }
    )


def test_remainder_takes_whole_floats_too() -> None:
    gives({"6.0 % 4": 2, "msg.whole % 4": 2, "msg.whole % 4.0": 2})


def test_power_is_always_a_float() -> None:
    gives(
        {
            "2 ** 3": 8.0,
            "2 ^ 0.5": 2**0.5,
            "10 ** 400": math.inf,
            "(-10) ** 401": -math.inf,
            "0 ** -1": math.inf,
            "(-8) ** 0.5": math.nan,
        }
    )
    fails({"msg.s ** 2": "'**' cannot take", "2 ** msg.no": "'**' cannot take"})


def test_signs_take_numbers() -> None:
    gives({"-msg.t": -41, "+msg.f": 2.5, "string(-duration('2s'))": "-2s"})
    refuses({"-'a'": "'-' takes a number, not string", "-true": "'-' takes a number, not bool"})
    fails({"-msg.s": "'-' cannot take string", "+msg.s": "'+' cannot take string", "-msg.no": "'-' cannot take nil"})


def test_numbers_are_equal_by_value_whatever_their_kind() -> None:
    gives({"1 == 1.0": True, "msg.whole == 6": True, "msg.t == msg.f": False, "1 != 1.0": False, "0 == -0.0": True})


def test_lists_are_equal_element_by_element_by_value() -> None:
    gives(
        {
            "[2] == [2.0]": True,
            "[1] == [1, 2]": False,
            "msg.l == [3, 1, 2]": True,
            "[[1]] == [[1.0]]": True,
            "[true] == [1]": False,
        }
    )


def test_maps_are_equal_deeply_and_numbers_in_them_by_value() -> None:
    gives(
        {
            "{a: msg.t} == {a: 41.0}": True,
            "{a: {b: [2]}} == {a: {b: [2.0]}}": True,
            "{a: 1} == {b: 1}": False,
            "{a: 1, b: 2} == {b: 2, a: 1}": True,
            "{a: nil} == {b: nil}": False,
            "{a: true} == {a: 1}": False,
        }
    )


def test_different_kinds_are_different_at_run_time() -> None:
    gives(
        {
            "msg.t == '41'": False,
            "msg.yes == 1": False,
            "msg.yes == msg.t": False,
            "msg.s != 'abc'": False,
            "msg.no == nil": True,
            "0 == msg.no": False,
            "msg.s == nil": False,
            "msg.l == 'abc'": False,
            "msg.o != nil": True,
        }
    )


def test_different_kinds_of_constants_are_a_compile_error() -> None:
    refuses(
        {
            "'1' == 1": "'==' cannot take string and number",
            "1 == true": "'==' cannot take number and bool",
            "[] == {}": "'==' cannot take",
        }
    )
    refuses(
        {
            "'1' != 1": "'!=' cannot take",
            "'a' < 1": "'<' cannot take string and number",
            "true > false": "'>' cannot take bool",
        }
    )


def test_orderings_take_two_numbers_two_strings_two_times_or_two_durations() -> None:
    gives(
        {
            "1 < 1.5": True,
            "msg.t >= 41": True,
            "'abc' < 'abd'": True,
            "'Z' < 'a'": True,
            "'a' < '\u00e9'": True,
            "msg.s <= msg.s": True,
            "date('2024-02-03') < date('2024-02-04')": True,
            "duration('1s') > duration('1ms')": True,
        }
    )
    fails(
        {
            "msg.no > 5": "'>' cannot take nil and int",
            "msg.s < msg.t": "'<' cannot take",
            "msg.yes <= msg.yes": "'<=' cannot take bool and bool",
            "msg.l >= msg.l": "'>=' cannot take",
            "5 < msg.no": "'<' cannot take int and nil",
        }
    )


def test_and_and_or_need_a_bool_on_the_left_and_give_the_right_one_as_it_is() -> None:
    gives(
        {
            "true && 41": 41,
            "msg.yes && msg.t": 41,
            "msg.yes or msg.t": True,
            "msg.t > 50 or msg.t": 41,
            "false and 1": False,
        }
    )
    refuses({"1 && true && msg.s": "'and' takes a bool, not number", "'a' or msg.yes": "'or' takes a bool, not string"})
    fails({"msg.t && true && msg.s": "'and' takes a bool", "msg.no || msg.s": "'or' takes a bool, not nil"})


def test_true_and_x_and_their_like_are_just_x_of_any_kind() -> None:
    gives(
        {
            "msg.s and true": "abc",
            "true && msg.s": "abc",
            "msg.s or false": "abc",
            "false or msg.s": "abc",
            "true and true": True,
        }
    )


def test_nil_left_of_and_counts_as_false_yet_not_nil_is_an_error() -> None:
    gives({"missing && msg.yes": False, "msg.no and msg.s": False, "missing && true": None})
    fails({"not msg.no": "'not' takes a bool, not nil", "!missing": "'not' takes a bool, not nil"})


def test_the_right_side_is_not_evaluated_when_the_left_one_decides() -> None:
    gives({"false and missing.x": False, "true or missing.x": True, "true ? 1 : missing.x": 1, "1 ?? missing.x": 1})


def test_a_condition_must_be_a_bool() -> None:
    refuses(
        {"1 ? 2 : 3": "a condition must be a bool, not number", "if 'a' { 1 } else { 2 }": "a condition must be a bool"}
    )
    fails(
        {
            "msg.t ? 1 : 2": "a condition must be a bool, not int",
            "msg.no ? 1 : 2": "a condition must be a bool, not nil",
        }
    )


def test_there_is_no_elvis_form() -> None:
    refuses({"msg.no ?: 1": "Write `a ?? b`"})


def test_in_looks_for_an_element_of_a_list_or_a_key_of_a_map() -> None:
    gives(
        {
            "1 in [1, 2]": True,
            "msg.s in ['abc']": True,
            "'k' in msg.o": True,
            "'b' in {b: 1}": True,
            "1 in {b: 1}": False,
            "'a' not in msg.l": True,
            "[1] in [[1.0]]": True,
            "1 in groupBy([1, 2], #)": True,
        }
    )
    fails({"1 in msg.t": "'in' cannot take"})


def test_in_compares_numbers_by_value() -> None:
    gives({"2.0 in 1..3": True, "2 in [2.0]": True, "true in [1]": False, "1 in [true]": False})


def test_nothing_is_in_nil() -> None:
    gives({"1 in nil": False, "1 not in nil": True, "msg.s in msg.no": False})


def test_a_string_in_a_string_is_refused_in_favour_of_contains() -> None:
    refuses({"'a' in 'abc'": "Use `text contains part`."})
    fails({"msg.s in msg.s": "use `text contains part`"})


def test_text_operators_take_strings_and_nil_on_the_left_is_false() -> None:
    gives(
        {
            "'hello' contains 'ell'": True,
            "msg.s startsWith 'a'": True,
            "msg.s endsWith 'z'": False,
            "msg.s not contains 'z'": True,
            "msg.s not startsWith 'a'": False,
            "nil contains 'x'": False,
            "missing startsWith 'x'": False,
            "msg.no endsWith 'x'": False,
            "missing matches 'x'": False,
            "msg.no not contains 'x'": True,
        }
    )
    refuses({"1 contains 'a'": "'contains' cannot take", "'a' startsWith 1": "'startsWith' cannot take"})
    fails(
        {
            "msg.t contains 'a'": "'contains' cannot take int and string",
            "msg.s endsWith msg.no": "'endsWith' cannot take string and nil",
        }
    )


def test_matches_finds_a_pattern_anywhere() -> None:
    gives(
        {
            "msg.s matches '^a.c$'": True,
            "msg.s matches 'b'": True,
            "msg.s not matches 'b'": False,
            "'a1' matches '[0-9]+'": True,
        }
    )


def test_a_bad_constant_pattern_fails_at_compile_time() -> None:
    refuses({"msg.s matches '('": "not a regular expression"})
    fails({"msg.s matches ('(' + msg.s)": "not a regular expression"})


def test_ranges_are_lists_of_ints_both_ends_included() -> None:
    gives({"1..3": [1, 2, 3], "5..1": [], "1..1": [1], "-1..1": [-1, 0, 1], "1..len(msg.l)": [1, 2, 3]})
    fails({"msg.s..2": "'..' cannot take", "0..(1.0/0)": "finite numbers", "1..msg.no": "'..' cannot take"})


def test_float_bounds_of_a_range_are_truncated() -> None:
    gives({"1.9..3.2": [1, 2, 3], "-1.9..0": [-1, 0]})


def test_a_range_of_a_million_elements_is_over_the_memory_budget() -> None:
    gives({"len(1..999999)": 999_999})
    fails({"1..1000000": "memory budget exceeded", "0..1e12": "memory budget exceeded"})


def test_an_index_counts_from_the_end_when_negative_and_is_truncated() -> None:
    gives({"msg.l[0]": 3, "msg.l[-1]": 2, "msg.l[1.9]": 1, "[1, 2][1]": 2, "msg.rows[1].n": "y"})


def test_an_index_out_of_range_is_an_error() -> None:
    fails(
        {
            "msg.l[3]": "index out of range: 3 (length is 3)",
            "msg.l[-4]": "index out of range",
            "msg.s[9]": "index out of range",
        }
    )
    fails(
        {
            "msg.l['a']": "an index is a number",
            "msg.l[1.0/0]": "an index is a number",
            "msg.no[0]": "cannot fetch 0 from nil",
        }
    )


def test_a_missing_key_of_a_map_is_nil() -> None:
    gives({"msg['nope']": None, "msg.nope": None, "msg['o']['a b']": 2, "{a: {b: 1}}.a.b": 1, "msg.o['_x']": 1})
    fails({"msg.o[1]": "a key of a map is a string, not int"})


def test_an_index_of_a_string_is_a_byte() -> None:
    gives({"msg.s[0]": 97, "'\u00e9'[0]": 195, "msg.s[-1]": 99})


def test_a_field_of_nil_is_an_error_and_so_is_one_of_a_number_string_or_list() -> None:
    fails(
        {
            "msg.no.x": "cannot fetch x from nil",
            "missing.x": "cannot fetch x from nil",
            "msg.t.x": "cannot fetch x from int",
            "msg.s.x": "cannot fetch x from string",
            "msg.l.x": "cannot fetch x from array",
            "msg.nope.a.b": "cannot fetch a from nil",
        }
    )


def test_optional_access_gives_nil_for_all_of_the_row_at_the_first_nil() -> None:
    gives(
        {
            "msg.nope?.a.b.c": None,
            "msg?.o?.k?.n": 5,
            "msg.nope?.[0].x": None,
            "msg.o?.k.nope": None,
            "(msg.nope?.a) ?? 'd'": "d",
            "msg.nope?.a[0][1:]": None,
            "missing?.Year()": None,
        }
    )
    fails({"msg.o?.nope.x": "cannot fetch x from nil", "(msg.nope?.a).b": "cannot fetch b from nil"})


def test_slices_are_clamped_and_never_an_error() -> None:
    gives(
        {
            "msg.l[1:]": [1, 2],
            "msg.l[:-1]": [3, 1],
            "msg.l[5:9]": [],
            "msg.l[-9:1]": [3],
            "msg.l[2:1]": [],
            "msg.s[1:2]": "b",
            "msg.s[:]": "abc",
            "'\u00e9x'[2:]": "x",
            "b'abc'[1:]": b"bc",
            "msg.l[:1.9]": [3],
        }
    )
    fails(
        {
            "msg.l[msg.s:]": "a bound of a slice",
            "msg.o[1:]": "cannot take a slice of map",
            "msg.no[1:]": "cannot take a slice of nil",
        }
    )


def test_nil_coalescing_keeps_empty_text_zero_and_false() -> None:
    gives(
        {
            "'' ?? 1": "",
            "0 ?? 1": 0,
            "false ?? 1": False,
            "nil ?? 1": 1,
            "msg.no ?? msg.nope ?? 3": 3,
            "metadata.x ?? 'd'": "",
        }
    )


def test_let_may_not_declare_a_name_twice() -> None:
    refuses(
        {
            "let x = 1; let x = 2; x": "'x' is declared already",
            "let x = 1; map([1], {let x = #; x})": "'x' is declared already",
            "let true = 1; 2": "cannot be declared",
            "let not = 1; 2": "cannot be declared",
        }
    )
    gives({"(let x = 1; x) + (let x = 2; x)": 3, "map([1], {let y = #; y}) == map([1], {let y = #; y})": True})


def test_let_may_shadow_a_variable() -> None:
    gives(
        {
            "let msg = 5; msg": 5,
            "let metadata = {kind: 1}; metadata.kind": 1,
            "let s1 = 2; s1": 2,
            "let msg = {data: 1}; msg.data": 1,
        }
    )


def test_env_is_a_map_of_all_variables() -> None:
    gives(
        {
            "$env['msg'].t": 41,
            "$env.metadata['a b']": "c",
            "'ts' in $env": True,
            "'nope' in $env": False,
            "$env['nope']": None,
            "$env.s1.msg.a": 7,
            "$env['global'].data_dir": "/d",
        },
        ctx=Outputs(),
    )


def test_a_call_of_an_unknown_function_compiles_and_fails_when_it_runs() -> None:
    fails({"nope(1)": "cannot call nil: there is no function 'nope'", "uper('a')": "did you mean 'upper'?"})
    gives({"true or nope(1)": True})


def test_fields_may_have_the_names_of_operators_and_words() -> None:
    gives({"{in: 1}.in": 1, "{not: 2}.not": 2, "{if: 3}?.if": 3, "{let: 4}['let']": 4})


def test_operands_are_evaluated_once_and_from_left_to_right() -> None:
    seen: list[int] = []

    def see(number: int) -> int:
        seen.append(number)
        return number

    environment = Environment(functions={"see": see})
    assert Expression.compile("see(1) < see(2) < see(3)", environment).evaluate(MESSAGE)
    assert Expression.compile("(see(4) ?? 0) + see(5)", environment).evaluate(MESSAGE) == 9
    assert Expression.compile("{a: see(6), b: [see(7)]}.b[see(8) - 8]", environment).evaluate(Message("")) == 7
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]

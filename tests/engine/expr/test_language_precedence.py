"""Precedence of the operators, loosest to tightest."""

from __future__ import annotations

from tests.engine.expr.language import fails, gives, refuses


def test_a_sequence_gives_the_value_of_the_last() -> None:
    gives({"1; 2": 2, "1; 2; 3": 3, "1;": 1, "(1; 2) + 1": 3})


def test_let_binds_a_name_for_what_follows() -> None:
    gives(
        {
            "let x = 2; x": 2,
            "let x = 2; let y = x + 1; x * y": 6,
            "let x = 1; x; x + 1": 2,
            "[(let x = 5; x), 1]": [5, 1],
            "let x = true ? 1 : 2; x": 1,
        }
    )
    refuses(
        {"let x = 1": "expected ';'", "let x = 1;": "`let` needs an expression after it", "let x 1; 2": "expected '='"}
    )


def test_conditionals_go_from_right_to_left() -> None:
    gives(
        {
            "true ? 1 : false ? 2 : 3": 1,
            "false ? 1 : false ? 2 : 3": 3,
            "false ? 1 : true ? 2 : 3": 2,
            "true ? false ? 1 : 2 : 3": 2,
            "1 == 1 ? 'a' : 'b'": "a",
            "msg.yes ?.5:1": 0.5,
        }
    )
    refuses({"true ? 1": "expected ':'"})


def test_if_else_is_a_value_and_needs_its_else() -> None:
    gives(
        {
            "if msg.t > 3 { 1 } else if true { 2 } else { 3 }": 1,
            "if msg.t > 50 { 1 } else if true { 2 } else { 3 }": 2,
            "if false { 1 } else { 2 }": 2,
            "if true { let x = 3; x } else { 0 }": 3,
            "(if true { 1 } else { 2 }) + 1": 2,
        }
    )
    refuses(
        {"if true { 1 }": "`if` needs an `else`", "if true 1": "expected '{'", "if true { 1 } else 2": "expected '{'"}
    )


def test_python_writes_conditionals_with_the_value_first() -> None:
    gives({"1 if false else 2": 2, "1 if false else 2 if true else 3": 2, "'a' if msg.t > 40 else 'b'": "a"})
    refuses({"1 if true": "expected 'else'"})


def test_a_pipe_gives_its_left_side_to_a_call_as_first_argument() -> None:
    gives(
        {
            "msg.s | upper()": "ABC",
            "'a,b' | split(',')": ["a", "b"],
            "'a b' | split(' ') | len()": 2,
            "msg.l | filter(# > 1) | map(# * 2) | sum()": 10,
            "4 | double()": 8,
        }
    )


def test_the_right_side_of_a_pipe_must_be_a_call() -> None:
    refuses({"1 | 2": "must be a call", "'a' | upper": "must be a call", "msg.s | msg.t": "`||` is or"})


def test_a_pipe_is_looser_than_arithmetic_and_comparison_and_tighter_than_a_conditional() -> None:
    gives(
        {
            "1+2 | string()": "3",
            "1 < 2 | string()": "true",
            "true or false | string()": "true",
            "true ? 1 : 2 | string()": 1,
            "false ? 1 : 2 | string()": "2",
            "[1, 2] | first() == 1": True,
        }
    )


def test_or_is_looser_than_and() -> None:
    gives({"true or false and false": True, "true || false && false": True, "(true or false) and false": False})


def test_and_is_looser_than_comparisons() -> None:
    gives({"1 == 1 and 2 == 2": True, "1 < 2 && 'a' in ['a'] and 'ab' startsWith 'a'": True})


def test_comparisons_chain() -> None:
    gives(
        {
            "1 < msg.t < 50": True,
            "1 < 2 > 5": False,
            "50 > msg.t >= 41": True,
            "1 < 2 < 3 < 4": True,
            "1 < 2 == true": True,
        }
    )


def test_comparisons_are_looser_than_ranges_and_ranges_looser_than_sums() -> None:
    gives({"1..2+1": [1, 2, 3], "2 in 1..3": True, "1..3 == [1, 2, 3]": True, "0+1..2*1": [1, 2]})


def test_sums_are_looser_than_products_and_go_from_left_to_right() -> None:
    gives({"1+2*3": 7, "(1+2)*3": 9, "10-4-3": 3, "7-8/4": 5.0, "20/2/5": 2.0, "7 % 4 * 2": 6})


def test_not_is_tighter_than_comparisons_and_sums_and_looser_than_products() -> None:
    gives({"not true == false": True, "!true || true": True, "not false and true": True, "not not true": True})
    refuses(
        {
            "not 'a' in ['a']": "Write `a not in b`",
            "not 1 * 2": "'not' takes a bool",
            "not msg.t == 1": "write `a != b` or `not (a == b)`",
            "not msg.t > 1": "write `a <= b` or `not (a > b)`",
        }
    )
    fails({"not msg.s in msg.l": "it binds tighter than comparisons and `in`"})
    gives({"'a' not in msg.l": True, "not ('a' in msg.l)": True, "not (msg.t == 1)": True})


def test_signs_are_tighter_than_products_and_looser_than_powers() -> None:
    gives({"-2**2": -4.0, "-2 * 3": -6, "2 * -3": -6, "- -3": 3, "+3": 3, "(-2)**2": 4.0, "-7 % 3": -1})


def test_powers_go_from_right_to_left() -> None:
    gives({"2**3**2": 512.0, "2^3": 8.0, "2^3^2": 512.0, "2 ** -1": 0.5, "2 * 3 ** 2": 18.0})


def test_nil_coalescing_is_the_tightest_and_may_not_be_mixed_without_parentheses() -> None:
    gives({"nil ?? 1": 1, "nil ?? nil ?? 2": 2, "(nil ?? 1) + 1": 2, "1 + (nil ?? 1)": 2, "-(nil ?? 1)": -1})
    refuses(
        {
            "nil ?? 1 + 1": "cannot be mixed",
            "1 + nil ?? 1": "cannot be mixed",
            "a || b ?? c": "Put one of them into parentheses",
            "a ?? b == c": "cannot be mixed",
            "a ?? b ** 2": "cannot be mixed",
        }
    )
    gives({"nil ?? true ? 1 : 2": 1})


def test_accesses_are_tighter_than_all_operators() -> None:
    gives({"-msg.o.k.n": -5, "msg.l[0] + 1": 4, "2 ** msg.l[2]": 4.0, "!msg.yes": False})


def test_both_spellings_of_the_logical_operators_are_the_same() -> None:
    gives({"true && true": True, "true and true": True, "false || true": True, "!false": True, "not false": True})


def test_decoration_around_parts_of_an_expression_has_no_meaning() -> None:
    gives({"${msg.t} == 41": True, "${msg.o}.k.n": 5, "${ {a: 1}.a } + ${1}": 2, "'${x}'": "${x}"})

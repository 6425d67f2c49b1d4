"""Numbers at their limits: beyond 2**53, NaN, the two zeros, infinity."""

from __future__ import annotations

import math

from tests.engine.expr.language import fails, gives, refuses

from catenary.message import Message

MESSAGE = Message('{"n": 9007199254740993, "f": 9007199254740992.0, "huge": 1e308, "whole": 6.0, "minus": -0.0}')


def test_ints_and_floats_beyond_two_to_the_53_are_compared_exactly() -> None:
    gives(
        {
            "msg.n == msg.f": False,
            "msg.n > msg.f": True,
            "msg.n <= msg.f": False,
            "msg.n in [msg.f]": False,
            "[msg.n] == [msg.f]": False,
            "{a: msg.n} == {a: msg.f}": False,
            "uniq([msg.n, msg.f])": [9007199254740993, 9007199254740992.0],
            "sort([msg.n, msg.f])": [9007199254740992.0, 9007199254740993],
            "max(msg.f, msg.n)": 9007199254740993,
            "msg.n - 1 == msg.f": True,
        },
        MESSAGE,
    )


def test_no_number_equals_nothing_and_stands_before_nothing() -> None:
    gives({"0/0 == 0/0": False, "0/0 != 0/0": True, "0/0 < 1": False, "0/0 > 1": False, "0/0 <= 0/0": False})
    gives({"0/0 in [0/0]": False, "[0/0] == [0/0]": False, "let x = [0/0]; x == x": False, "0/0 + 1": math.nan})


def test_the_two_zeros_are_equal() -> None:
    gives({"msg.minus == 0": True, "0 in [msg.minus]": True, "{a: msg.minus} == {a: 0}": True}, MESSAGE)
    gives({"msg.minus < 0": False, "uniq([0, msg.minus])": [0], "string(msg.minus)": "-0"}, MESSAGE)


def test_what_leaves_the_range_of_floats_is_infinite() -> None:
    gives({"msg.huge * 10": math.inf, "-msg.huge * 10": -math.inf, "msg.huge * 10 > msg.n": True}, MESSAGE)
    fails({"int(msg.huge * 10)": "int() cannot take", "[1][msg.huge * 10]": "an index is a number"}, MESSAGE)


def test_a_float_literal_that_is_too_large_is_a_compile_error() -> None:
    refuses({"1e309": "the number is too large", "1 + 9e999": "the number is too large"})
    gives({"1e308": 1e308, "1e-400": 0.0})


def test_ranges_reach_to_the_limits_of_literals() -> None:
    gives({"9223372036854775806..9223372036854775807": [9223372036854775806, 9223372036854775807]})
    gives({"-9223372036854775808..-9223372036854775807": [-9223372036854775808, -9223372036854775807]})
    fails({"0..msg.huge": "memory budget exceeded", "0..msg.huge * 10": "finite numbers"}, MESSAGE)

"""Literals, names and comments of the language."""

from __future__ import annotations

from tests.engine.expr.language import gives, refuses


def test_ints_are_decimal_hexadecimal_octal_or_binary_with_underscores() -> None:
    gives(
        {
            "42": 42,
            "0x1F": 31,
            "0Xff": 255,
            "0o17": 15,
            "0b101": 5,
            "1_000": 1000,
            "0": 0,
            "9007199254740993": 2**53 + 1,
        }
    )


def test_floats_have_a_dot_or_an_exponent() -> None:
    gives({".5": 0.5, "5.": 5.0, "1e3": 1000.0, "1.5e-2": 0.015, "1E+2": 100.0, "1_0.5": 10.5})


def test_an_int_literal_beyond_64_bits_is_a_compile_error() -> None:
    gives({"9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63), "0x7FFFFFFFFFFFFFFF": 2**63 - 1})
    refuses(
        {
            "9223372036854775808": "more than 64 bits",
            "-9223372036854775809": "int('9223372036854775809')",
            "0xFFFFFFFFFFFFFFFF": "more than 64 bits",
            "[1, 99999999999999999999]": "line 1, column 5",
        }
    )


def test_what_is_no_number_is_refused() -> None:
    refuses({"12abc": "is not a number", "1__0": "is not a number", "1_": "is not a number", "0x": "is not a number"})


def test_strings_stand_in_single_or_double_quotes() -> None:
    gives({"'a\"b'": 'a"b', '"a\'b"': "a'b", "''": "", "'${x}'": "${x}", "'// no comment'": "// no comment"})


def test_strings_have_escapes() -> None:
    gives(
        {
            r"'a\n\t\'\\\r\"'": "a\n\t'\\\r\"",
            r'"\u00e9\x41\101"': "\u00e9AA",
            r"'\ud83d\ude00'": "\U0001f600",
            r"'\U0001f600'": "\U0001f600",
            r"'\a\b\f\v'": "\a\b\f\v",
        }
    )
    refuses(
        {r"'\q'": "is no escape", r"'\u12'": "not a valid escape", "'a\nb'": "a text is not closed", "'a": "not closed"}
    )


def test_raw_strings_stand_in_backticks() -> None:
    gives({r"`raw\n'\"`": "raw\\n'\\\"", "`two\nlines`": "two\nlines"})
    refuses({"`a": "Close it with a backtick"})


def test_bytes_have_a_b_before_the_quote() -> None:
    gives({r"b'a\xff'": b"a\xff", 'b"x"': b"x", "b'\u20ac'": b"\xe2\x82\xac", "b'abc'[1]": 98, "len(b'abc')": 3})


def test_true_false_and_nil_are_literals_in_the_spelling_of_python_too() -> None:
    gives({"true": True, "false": False, "nil": None, "True": True, "False": False, "None": None})


def test_null_undefined_and_true_in_capitals_are_unknown_names_and_so_nil() -> None:
    gives({"null": None, "undefined": None, "TRUE": None, "NIL": None})


def test_lists_may_end_with_a_comma() -> None:
    gives({"[1, 'a',]": [1, "a"], "[]": [], "[[1], [2]]": [[1], [2]]})
    refuses({"[1": "expected ']'", "[,]": "expected a value"})


def test_maps_have_plain_quoted_and_computed_keys() -> None:
    gives(
        {
            "{a: 1, 'b c': 2, ('d' + 'e'): 3,}": {"a": 1, "b c": 2, "de": 3},
            "{1: 2}": {"1": 2},
            "{}": {},
            "{msg: 1, in: 2, true: 3}": {"msg": 1, "in": 2, "true": 3},
            "{b: 1, a: 2} | keys()": ["b", "a"],
        }
    )
    refuses({"{a 1}": "expected ':'", "{[1]: 2}": "expected a key", "{a: 1": "expected '}'"})


def test_the_last_of_equal_keys_of_a_map_wins() -> None:
    gives({"{a: 1, a: 2}": {"a": 2}})


def test_comments_are_left_out() -> None:
    gives({"1 // one\n + /* two */ 2": 3, "1 /* a\nb */ + 1": 2, "2 // end": 2})
    refuses({"/* x": "a comment is not closed", "1 /* x": "a comment is not closed"})


def test_names_are_letters_digits_and_underscores_of_any_script() -> None:
    gives({"let \u00fcber_1 = 2; \u00fcber_1": 2, "let _x = 3; _x": 3, "let \u6e29\u5ea6 = 4; \u6e29\u5ea6": 4})
    refuses({"$x": "unexpected character '$'", "1 ~ 2": "unexpected character", "1 & 2": "Write `&&` or `and`."})


def test_an_empty_text_is_no_expression() -> None:
    refuses({"": "the expression is empty", "  // only this": "the expression is empty"})

"""The function table: each example holds in both evaluators, each entry checks what it is called with."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from catenary.errors import ExpressionError
from catenary.expr import FUNCTIONS, Environment, Expression, text_of
from catenary.expr.functions.table import functions_of
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.jsontext import Json
from catenary.message import Message

ENVIRONMENT = Environment(roots=(Path(__file__).parent,))
TABLE = functions_of(ENVIRONMENT)
EXAMPLES = [(source, expected) for function in TABLE.values() for source, expected in function.examples]
LITERALS = {"bool": "true", "number": "5", "string": "'s'", "array": "[]", "map": "{}", "bytes": "b'x'"}


def shown(value: Json) -> Json:
    return text_of(value) if isinstance(value, datetime | timedelta) else value


@pytest.mark.parametrize(("source", "expected"), EXAMPLES, ids=[source for source, _ in EXAMPLES])
def test_the_example_holds_in_both_evaluators(source: str, expected: Json) -> None:
    program = compile_program(source, ENVIRONMENT)
    for found in [program.call(Message("")), evaluate(program, ENVIRONMENT, Message(""))]:
        assert shown(found) == expected
        assert type(shown(found)) is type(expected)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_each_function_has_examples_that_call_it_a_family_and_a_sentence(name: str) -> None:
    function = TABLE[name]
    assert function.examples
    assert all(f"{name}(" in source for source, _ in function.examples)
    assert function.family != "Of the host program"
    assert function.doc.endswith(".")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_number_of_arguments_is_checked_at_compile_time(name: str) -> None:
    function = FUNCTIONS[name]
    wrong = [function.least - 1] if function.least else []
    wrong += [function.most + 1] if function.most is not None else []
    for number in wrong:
        with pytest.raises(ExpressionError, match=rf"^{name}\(\) takes .*, not {number} \(line 1, column 1\)"):
            Expression.compile(f"{name}({', '.join(['msg.x'] * number)})")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_kinds_of_literal_arguments_are_checked_at_compile_time(name: str) -> None:
    function = FUNCTIONS[name]
    for index in range(function.least):
        kinds = function.kinds_of(index)
        for kind, literal in LITERALS.items():
            if not kinds or kind in kinds:
                continue
            arguments = ["msg.x"] * max(function.least, index + 1)
            arguments[index] = literal
            source = f"{name}({', '.join(arguments)})"
            with pytest.raises(ExpressionError, match=f"as argument {index + 1}, not {kind}") as raised:
                Expression.compile(source)
            assert source[raised.value.position :].startswith(literal)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_kinds_that_come_with_a_message_are_checked_when_it_comes(name: str) -> None:
    function = FUNCTIONS[name]
    kinds = function.kinds_of(0)
    for kind, literal in {**LITERALS, "nil": "nil"}.items():
        if not kinds or kind in kinds or kind == "bytes":
            continue
        arguments = ["msg.x", *["1"] * (function.least - 1)]
        value = Expression.compile(literal).evaluate(Message(""))
        with pytest.raises(ExpressionError):
            Expression.compile(f"{name}({', '.join(arguments)})").evaluate(Message({"x": value}))
            pytest.fail(f"{name}({literal}) did not fail")


def test_every_builtin_of_the_language_is_there() -> None:
    names = """
        all any none one filter map find findLast findIndex findLastIndex count sum reduce groupBy sortBy sort mean
        median max min first last take reverse uniq flatten concat keys values toPairs fromPairs get len type int float
        string abs ceil floor round trim trimPrefix trimSuffix upper lower replace repeat split splitAfter join indexOf
        lastIndexOf hasPrefix hasSuffix toJSON fromJSON toBase64 fromBase64 bitand bitor bitxor bitnand bitshl bitshr
        bitushr bitnot now date duration timezone include fileExists
    """
    assert set(names.split()) <= set(TABLE)

"""Nothing an expression does grows without bound."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Document, Environment, Expression, PythonExpression, budget
from catenary.expr.document import run as document_run
from catenary.expr.program import compile_program
from catenary.expr.python import operators as python_operators
from catenary.expr.reference import evaluate
from catenary.message import Message


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "UNITS", 50_000)


def doubled(step: str, start: str, times: int = 64) -> str:
    lets = [f"let v{n + 1} = {step.replace('v', f'v{n}')};" for n in range(times)]
    return f"let v0 = {start};" + "".join(lets) + f"v{times}"


@pytest.mark.parametrize(
    "source",
    [
        "repeat('a', 1000000000)",
        "1..1000000",
        "0..1e12",
        "reduce(1..1000, #acc + #acc, 'x')",
        "reduce(1..100000, #acc * #acc, 7)",
        "reduce(1..100000, #acc + #acc, 7)",
        "map(1..2000, map(1..2000, #))",
        "reduce(1..60, concat(#acc, #acc), [1])",
        "reduce(1..60, [#acc, #acc], 1)",
        "reduce(1..60, {a: #acc, b: #acc}, 1)",
        "reduce(1..60, {let a = #acc; map([1, 2], a)}, 1)",
        "map(1..1000, repeat('a', 1000000))",
        "reduce(1..5000, [#acc], 1)",
        "int(repeat('9', 4000)) * int(repeat('9', 4000))",
        "duration('99999999999999999h')",
        "reduce(1..30, replace(#acc, 'a', 'aa'), 'a')",
        "reduce(1..30, join([#acc, #acc]), 'a')",
        "reduce(1..99, flatten([#acc, #acc]), [1])",
        "count(1..400000, {let x = [#]; true}) > 0 && count(1..400000, {let x = [#]; true}) > 0",
    ],
)
def test_work_and_memory_are_bounded(source: str) -> None:
    expression = Expression.compile(source)
    began = time.process_time()
    with pytest.raises(ExpressionError):
        expression.evaluate(Message(""))
    assert time.process_time() - began < 5


def test_let_cannot_make_values_grow_exponentially() -> None:
    for step, start in [
        ("[v, v]", "1"),
        ("v + v", "'a'"),
        ("concat(v, v)", "[1]"),
        ("{a: v, b: v}", "1"),
        ("map([1, 2], v)", "1"),
    ]:
        with pytest.raises(ExpressionError):
            Expression.compile(doubled(step, start)).evaluate(Message(""))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("(" * 200 + "1" + ")" * 200, "nested too deeply"),
        ("[" * 200 + "]" * 200, "nested too deeply"),
        ("-" * 200 + "1", "nested too deeply"),
        ("1" + " + 1" * 6000, "too long"),
        ("a ? " * 200 + "1" + " : 2" * 200, "nested too deeply"),
        ("[" + "1," * 9990 + "1, 2, 3, 4, 5]" + " == [" + "1," * 900 + "]", "too long"),
        ("1," * 20000, "too long"),
        ("9" * 5000, "number is too long"),
        (f"'{'a' * 200_000}'", "text is too long"),
        ("msg.s matches '" + "a" * 2000 + "'", "pattern is longer"),
        ("a ** " * 2000 + "1", "nested too deeply"),
        ("map([1], " * 200 + "#" + ")" * 200, "nested too deeply"),
    ],
)
def test_the_text_of_an_expression_is_bounded(source: str, text: str) -> None:
    with pytest.raises(ExpressionError, match=text):
        Expression.compile(source)


MANY = 2_000


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1" + " + 1" * MANY, MANY + 1),
        ("msg.a" + " - msg.a" * MANY, -998 * (MANY - 1)),
        ("'a'" + " + 'b'" * MANY, "a" + "b" * MANY),
        (" or ".join(["msg.no"] * MANY) + " or msg.a == 998", True),
        (" && ".join(["msg.yes"] * MANY), True),
        ("(nil" + " ?? nil" * MANY + ") ?? 3", 3),
        ("let x = 2; x" + " * 1" * MANY, 2),
        ("map([1, 2], #" + " + #" * MANY + ")", [MANY + 1, 2 * MANY + 2]),
        ("".join(f"msg.a == {n} ? {n} : " for n in range(1_500)) + "-1", 998),
        ("".join("if msg.no { 1 } else " for _ in range(MANY)) + "{ 2 }", 2),
        ("".join("1 if msg.no else " for _ in range(MANY)) + "2", 2),
        ("let v0 = 1;" + "".join(f"let v{n + 1} = v{n} + 1;" for n in range(MANY)) + f"v{MANY}", MANY + 1),
        ("1;" * MANY + "2", 2),
        ("msg.list" + "[1:]" * MANY, []),
        ("(" * 75 + "1" + ")" * 75, 1),
        ("[" * 50 + "]" * 50 + " == nil", False),
    ],
    ids=lambda value: str(value)[:12],
)
def test_rows_of_thousands_of_operators_compile_and_run_in_both_evaluators(source: str, expected: object) -> None:
    environment = Environment()
    message = Message({"a": 998, "no": False, "yes": True, "list": [1]})
    program = compile_program(source, environment)
    assert program.call(message) == expected
    assert evaluate(program, environment, message) == expected


def test_a_failure_deep_in_a_long_row_names_its_place() -> None:
    source = "msg.a" + " + 1" * 500 + " + msg.s" + " + 1" * 500
    with pytest.raises(ExpressionError, match="'\\+' cannot take int and string") as raised:
        Expression.compile(source).evaluate(Message({"a": 1, "s": "x"}))
    assert raised.value.position == 0


def test_long_rows_of_and_and_or_are_fine() -> None:
    source = " or ".join(f"msg.a == {n}" for n in range(1000))
    assert Expression.compile(source).evaluate(Message({"a": 999}))
    assert not Expression.compile(source.replace(" or ", " && ")).evaluate(Message({"a": 999}))


def test_deeply_nested_payloads_are_an_error_and_no_crash() -> None:
    nested = "[" * 900 + "]" * 900
    for source in ["string(msg)", "toJSON(msg)", "msg == fromJSON(data)", "map([msg], {let x = [#]; x})"]:
        expression = Expression.compile(source)
        with contextlib.suppress(ExpressionError):
            expression.evaluate(Message(nested))


def test_predicates_that_look_through_long_lists_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SECONDS", 0.1)
    message = Message({"l": list(range(40_000))})
    with pytest.raises(ExpressionError, match="time budget exceeded"):
        Expression.compile("count(msg.l, max(msg.l) < 0 or # in msg.l)").evaluate(message)


@pytest.mark.parametrize(
    ("compiled", "gives"),
    [
        (lambda: Expression.compile("count(1..100, # > 50)").evaluate, 50),
        (lambda: PythonExpression.compile("sum([x for x in range(100)])").call, 4950),
        (lambda: Document.compile("{% for x in range(100) %}{{ x % 2 }}{% endfor %}").render, "01" * 50),
    ],
    ids=["expression", "python", "document"],
)
def test_time_in_which_the_machine_stands_still_is_not_counted(
    compiled: Callable[[], Callable[[Message], object]], gives: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = compiled()
    hours = itertools.count(step=3600.0)
    for module in (budget, python_operators, document_run):
        monkeypatch.setattr(module, "monotonic", lambda: next(hours))
    assert run(Message("{}")) == gives


def test_short_evaluations_do_not_ask_for_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> float:
        raise AssertionError("asking takes as long as a short evaluation")

    monkeypatch.setattr(budget, "FREE_S", 60.0)
    monkeypatch.setattr(python_operators, "FREE_S", 60.0)
    monkeypatch.setattr(document_run, "FREE_S", 60.0)
    monkeypatch.setattr(budget, "thread_time", asked)
    message = Message({"xs": [1, 2, 3]})
    assert Expression.compile("count(msg.xs, # > 1)").evaluate(message) == 2
    assert PythonExpression.compile("[x for x in msg.xs if x > 1]").call(message) == [2, 3]
    assert Document.compile("{% for x in msg.xs %}{{ x }}{% endfor %}").render(message) == "123"

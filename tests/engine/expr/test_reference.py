"""Compiled closures give what the simpleeval reference gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.expr.generated import BINARY, PLAIN, PREDICATES, payloads, programs
from tests.engine.expr.language import double, fails, refuses, same

from catenary.clock import SystemClock
from catenary.errors import ExpressionError
from catenary.expr import FUNCTIONS, Environment, budget
from catenary.expr import syntax as tree
from catenary.expr.parser import PRECEDENCE, parse
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.message import Message


class FixedClock(SystemClock):
    """Always the same moment."""

    def time_ms(self) -> int:
        return 1_706_918_400_000


class Outputs:
    """A context that knows what one node put out, and the time."""

    clock = FixedClock()

    def output(self, node_id: str) -> Message | None:
        return Message({"a": 7}, "made", metadata={"x": "y"}, id="2", ts=6) if node_id == "n1" else None


@settings(max_examples=times(300), deadline=None)
@given(source=programs, payload=payloads, kind=st.sampled_from(["a", "", "kind"]), in_template=st.booleans())
def test_closure_gives_what_the_reference_gives(source: str, payload: Any, kind: str, in_template: bool) -> None:
    environment = Environment(
        properties={"p": "text", "q": {"r": 3}},
        vars={"v": "9"},
        rule_chain={"id": "c"},
        functions={"double": double},
        nodes=frozenset({"n1", "n2"}),
    )
    try:
        program = compile_program(source, environment, in_template=in_template)
    except ExpressionError as error:
        assert 0 <= error.position <= len(source)
        return
    message = Message(payload, "made", metadata={"k": kind}, id="1", ts=5)
    failed = None
    try:
        expected = evaluate(program, environment, message, Outputs(), with_metadata=in_template)
    except Exception as error:
        failed = error
    if failed is not None:
        with pytest.raises(ExpressionError) as raised:
            program.call(message, Outputs())
        assert str(failed) in str(raised.value)
        assert 0 <= raised.value.position < len(source)
    else:
        assert same(program.call(message, Outputs()), expected)


@pytest.mark.parametrize(
    "source",
    [
        "msg.yes or msg.no",
        "msg.no2 && true && msg.yes",
        "(msg.yes and msg.yes) ? 1 : 2",
        "msg.t > 1 or msg.t < 0 or msg.s",
        "not (msg.t > 1)",
        "msg.t - 1 == 40 and msg.t * 2 > msg.f",
        "msg.f * msg.f / 2 - msg.f",
        "msg.l[msg.t - 41]",
        "msg.s + msg.s",
        "msg.s in ['a', 'b'] and msg.t not in ['a']",
        "-msg.f ** 2",
        "1 < msg.t <= 41 < msg.f",
        "{(msg.s): msg.l[1:]}",
        "msg.l | filter(# > 1) | map({let x = #; x * #index})",
        "reduce(msg.l, #acc * 10 + #, 0)",
        "metadata",
        "msg.rows | sortBy(.q, 'desc') | first() | keys()",
    ],
)
def test_both_evaluators_agree_on_the_usual(source: str) -> None:
    message = Message(
        {"t": 41, "f": 2.5, "s": "a", "l": [3, 1, 2], "yes": True, "no": False, "rows": [{"q": 1}, {"q": 2}]},
        metadata={"k": "v"},
    )
    environment = Environment()
    program = compile_program(source, environment)
    assert same(program.call(message), evaluate(program, environment, message))


def test_the_generator_knows_every_operator_and_every_function() -> None:
    operators = {operator.removeprefix("not ") for operator in BINARY} | {"|"}
    assert operators == set(PRECEDENCE)
    seen: set[str] = set()

    def look(source: str) -> None:
        try:
            seen.update(kinds_of(parse(source)))
        except ExpressionError:
            return

    for number in range(15):
        if not seen >= NODES:
            seed(number)(settings(max_examples=150, deadline=None, database=None)(given(programs)(look)))()
    assert {*PLAIN, *PREDICATES} == set(FUNCTIONS)
    assert sorted(NODES - seen) == []


NODES = {
    kind.__name__
    for kind in vars(tree).values()
    if isinstance(kind, type) and kind.__module__ == tree.__name__ and kind is not tree.Span
}


def kinds_of(node: Any) -> set[str]:
    """Give the kinds of syntax in a tree."""
    if isinstance(node, tuple) and not isinstance(node, tree.Span):
        return set[str]().union(*map(kinds_of, node))
    if type(node).__name__ not in NODES:
        return set()
    return {type(node).__name__}.union(*(kinds_of(getattr(node, name)) for name in node.__slots__))


def test_texts_are_limited_in_both_evaluators() -> None:
    fails(
        {
            "repeat('a', 1000001)": "longer than 1000000 characters",
            "repeat('a', 600000) + repeat('a', 600000)": "longer than 1000000 characters",
            "replace(repeat('a', 9999), 'a', repeat('b', 999))": "longer than",
            "join([repeat('a', 600000), repeat('a', 600000)])": "longer than",
        }
    )
    refuses({f"'{'a' * 100_001}'": "the text is too long"})


def test_powers_and_products_are_limited_in_both_evaluators() -> None:
    fails(
        {
            "int(repeat('9', 4000)) * int(repeat('9', 4000))": "the number is too large",
            "reduce(1..60, #acc * #acc, 10)": "the number is too large",
        }
    )
    assert compile_program("9 ** 9 ** 9", Environment()).call(Message("")) == float("inf")


def test_comprehensions_are_limited_in_both_evaluators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "monotonic", lambda: 1.0)  # a slow machine runs out of time before
    fails(
        {
            "1..1000000": "memory budget exceeded",
            "map(1..2000, map(1..2000, #))": "memory budget exceeded",
            "reduce(1..60, concat(#acc, #acc), [1])": "memory budget exceeded",
            "map(1..1000, len(1..2000))": "memory budget exceeded",
        }
    )

"""Compiled closures give what the simpleeval reference gives."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.errors import ExpressionError
from catenary.expr import Environment
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.message import Message

NAMES = [
    "msg",
    "msg.a",
    "msg.b",
    "msg.c",
    "msg.l",
    "msg.no",
    "metadata",
    "metadata.k",
    "metadata.no",
    "global.p",
    "global.q.r",
    "vars.v",
    "data",
    "type",
    "dataType",
    "n1.msg.a",
    "n1",
    "n2",
    "missing",
    "ruleChain.id",
    "msg.data",
    "$env['msg']",
    "k",
]
LITERALS = [
    "0",
    "1",
    "2",
    "-3",
    "2.0",
    "1.5",
    "'a'",
    "'ab'",
    "''",
    "true",
    "false",
    "nil",
    "[]",
    "[1, 2.0, 'a']",
    "{}",
    "{a: 1, 'b c': [2]}",
    "0x1F",
    "`raw`",
    "9007199254740993",
    "1e308",
]
BINARY = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "==",
    "!=",
    "<",
    ">",
    "<=",
    ">=",
    "and",
    "or",
    "&&",
    "||",
    "in",
    "not in",
    "contains",
    "startsWith",
    "endsWith",
    "..",
    "??",
    "not contains",
]
CALLS = [
    "len",
    "type",
    "int",
    "float",
    "string",
    "abs",
    "round",
    "max",
    "sum",
    "upper",
    "keys",
    "values",
    "toJSON",
    "first",
    "last",
    "reverse",
    "uniq",
    "sort",
    "mean",
    "flatten",
    "join",
    "fromJSON",
]
PREDICATES = [
    "filter",
    "map",
    "all",
    "any",
    "none",
    "one",
    "find",
    "findIndex",
    "count",
    "sum",
    "sortBy",
    "groupBy",
    "reduce",
]


def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give expressions made of smaller ones."""
    paired = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(BINARY), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) < ({t[1]}) <= ({t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) ? ({t[1]}) : ({t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) if ({t[1]}) else ({t[2]})"),
        st.tuples(st.sampled_from(["!", "not ", "-", "+"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(
            inner, st.sampled_from([".a", "?.a", "?.a.b", "[0]", "[-1]", "['b c']", "?.[0].x", "[1:]", "[:-1]", "._x"])
        ).map(lambda t: f"({t[0]}){t[1]}"),
        paired.map(lambda t: f"({t[0]})[{t[1]}]"),
        paired.map(lambda t: f"[{t[0]}, {t[1]}]"),
        paired.map(lambda t: f"{{x: {t[0]}, (string({t[1]})): 1}}"),
        paired.map(lambda t: f"(let v = {t[0]}; [v, {t[1]}])"),
        inner.map(lambda t: f"(let msg = {t}; msg)"),
        paired.map(lambda t: f"({t[0]}; {t[1]})"),
        st.tuples(st.sampled_from(CALLS), inner).map(lambda t: f"{t[0]}({t[1]})"),
        paired.map(lambda t: f"get({t[0]}, {t[1]})"),
        st.tuples(inner, st.sampled_from(PREDICATES), predicate(inner)).map(lambda t: f"({t[0]}) | {t[1]}({t[2]})"),
    )


def predicate(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give what may stand for each element."""
    item = st.sampled_from(["#", "#index", "#.a", ".a", "[#]"])
    return st.one_of(
        item,
        st.tuples(item, st.sampled_from(BINARY), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(inner, st.sampled_from(BINARY), item).map(lambda t: f"{{let w = {t[2]}; ({t[0]}) {t[1]} w}}"),
    )


programs = st.recursive(st.sampled_from(NAMES + LITERALS), extend, max_leaves=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.sampled_from(["", "a", "ab", "2", "\u00e9"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "data"]), inner, max_size=3),
    max_leaves=6,
)
payloads = st.one_of(
    st.fixed_dictionaries({"a": values, "b": values, "l": st.lists(values, max_size=4), "c": st.integers(-99, 99)}),
    values,
)


class Outputs:
    """A context that knows what one node put out."""

    def output(self, node_id: str) -> Message | None:
        return Message({"a": 7}, "made", metadata={"x": "y"}, id="2", ts=6) if node_id == "n1" else None


def same(one: Any, other: Any) -> bool:
    """Tell whether two values and the kinds in them are the same; NaN is NaN."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


@settings(max_examples=times(150), deadline=None)
@given(source=programs, payload=payloads, kind=st.sampled_from(["a", "", "kind"]), in_template=st.booleans())
def test_closure_gives_what_the_reference_gives(source: str, payload: Any, kind: str, in_template: bool) -> None:
    environment = Environment(
        properties={"p": "text", "q": {"r": 3}}, vars={"v": "9"}, rule_chain={"id": "c"}, nodes=frozenset({"n1", "n2"})
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

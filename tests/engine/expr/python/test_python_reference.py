# ruff: noqa: E501 - a table of generators
"""Python expressions: the closure gives what simpleeval gives under the same rules."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary import Message
from catenary.errors import ExpressionError
from catenary.expr import Environment, PythonExpression
from catenary.expr.python.reference import evaluate

ENVIRONMENT = Environment({"limit": 50, "a.b": 1}, {"v": "x", "n": 3}, nodes=frozenset({"n1"}))

scalars = st.sampled_from(["0", "1", "-2", "2.5", "7", "'a'", "'ab'", "''", "True", "False", "None", "10**3"])
names = st.sampled_from([
    "msg", "msg.t", "msg.s", "msg.l", "msg['t']", "msg.get('t')", "msg.get('absent', 3)", "msg.absent", "msg.o.p", "msg.o",
    "metadata", "metadata.k", "metadata['k']", "metadata.get('z')", "msgType", "type", "dataType", "data", "msg.data",
    "global.limit", "global", "vars.v", "vars.n", "vars", "id", "ts", "n1", "global.a.b", "msg.l[0]", "msg.l[-1]",
    "ruleChain",
])  # fmt: skip
MIXED = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
COMPARES = ["<", "<=", ">", ">=", "==", "!=", "in", "not in"]
CALLS = [
    "len", "str", "int", "float", "bool", "round", "abs", "sum", "min", "max", "sorted", "any", "all", "list", "tuple", "set",
    "reversed", "enumerate", "next", "upper", "trim", "toJSON", "range", "zip", "dict", "type", "keys", "string",
]  # fmt: skip
METHODS = [
    "upper()", "strip()", "split()", "get('p')", "get('t', 0)", "items()", "keys()", "count('a')", "startswith('a')",
    "replace('a', 'bb')", "join(['a', 'b'])", "zfill(5)", "title()", "index('a')", "union({1})", "is_integer()", "values()",
    "split(maxsplit=1)", "append(1)",
]  # fmt: skip


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.sampled_from(
        ["x", "x + 1", "x * 2", "[x, x]", "{'k': x}", "f'{x}'", "str(x)", "x == msg", "x.p", "(x, y)"]
    )
    tests = st.sampled_from(["", " if x", " if x > 1", " if x in msg", " if x is not None", " if not x == 1"])
    loops = st.sampled_from(["", " for y in [1, 2]", " for y in x"])
    return st.one_of(
        st.builds(lambda a, o, b: f"({a} {o} {b})", inner, st.sampled_from(MIXED), inner),
        st.builds(lambda a, o, b: f"({a} {o} {b})", inner, st.sampled_from(COMPARES), inner),
        st.builds(lambda a, o, b, p, c: f"({a} {o} {b} {p} {c})", inner, st.sampled_from(COMPARES), inner,
                  st.sampled_from(COMPARES), inner),
        st.builds(lambda a, o, b: f"({a} {o} {b})", inner, st.sampled_from(["and", "or"]), inner),
        st.builds(lambda o, a: f"({o} {a})", st.sampled_from(["not", "-", "+", "~"]), inner),
        st.builds(lambda a, b, c: f"({a} if {b} else {c})", inner, inner, inner),
        st.builds(lambda a: f"({a} is None)", inner),
        st.builds(lambda f, a: f"{f}({a})", st.sampled_from(CALLS), inner),
        st.builds(lambda a, b: f"max({a}, {b})", inner, inner),
        st.builds(lambda a, m: f"({a}).{m}", inner, st.sampled_from(METHODS)),
        st.builds(lambda a, b: f"({a})[{b}]", inner, inner),
        st.builds(lambda a, b, c: f"({a})[{b}:{c}]", inner, st.sampled_from(["", "1", "-1"]), st.sampled_from(["", "2"])),
        st.builds(lambda a: f"({a}).t", inner),
        st.builds(lambda a: f"({a})[::-1]", inner),
        st.builds(lambda a, b: f"[{a}, {b}]", inner, inner),
        st.builds(lambda a, b: f"[*{a}, {b}]", inner, inner),
        st.builds(lambda a, b: f"({a}, {b})", inner, inner),
        st.builds(lambda a, b: f"{{'k': {a}, 't': {b}}}", inner, inner),
        st.builds(lambda a: f"{{**{a}}}", inner),
        st.builds(lambda a: f"{{{a}}}", inner),
        st.builds(lambda a: "f\"<{" + a + "}>\"", inner.filter(lambda text: '"' not in text and "global" not in text)),
        st.builds(lambda i, a, y, t: f"[{i} for x in {a}{y}{t}]".replace("y)", "y)" if y else "1)"), item, inner, loops, tests),
        st.builds(lambda i, a, t: f"any({i} for x in {a}{t})".replace("y)", "1)", 1), item, inner, tests),
        st.builds(lambda i, a, t: f"{{{i} for x in {a}{t}}}".replace("y)", "1)", 1), item, inner, tests),
        st.builds(lambda i, a, t: f"{{x: {i} for x in {a}{t}}}".replace("y)", "1)", 1), item, inner, tests),
    )  # fmt: skip


DEPTH = 3


@cache
def _level(depth: int) -> st.SearchStrategy[str]:
    return _extend(sources(depth - 1))


@st.composite
def sources(draw: st.DrawFn, depth: int = DEPTH) -> str:
    is_leaf = depth == 0 or (depth < DEPTH and draw(st.booleans()))
    return draw(scalars | names if is_leaf else _level(depth))


leaves = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([2.5, 1e300, 10**20]) | st.text("ab1 ", max_size=3)
)
values = st.recursive(
    leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("tpsl"), v, max_size=3)
)
payloads = (
    st.fixed_dictionaries({"t": values, "s": st.text("ab ", max_size=4), "l": st.lists(values), "o": values}) | values
)


class Outputs:
    """A context in which `n1` has put something out."""

    def output(self, node_id: str) -> Message:
        return Message({"t": 5, "data": 1}, "N", id="n", ts=1)


def outcome_of(call: Any) -> tuple[str, str]:
    try:
        value = call()
    except Exception as error:
        assert not isinstance(error, (NameError, UnboundLocalError, SystemError)), error
        return "fails", ""
    return type(value).__name__, repr(value)


@settings(max_examples=times(60))
@given(source=sources(), data=payloads)
@example(source="[[x, x] for x in msg.l]", data={"l": [1, [2]]})
@example(source="[x for x in [y for y in msg.l] if x in msg.l]", data={"l": [1, 2]})
@example(source="msg.o.p.q", data={"o": {"p": {"q": 1}}})
@example(source="msg.data", data={"data": 5})
@example(source="{**''}", data=None)
@example(source="n1.msg.data + n1.msg.t + len(n1.data)", data=None)
def test_both_evaluators_agree(source: str, data: Any) -> None:
    expression = PythonExpression.compile(source, ENVIRONMENT)
    msg = Message(data, "T", metadata={"k": "a"}, id="m", ts=7)
    mine = outcome_of(lambda: expression.evaluate(msg, Outputs()))
    other = outcome_of(lambda: evaluate(expression, ENVIRONMENT, msg, Outputs()))
    assert mine == other


@settings(max_examples=times(200))
@given(st.text(st.sampled_from("abmsg.t_()[]{}'\"+-*/<>=!&|:,# \n\\0159xforinifelsé$?@~^%"), max_size=40))
def test_no_text_does_anything_but_compile_or_be_refused_with_a_place(text: str) -> None:
    try:
        expression = PythonExpression.compile(text)
    except ExpressionError as error:
        assert 0 <= error.position <= len(text)
        assert "(line " in str(error)
    else:
        outcome_of(lambda: expression.evaluate(Message('{"t": 1}')))

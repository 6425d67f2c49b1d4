"""Programs of the language, generated from the whole of its grammar and of its table of functions."""

from __future__ import annotations

from hypothesis import strategies as st

from catenary.expr import FUNCTIONS
from catenary.expr.operands import PREDICATE_FUNCTIONS

NAMES = (
    "msg", "msg.a", "msg.b", "msg.c", "msg.l", "msg.no", "msg.rows", "msg.big", "metadata", "metadata.k", "metadata.no",
    "global.p", "global.q.r", "global.no", "vars.v", "data", "type", "msgType", "dataType", "id", "ts", "n1.msg.a",
    "n1", "n2", "n1.metadata.x", "missing", "ruleChain.id", "ruleChain", "msg.data", "n1.msg.data", "$env['msg']",
    "$env.msg.data", "$env.n1", "'k' in $env", "k", "${msg.a}", "(let m = msg; m.data)",
)  # fmt: skip
LITERALS = (
    "0", "1", "2", "-3", "2.0", "1.5", ".5", "1e3", "0x1F", "0b11", "9007199254740993", "9223372036854775807", "1e308",
    "'a'", "'ab'", "''", "'a,b'", r"'\u00e9'", "`raw`", "b'ab'", "true", "false", "nil", "None", "[]", "[1, 2.0, 'a']",
    "[3, 1, 2]", "['b', 'a']", "[{a: 1}, {a: 2}]", "{}", "{a: 1, 'b c': [2]}", "'^a'", "'('", "'asc'", "'desc'",
    "'2024-02-03'", "'2006-01-02'", "'1h30m'", "'UTC'", "'{\"a\": 1}'", "'YQ=='", "date('2024-02-03')",
    "duration('1h30m')", "timezone('Asia/Tokyo')", "now()", "1 /* one */",
)  # fmt: skip
BINARY = (
    "+", "-", "*", "/", "%", "**", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "&&", "||", "..", "??",
    "in", "contains", "startsWith", "endsWith", "matches",
    "not in", "not contains", "not startsWith", "not endsWith", "not matches",
)  # fmt: skip
ACCESSES = (
    ".a", "?.a", "?.a.b", "[0]", "[-1]", "['b c']", "?.[0].x", "[1:]", "[:-1]", "[1:2]", "[:]", "._x", ".data",
    ".Year()", "?.Hour()", ".Format('2006-01-02')", ".Hours()", ".String()", ".UTC()", ".Unix()", ".Weekday()",
)  # fmt: skip
METHODS = ("Add", "Sub", "Before", "After", "Equal", "In", "Format")
ORDERINGS = ("<", "<=", ">", ">=")
TERNARIES = (
    "({0}) ? ({1}) : ({2})",
    "({1}) if ({0}) else ({2})",
    "if {0} {{ {1} }} else {{ {2} }}",
    "if {0} {{ {1} }} else if {2} {{ {1} }} else {{ {0} }}",
    "({0})[({1}):({2})]",
    "{{x: {0}, (string({1})): {2}}}",
    "(let v = {0}; let w = {1}; [v, w, {2}])",
    "({0}; {1}; {2})",
    "reduce({0}, [#acc, {1}], {2})",
    "sortBy({0}, {1}, {2})",
)
PREDICATES = sorted(PREDICATE_FUNCTIONS)
PLAIN = sorted(set(FUNCTIONS) - PREDICATE_FUNCTIONS)


def _in_parentheses(operands: tuple[str, ...]) -> list[str]:
    return [f"({operand})" for operand in operands]


def _calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give calls of all functions without predicates, with as many arguments as they take."""

    def of(name: str) -> st.SearchStrategy[str]:
        function = FUNCTIONS[name]
        most = function.least + 1 if function.most is None else function.most
        arguments = st.lists(inner, min_size=function.least, max_size=most)
        return arguments.map(lambda given: f"{name}({', '.join(given)})")

    piped = st.tuples(inner, st.sampled_from([name for name in PLAIN if FUNCTIONS[name].least == 1]))
    return st.one_of(st.sampled_from(PLAIN).flatmap(of), piped.map(lambda t: f"({t[0]}) | {t[1]}()"))


def _predicate(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give what may stand for each element."""
    item = st.sampled_from(["#", "#index", "#.a", ".a", "[#]", "#[0]", "# == 1", "# > 1", "len(#)", "{x: #}"])
    return st.one_of(
        item,
        inner,
        st.tuples(item, st.sampled_from(BINARY), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(inner, st.sampled_from(BINARY), item).map(lambda t: f"{{let u = {t[2]}; ({t[0]}) {t[1]} u}}"),
        st.tuples(item, item).map(lambda t: f"map([1, 2], [{t[0]}, {t[1]}])"),
        st.tuples(item, item).map(lambda t: f"{{let z = {t[0]}; filter([1, 2], {{ [z, {t[1]}] != nil }})}}"),
    )


def _predicate_calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    name, body = st.sampled_from(PREDICATES), _predicate(inner)
    return st.one_of(
        st.tuples(name, inner, body).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(name, inner, body).map(lambda t: f"({t[1]}) | {t[0]}({t[2]})"),
        st.tuples(inner, body, inner).map(lambda t: f"reduce({t[0]}, {{ [#acc, {t[1]}] }}, {t[2]})"),
        st.tuples(inner, st.sampled_from(["#acc + #", "#acc", "# + #index"])).map(lambda t: f"reduce({t[0]}, {t[1]})"),
    )


def _extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give programs made of smaller ones."""
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    binary, ordering = st.sampled_from(BINARY), st.sampled_from(ORDERINGS)
    return st.one_of(
        st.tuples(two, binary).map(lambda t: f"{t[1]}".join(f" {one} " for one in _in_parentheses(t[0]))),
        st.tuples(two, binary).map(lambda t: f"{t[0][0]} {t[1]} {t[0][1]}"),
        st.tuples(three, ordering, ordering).map(lambda t: f"({t[0][0]}) {t[1]} ({t[0][1]}) {t[2]} ({t[0][2]})"),
        st.tuples(three, st.sampled_from(["and", "or"])).map(lambda t: f" {t[1]} ".join(_in_parentheses(t[0]))),
        st.tuples(three, st.sampled_from(TERNARIES)).map(lambda t: f"({t[1].format(*t[0])})"),
        st.tuples(st.sampled_from(["!", "not ", "-", "+"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, st.sampled_from(ACCESSES)).map(lambda t: f"({t[0]}){t[1]}"),
        st.tuples(two, st.sampled_from(METHODS)).map(lambda t: f"({t[0][0]}).{t[1]}({t[0][1]})"),
        two.map(lambda t: f"({t[0]})[{t[1]}]"),
        two.map(lambda t: f"({t[0]})?.[{t[1]}]"),
        two.map(lambda t: f"[{t[0]}, {t[1]}]"),
        inner.map(lambda t: f"(let msg = {t}; msg)"),
        inner.map(lambda t: f"(let m = {t}; m.data)"),
        _calls(inner),
        _predicate_calls(inner),
        st.tuples(st.sampled_from(["double", "nope"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
    )


programs = st.recursive(st.sampled_from(NAMES + LITERALS), _extended, max_leaves=8)
"""Most of them compile; the rest must be refused with an error that names a place."""

_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([2**53 + 1, 2**63, -(2**64), 10**30])
    | st.floats(-2, 2)
    | st.sampled_from(["", "a", "ab", "2", "\u00e9", "2024-02-03"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "data"]), inner, max_size=3),
    max_leaves=6,
)
payloads = st.one_of(
    st.fixed_dictionaries(
        {
            "a": _values,
            "b": _values,
            "l": st.lists(_values, max_size=4),
            "c": st.integers(-99, 99),
            "rows": st.lists(st.fixed_dictionaries({"a": _values}), max_size=3),
            "big": st.integers(-(10**30), 10**30),
        }
    ),
    _values,
)
"""Payloads that the names of the programs find something in."""

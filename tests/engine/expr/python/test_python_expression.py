# ruff: noqa: E501 - tables of expressions
"""`PythonExpression`: what it means, what it refuses, and what nobody gets out of it."""

from __future__ import annotations

import ast
import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from catenary import Message
from catenary.errors import ExpressionError
from catenary.expr import Environment, PythonExpression, budget
from catenary.expr.python import operators as python_operators
from catenary.testing import FakeClock

DATA = {
    "t": 50, "f": 2.5, "name": "bob", "items": [1, 2, 3], "rows": [{"t": 20, "id": "a"}, {"t": 60, "id": "b"}],
    "n": {"a": {"b": 7}}, "none": None, "big": 12345678901234567890123, "_key": 1, "Größe": 4,
}  # fmt: skip


class Ctx:
    """A context of a run: a clock, and one node that has put something out."""

    clock = FakeClock(start_ms=0)

    def output(self, node_id: str) -> Message | None:
        return Message({"x": 5}, "N", metadata={"k": "v"}) if node_id == "before" else None


class Meter:
    """An object that the host lends."""

    def scale(self, value: int, *, by: int = 2) -> int:
        return value * by

    _hidden = 5

    def _secret(self) -> int:
        return 5


def value(source: str, data: Any = DATA, **environment: Any) -> Any:
    message = Message(data, "T", metadata={"kind": "a"}, id="m", ts=7)
    used = Environment(
        {"limit": 50, "a.b": {"c": 1}},
        {"v": "x"},
        rule_chain={"id": "c1"},
        nodes=frozenset({"before", "later"}),
        **environment,
    )
    return PythonExpression.compile(source, used).evaluate(message, Ctx())


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("msg['t'] > 40 and metadata.get('kind') == 'a'", True),
        ("msg.t", 50),
        ("msg.n.a.b", 7),
        ("msg['n']['a']['b']", 7),
        ("msg.get('absent', 0)", 0),
        ("msg.get('absent')", None),
        ("msg._key if False else msg['_key']", None),
        ("msg.items", [1, 2, 3]),
        ("len(msg.items)", 3),
        ("[x * 2 for x in msg.items if x > 1]", [4, 6]),
        ("{r.id: r.t for r in msg.rows}", {"a": 20, "b": 60}),
        ("{x % 2 for x in msg.items}", {0, 1}),
        ("[k for k, v in msg.n.items()]", ["a"]),
        ("[(i, x) for i, x in enumerate(msg.items, 1)]", [(1, 1), (2, 2), (3, 3)]),
        ("[a + b for a in msg.items for b in msg.items if a == b]", [2, 4, 6]),
        ("[[y for y in range(x)] for x in msg.items]", [[0], [0, 1], [0, 1, 2]]),
        ("[msg for msg in [1]]", [1]),
        ("sum(r.t for r in msg.rows)", 80),
        ("any(r.t > 50 for r in msg.rows)", True),
        ("all(r['t'] > 50 for r in msg.rows)", False),
        ("next((r.id for r in msg.rows if r.t > 50), None)", "b"),
        ("next([], 'nothing')", "nothing"),
        ("max(msg.items), min(4, 2), max([], default=9)", (3, 2, 9)),
        ("sorted([3, 1, 2], reverse=True)", [3, 2, 1]),
        ("f'{msg.name!r}: {msg.f:.2f} {msg.t:>4}|{msg.none}'", "'bob': 2.50   50|None"),
        ("f'{msg.t:,}' + f'{msg.f}'", "502.5"),
        ("'bo' in msg.name and 2 in msg.items and 't' in msg and 'z' not in msg", True),
        ("1 < 2 < 3 != 4", True),
        ("msg.items[1:] + msg.items[::-1]", [2, 3, 3, 2, 1]),
        ("msg.items[-1], msg.name[0]", (3, "b")),
        ("msg.name.upper().center(7, '*')", "**BOB**"),
        ("' a b '.strip().split()", ["a", "b"]),
        ("','.join(str(x) for x in msg.items)", "1,2,3"),
        ("'a-b'.replace('-', '+') + 'x' * 3", "a+bxxx"),
        ("str(41.0), str(True), str(None), str([1, 'a'])", ("41.0", "True", "None", "[1, 'a']")),
        ("int('5') + int(2.9) + int('ff', 16)", 262),
        ("round(2.5), round(2.567, 2), abs(-3), divmod(7, 2)", (2, 2.57, 3, (3, 1))),
        ("7 // 2, -7 % 3, 2 ** 10, 1 << 4, 6 & 3, 6 | 3, 6 ^ 3, ~1", (3, 2, 1024, 16, 2, 7, 5, -2)),
        ("msg.t / 4", 12.5),
        ("'yes' if msg.none is None else 'no'", "yes"),
        ("msg.none or 'default'", "default"),
        ("not msg.items", False),
        ("0 or [] or ''", ""),
        ("[*msg.items, 4], {**msg.n, 'z': 1}", ([1, 2, 3, 4], {"a": {"b": 7}, "z": 1})),
        ("{1, 2} | {3}", {1, 2, 3}),
        ("msg.big + 1", 12345678901234567890124),
        ("global.limit + 1", 51),
        ("global['limit'], global.get('none', 3), 'limit' in global, global.a.b.c", (50, 3, True, 1)),
        ("vars.v + ruleChain.id", "xc1"),
        ("(id, ts, type, msgType, dataType)", ("m", 7, "T", "T", "JSON")),
        ("before.msg.x + len(before.metadata.k)", 6),
        ("before.msg.data, later", ('{"x":5}', None)),
        ("upper(msg.name), trim(' a '), toJSON(1), first(msg.items)", ("BOB", "a", "1", 1)),
        ("now().year, now().isoformat()", (1970, "1970-01-01T00:00:00+00:00")),
        ("str(duration('90s'))", "1m30s"),
        ("[1,\n 2 # two\n]", [1, 2]),
        ("\n  msg.t > 1\n  and msg.t < 100\n", True),
        ("msg.Größe", 4),
        ("bool(msg.get('t')), list('ab'), tuple([1]), dict(a=1), list(zip([1], [2]))", (True, ["a", "b"], (1,), {"a": 1}, [(1, 2)])),
    ],
)  # fmt: skip
def test_it_means_what_python_means(source: str, result: Any) -> None:
    if "msg._key" in source:
        with pytest.raises(ExpressionError, match="cannot begin with '_'"):
            value(source)
        return
    found = value(source)
    assert (found, type(found)) == (result, type(result))


def test_the_raw_payload_is_msg_data() -> None:
    assert value("msg.data", '{"a": 1}') == '{"a": 1}'
    assert value("msg['data']", {"data": 5}) == 5
    assert value("data.upper()", Message("ab", data_type="TEXT").data) == "AB"


def test_the_host_lends_functions_and_objects() -> None:
    lent = {"double": lambda x: x * 2, "meter": Meter(), "len": lambda x: "mine"}
    assert value("double(msg.t)", functions=lent) == 100
    assert value("meter.scale(msg.t, by=3)", functions=lent) == 150
    assert value("len(msg)", functions=lent) == "mine"
    for source in ("meter._secret()", "meter.absent()", "meter.scale", "meter", "meter._hidden", "double"):
        with pytest.raises(ExpressionError):
            value(source, functions=lent)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("msg.absent > 1", "there is no key 'absent'; `.get('absent')` gives None where it is missing"),
        ("msg['absent']", "there is no key 'absent'"),
        ("metadata.absent", "there is no key 'absent'"),
        ("global.absent", "there is no key 'absent'"),
        ("later.msg", "cannot fetch msg from nil"),
        ("msg.none > 1", "'>' not supported between instances of 'NoneType' and 'int'"),
        ("msg.name + 1", "can only concatenate str"),
        ("msg.items[7]", "list index out of range"),
        ("1 / 0", "division by zero"),
        ("int('x')", "invalid literal for int"),
        ("[y for x in msg.items for y in x]", "cannot go through int"),
        ("msg.t.upper()", "int has no method 'upper'"),
        ("msg.items.append(4)", "array has no method 'append': nothing can be changed here"),
        ("'{}'.format(1)", "string has no method 'format'; write an f-string"),
        ("upper()", "upper() does not take 0 arguments"),
        ("f'{msg:>5}'", "map cannot be formatted with '>5'"),
        ("next([])", "next() of nothing"),
        ("(-1) ** 0.5", "the result is no real number"),
    ],
)
def test_a_failure_names_the_reason(source: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(source)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("source", "failing"),
    [
        ("1 + msg.absent", "msg.absent"),
        ("'é' + msg.absent", "msg.absent"),
        ("[1,\n msg.absent]", "msg.absent"),
        ("[x.t for x in [1]]", "x.t"),
        ("1 < msg.none", "1 < msg.none"),
        ("len(msg.name.upper() + 1)", "msg.name.upper() + 1"),
        ("f'{msg.t}' + str(msg['x y'])", "msg['x y']"),
    ],
)
def test_a_failure_names_the_place(source: str, failing: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(source)
    assert caught.value.position == source.index(failing)


@pytest.mark.parametrize(
    ("source", "text", "hint", "position"),
    [
        ("", "the expression is empty", "", 0),
        ("msg.t >", "the expression ends too early (line 1, column 8)", "", 7),
        ("temprature > 1", "unknown name 'temprature'", "msg.name", 0),
        ("1 + msgtype", "unknown name 'msgtype'", "did you mean 'msgType'?", 4),
        ("msg.t == true", "unknown name 'true'", "did you mean 'True'?", 9),
        ("msg.x is null", "unknown name 'null'", "did you mean 'None'?", 9),
        ("len", "'len' is a function", "Call it", 0),
        ("lenn(msg)", "there is no function 'lenn'", "did you mean 'len'?", 0),
        ("msg.t && 1", "invalid syntax", "Write `and`.", 7),
        ("${msg.t} > 1", "invalid syntax", "`msg.t`, not `${msg.t}`", 0),
        ("msg.t is 5", "'is' compares with None, True and False only", "Compare with `==`.", 0),
        ("f(1", "'(' was never closed", "", 1),
        ("1) or (2", "unmatched ')'", "", 1),
        ("[1, 2", "'[' was never closed", "", 0),
        ("1 +\n +", "the expression ends too early", "", 6),
        ("lambda: 1", "a lambda cannot be used", "", 0),
        ("(y := 5)", "':=' cannot be used", "", 1),
        ("x for x in [1]", "GeneratorExp cannot be used", "", 0),
        ("f'{1:{2}}'", "the format after ':' cannot be used", "", 0),
        ("a @ b", "", "", 0),
        ("...", "ellipsis cannot be written", "", 0),
        ("b'x'", "bytes cannot be written", "", 0),
        ("1j", "complex cannot be written", "", 0),
        ("[1 for msg.x in [1]]", "only names can stand between 'for' and 'in'", "", 7),
        ("len(**msg)", "'**' cannot be used in a call", "", 6),
        ("[1 async for x in [1]]", "", "", -1),
        ("yield 1", "", "", -1),
        ("await msg", "", "", -1),
        ("import os", "invalid syntax", "", 0),
        ("msg.t = 5", "Maybe you meant '=='", "", 0),
        ("msg\0", "", "", -1),
        ("'\ud800'", "", "", -1),
        ("1" * 5000, "", "", -1),
        ("x" * 100_001, "too long", "Split it", 0),
        ("(" * 300, "", "", -1),
        ("-" * 90_000 + "1", "", "", -1),
        ("+".join("1" * 11_000), "", "", -1),
        ("[" * 150 + "]" * 150, "", "", -1),
    ],
)
def test_what_cannot_be_compiled_is_told_with_its_place(source: str, text: str, hint: str, position: int) -> None:
    try:
        value(source)
    except ExpressionError as error:
        assert text.lower() in str(error).lower()
        assert hint in error.hint
        assert position < 0 or error.position == position
    else:
        assert position < 0


ESCAPES = [
    "().__class__", "''.__class__.__mro__", "msg.__class__", "msg['__class__'].x", "(1).__class__.__bases__[0].__subclasses__()",
    "[c for c in ().__class__.__base__.__subclasses__()]", "len.__globals__", "len.__self__", "str.mro()", "print.__self__",
    "__import__('os').system('x')", "__builtins__", "eval('1')", "exec('1')", "open('/etc/passwd')", "compile('1', '', 'eval')",
    "getattr(msg, '__class__')", "setattr(msg, 'a', 1)", "globals()", "locals()", "vars()", "dir()", "type('X', (), {})",
    "'{0.__class__}'.format(msg)", "'{0.__class__}'.format_map(msg)", "str.format('{0.__class__}', 1)", "f'{msg.__class__}'",
    "f'{msg!r:{msg}}'", "'%s' % msg", "'%(a)s' % {'a': 1}", "(lambda: 0).__code__", "(x for x in [1]).gi_frame",
    "[x for x in [1]].__iter__()", "now().__class__", "now().tzinfo", "now().astimezone", "now().strftime('%1000000000Y')",
    "msg.items.__len__()", "msg.get.__self__", "msg.get", "upper.__globals__", "any.__self__", "message", "ctx", "explain",
    "work", "g0", "u_msg", "t1", "v1", "dict.fromkeys('a')", "int.from_bytes('a')", "str.maketrans('a', 'b')",
    "'a'.translate({97: 'b'})", "'a'.encode().hex()", "(1).to_bytes(10**9, 'big')", "now().fromtimestamp(0)",
    "(1).numerator", "(1).real", "msg.clear()", "msg.pop('t')", "msg.update({})", "msg.setdefault('x', 1)", "[].sort()",
    "{1}.add(2)", "breakpoint()", "input()", "memoryview(1)", "object()", "super()", "classmethod(1)", "help()", "id()",
    "isinstance(1, 2)", "hasattr(msg, 'x')", "repr(msg)", "format(1, '>9999999')", "slice(1)", "bytes(10**10)", "bytearray(10**10)",
]  # fmt: skip


@pytest.mark.parametrize("source", ESCAPES)
def test_nothing_but_values_can_be_reached(source: str) -> None:
    with pytest.raises(ExpressionError):
        value(source)


BOMBS = [
    "9 ** 9 ** 9", "9 ** 999999", "2 ** 4000000", "(10 ** 4000) * (10 ** 4000)", "pow(9, 999999)", "1 << 10 ** 9", "10 ** 10 ** 10",
    "'a' * 10 ** 9", "10 ** 9 * 'a'", "[0] * 10 ** 9", "[[0] * 1000] * 1000 * 1000", "[[[0] * 1000] * 1000] * 1000",
    "((0,) * 1000,) * 10 ** 6", "range(10 ** 12)", "list(range(10 ** 9))", "sum(range(10 ** 12))", "range(-10 ** 30, 10 ** 30)",
    "'a'.center(10 ** 9)", "'a'.ljust(10 ** 9)", "'a'.rjust(width=10 ** 9)", "'a'.zfill(10 ** 9)", "('\\t' * 1000000).expandtabs(10 ** 6)",
    "('a' * 1000000).replace('a', 'b' * 1000000)", "''.replace('', 'a' * 1000000).replace('', 'b' * 100000)",
    "('a' * 1000000).join(['b'] * 100000)", "round(1, -10 ** 9)", "round(5, 10 ** 10)", "sum([[1]] * 1000, [])",
    "int('9' * 5000)", "int('z' * 100000, 36)", "int('f' * 100000, 16)", "'%1000000000d' % 1", "f'{1:>1000000000}'", "f'{1:.1000000000f}'",
    "[x for x in range(1000000) for y in range(1000000)]", "[[y for y in range(1000)] for x in range(1000000)]",
    "[x for x in [[0] * 1000] * 1000 for y in x for z in x]", "sum([x * 'a' for x in range(1000000)])",
    "[msg.l for x in range(100000)]", "[[a, a] for a in [[b, b] for b in [[c, c] for c in [[msg.l, msg.l] for d in [1] * 100]]]]",
    "{x: msg.l for x in range(100000)}", "[sorted(msg.l) for x in range(1000000)]", "[f'{msg.l}' for x in range(100000)]",
    "[sum(msg.l) for x in range(900000) if sum(msg.l)]", "[x in msg.l for x in range(900000)]", "[msg.l == msg.m for x in range(900000)]",
    "[msg.l + [x] for x in range(100000)]", "str([msg.l] * 1000)", "repeat('a', 10 ** 9)", "'a'.join(range(10))",
    "[" + "[x, x] for x in [" * 40 + "1" + "]" * 40 + "]",
]  # fmt: skip


@pytest.mark.parametrize("source", BOMBS)
def test_nothing_takes_for_ever_or_fills_the_memory(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (budget, python_operators):
        monkeypatch.setattr(module, "SECONDS", 0.2)
    began = time.process_time()
    data = {"l": list(range(10_000)), "m": list(range(10_000))}
    with pytest.raises(ExpressionError):
        value(source, data)
    assert time.process_time() - began < 10


def test_the_payload_is_never_changed() -> None:
    data: dict[str, Any] = {"l": [3, 1, 2], "o": {"a": 1}}
    for source in (
        "sorted(msg.l)",
        "reversed(msg.l)",
        "msg.l + [4]",
        "{**msg.o, 'b': 2}",
        "dict(msg.o, c=3)",
        "[*msg.l]",
    ):
        value(source, data)
    assert data == {"l": [3, 1, 2], "o": {"a": 1}}


def test_properties_and_variables_are_read_when_it_runs() -> None:
    properties: dict[str, Any] = {"limit": 1}
    expression = PythonExpression.compile("global.limit, global['limit'], global", Environment(properties))
    properties["limit"] = 2
    assert expression.evaluate(Message("{}")) == (2, 2, {"limit": 2})


def test_the_nodes_that_it_reads_are_known() -> None:
    environment = Environment(nodes=frozenset({"a", "b", "c"}))
    expression = PythonExpression.compile("a.msg.x if 'b' == 'c' else b.msg.data", environment)
    assert expression.node_references == {"a", "b"}


def test_expressions_are_equal_by_their_text() -> None:
    one, same, other = (PythonExpression.compile(text) for text in ("1", "1", "2"))
    assert one == same
    assert one != other
    assert len({one, same, other}) == 2
    assert repr(one) == "PythonExpression('1')"


def test_a_call_works_without_a_context() -> None:
    call: Callable[..., Any] = PythonExpression.compile("msg.t").call
    assert call(Message('{"t": 1}')) == 1


class _Parses:
    """Garbage in a circle, which parses something as it is collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        ast.parse("(((1)))")


def test_code_that_runs_as_garbage_is_collected_and_parses_disturbs_nothing() -> None:
    threshold = gc.get_threshold()
    text = "[" + ",".join(f"msg.a + {number}" for number in range(200)) + "]"
    try:
        gc.disable()
        for _ in range(5):
            _Parses()
        gc.set_threshold(20, 1, 1)  # so soon that it comes while a tree is made
        gc.enable()
        assert PythonExpression.compile(text).evaluate(Message({"a": 1})) == list(range(1, 201))
    finally:
        gc.set_threshold(*threshold)
        gc.enable()

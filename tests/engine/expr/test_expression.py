"""Expressions: literals, names, operators and their precedence."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Environment, Expression
from catenary.message import TEXT, Message

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGE = Message(
    {
        "t": 41,
        "f": 2.5,
        "s": "abc",
        "l": [3, 1, 2],
        "o": {"k": {"n": 5}, "_x": 1, "a b": 2},
        "no": None,
        "yes": True,
        "rows": [{"q": 1, "n": "x"}, {"q": 5, "n": "y"}],
    },
    "alarm",
    metadata={"kind": "a", "_triggerSource": "endpoint"},
    id="7",
    ts=9,
)
ENVIRONMENT = Environment(
    properties={"data_dir": "/d", "a.b": "dotted", "models": {"default": {"url": "u"}}},
    vars={"limit": 40},
    rule_chain={"id": "c1", "additionalInfo": {"x": 1}},
    functions={"double": lambda x: x * 2},
    nodes=frozenset({"s1", "s2"}),
)


def value(source: str, message: Message = MESSAGE, ctx: object = None) -> Any:
    return Expression.compile(source, ENVIRONMENT).evaluate(message, ctx)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("id", "7"),
        ("ts", 9),
        ("type", "alarm"),
        ("msgType", "alarm"),
        ("dataType == 'JSON'", True),
        ("type(type)", "string"),
        ("metadata.kind", "a"),
        ("metadata.nope", ""),
        ("metadata.nope ?? 'd'", ""),
        ("kind", None),
        ("global.data_dir", "/d"),
        ("global.nope", ""),
        ("global.models.default.url", "u"),
        ("global.a.b", "dotted"),
        ("global.models.nope.x", ""),
        ("vars.limit + 1", 41),
        ("ruleChain.id + '!'", "c1!"),
        ("ruleChain.additionalInfo.x", 1),
        ("double(4)", 8),
        ("$env['msg'].t", 41),
        ("'ts' in $env", True),
        ("let m = metadata; m.nope", ""),
        ("metadata", {"kind": "a", "_triggerSource": "endpoint"}),
        ("let g = global; g['nope']", ""),
        ("vars", {"limit": 40}),
        ("ruleChain.nope", None),
        ("metadata['kind']", "a"),
    ],
)
def test_names(source: str, expected: Any) -> None:
    assert value(source) == expected


def test_msg_data_is_the_raw_text_unless_the_payload_has_the_key() -> None:
    text = '{"b": 1,  "a": 2}'
    assert value("msg.data", Message(text)) == text
    assert value("msg['data']", Message(text)) == text
    assert value("msg.data", Message('{"data": 5}')) == 5
    assert value("msg.data", Message("hello", data_type=TEXT)) == "hello"
    assert value("data", Message(text)) == text


def test_payloads_of_all_kinds_are_msg() -> None:
    assert value("msg == 5", Message("5"))
    assert value("msg[0] == 1", Message("[1]"))
    assert value("len(msg) == 2", Message("ab", data_type=TEXT))
    assert value("msg[0] == 65", Message(b"A", data_type="BINARY"))
    assert value("msg", Message("")) == {}


class Outputs:
    def output(self, node_id: str) -> Message | None:
        return Message({"a": 7}, "made", metadata={"x": "y"}, id="2", ts=6) if node_id == "s1" else None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("s1.msg.a", 7),
        ("s1.metadata.x", "y"),
        ("s1.metadata.nope", ""),
        ("s1.msgType", "made"),
        ("s2", None),
        ("s1.data", '{"a":7}'),
        ("s1.msg.data", '{"a":7}'),
        ("s1.msg['data']", '{"a":7}'),
        ("s2.msg.data", None),
        ("s2?.msg.a ?? 'none'", "none"),
    ],
)
def test_outputs_of_nodes(source: str, expected: Any) -> None:
    assert value(source, ctx=Outputs()) == expected


def test_a_node_without_a_context_has_no_output() -> None:
    assert value("s1") is None


def test_node_references_name_the_nodes_that_are_read() -> None:
    assert Expression.compile("s1.msg.a > s3.x && (let s2 = 1; s2 > 0)", ENVIRONMENT).node_references == {"s1"}
    assert Expression.compile("$env", ENVIRONMENT).node_references == {"s1", "s2"}
    assert Expression.compile("s2.msg.data", ENVIRONMENT).node_references == {"s2"}


def test_expressions_see_later_changes_of_properties() -> None:
    properties: dict[str, Any] = {"x": 1}
    expression = Expression.compile("global.x", Environment(properties=properties))
    properties["x"] = 2
    assert expression.evaluate(MESSAGE) == 2


def test_expressions_are_compared_by_their_text() -> None:
    one = Expression.compile("msg.a")
    assert one == Expression.compile("msg.a")
    assert one != Expression.compile("msg.b")
    assert len({one, Expression.compile("msg.a")}) == 1
    assert repr(one) == "Expression('msg.a')"
    assert one.call(Message({"a": 1})) == 1


def test_a_hosts_function_wins_over_a_built_in_one() -> None:
    assert Expression.compile("len(1)", Environment(functions={"len": lambda x: x})).evaluate(MESSAGE) == 1


def test_attributes_of_python_are_out_of_reach() -> None:
    with pytest.raises(ExpressionError, match="not readable"):
        Expression.compile("msg.__class__")
    for source in ["msg._value", "msg.s.format", "metadata.keys", "msg['__class__']", "double.x", "'a'['__class__']"]:
        with contextlib.suppress(ExpressionError):
            assert value(source) in (None, "")


def test_the_same_text_is_compiled_once_for_an_environment() -> None:
    environment = Environment(vars={"v": 1})
    assert Expression.compile("msg.a + 1", environment).call is Expression.compile("msg.a + 1", environment).call
    assert Expression.compile("msg.a + 1", Environment()).call is not Expression.compile("msg.a + 1", environment).call


def test_functions_that_were_added_since_are_seen_by_the_next_expression() -> None:
    functions: dict[str, Callable[..., Any]] = {}
    environment = Environment(functions=functions)
    with pytest.raises(ExpressionError, match="no function 'twice'"):
        Expression.compile("twice(2)", environment).evaluate(Message(""))
    functions["twice"] = lambda value: value * 2
    assert Expression.compile("twice(2)", environment).evaluate(Message("")) == 4


def test_a_place_far_into_a_long_text_is_told() -> None:
    source = "msg.a == 1 and\n  msg.b.c +\n  upper(msg.missing) == ''"
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source).evaluate(Message({"a": 1, "b": {"c": "x"}}))
    assert source[raised.value.position :].startswith("upper(")
    assert "line 3, column 3" in str(raised.value)


def test_nothing_in_a_text_is_read_as_python() -> None:
    odd = "\\n#5\\n')__import__(\\x00\\u2028${x}'"
    message = Message({"a\n#7\nb": 1, "__class__": 2})
    assert Expression.compile(f'"{odd}"').evaluate(message) == "\n#5\n')__import__(\x00\u2028${x}'"
    assert Expression.compile("msg['a\\n#7\\nb'] + msg['__class__']").evaluate(message) == 3
    assert (
        Expression.compile("let \u03b1\u03b2 = 1; let lambda = 2; let g0 = 3; \u03b1\u03b2 + lambda + g0").evaluate(
            message
        )
        == 6
    )


def test_expressions_of_one_shape_are_told_apart() -> None:
    first, second = Expression.compile("msg.abc + 1"), Expression.compile("1 == 1 ? msg.b  +  22 : 0")
    third = Expression.compile("msg.s + 5")
    message = Message({"abc": 1, "b": 2, "s": "x"})
    assert (first.evaluate(message), second.evaluate(message)) == (2, 24)
    with pytest.raises(ExpressionError, match=r"'msg\.s \+ 5', line 1, column 1: '\+' cannot take string and int"):
        third.evaluate(message)
    assert first.call.__code__ is third.call.__code__


@pytest.mark.parametrize(
    ("source", "is_range"),
    [("1..3", True), ("(1..msg.n)", True), ("${1..3}", True), ("map(1..3, #)", False), ("[1, 2]", False)],
)
def test_a_range_as_a_whole_is_told_from_other_lists(source: str, is_range: bool) -> None:
    assert Expression.compile(source).is_range is is_range

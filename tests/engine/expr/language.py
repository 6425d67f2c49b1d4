"""What the tests of the language share: a message, an environment, and both evaluators asked at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Environment
from catenary.expr.program import compile_program
from catenary.expr.reference import evaluate
from catenary.message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        "big": 123456789012345678901234567890,
        "whole": 6.0,
    },
    "alarm",
    metadata={"kind": "a", "_triggerSource": "endpoint", "a b": "c"},
    id="7",
    ts=9,
)


def double(number: int) -> int:
    """Give a number twice."""
    return 2 * number


ENVIRONMENT = Environment(
    properties={"data_dir": "/d", "a.b": "dotted", "models": {"default": {"url": "u"}}},
    vars={"limit": 40},
    rule_chain={"id": "c1", "additionalInfo": {"x": 1}},
    functions={"double": double},
    nodes=frozenset({"s1", "s2"}),
)


class Outputs:
    """A context that knows what one node put out."""

    def output(self, node_id: str) -> Message | None:
        return Message({"a": 7}, "made", metadata={"x": "y"}, id="2", ts=6) if node_id == "s1" else None


def same(one: object, other: object) -> bool:
    """Tell whether two values and the kinds in them are the same; NaN is NaN."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        mine, theirs = cast("list[Any]", one), cast("list[Any]", other)
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    if isinstance(one, dict):
        map_of, map_to = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return list(map_of) == list(map_to) and all(same(map_of[key], map_to[key]) for key in map_of)
    return one == other


def value(source: str, message: Message = MESSAGE, ctx: object = None) -> Any:
    """Evaluate in both evaluators, which must agree."""
    program = compile_program(source, ENVIRONMENT)
    found = program.call(message, ctx)
    reference = evaluate(program, ENVIRONMENT, message, ctx)
    assert same(found, reference), f"{source}: the closure gives {found!r}, the reference {reference!r}"
    return found


def gives(rows: Mapping[str, Any], message: Message = MESSAGE, ctx: object = None) -> None:
    """Check the value, and its kind, of each expression."""
    for source, expected in rows.items():
        found = value(source, message, ctx)
        assert same(_plain(found), expected), f"{source} gives {found!r}, not {expected!r}"


def _plain(found: object) -> object:
    return dict(cast("dict[str, Any]", found)) if isinstance(found, dict) else found


def refuses(rows: Mapping[str, str]) -> None:
    """Check that each expression is refused when it is compiled, with this in the text or the hint."""
    for source, text in rows.items():
        with pytest.raises(ExpressionError) as raised:
            compile_program(source, ENVIRONMENT)
            pytest.fail(f"{source} was compiled")
        assert text in f"{raised.value}\n{raised.value.hint}", source


def fails(rows: Mapping[str, str], message: Message = MESSAGE) -> None:
    """Check that each expression compiles, and fails on the message in both evaluators, with this in the text."""
    for source, text in rows.items():
        program = compile_program(source, ENVIRONMENT)
        with pytest.raises(ExpressionError) as raised:
            program.call(message)
            pytest.fail(f"{source} did not fail")
        assert text in str(raised.value), source
        with pytest.raises(Exception) as slow:
            evaluate(program, ENVIRONMENT, message)
        assert text in str(slow.value), source

"""Functions and objects of the host, called from expressions, templates, Python expressions, documents and scripts."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Environment, Expression, Script, Template
from catenary.expr.advice import doubtful
from catenary.expr.document.document import Document
from catenary.expr.functions.hosted import public_methods
from catenary.expr.program import compile_program
from catenary.expr.python.expression import PythonExpression
from catenary.expr.reference import evaluate
from catenary.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGE = Message({"a": 1})


class Level(IntEnum):
    HIGH = 3


class Geo:
    """What a host might lend."""

    unit = "km"

    def distance(self, start: int, end: int) -> int:
        """Give the way between two places."""
        return end - start

    @property
    def price(self) -> int:
        raise AssertionError("a property ran")

    @staticmethod
    def north() -> str:
        return "N"

    def fail(self) -> None:
        raise ValueError("no such place")

    def odd(self) -> object:
        return {1, 2}

    async def later(self) -> int:
        return 1

    def _hidden(self) -> int:
        return 1


def given(value: object) -> Callable[[], object]:
    return lambda: value


ENVIRONMENT = Environment(functions={"geo": Geo()}, script_functions={"geo": Geo()})
FORMS: dict[str, Callable[[str], Any]] = {
    "expression": lambda source: Expression.compile(source, ENVIRONMENT).evaluate(MESSAGE),
    "template": lambda source: int(Template.compile(f" ${{{source}}}.", ENVIRONMENT).render(MESSAGE).strip(" .")),
    "python": lambda source: PythonExpression.compile(source, ENVIRONMENT).evaluate(MESSAGE),
    "document": lambda source: int(Document.compile(f"{{{{ {source} }}}}", ENVIRONMENT).render(MESSAGE)),
    "script": lambda source: Script.compile(f"return {source}", ENVIRONMENT).call(MESSAGE),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_method_of_a_host_object_is_called_alike_in_every_form(form: str) -> None:
    assert FORMS[form]("geo.distance(1, 3)") == 2


@pytest.mark.parametrize("form", ["expression", "template", "python", "document"])
def test_an_error_of_a_host_method_tells_object_and_method(form: str) -> None:
    with pytest.raises(ExpressionError, match=r"geo\.fail\(\): no such place"):
        FORMS[form]("geo.fail()")


@pytest.mark.parametrize("form", ["expression", "template", "python", "document"])
def test_what_is_no_value_of_the_language_is_refused(form: str) -> None:
    with pytest.raises(ExpressionError, match=r"geo\.odd\(\) gave a value of kind set; it must give a JSON value"):
        FORMS[form]("geo.odd()")


@pytest.mark.parametrize("form", ["expression", "template", "python", "document"])
def test_an_async_method_is_refused_and_never_left_waiting(form: str) -> None:
    with pytest.raises(ExpressionError, match=r"geo\.later\(\) is async, and an expression cannot wait"):
        FORMS[form]("geo.later()")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["_hidden", "unit", "price", "missing", "__init__"])
def test_only_public_methods_of_a_host_object_can_be_called(form: str, method: str) -> None:
    with pytest.raises(Exception, match=rf"{method}|not a function"):
        FORMS[form](f"geo.{method}()")


def test_both_evaluators_call_host_objects_in_predicates_and_optional_chains() -> None:
    for source, expected in {
        "map([5, 6], geo.distance(#, 10))": [5, 4],
        "geo?.distance(1, 2)": 1,
        "geo.north() + 'E'": "NE",
        "let geo = msg; geo.a": 1,
    }.items():
        program = compile_program(source, ENVIRONMENT)
        assert program.call(MESSAGE) == evaluate(program, ENVIRONMENT, MESSAGE) == expected


def test_the_number_of_arguments_of_host_functions_is_checked_when_compiled() -> None:
    with pytest.raises(ExpressionError, match=r"geo\.distance\(\) takes 2 arguments, not 1"):
        Expression.compile("geo.distance(1)", ENVIRONMENT)


def test_looking_for_methods_runs_no_property() -> None:
    assert public_methods(Geo()) == ["distance", "fail", "later", "north", "odd"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (bytearray(b"x"), b"x"),
        (Level.HIGH, 3),
        (datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)),
        ({1: "a"}, {1: "a"}),
    ],
)
def test_values_of_the_host_become_those_of_the_language(value: object, expected: object) -> None:
    environment = Environment(functions={"give": given(value)})
    assert Expression.compile("give()", environment).evaluate(MESSAGE) == expected


@pytest.mark.parametrize("value", [object(), 1j, {(1, 2): 3}, [[print]], {"a": {1}}])
def test_values_that_are_no_json_are_refused_at_any_depth(value: object) -> None:
    with pytest.raises(ExpressionError, match=r"give\(\) gave"):
        Expression.compile("give()", Environment(functions={"give": given(value)})).evaluate(MESSAGE)


def test_variables_win_over_host_objects_of_the_same_name() -> None:
    environment = Environment(functions={"msg": Geo()})
    with pytest.raises(ExpressionError, match="map has no method 'north'"):
        Expression.compile("msg.north()", environment).evaluate(MESSAGE)


def test_an_unknown_method_of_a_host_object_is_told_with_the_one_it_is_like() -> None:
    with pytest.raises(ExpressionError, match=r"no function 'geo\.distanc'; did you mean 'geo\.distance'"):
        Expression.compile("geo.distanc(1, 2)", ENVIRONMENT).evaluate(MESSAGE)
    assert [str(doubt) for doubt in doubtful("geo.distanc(1, 2)", ENVIRONMENT)] == [
        "unknown name 'geo.distanc'; did you mean 'geo.distance'?"
    ]
    assert doubtful("geo.distance(1, 2)", ENVIRONMENT) == []


def test_objects_lent_later_are_seen_by_what_is_compiled_later() -> None:
    lent: dict[str, Any] = {}
    environment = Environment(functions=lent)
    with pytest.raises(ExpressionError):
        Expression.compile("geo.north()", environment).evaluate(MESSAGE)
    lent["geo"] = Geo()
    assert Expression.compile("geo.north()", environment).evaluate(MESSAGE) == "N"

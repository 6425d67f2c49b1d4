"""Expressions and templates as fields of settings."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from catenary.errors import ExpressionError, TemplateError
from catenary.expr import Environment, Expression, Template
from catenary.message import Message


class Settings(BaseModel):
    expr: Expression = Expression.compile("true")
    text: Template = Template.compile("")
    others: dict[str, Template] = {}


def test_fields_are_compiled_with_the_environment_of_the_context() -> None:
    context = {"environment": Environment(rule_chain={"id": "c"})}
    settings = Settings.model_validate(
        {"expr": "ruleChain.id", "text": "<${ruleChain.id}>", "others": {"a": 5}}, context=context
    )
    assert settings.expr.evaluate(Message("")) == "c"
    assert settings.text.render(Message("")) == "<c>"
    assert settings.others["a"].value(Message("")) == 5


def test_without_a_context_the_environment_is_empty() -> None:
    assert Settings.model_validate({"expr": "global.x"}).expr.evaluate(Message("")) == ""


@pytest.mark.parametrize(("given", "value"), [(5, 5), (1.5, 1.5), (True, True), (False, False)])
def test_numbers_and_bools_are_expressions_too(given: Any, value: Any) -> None:
    assert Settings.model_validate({"expr": given}).expr.evaluate(Message("")) == value


def test_an_error_is_one_of_the_field_and_keeps_its_place() -> None:
    with pytest.raises(ValidationError) as raised:
        Settings.model_validate({"expr": "1 +", "text": "a ${1 +}", "others": {"k": "${"}})
    first, second = raised.value.errors()
    assert first["loc"] == ("expr",)
    assert "expected a value" in first["msg"]
    assert isinstance(first["ctx"]["error"], ExpressionError)
    assert first["ctx"]["error"].position == 3
    assert isinstance(second["ctx"]["error"], TemplateError)


def test_an_expression_is_text() -> None:
    with pytest.raises(ValidationError, match="written as text"):
        Settings.model_validate({"expr": ["a"]})


def test_settings_are_written_back_as_their_text() -> None:
    given = {"expr": "msg.a", "text": "${msg.b}", "others": {"k": {"a": 1}}}
    settings = Settings.model_validate(given)
    assert settings.model_dump() == given
    assert Settings.model_validate(settings.model_dump()) == settings
    assert Settings(expr=settings.expr).expr is settings.expr


def test_there_is_a_json_schema() -> None:
    properties = Settings.model_json_schema()["properties"]
    assert properties["expr"]["type"] == "string"
    assert "type" not in properties["text"]

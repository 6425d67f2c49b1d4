"""The page about built-in tools names all of them, and all their settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from catenary_components.ai.tools.builtin import BUILTINS, builtin_type

PAGE = (Path(__file__).parents[5] / "docs" / "agent-tools.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BUILTINS)
def test_each_tool_and_each_setting_is_documented(name: str) -> None:
    found = builtin_type(name)
    assert found is not None
    assert f"`{name}`" in PAGE
    missing = [field for field in found.config_type.model_fields if f"`{to_camel(field)}`" not in PAGE]
    assert not missing


@pytest.mark.parametrize("name", BUILTINS)
def test_each_tool_tells_the_model_what_it_does_and_what_each_argument_is(name: str) -> None:
    found = builtin_type(name)
    assert found is not None
    assert found.name == name
    assert (found.__doc__ or "").strip()
    assert all(field.description for field in found.arguments_type.model_fields.values())
    assert all(option.description for option in found.config_type.model_fields.values())

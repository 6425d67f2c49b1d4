"""`catenary components` and `catenary schema`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from catenary import Component, register
from catenary import registry as registries
from catenary.component import registered
from catenary.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]


def test_all_components_are_listed_by_category(call: Call) -> None:
    result = call("components")
    assert result.exit_code == 0
    for type_name in Registry().types():
        assert f"\n  {type_name} " in result.stdout
    assert "\nfilter\n" in result.stdout


@pytest.mark.parametrize("type_name", Registry().types())
def test_each_component_is_explained(call: Call, type_name: str) -> None:
    result = call("components", type_name)
    assert result.exit_code == 0
    assert result.stdout.startswith(type_name)
    for field in Registry().form(type_name)["fields"]:
        assert field["name"] in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 500


def test_an_explanation_has_options_relations_and_examples(call: Call) -> None:
    text = call("components", "restApiCall").stdout
    assert "restEndpointUrlPattern, also url  string, required" in text
    assert "readTimeoutMs  int in milliseconds, default 2000" in text
    assert "  Failure " in text
    assert '"type": "restApiCall"' in text
    assert "One of: " in call("components", "ai/agent").stdout


def test_relations_that_the_chain_names_are_told(call: Call) -> None:
    assert "those that the chain names" in call("components", "switch").stdout
    assert "Relations" not in call("components", "end").stdout


def test_a_component_without_examples_and_options_is_explained(call: Call) -> None:
    class Plain(Component):
        """Do nothing."""

        relations = ()

    register("testCli/plain", category="test")(Plain)
    try:
        text = call("components", "testCli/plain").stdout
    finally:
        del registered["testCli/plain"]
    assert "No options." in text
    assert "those that the chain names" in text
    assert "Examples" not in text


def test_an_unknown_type_gets_a_guess(call: Call) -> None:
    result = call("components", "restApiCal")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean 'restApiCall'?" in result.stderr


def test_forms_are_given_as_json(call: Call) -> None:
    form = json.loads(call("components", "jsFilter", "--format", "json").stdout)
    assert form == Registry().form("jsFilter")
    forms = json.loads(call("components", "--format", "json").stdout)
    assert [one["type"] for one in forms] == Registry().types()


def test_packages_that_cannot_be_imported_are_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Registry):
        def __init__(self) -> None:
            super().__init__()
            self.broken["acme"] = "no module named x"

    monkeypatch.setattr(registries, "Registry", Broken)
    assert "the components of 'acme' are missing: no module named x" in call("components").stderr


def test_the_schema_is_that_of_the_whole_language(call: Call) -> None:
    assert json.loads(call("schema").stdout) == Registry().chain_schema()


def test_the_schema_of_one_configuration(call: Call) -> None:
    assert json.loads(call("schema", "jsFilter").stdout) == Registry().schema("jsFilter")
    result = call("schema", "jsFiltr")
    assert result.exit_code == 2
    assert "did you mean 'jsFilter'?" in result.stderr


def test_forms_and_schemas_of_one_category_come_as_lists(call: Call) -> None:
    forms = json.loads(call("components", "--form", "--category", "filter").stdout)
    assert [form["type"] for form in forms] == Registry().types("filter")
    schemas = json.loads(call("components", "--schema", "--category", "filter").stdout)
    assert len(schemas) == len(forms)
    assert json.loads(call("components", "jsFilter", "--schema").stdout) == Registry().schema("jsFilter")


def test_an_unknown_category_is_wrong_usage_that_names_the_known_ones(call: Call) -> None:
    result = call("components", "--category", "fliter")
    assert result.exit_code == 2
    assert "filter" in result.stderr


def test_a_chain_is_shown_as_the_component_that_it_would_be(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "hot.yaml"
    path.write_text(
        "ruleChain: {id: hot, additionalInfo: {description: Tell what is hot.}}\n"
        "metadata: {nodes: [{id: f, type: exprFilter, configuration: {expr: 'msg.t > ${vars.limit}'}}]}\n",
        encoding="utf-8",
    )
    shown = call("components", "acme/hot", "--component", f"acme/hot={path}")
    assert shown.stdout.startswith("acme/hot")
    assert "Tell what is hot." in shown.stdout
    assert "limit" in shown.stdout
    assert "\n  hot " in call("components", "--component", path, "--category", "custom").stdout
    assert call("components", "--component", "nowhere.yaml").exit_code == 2

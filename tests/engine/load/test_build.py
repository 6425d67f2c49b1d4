"""Building components: placeholders, settings, and problems at their exact places."""

from __future__ import annotations

from pathlib import Path

import pytest

from catenary.definition import ChainDefinition
from catenary.errors import TemplateError
from catenary.expr import Environment
from catenary.load import Settings, build, chain_settings, check, environment_of, read
from catenary.message import Message


def node_text(configuration, kind="t/filter", more=""):
    return f"""{{
  "ruleChain": {{"id": "c", "configuration": {{"vars": {{"o": {{"k": 7}}, "n": 3}}}}}},
  "metadata": {{"nodes": [{{"id": "a", "type": "{kind}", {more} "configuration": {configuration}
  }}]}}
}}"""


def problems(text, registry, settings=None):
    return [
        (problem.line, problem.column, problem.code, problem.text) for problem in check(read(text), registry, settings)
    ]


def test_each_node_comes_with_its_component(registry):
    ((node, component),), found = build(read(node_text('{"limit": "5"}')), registry)
    assert found == []
    assert node.id == "a"
    assert component.config.limit == 5


def test_alias_of_a_type_works(registry):
    (_, component), *_ = build(read(node_text("{}", "t/f")), registry)[0]
    assert type(component).__name__ == "Filter"


def test_placeholders_are_resolved_before_decoding(registry):
    text = node_text('{"limit": "${vars.o.k}", "text": "${global.a.b} ${ruleChain.id}", "password": "${global.key}"}')
    settings = Settings(Environment(properties={"a.b": "x", "key": "k"}))
    ((node, component),), found = build(read(text), registry, settings)
    assert found == []
    assert component.config.limit == 7
    assert component.config.text.source == "x c"
    assert node.configuration["limit"] == "${vars.o.k}"


def test_unresolved_placeholders_are_warnings(registry):
    text = node_text('{"text": "${global.no} ${vars.no}", "parts": [{"weight": "1"}], "mode":\n "${ vars.mode }"}')
    assert problems(text, registry) == [
        (3, 85, "chain.unresolved-placeholder", "node 'a' (t/filter): ${global.no} has no value"),
        (3, 85, "chain.unresolved-placeholder", "node 'a' (t/filter): ${vars.no} has no value"),
        (4, 2, "chain.unresolved-placeholder", "node 'a' (t/filter): ${vars.mode} has no value"),
        (4, 2, "config.invalid", "node 'a' (t/filter): mode must be one of 'fast' or 'slow', not '${ vars.mode }'"),
    ]
    assert check(read(text), registry)[-1].hint == "set a proper value for vars.mode"


def test_values_of_properties_are_not_shown_in_errors(registry):
    found = problems(
        node_text('{"limit": "${global.key}"}'), registry, Settings(Environment(properties={"key": "hunter2"}))
    )
    assert found[0][3] == "node 'a' (t/filter): limit must be a whole number, not '${global.key}'"


def test_problem_of_an_option_stands_at_its_value(registry):
    found = problems(node_text('{\n "LIMIT": 0,\n "parts": [{"weight": "x"}],\n "lmit": 1}'), registry)
    assert found == [
        (4, 11, "config.invalid", "node 'a' (t/filter): limit must be at least 1, not 0"),
        (5, 23, "config.invalid", "node 'a' (t/filter): parts.0.weight must be a whole number, not 'x'"),
        (6, 2, "config.unknown-option", "node 'a' (t/filter): the option 'lmit' is not known"),
    ]


def test_missing_option_stands_at_the_configuration(registry):
    ((line, column, code, text), _) = problems(node_text("\n{}", "endpoint/call"), registry)
    assert (line, column, code) == (4, 1, "config.invalid")
    assert text == "node 'a' (endpoint/call): the option 'restEndpointUrl' is required"


def test_node_without_configuration_gets_defaults(registry):
    ((_, component),), found = build(read({"metadata": {"nodes": [{"id": "a", "type": "t/filter"}]}}), registry)
    assert found == []
    assert component.config.limit == 10


def test_error_of_an_expression_stands_at_the_character(registry):
    found = problems(node_text('{\n "test": "\\u006dsg.a >"}'), registry)
    assert [(line, column, code) for line, column, code, _ in found] == [(4, 23, "expression.syntax")]
    assert found[0][3] == "node 'a' (t/filter): test: expected a value, found the end"


def test_errors_of_templates_and_scripts_have_their_own_codes(registry):
    found = problems(node_text('{"text": "${1 + }", "script": "return ("}'), registry)
    assert [code for _, _, code, _ in found] == ["template.syntax", "script.syntax"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ('"timeout": "5x",', "chain.timeout"),
        ('"timeout": true,', "chain.timeout"),
        ('"retry": -1,', "chain.retry"),
        ('"retry": {"tries": 1},', "chain.retry"),
    ],
)
def test_malformed_policies_are_errors(registry, more, code):
    assert [one[2] for one in problems(node_text("{}", more=more), registry)] == [code]


def test_node_decides_about_templates_before_the_chain(registry):
    nodes = [{"id": kind, "type": "t/filter", "configuration": {"text": "${msg.no.deep}!"}} for kind in ("a", "b", "c")]
    nodes[1]["templates"], nodes[2]["templates"] = "lenient", "lenent"
    document = read({"ruleChain": {"configuration": {"templates": "strict"}}, "metadata": {"nodes": nodes[:2]}})
    strict, lenient = (component.config.text for _, component in build(document, registry)[0])
    with pytest.raises(TemplateError):
        strict.render(Message({}))
    assert lenient.render(Message({})) == "!"
    (problem,) = check(read({"metadata": {"nodes": nodes[2:]}}), registry)
    assert (problem.code, problem.hint) == ("chain.setting", "did you mean 'lenient'?")


def test_retry_on_a_component_that_retries_by_itself_is_a_warning(registry):
    (problem,) = check(read(node_text("{}", "retrying", '"retry": 3,')), registry)
    assert (problem.code, problem.severity) == ("chain.double-retry", "warning")
    assert check(read(node_text("{}", "retrying", '"retry": 0,')), registry) == []


@pytest.mark.parametrize(
    ("method", "code", "hint"),
    [
        ("BAD", "config.invalid", "Give a value as the text says"),
        ("WORSE", "config.invalid", "use another"),
        ("FORMULA", "expression.syntax", "write a formula"),
    ],
)
def test_what_a_component_refuses_is_a_problem(registry, method, code, hint):
    text = node_text(f'{{"url": "u", "method": "{method}"}}', "endpoint/call")
    built, (problem,) = build(read(text), registry)
    assert built == []
    assert problem.code == code
    assert problem.hint.startswith(hint)
    assert "node 'a' (endpoint/call): the method" in problem.text


def test_problems_are_in_order_of_place(registry):
    found = check(read(node_text('{"zzz": 1,\n "limit": 0}', more='"retry": -1, "zzz": 2,')), registry)
    places = [(problem.line, problem.column) for problem in found]
    assert places == sorted(places)
    assert len(found) == 4
    assert all(problem.hint for problem in found)


def test_file_is_named(registry, tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text("ruleChain: {id: 5}\n", encoding="utf-8")
    assert {problem.file for problem in check(read(path), registry)} == {str(path)}


def test_environment_holds_what_chain_and_engine_give():
    head = {"id": "c", "configuration": {"vars": '{"a": 1}', "secrets": {"p": "00"}, "templates": "lenient", "own": 2}}
    definition = read({"ruleChain": head, "metadata": {"nodes": [{"id": "n", "type": "t"}]}}).definition
    settings = Settings(Environment(properties={"x": 1}, functions={"f": len}, roots=(Path("/data"),)))
    environment = environment_of(definition, settings)
    assert environment.vars == {"a": 1}
    assert environment.properties == {"x": 1}
    assert environment.functions == {"f": len}
    assert environment.roots == (Path("/data"),)
    assert environment.nodes == {"n"}
    assert environment.lenient
    assert environment.rule_chain["id"] == "c"
    assert environment.rule_chain["configuration"] == {"vars": '{"a": 1}', "templates": "lenient", "own": 2}


def test_engine_decides_about_templates_when_the_chain_does_not():
    settings = Settings(Environment(lenient=True))
    assert environment_of(ChainDefinition(), settings).lenient
    strict = ChainDefinition(configuration={"templates": "strict"})
    assert not environment_of(strict, settings).lenient


def test_chain_settings_fall_back_to_defaults():
    assert chain_settings(ChainDefinition(configuration={"maxVisits": "20", "vars": ""})).max_visits == 20
    assert chain_settings(ChainDefinition(configuration={"maxVisits": "x"})).max_visits is None

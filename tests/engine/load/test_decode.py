"""Decoding of configurations: what is converted, and what is said about what cannot be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import ConfigDict, field_validator

from catenary.component import Config, option
from catenary.errors import ExpressionError, ScriptError, TemplateError
from catenary.expr import Environment, Expression, Script, Template
from catenary.load import FieldProblem, decode


class Inner(Config):
    """A part of the settings."""

    base_url: str = option(help="Where.")
    retries: int = option(0, help="How often.")


class Settings(Config):
    """Settings with one option of each kind."""

    max_step: int = option(5, ge=1, le=10, help="Steps.")
    rate: float = option(1.0, gt=0, help="Rate.")
    enabled: bool = option(False, help="On.")
    name: str = option("n", min_length=1, max_length=3, help="Name.")
    mode: Literal["fast", "slow"] = option("fast", help="Mode.")
    names: list[str] = option(["default"], help="Names.")
    pair: tuple[int, ...] = option((), help="Numbers.")
    headers: dict[str, str] = option({"a": "b"}, help="Headers.")
    free: dict[str, Any] = option({}, help="Anything.")
    inner: Inner | None = option(None, help="A part.")
    parts: list[Inner] = option([], help="Parts.")
    by_name: dict[str, Inner] = option({}, help="Parts by name.")
    limit: int | str = option(1, help="A number or a text.")
    url: str = option("", also=("address", "endPoint"), help="Where.")
    password: Annotated[int | None, "a note"] = option(None, secret=True, help="Secret.")


def settings(**raw):
    config, problems, unknown = decode(Settings, raw, None)
    assert problems == []
    assert unknown == []
    return config


def problems_of(**raw):
    config, problems, _ = decode(Settings, raw, None)
    assert config is None
    return [(problem.path, problem.text) for problem in problems]


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("max_step", "7", 7),
        ("max_step", 7.0, 7),
        ("max_step", True, 1),
        ("rate", "1.5", 1.5),
        ("rate", 2, 2.0),
        ("enabled", "true", True),
        ("enabled", "1", True),
        ("enabled", 0, False),
        ("name", 12, "12"),
        ("name", 1.5, "1.5"),
        ("name", True, "1"),
        ("name", False, "0"),
        ("names", "a", ["a"]),
        ("names", [1, "b", True], ["1", "b", "1"]),
        ("names", [], []),
        ("pair", 3, (3,)),
        ("pair", ["1", 2], (1, 2)),
        ("headers", {}, {}),
        ("headers", {"n": 1}, {"n": "1"}),
        ("free", {"n": None}, {"n": None}),
        ("limit", "x", "x"),
        ("password", "5", 5),
    ],
)
def test_values_are_converted_where_nothing_is_lost(name, given, value):
    assert getattr(settings(**{name: given}), name) == value


def test_keys_match_without_regard_to_case():
    assert settings(MAXSTEP=3).max_step == 3
    assert settings(maxStep=3).max_step == 3
    assert settings(max_step=3).max_step == 3


def test_other_names_of_an_option_work():
    assert settings(address="a").url == "a"
    assert settings(ENDPOINT="a").url == "a"


def test_null_is_absent():
    assert settings(maxStep=None, headers=None, inner=None).headers == {"a": "b"}


def test_one_mapping_is_a_list_of_one():
    assert settings(parts={"BaseUrl": "u"}).parts == [Inner(base_url="u")]


def test_nested_settings_are_read_alike():
    config = settings(inner={"BASEURL": "u", "retries": "2"}, byName={"x": {"baseurl": "v"}})
    assert config.inner == Inner(base_url="u", retries=2)
    assert config.by_name == {"x": Inner(base_url="v")}


def test_all_problems_are_found_at_once():
    assert problems_of(MAXSTEP="x", rate=0, name="", mode="fats") == [
        (("MAXSTEP",), "maxStep must be a whole number, not 'x'"),
        (("rate",), "rate must be greater than 0.0, not 0"),
        (("name",), "name must not be empty"),
        (("mode",), "mode must be one of 'fast' or 'slow', not 'fats'"),
    ]


RETRIES = "parts.0.retries must be a whole number, not 'x'"


@pytest.mark.parametrize(
    ("raw", "path", "text"),
    [
        ({"maxStep": 1.5}, ("maxStep",), "maxStep must be a whole number, not 1.5"),
        ({"maxStep": 11}, ("maxStep",), "maxStep must be at most 10, not 11"),
        ({"rate": "x"}, ("rate",), "rate must be a number, not 'x'"),
        ({"enabled": "zzz"}, ("enabled",), "enabled must be true or false, not 'zzz'"),
        ({"name": "long"}, ("name",), "name must have at most 3 characters, not 'long'"),
        ({"name": [1]}, ("name",), "name must be a text, not [1]"),
        ({"names": [None]}, ("names", 0), "names.0 must be a text, not null"),
        ({"headers": True}, ("headers",), "headers must be a mapping, not true"),
        ({"names": [{}]}, ("names", 0), "names.0 must be a text, not {}"),
        ({"headers": "x"}, ("headers",), "headers must be a mapping, not 'x'"),
        ({"headers": {"A": {}}}, ("headers", "A"), "headers.A must be a text, not {}"),
        ({"inner": {}}, ("inner", "baseUrl"), "the option 'inner.baseUrl' is required"),
        ({"inner": "x"}, ("inner",), "inner must be a mapping, not 'x'"),
        ({"Parts": [{"baseURL": "u", "Retries": "x"}]}, ("Parts", 0, "Retries"), RETRIES),
        ({"parts": {"baseUrl": "u", "retries": "x"}}, ("parts", "retries"), RETRIES),
        ({"limit": []}, ("limit",), "limit must be a whole number or a text, not []"),
        ({"name": "x" * 80}, ("name",), f"name must have at most 3 characters, not '{'x' * 56}..."),
    ],
)  # fmt: skip
def test_problem_names_the_option_and_its_path(raw, path, text):
    assert problems_of(**raw) == [(path, text)]


def test_value_of_a_secret_is_not_shown():
    assert problems_of(password="hunter2") == [(("password",), "password must be a whole number")]


def test_value_of_a_placeholder_is_not_shown():
    _, problems, _ = decode(Settings, {"maxStep": "hunter2"}, None, written={"maxStep": "${global.key}"})
    assert problems[0].text == "maxStep must be a whole number, not '${global.key}'"


def test_required_option_gets_its_help_as_hint():
    _, problems, _ = decode(Inner, {}, None)
    assert problems == [FieldProblem(("baseUrl",), "the option 'baseUrl' is required", "Where.")]


def test_misspelt_choice_gets_a_guess():
    _, problems, _ = decode(Settings, {"mode": "slwo"}, None)
    assert problems[0].hint == "did you mean 'slow'?"
    _, problems, _ = decode(Settings, {"mode": "zzz"}, None)
    assert problems[0].hint == ""


def test_unknown_options_are_named_with_a_guess():
    config, _, unknown = decode(Settings, {"maxSteps": 3, "inner": {"baseUrl": "u", "zzz": 1}}, None)
    assert config is not None
    assert unknown == [
        FieldProblem(("inner", "zzz"), "the option 'zzz' is not known", "the options are: baseUrl, retries"),
        FieldProblem(("maxSteps",), "the option 'maxSteps' is not known", "did you mean 'maxStep'?"),
    ]


class Renewed(Config):
    """Settings with an option of former times."""

    wait: int = option(0, help="How long.")
    period: int = option(0, help="How long.", deprecated="use `wait`")


def test_deprecated_option_counts_and_is_told_with_what_to_do_instead():
    config, problems, warnings = decode(Renewed, {"Period": "5"}, None)
    assert (config and config.period, problems) == (5, [])
    assert warnings == [
        FieldProblem(("Period",), "the option 'Period' is deprecated", "use `wait`", code="config.deprecated-option")
    ]


@pytest.mark.parametrize("raw", [{"period": 0}, {"period": None}, {"wait": 5}])
def test_deprecated_option_with_its_default_is_not_told(raw):
    assert decode(Renewed, raw, None)[2] == []


def test_option_given_twice_keeps_the_value_under_its_own_name():
    config, _, unknown = decode(Settings, {"address": "a", "url": "u"}, None)
    assert config is not None
    assert config.url == "u"
    assert unknown[0].text == "the option 'address' is 'url' again, which has another value already"


def test_component_without_options_knows_none():
    _, _, unknown = decode(Config, {"a": 1}, None)
    assert unknown[0].hint == "the options are: none"


class Open(Config):
    """Takes any option."""

    model_config = ConfigDict(extra="allow")


def test_open_settings_take_every_option():
    config, _, unknown = decode(Open, {"a": 1}, None)
    assert config is not None
    assert config.model_extra == {"a": 1}
    assert unknown == []


@pytest.mark.parametrize("raw", [None, "x", []])
def test_configuration_that_is_no_mapping_is_a_problem(raw):
    config, problems, _ = decode(Settings, raw, None, written=raw)
    assert config is None
    assert problems[0].text.startswith("the configuration must be a mapping")


class Compiled(Config):
    """Options that are compiled."""

    text: Template = option("", help="Text.")
    test: Expression = option("true", help="Test.")
    script: Script = option("", help="Script.")
    cases: list[Expression] = option([], help="Cases.")


def test_compiled_options_see_the_environment():
    environment = Environment(functions={"twice": lambda value: 2 * value})
    config, problems, _ = decode(Compiled, {"test": "twice(2) == 4", "text": 5, "cases": "1 > 2"}, environment)
    assert problems == []
    assert config is not None
    assert config.text.source == 5
    assert len(config.cases) == 1


def test_errors_of_compiled_options_keep_place_and_hint():
    raw = {"text": "${ 1 + }", "test": "msg.a >", "script": "return (", "cases": ["true", "a b"]}
    config, problems, _ = decode(Compiled, raw, Environment())
    assert config is None
    assert [problem.path for problem in problems] == [("text",), ("test",), ("script",), ("cases", 1)]
    kinds = [type(problem.error) for problem in problems]
    assert kinds == [TemplateError, ExpressionError, ScriptError, ExpressionError]
    assert problems[1].error is not None
    assert problems[1].error.position == 7
    assert all("\n" not in problem.text for problem in problems)


class Checked(Config):
    """Options with rules of their own."""

    even: int = option(0, help="An even number.")
    formula: str = option("", help="A formula.")

    @field_validator("even")
    @classmethod
    def check_even(cls, value: int) -> int:
        """Refuse odd numbers."""
        if value % 2:
            raise ValueError("must be even")
        return value

    @field_validator("formula")
    @classmethod
    def check_formula(cls, value: str) -> str:
        """Refuse what an expression would."""
        if value == "bad":
            raise ExpressionError("is no formula", source=value, position=0, hint="write another")
        return value


def test_rules_of_a_component_speak_for_themselves():
    _, problems, _ = decode(Checked, {"even": 3}, None)
    assert [problem.text for problem in problems] == ["even must be even, not 3"]


def test_expression_error_of_a_rule_is_a_problem():
    _, problems, _ = decode(Checked, {"formula": "bad"}, None)
    assert [(problem.text, problem.hint) for problem in problems] == [("is no formula", "write another")]


class Odd(Config):
    """Options of unusual kinds."""

    when: bytes = option(b"", help="Bytes.")
    several: list[int] | dict[str, Inner] | int = option(0, help="Several kinds.")
    either: Inner | int = option(0, help="Settings or a number.")
    noted: list[Annotated[int, "a note"]] = option([], help="Numbers.")
    formula: int | Expression = option(0, help="A number or a formula.")


def test_unusual_complaints_are_passed_on():
    _, problems, _ = decode(Odd, {"when": []}, None)
    assert problems[0].text == "when input should be a valid bytes"


def test_member_of_a_union_is_chosen_by_shape():
    config, _, _ = decode(Odd, {"several": {"x": {"BASEURL": "u"}}}, None)
    assert config is not None
    assert config.several == {"x": Inner(base_url="u")}


def test_what_is_wrong_inside_is_said_once():
    _, problems, _ = decode(Odd, {"several": [1, "x"]}, None)
    assert [(problem.path, problem.text) for problem in problems] == [
        (("several", 1), "several.1 must be a whole number, not 'x'")
    ]


def test_option_inside_a_member_of_a_union_is_named():
    _, problems, _ = decode(Odd, {"either": {"retries": 1}, "noted": ["x"], "formula": "a b"}, Environment())
    assert [(problem.path, problem.text) for problem in problems] == [
        (("either", "baseUrl"), "the option 'either.baseUrl' is required"),
        (("noted", 0), "noted.0 must be a whole number, not 'x'"),
        (("formula",), "formula: unexpected 'b' (line 1, column 3)"),
    ]


class Misfit(Config):
    """A default that breaks its own rule."""

    limit: int = option(0, ge=1, help="A number.")


def test_wrong_default_is_a_problem_too():
    _, problems, _ = decode(Misfit, {}, None)
    assert problems == [FieldProblem(("limit",), "limit must be at least 1")]


def test_a_complaint_of_a_validator_quotes_what_is_written():
    class Guarded(Config):
        server: str

        @field_validator("server")
        @classmethod
        def _check(cls, server: str) -> str:
            raise ValueError(f"must be an address, not {server!r}")

    _, problems, _ = decode(Guarded, {"server": "hunter2"}, None, written={"server": "${global.key}"})
    assert [one.text for one in problems] == ["server must be an address, not '${global.key}'"]

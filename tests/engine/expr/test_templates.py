"""Templates: text with `${...}` parts."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from catenary.errors import TemplateError
from catenary.expr import Environment, Template
from catenary.message import Message

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = Message(
    {"x": 1, "s": "a", "o": {"b": 1.0}, "t": 2.5}, "made", metadata={"deviceId": "d1", "id": "shadow"}, id="7"
)


def render(source: Any, environment: Environment | None = None) -> str:
    return Template.compile(source, environment).render(MESSAGE)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${msg.x}", "1"),
        ("  ${msg.x}  ", "1"),
        ("$${msg.x}", "$1"),
        ("a ${msg.x} b ${msg.s}!", "a 1 b a!"),
        ("${ {'k': 1}.k }", "1"),
        ("${msg.s + '}'}", "a}"),
        ('x ${"}" + `}`} y', "x }} y"),
        ("${map([1], {# + 1})[0]} z", "2 z"),
        ("${msg.nope}", ""),
        ("-${msg.nope}-", "--"),
        ('{"k": "${msg.s}"}', '{"k": "a"}'),
        ("${msg.o}", '{"b":1}'),
        ("v=${msg.t}", "v=2.5"),
        ("${deviceId}", "d1"),
        ("${id}", "7"),
        ("${nope}", ""),
        ("${metadata.deviceId} ${metadata.nope}|", "d1 |"),
        ("${type}/${dataType}", "made/JSON"),
        ("open ${msg.x", "open ${msg.x"),
        ("${msg.x} ${", "1 ${"),
        ("$x {y}", "$x {y}"),
        ("${msg.x > 0 ? 'yes' : ''}", "yes"),
        ("${1 /* } */ + 1} ", "2"),
        ("${'ok' if true else ''}", "ok"),
        ("${$env['deviceId']}", "d1"),
        ("${let x = msg.x; x + 1}", "2"),
        ("a\n${msg.x}\nb", "a\n1\nb"),
        (5, "5"),
        (True, "true"),
        (None, ""),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_rendering(source: Any, text: str) -> None:
    assert render(source) == text


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("${msg.x}", 1),
        (" ${msg.o}\n", {"b": 1.0}),
        ("${msg.nope}", None),
        ("${msg.x}${msg.x}", "11"),
        ("a", "a"),
        (5, 5),
        ([1], [1]),
        ("x${msg.x}", "x1"),
    ],
)
def test_a_lone_placeholder_keeps_the_kind_of_its_value(source: Any, value: Any) -> None:
    assert Template.compile(source).value(MESSAGE) == value


def test_constants_are_known_as_such() -> None:
    assert Template.compile("a").is_constant
    assert Template.compile({"a": "${x}"}).is_constant
    assert not Template.compile("${msg.x}").is_constant
    assert not Template.compile("")
    assert Template.compile("a")
    assert Template.compile("a") == Template.compile("a")
    assert len({Template.compile("a"), Template.compile("a"), Template.compile([1])}) == 2
    assert repr(Template.compile("a")) == "Template('a')"


def test_all_parts_are_compiled_at_once() -> None:
    with pytest.raises(TemplateError, match="line 2, column 11") as raised:
        Template.compile("first\nthen ${1 +} end")
    assert raised.value.position == 16
    for source in ["${}", "a ${'} b", "a ${ { } b", "${ `} "]:
        with pytest.raises(TemplateError):
            Template.compile(source)


def test_a_failing_part_names_expression_and_place() -> None:
    source = "pre\nx ${msg.no.deep} post"
    with pytest.raises(TemplateError) as raised:
        render(source)
    assert str(raised.value).startswith("expression 'msg.no.deep', line 2, column 5: cannot fetch deep from nil")
    assert source[raised.value.position :].startswith("msg.no.deep")


def test_a_value_without_a_text_names_the_part() -> None:
    with pytest.raises(TemplateError, match=r"expression '\[1/0\]', line 1, column 5: \+Inf"):
        render("a ${[1/0]}")


def test_a_lenient_environment_leaves_a_failing_part_empty(caplog: pytest.LogCaptureFixture) -> None:
    environment = Environment(lenient=True)
    with caplog.at_level(logging.WARNING):
        assert render("a ${msg.no.deep} b ${msg.x} ${[1/0]}.", environment) == "a  b 1 ."
        assert Template.compile("${msg.no.deep}", environment).value(MESSAGE) is None
    assert len(caplog.records) == 3
    assert "cannot fetch deep" in caplog.records[0].reason  # type: ignore[attr-defined]


def test_node_references_are_those_of_all_parts() -> None:
    template = Template.compile("${s1.msg.a} ${s2.data}", Environment(nodes=frozenset({"s1", "s2", "s3"})))
    assert template.node_references == {"s1", "s2"}


def test_a_prompt_made_of_files_renders_exactly(tmp_path: Path) -> None:
    (tmp_path / "ROLE.md").write_text("You route.\nBe ${msg.x} exact.", encoding="utf-8")
    (tmp_path / "RULES.md").write_text("Rules\n", encoding="utf-8")
    environment = Environment(properties={"data_dir": str(tmp_path)}, rule_chain={"id": "intent"}, roots=(tmp_path,))
    source = "\n".join(
        [
            "${include(global.data_dir+'/ROLE.md')}",
            "${include(global.data_dir+'/RULES.md')}",
            "${fileExists(global.data_dir+'/EXTRA.md') ? include(global.data_dir+'/EXTRA.md') : ''}",
            "chain ${ruleChain.id}, ${'<' + ruleChain.id + '>'}",
            "${now()}",
        ]
    )
    lines = Template.compile(source, environment).render(MESSAGE).split("\n")
    assert lines[:-1] == ["You route.", "Be ${msg.x} exact.", "Rules", "", "", "chain intent, <intent>"]
    assert datetime.fromisoformat(lines[-1]).tzinfo is not None
    (tmp_path / "EXTRA.md").write_text("more", encoding="utf-8")
    assert Template.compile(source, environment).render(MESSAGE).split("\n")[4] == "more"

"""Files that are templates themselves."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from catenary.errors import ExpressionError, TemplateError
from catenary.expr import Document, Environment, Expression, Template, includes
from catenary.message import Message

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = Message({"x": 1})


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(roots=(tmp_path,), nodes=frozenset({"s1"}))


def write(environment: Environment, **files: str) -> None:
    for name, text in files.items():
        (environment.roots[0] / f"{name}.md").write_text(text, "utf-8")


def render(source: str, environment: Environment, message: Message = MESSAGE) -> str:
    return Template.compile(source, environment).render(message)


def test_a_file_is_taken_as_it_is_unless_it_is_to_be_evaluated(environment: Environment) -> None:
    write(environment, a="A ${msg.x} ${include('b.md', true)}", b="B ${msg.x + 1}")
    assert render("${include('a.md')}", environment) == "A ${msg.x} ${include('b.md', true)}"
    assert render("${include('a.md', false)}", environment) == "A ${msg.x} ${include('b.md', true)}"
    assert render("${include('a.md', true)}", environment) == "A 1 B 2"
    assert render("- ${include('a.md', true)} -", environment, Message({"x": 5})) == "- A 5 B 6 -"
    assert Template.compile("${include('a.md', true)}", environment).value(MESSAGE) == "A 1 B 2"
    assert render("${include('none.md', true)}", environment) == ""


def test_documents_take_evaluated_files_too(environment: Environment) -> None:
    write(environment, a="A ${msg.x}")
    assert Document.compile("{{ include('a.md', true) }}", environment).render(MESSAGE) == "A 1"


def test_edits_apply_at_once(environment: Environment) -> None:
    write(environment, a="${msg.x}")
    template = Template.compile("${include('a.md', true)}", environment)
    assert [template.render(MESSAGE), template.render(Message({"x": 2}))] == ["1", "2"]
    write(environment, a="new ${msg.x}")
    assert template.render(MESSAGE) == "new 1"


def test_files_that_include_each_other_are_told_by_name(environment: Environment) -> None:
    write(environment, a="${include('b.md', true)}", b="${include('a.md', true)}")
    with pytest.raises(TemplateError, match=r"in a circle: a\.md -> b\.md -> a\.md"):
        render("${include('a.md', true)}", environment)


def test_files_are_included_to_a_depth(environment: Environment) -> None:
    write(environment, **{f"f{n}": f"${{include('f{n + 1}.md', true)}}" for n in range(40)})
    with pytest.raises(TemplateError, match=r"more than 20 deep: f0\.md -> f1\.md"):
        render("${include('f0.md', true)}", environment)


def test_what_is_included_in_all_is_bounded(environment: Environment) -> None:
    write(environment, **{f"f{n}": f"${{include('f{n + 1}.md', true)}}" * 8 for n in range(10)})
    with pytest.raises(TemplateError, match="at most 1000 files"):
        render("${include('f0.md', true)}", environment)


def test_an_error_names_the_files_down_to_the_place(environment: Environment) -> None:
    write(environment, a="${include('b.md', true)}", b="one\n${msg.no.deep}", c="${1 +}")
    with pytest.raises(TemplateError) as raised:
        render("${include('a.md', true)}", environment)
    assert "file 'a.md': " in str(raised.value)
    assert "file 'b.md': expression 'msg.no.deep', line 2, column 3: cannot fetch deep from nil" in str(raised.value)
    with pytest.raises(TemplateError, match=r"file 'c\.md': expected a value"):
        render("${include('c.md', true)}", environment)


def test_a_failing_part_of_a_file_is_empty_in_a_lenient_environment(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    write(environment, a="<${msg.no.deep}>${msg.x}")
    lenient = Environment(roots=environment.roots, lenient=True)
    with caplog.at_level(logging.WARNING):
        assert render("${include('a.md', true)}", lenient) == "<>1"
    assert len(caplog.records) == 1


def test_outputs_of_all_nodes_are_kept_where_a_file_may_name_any(environment: Environment) -> None:
    assert Template.compile("${include('a.md', true)}", environment).node_references == {"s1"}
    assert Template.compile("${include('a.md')}", environment).node_references == set()


def test_expressions_take_files_as_they_are(environment: Environment) -> None:
    write(environment, a="${msg.x}")
    assert Expression.compile("include('a.md')", environment).evaluate(MESSAGE) == "${msg.x}"
    with pytest.raises(ExpressionError, match="is for templates"):
        Expression.compile("include('a.md', true)", environment).evaluate(MESSAGE)


def test_the_second_argument_is_a_bool(environment: Environment) -> None:
    with pytest.raises(TemplateError, match="bool as argument 2"):
        render("${include('a.md', 1)}", environment)
    with pytest.raises(TemplateError, match="takes true or false as argument 2, not nil"):
        render("${include('a.md', msg.nope)}", environment)


def test_few_files_are_kept_compiled(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(includes, "_MAX_KEPT", 1)
    write(environment, a="a${msg.x}", b="b${msg.x}")
    assert [render("${include('a.md', true)}${include('b.md', true)}", environment) for _ in range(2)] == ["a1b1"] * 2

"""`text/template`, through the engine."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from catenary import ChainInvalid, Engine, Message

if TYPE_CHECKING:
    from pathlib import Path


def chain(template: Any = None, *more: dict[str, Any]) -> dict[str, Any]:
    configuration = {} if template is None else {"template": template}
    nodes = [*more, {"id": "t", "type": "text/template", "configuration": configuration}]
    connections = [{"fromId": a["id"], "toId": b["id"], "type": "Success"} for a, b in pairwise(nodes)]
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": connections}}


def run(template: Any, message: Message, *more: dict[str, Any], **options: Any) -> Any:
    engine = Engine(**options)
    try:
        engine.load(chain(template, *more))
        return engine.run_sync("c", message)
    finally:
        engine.close_sync()


MESSAGE = Message({"t": 25.0, "n": None}, "T", metadata={"k": "v"}, id="7", ts=5)


def test_only_the_payload_changes() -> None:
    outcome = run("{{ msg.t }} {{ k }}", MESSAGE)
    message = outcome.message
    assert (message.text, message.data_type, message.type, message.metadata) == ("25 v", "JSON", "T", {"k": "v"})
    assert (message.id, message.ts) == ("7", 5)
    assert outcome.ends[0].relation == "Success"


def test_by_default_the_message_is_shown_on_six_lines() -> None:
    text = run(None, Message('{"a": "x\n"}', "T", data_type="TEXT", id="7", ts=5)).message.text
    assert text == 'id: 7\nts: 5\ntype: T\nmsgType: T\ndata: {\\"a\\": \\"x\\n\\"}\ndataType: TEXT'


def test_numbers_compare_whatever_their_kind() -> None:
    assert run("{% if msg.t > 20 %}hot{% endif %}", MESSAGE).message.text == "hot"


@pytest.mark.parametrize(
    ("source", "text"),
    [("{{ msg.nope }}|{{ msg.n }}|{{ nope }}", "||"), ("{{ 1234567.0 }}", "1234567"), ("{{ [1, 2] }}", "[1,2]")],
)
def test_what_is_not_there_prints_as_nothing_and_numbers_without_exponent(source: str, text: str) -> None:
    assert run(source, MESSAGE).message.text == text


def test_a_field_of_nil_leaves_by_failure_with_the_input() -> None:
    outcome = run("a\n{{ msg.n.deep }}", MESSAGE)
    end = outcome.ends[0]
    assert end.relation == "Failure"
    assert end.message.value == MESSAGE.value
    assert end.message.metadata["errorMsg"] == "node 't': template: line 2: cannot fetch deep from nil"
    assert str(outcome.error) == "node 't' (text/template): template: line 2: cannot fetch deep from nil"


def test_lenient_templates_leave_a_failing_part_empty() -> None:
    settings = {"id": "t", "type": "text/template", "templates": "lenient"}
    definition = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [
        {**settings, "configuration": {"template": "<{{ msg.n.deep }}>{{ msg.t }}"}}
    ]}}  # fmt: skip
    engine = Engine()
    engine.load(definition)
    assert engine.run_sync("c", MESSAGE).message.text == "<>25"


@pytest.mark.parametrize(
    ("node_type", "settings", "place"),
    [
        ("text/template", {"template": "a\n{{ msg.n.deep }}"}, {"field": "template", "file": "", "line": 2}),
        ("delay", {"delayMs": "${msg.n.deep}"}, {"field": "delayMs"}),
        ("functions", {"functionName": "a ${msg.n.deep}"}, {"field": "functionName"}),
    ],
)
def test_a_warning_of_a_lenient_template_names_chain_node_and_field(
    caplog: pytest.LogCaptureFixture, node_type: str, settings: dict[str, Any], place: dict[str, Any]
) -> None:
    node = {"id": "t", "type": node_type, "templates": "lenient", "configuration": settings}
    engine = Engine()
    engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
    engine.run_sync("c", MESSAGE)
    record = next(record for record in caplog.records if "left empty" in record.getMessage())
    assert record.__dict__.items() >= {"chain_id": "c", "node_id": "t", **place}.items()
    engine.close_sync()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ foo() }}", "there is no function 'foo'"),
        ("{{ x | foo }}", "there is no filter 'foo'"),
        ("{% if %}", "Expected an expression"),
        ("file:nope.j2", "there is no document 'nope.j2'"),
        ("file:/etc/passwd", "outside of the folders"),
        ("{{ .msg.x }}", "'{{ .msg.x }}' is a template of Go"),
        ({"tmpl": "x"}, "a document is written as text"),
    ],
)
def test_what_cannot_be_compiled_fails_the_load(source: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(ChainInvalid) as raised:
        run(source, MESSAGE, roots=[tmp_path])
    problem = raised.value.problems[0]
    assert problem.code == "template.syntax"
    assert problem.text.startswith("node 't' (text/template): template: ")
    assert text in problem.text


def test_the_place_of_a_mistake_is_that_in_the_chain(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "ruleChain: {id: c}\nmetadata:\n  nodes:\n    - id: t\n      type: text/template\n      configuration:\n"
        "        template: |\n          one\n          two {{ range .msg.xs }}{{ . }}{{ end }}\n",
        "utf-8",
    )
    with pytest.raises(ChainInvalid) as raised:
        Engine().load(file)
    problem = raised.value.problems[0]
    assert (problem.line, problem.column) == (9, 15)
    assert problem.hint == "In Jinja2 this line is: two {% for item in msg.xs %}{{ item }}{% endfor %}"


def test_a_file_beside_the_chain_is_read_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "mail.j2").write_text("Hi {{ msg.t }}\n", "utf-8")
    file = tmp_path / "c.json"
    file.write_text(
        '{"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "t", "type": "text/template",'
        ' "configuration": {"template": "file:mail.j2"}}]}}',
        "utf-8",
    )
    engine = Engine()
    engine.load(file)
    (tmp_path / "mail.j2").write_text("changed", "utf-8")
    assert engine.run_sync("c", MESSAGE).message.text == "Hi 25"
    engine.close_sync()


def test_placeholders_are_resolved_in_the_text_before_it_is_compiled() -> None:
    assert (
        run("${global.site}: {{ msg.t }} ${msg.t}", MESSAGE, properties={"site": "A"}).message.text == "A: 25 ${msg.t}"
    )


def test_outputs_of_earlier_nodes_are_there() -> None:
    first = {"id": "first", "type": "exprTransform", "configuration": {"mapping": {"a": "1"}}}
    second = {"id": "second", "type": "exprTransform", "configuration": {"mapping": {"b": "2"}}}
    outcome = run("{{ first.msg.a }}{{ first.msgType }}{{ msg.b }}{{ t }}", MESSAGE, first, second)
    assert outcome.message.text == "1T2"

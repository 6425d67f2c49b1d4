"""The two passes over `${...}`: when a chain is loaded, and for each message; through the engine."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from catenary import Engine, Message
from catenary.expr import Environment, Template

BUILT_IN = ["id", "ts", "data", "msg", "msgType", "type", "dataType", "metadata", "global", "vars", "ruleChain"]


def node(node_id: str, component: str = "text/template", **configuration: Any) -> dict[str, Any]:
    return {"id": node_id, "type": component, "configuration": configuration}


def chain(*nodes: dict[str, Any], variables: dict[str, Any] | None = None) -> dict[str, Any]:
    pairs = itertools.pairwise(nodes)
    connections = [{"fromId": a["id"], "toId": b["id"], "type": "Success"} for a, b in pairs]
    return {
        "ruleChain": {
            "id": "two-passes", "name": "N", "root": True, "additionalInfo": {"owner": "me"},
            "configuration": {"vars": variables or {}},
        },
        "metadata": {"nodes": list(nodes), "connections": connections},
    }  # fmt: skip


def run(definition: dict[str, Any], message: Message, properties: dict[str, Any] | None = None) -> str:
    engine = Engine(properties or {})
    try:
        engine.load(definition)
        outcome = engine.run_sync("two-passes", message)
        assert outcome.ok, outcome.error
        return outcome.message.text
    finally:
        engine.close_sync()


MESSAGE = Message({"x": 1}, "T", metadata={"k": "v"})


def test_plain_paths_are_replaced_in_every_text_at_any_depth() -> None:
    definition = chain(
        node("a", "exprTransform", mapping={"a": "'${ global.site.name }'", "b": "'${vars.v}/${ruleChain.id}'"}),
        node("b", "jsTransform", jsScript="msg.c = '${ruleChain.additionalInfo.owner}'; return {msg: msg}"),
        variables={"v": 12},
    )
    assert run(definition, MESSAGE, {"site.name": "S"}) == '{"a":"S","b":"12/two-passes","c":"me"}'


def test_a_property_that_holds_a_placeholder_is_evaluated_by_the_second_pass() -> None:
    definition = chain(node("a", "metadataTransform", mapping={"m": "'${global.late}'"}), node("b", template="{{ m }}"))
    assert run(definition, MESSAGE, {"late": "${msg.x}"}) == "${msg.x}"
    environment = Environment(properties={"late": "<${msg.x}>"})
    from catenary.expr import resolve_placeholders

    text = resolve_placeholders("a ${global.late}", environment)
    assert Template.compile(text, environment).render(MESSAGE) == "a <1>"


def test_what_cannot_be_found_is_tried_again_for_each_message() -> None:
    properties: dict[str, Any] = {}
    environment = Environment(properties=properties)
    template = Template.compile("-${global.later}-", environment)
    assert template.render(MESSAGE) == "--"
    properties["later"] = "x"
    assert template.render(MESSAGE) == "-x-"


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_names_win_over_metadata_keys(name: str) -> None:
    shadowed = Message({"x": 1}, "T", metadata={name: "shadow"}, id="7", ts=5)
    plain = Message({"x": 1}, "T", metadata={}, id="7", ts=5)
    template = Template.compile(f"${{{name}}}")
    expected = template.value(plain) if name != "metadata" else {"metadata": "shadow"}
    assert template.value(shadowed) == expected


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("first.msg.a", "1"),
        ("first.data", '{"a":1}'),
        ("first.metadata.k", "v"),
        ("first.msgType", "T"),
        ("first.type", "T"),
        ("first.dataType", "JSON"),
        ("first.id", "7"),
        ("first.ts", "5"),
        ("first['msg'].a", "1"),
        ("upper(first.msgType)", "T"),
    ],
)
def test_the_output_of_an_earlier_node_is_read_by_its_id(part: str, text: str) -> None:
    definition = chain(
        node("first", "exprTransform", mapping={"a": "1"}),
        node("second", "exprTransform", mapping={"b": "2"}),
        node("third", "functions", functionName="show", param=f"<${{{part}}}>"),
    )
    engine = Engine()
    engine.function("show")(lambda ctx, msg: "Success")
    engine.load(definition)
    outcome = engine.run_sync("two-passes", Message({"x": 1}, "T", metadata={"k": "v"}, id="7", ts=5))
    assert outcome.message.text == f"<{text}>"
    engine.close_sync()


def test_outputs_are_kept_only_of_nodes_that_are_named() -> None:
    seen: dict[str, Any] = {}
    engine = Engine()

    @engine.function("look")
    def look(ctx: Any, msg: Message) -> str:
        seen.update({name: ctx.output(name) for name in ("first", "second")})
        return "Success"

    engine.load(
        chain(
            node("first", "exprTransform", mapping={"a": "1"}),
            node("second", "exprTransform", mapping={"b": "2"}),
            node("third", "functions", functionName="look", param="${first.msgType}"),
        )
    )
    engine.run_sync("two-passes", MESSAGE)
    assert seen["first"].value == {"a": 1}
    assert seen["second"] is None
    engine.close_sync()


def test_a_node_that_has_not_run_is_nil() -> None:
    template = Template.compile("-${later}-${later?.msg.x}-", Environment(nodes=frozenset({"later"})))
    assert template.render(MESSAGE) == "---"

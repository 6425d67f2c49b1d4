"""Options that name nodes of the same chain."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from catenary import Component, Config, Engine, option, register
from catenary.cli._options import options_of
from catenary.component import NodeId, NodeIds, NodeOutput
from catenary.load.form import form
from catenary.load.schema import config_schema


class Inner(Config):
    """Something that names a node deeper down."""

    target: NodeId = option(help="A node.")


class NamesConfig(Config):
    """Names nodes in every way."""

    one: NodeId | None = option(None, help="A node.")
    many: NodeIds = option([], help="Some nodes.", also=["members"])
    output: NodeOutput | None = option(None, help="A node to read.")
    parts: list[Inner] = option([], help="Parts.")
    named: dict[str, NodeId] = option({}, help="By name.")


@register("t/names", category="test")
class Names(Component[NamesConfig]):
    """Names other nodes."""

    def run(self, ctx, msg):
        return "Success"


def check(configuration, **more):
    """Check a chain with a node `names` of this configuration and two others."""
    settings = {"names": configuration, "left": {}, "right": {}} | more
    nodes = [{"id": node_id, "type": "t/names", "configuration": one} for node_id, one in settings.items()]
    ways = [{"fromId": "names", "type": "Success", "toId": node_id} for node_id in ("left", "right")]
    engine = Engine()
    try:
        return engine.check({"metadata": {"nodes": nodes, "connections": ways}})
    finally:
        engine.close_sync()


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        (" a , b,, ", ("a", "b")),
        (["a", " b ", ""], ("a", "b")),
        ([1, "a,b"], ("1", "a,b")),
        (("a", "a"), ("a", "a")),
        (1, ("1",)),
        ("", ()),
        ([], ()),
    ],
)
def test_lists_of_ids_are_read_from_text_and_lists(value, ids):
    read = NamesConfig(many=value).many
    assert isinstance(read, NodeIds)
    assert (read, read.named_nodes) == (ids, ids)


@pytest.mark.parametrize("value", [{}, True, [None], [["a"]], [True]])
def test_what_is_no_list_of_ids_is_refused(value):
    with pytest.raises(ValidationError, match="must be a list of node ids, or a text such as 'a,b'"):
        NamesConfig(many=value)


@pytest.mark.parametrize(("value", "node_id"), [(" a ", "a"), (1, "1")])
def test_an_id_is_read_without_blanks(value, node_id):
    assert NamesConfig(one=value).one == node_id


@pytest.mark.parametrize("value", ["", " ", True, ["a"], {}])
def test_what_is_no_id_is_refused(value):
    with pytest.raises(ValidationError, match="must be the id of a node"):
        Inner(target=value)


def test_only_a_node_output_makes_a_chain_keep_the_output():
    assert NamesConfig(output="a").output.node_references == {"a"}
    assert not hasattr(NamesConfig(one="a").one, "node_references")


def test_settings_are_written_back_as_plain_json():
    config = NamesConfig(one="a", many="a,b", output="c")
    assert config.model_dump(mode="json", include={"one", "many", "output"}) == {
        "one": "a",
        "many": ["a", "b"],
        "output": "c",
    }


def test_names_of_nodes_that_exist_are_no_problem():
    configuration = {"one": "left", "many": "left,right", "output": "right", "parts": [{"target": "left"}]}
    assert check({**configuration, "named": {"x": "right"}}) == []


@pytest.mark.parametrize(
    ("configuration", "option"),
    [
        ({"one": "lft"}, "one"),
        ({"many": "right, lft"}, "many"),
        ({"members": ["right", "lft", "lft"]}, "many"),
        ({"output": "lft"}, "output"),
        ({"parts": [{"target": "right"}, {"target": "lft"}]}, "target"),
        ({"named": {"x": "lft"}}, "x"),
    ],
)
def test_a_name_of_no_node_is_a_warning_with_a_guess(configuration, option):
    (problem,) = check(configuration)
    assert (problem.code, problem.severity, problem.hint) == ("config.unknown-node", "warning", "did you mean 'left'?")
    assert problem.text == f"node 'names' (t/names): {option} names no node: 'lft' does not exist"


def test_without_a_guess_the_nodes_are_listed():
    assert check({"one": "zzzzz"})[0].hint == "the nodes are: names, left, right"


def test_the_place_of_a_name_is_that_of_its_option():
    engine = Engine()
    text = '{"metadata": {"nodes": [{"id": "n", "type": "t/names",\n "configuration": {"many":\n  ["n2"]}}]}}'
    (problem,) = engine.check(text)
    engine.close_sync()
    assert (problem.line, problem.column) == (3, 3)


@pytest.mark.parametrize(
    ("configuration", "more", "cycle"),
    [
        ({"many": "names"}, {}, "names -> names"),
        ({"one": "left"}, {"left": {"many": "right"}, "right": {"one": "names"}}, "names -> left -> right -> names"),
    ],
)
def test_a_node_that_runs_itself_is_an_error(configuration, more, cycle):
    (problem,) = check(configuration, **more)
    assert (problem.code, problem.severity) == ("config.runs-itself", "error")
    assert problem.text == f"node 'names' (t/names): the node runs itself: {cycle}"


def test_a_placeholder_without_a_value_is_told_once():
    assert [problem.code for problem in check({"one": "${vars.node}"})] == ["chain.unresolved-placeholder"]


@pytest.mark.parametrize("name", ["${metadata.node}", "${ruleChain.nothing}", "a-${msg.node}"])
@pytest.mark.parametrize("option", ["one", "many", "output"])
def test_a_node_cannot_be_named_by_a_part_of_the_message(option, name):
    (problem,) = check({option: name})
    assert (problem.code, problem.severity) == ("config.unknown-node", "warning")
    assert problem.text == f"node 'names' (t/names): {option} names no node: {name!r} does not exist"
    assert problem.hint == "it is read once, when the chain is loaded: no part of a message can be named in it"


def test_reading_the_own_output_is_no_problem():
    assert check({"output": "names"}) == []


def test_forms_and_schema_know_the_kinds():
    types = {field["name"]: field["type"] for field in form(Names)["fields"]}
    assert (types["one"], types["many"], types["output"]) == ("string", "string", "string")
    properties = config_schema(Names)["properties"]
    kinds = [way.get("type") for way in properties["many"]["anyOf"]]
    assert kinds[:2] == ["string", "array"]


def test_a_list_of_ids_is_one_option_however_it_is_written():
    for written in ("a, b", ["a", "b"]):
        (shown,) = options_of(NamesConfig(many=written), {"many": written}, {"many": written})
        assert (shown.path, shown.compiled) == ("many", ("a", "b"))

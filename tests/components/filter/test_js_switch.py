"""`jsSwitch`: which relations a message leaves by, and what becomes of names that nobody connected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catenary import BINARY, JSON, TEXT, Chain, ChainInvalid, End, Engine, Message

Load = Callable[..., Chain]
Send = Callable[..., End]
ENDS = ["hot:fork", "cold:fork", "other:fork"]


def ways(load: Load, script: str, connections: str) -> list[str]:
    """Give where a message ends: the relations where nothing is connected, then the nodes in their order."""
    chain = load([("node:jsSwitch", {"jsScript": script}), *ENDS], connections)
    ends = chain.run_sync(Message({"t": 60})).ends
    return [end.node_id if end.node_id != "node" else f"<{end.relation}>" for end in ends]


def test_every_element_is_a_relation_in_order(load: Load) -> None:
    connected = "node Hot hot, node Cold cold"
    assert ways(load, "return ['Hot', 'Cold'];", connected) == ["hot", "cold"]
    assert ways(load, "return ['Cold', 'Hot'];", connected) == ["cold", "hot"]


def test_a_relation_that_is_returned_twice_is_left_by_twice(load: Load) -> None:
    assert ways(load, "return ['Hot', 'Hot'];", "node Hot hot") == ["hot", "hot"]


def test_a_name_that_is_not_connected_leaves_by_default(load: Load) -> None:
    assert ways(load, "return ['Hot', 'Absent'];", "node Hot hot, node Default other") == ["hot", "other"]


def test_each_name_that_is_not_connected_leaves_by_default(load: Load) -> None:
    assert ways(load, "return ['A', 'B'];", "node Default other") == ["other", "other"]


def test_without_a_default_the_branch_ends_with_the_returned_name(load: Load) -> None:
    assert ways(load, "return ['Absent'];", "node Hot hot") == ["<Absent>"]
    assert ways(load, "return ['Hot', 'Absent'];", "node Hot hot") == ["<Absent>", "hot"]


def test_a_property_names_the_default_relation(load: Load, engine: Engine) -> None:
    named = Engine({"defaultRelationType": "Else"})
    nodes = [{"id": "node", "type": "jsSwitch", "configuration": {"jsScript": "return ['Absent'];"}}]
    nodes += [{"id": name, "type": "fork", "configuration": {}} for name in ("usual", "other")]
    connections = [
        {"fromId": "node", "type": "Else", "toId": "other"},
        {"fromId": "node", "type": "Default", "toId": "usual"},
    ]
    chain = named.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": connections}})
    assert [end.node_id for end in chain.run_sync("{}").ends] == ["other"]
    named.close_sync()


def test_an_empty_list_leaves_by_default(load: Load) -> None:
    assert ways(load, "return [];", "node Hot hot, node Default other") == ["other"]


def test_an_empty_list_without_a_default_ends_the_branch(load: Load) -> None:
    chain = load([("node:jsSwitch", {"jsScript": "return [];"}), *ENDS], "node Hot hot")
    outcome = chain.run_sync(Message({"t": 60}))
    assert outcome.ok
    assert [(end.node_id, str(end.relation)) for end in outcome.ends] == [("node", "")]


@pytest.mark.parametrize(
    ("element", "name"),
    [("1", "1"), ("1.5", "1.5"), ("1e21", "1000000000000000000000"), ("true", "true"), ("null", ""), ("undefined", ""),
     ("{a: 1}", '{"a":1}'), ("new String('s')", "s"), ("String(dataType)", "JSON"), ("dataType", "JSON")],
)  # fmt: skip
def test_an_element_becomes_text(send: Send, element: str, name: str) -> None:
    assert send("jsSwitch", {"jsScript": f"return [{element}];"}).relation == name


def test_elements_of_several_kinds_are_relations(load: Load) -> None:
    assert ways(load, "return [1, true, null];", "node 1 hot, node true cold") == ["<>", "hot", "cold"]


@pytest.mark.parametrize(
    "returned", ["'Hot'", "5", "true", "null", "undefined", "{length: 1}", "() => 1", "Promise.resolve(['Hot'])",
                 "new Set(['Hot'])", "new Uint8Array(1)"],
)  # fmt: skip
def test_what_is_no_array_is_a_failure(send: Send, returned: str) -> None:
    end = send("jsSwitch", {"jsScript": f"return {returned};"})
    assert (end.relation, end.message.metadata["errorMsg"]) == ("Failure", "return the value is not an array")


def test_returning_nothing_is_a_failure(send: Send) -> None:
    assert send("jsSwitch", {"jsScript": ""}).message.metadata["errorMsg"] == "return the value is not an array"
    assert send("jsSwitch", {"jsScript": "msg;"}).message.metadata["errorMsg"] == "return the value is not an array"


def test_what_is_thrown_is_a_failure(send: Send) -> None:
    end = send("jsSwitch", {"jsScript": "throw 'no way';"}, '{ "t": 1 }')
    assert (end.relation, end.message.metadata["errorMsg"], end.message.data) == ("Failure", "no way", '{ "t": 1 }')


def test_a_syntax_error_is_refused_with_its_place(send: Send) -> None:
    with pytest.raises(ChainInvalid, match=r"line 1, column \d+"):
        send("jsSwitch", {"jsScript": "return ['a';"})


@pytest.mark.parametrize("data_type", [JSON, TEXT, BINARY])
def test_the_data_type_is_a_plain_string(send: Send, data_type: str) -> None:
    script = f"return [typeof dataType + (dataType === '{data_type}')];"
    assert send("jsSwitch", {"jsScript": script}, "1", data_type=data_type).relation == "stringtrue"


def test_the_default_script_names_two_message_types(send: Send, load: Load) -> None:
    chain = load(["node:jsSwitch", *ENDS], "node msgType1 hot, node msgType2 cold")
    assert [end.node_id for end in chain.run_sync("{}").ends] == ["hot", "cold"]


def test_empty_json_is_an_empty_object(send: Send) -> None:
    assert send("jsSwitch", {"jsScript": "return [JSON.stringify(msg)];"}, "").relation == "{}"


def test_what_a_script_writes_stays_in_it(load: Load) -> None:
    chain = load(
        [
            ("node:jsSwitch", {"jsScript": "msg.t = 99; metadata.k = 'w'; return ['Go'];"}),
            ("look:exprFilter", {"expr": "msg.t == 60 && metadata.k == 'v'"}),
        ],
        "node Go look",
    )
    (end,) = chain.run_sync(Message({"t": 60}, metadata={"k": "v"})).ends
    assert end.relation == "True"

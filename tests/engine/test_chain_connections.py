"""Connections from a node to a whole chain."""

from __future__ import annotations

from catenary import Engine, Message

SUB = {
    "ruleChain": {"id": "sub"},
    "metadata": {
        "nodes": [{"id": "double", "type": "exprTransform", "configuration": {"expr": "int(msg) * 2"}}],
        "connections": [],
    },
}
MAIN = {
    "ruleChain": {"id": "main"},
    "metadata": {
        "nodes": [{"id": "hot", "type": "exprFilter", "configuration": {"expr": "int(msg) > 1"}}],
        "connections": [],
        "ruleChainConnections": [{"fromId": "hot", "toId": "sub", "type": "True"}],
    },
}


def test_a_connection_to_a_chain_runs_it_and_gives_its_ends() -> None:
    with Engine() as engine:
        engine.load(SUB)
        engine.load(MAIN)
        outcome = engine.run_sync("main", Message("21"))
    assert [(end.node_id, end.relation, end.message.data) for end in outcome.ends] == [("chain:sub", "Success", "42")]


def test_a_connection_to_a_chain_is_written_back_as_it_was() -> None:
    with Engine() as engine:
        written = engine.load(MAIN).to_dict()["metadata"]
    assert [node["id"] for node in written["nodes"]] == ["hot"]
    assert written["ruleChainConnections"] == [{"fromId": "hot", "toId": "sub", "type": "True"}]


def test_a_chain_that_is_not_there_is_a_failure() -> None:
    with Engine() as engine:
        engine.load(MAIN)
        outcome = engine.run_sync("main", Message("21"))
    assert outcome.status == "failed"
    assert outcome.message.metadata["errorMsg"] == "ruleChain id=sub not found"


def test_a_node_may_have_the_name_that_stands_for_a_chain() -> None:
    nodes = [*MAIN["metadata"]["nodes"], {"id": "chain:sub", "type": "log"}]
    metadata = {
        **MAIN["metadata"],
        "nodes": nodes,
        "connections": [{"fromId": "hot", "toId": "chain:sub", "type": "True"}],
    }
    with Engine() as engine:
        engine.load(SUB)
        engine.load({**MAIN, "metadata": metadata})
        outcome = engine.run_sync("main", Message("21"))
    assert sorted((end.node_id, end.message.data) for end in outcome.ends) == [
        ("chain:sub", "21"),
        ("chain:sub'", "42"),
    ]

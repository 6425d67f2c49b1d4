"""What a picture of a chain shows."""

from __future__ import annotations

from tests.engine.drawing.kit import chain

from catenary.drawing import Port

LOGS: list[dict[str, object]] = [{"id": "a", "type": "log", "name": "First"}, {"id": "b", "type": "log", "name": "b"}]


def test_relations_that_lead_to_the_same_nodes_share_a_port() -> None:
    diagram = chain(LOGS, [("a", "Success", "b"), ("a", "Failure", "b")])

    assert diagram.ports == (Port("a", ("Success", "Failure"), ("b",)),)
    assert diagram.ports[0].label == "Success, Failure"


def test_a_relation_to_several_nodes_is_one_port() -> None:
    diagram = chain([*LOGS, {"id": "c", "type": "log"}], [("a", "Success", "b"), ("a", "Success", "c")])

    assert diagram.ports == (Port("a", ("Success",), ("b", "c")),)


def test_shapes_tell_joins_and_ends_from_others() -> None:
    nodes: list[dict[str, object]] = [{"id": name, "type": name} for name in ("log", "join", "end")]

    assert [box.shape for box in chain(nodes, []).boxes] == ["box", "join", "end"]


def test_a_name_like_the_id_is_not_shown_twice() -> None:
    assert [box.name for box in chain(LOGS, []).boxes] == ["First", ""]


def test_a_type_without_component_is_unknown() -> None:
    (box,) = chain([{"id": "a", "type": "nothing/known"}], []).boxes

    assert (box.type, box.category) == ("nothing/known", "unknown")


def test_what_the_first_node_does_not_lead_to_is_not_reached() -> None:
    assert [box.reached for box in chain(LOGS, []).boxes] == [True, False]


def test_a_node_that_is_only_named_is_shown_as_missing() -> None:
    ghost = chain(LOGS, [("b", "Success", "ghost")]).boxes[-1]

    assert (ghost.id, ghost.shape, ghost.type) == ("ghost", "missing", "no such node")


def test_first_node_index_says_where_messages_enter() -> None:
    from catenary.drawing import diagram_of
    from catenary.load import read
    from catenary.registry import Registry

    document = {"ruleChain": {"id": "c"}, "metadata": {"firstNodeIndex": 1, "nodes": LOGS, "connections": []}}

    assert diagram_of(read(document).definition, Registry()).entry == "b"


def test_another_chain_is_a_box_of_its_own() -> None:
    from catenary.drawing import diagram_of
    from catenary.load import read
    from catenary.registry import Registry

    onward = [{"fromId": "a", "type": "Success", "toId": "other"}]
    document = {"ruleChain": {"id": "c"}, "metadata": {"nodes": LOGS, "ruleChainConnections": onward}}
    box = diagram_of(read(document).definition, Registry()).boxes[-1]

    assert (box.id, box.shape, box.type) == ("other", "chain", "another chain")

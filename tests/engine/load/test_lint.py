"""What is found wrong with a chain as a whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catenary import FAILURE, FALSE, TRUE
from catenary.component import Component, Config
from catenary.load import CODES, Settings, build, check, read
from catenary.registry import Registry


def chain(nodes, connections=(), *, head=None, **body):
    """Make a chain from `{"a": "type"}` and `"a True b"`."""
    written = [{"id": node_id, "type": kind} for node_id, kind in nodes.items()]
    edges = [dict(zip(("fromId", "type", "toId"), edge.split(" "), strict=True)) for edge in connections]
    return read({"ruleChain": head or {}, "metadata": {"nodes": written, "connections": edges, **body}})


def found(document, registry, settings=None):
    return [(problem.code, problem.severity, problem.text) for problem in check(document, registry, settings)]


def hints(document, registry):
    return [problem.hint for problem in check(document, registry)]


def test_sound_chain_has_no_problems(registry):
    document = chain({"a": "t/filter", "b": "pass", "c": "end"}, ["a True b", "a Failure b", "b Success c"])
    assert found(document, registry) == []


def test_duplicate_ids_are_errors(registry):
    document = read({"metadata": {"nodes": [{"id": "node1", "type": "pass"}, {"type": "pass"}]}})
    text = "two nodes have the id 'node1': nodes[0] and nodes[1]"
    assert ("chain.duplicate-id", "error", text) in found(document, registry)


def test_dangling_connections_are_errors_with_a_guess(registry):
    document = chain({"alpha": "pass", "beta": "pass"}, ["alpha Success bta", "zzz Success beta", "alpha Failure beta"])
    assert [one[:2] + one[2:] for one in found(document, registry)] == [
        ("chain.unknown-node", "error", "toId names no node: 'bta' does not exist"),
        ("chain.unknown-node", "error", "fromId names no node: 'zzz' does not exist"),
    ]
    assert hints(document, registry) == ["did you mean 'beta'?", "the nodes are: alpha, beta"]


def test_empty_connection_is_an_error(registry):
    document = read({"metadata": {"nodes": [{"id": "a", "type": "pass"}], "connections": [{}]}})
    texts = [text for _, _, text in found(document, registry)]
    assert texts == ["the connection has no fromId", "the connection has no toId"]


def test_connection_to_a_chain_needs_only_its_node(registry):
    connections = [{"fromId": "a", "toId": "other-chain", "type": "Success"}, {"fromId": "b", "toId": "x", "type": ""}]
    document = chain({"a": "pass"}, ruleChainConnections=connections)
    assert found(document, registry) == [("chain.unknown-node", "error", "fromId names no node: 'b' does not exist")]


def test_connection_to_no_chain_is_one_error(registry):
    document = chain({"a": "pass"}, ruleChainConnections=[{"fromId": "a", "toId": "", "type": "Success"}])
    assert found(document, registry) == [("chain.unknown-node", "error", "the connection has no toId")]


def test_connection_to_a_chain_given_twice_is_found(registry):
    twice = [{"fromId": "a", "toId": "x", "type": "Success"}] * 2
    document = chain({"a": "pass"}, ruleChainConnections=twice)
    assert [code for code, _, _ in found(document, registry)] == ["chain.duplicate-connection"]


def test_unknown_type_is_an_error_with_a_guess(registry):
    document = chain({"a": "pas", "b": ""}, ["a Success b"])
    assert found(document, registry) == [
        ("chain.unknown-type", "error", "node 'a': component not found. componentType=pas"),
        ("chain.unknown-type", "error", "node 'b' has no type"),
    ]
    assert hints(document, registry)[0] == "did you mean 'pass'?"


def test_cycle_is_an_error_that_names_it(registry):
    document = chain({"a": "pass", "b": "pass", "c": "pass"}, ["a Success b", "b Success c", "c Success b"])
    assert found(document, registry) == [("chain.cycle", "error", "cycle detected in rule chain: b -> c -> b")]


def test_cycle_through_parallel_connections_is_named_once_at_the_first(registry):
    text = '{"metadata": {"nodes": [{"id": "a", "type": "pass"}], "connections": [\n'
    text += '{"fromId": "a", "toId": "a", "type": "Success"},\n{"fromId": "a", "toId": "a", "type": "Failure"}]}}'
    assert [(problem.line, problem.code) for problem in check(read(text), registry)] == [(2, "chain.cycle")]


def test_long_cycle_is_shortened(registry):
    names = [f"n{index}" for index in range(20)]
    edges = [f"{name} Success {names[(index + 1) % 20]}" for index, name in enumerate(names)]
    ((_, _, text),) = found(chain(dict.fromkeys(names, "pass"), edges), registry)
    assert text.endswith("n8 -> n9 -> ... -> n0")


@pytest.mark.parametrize(("own", "engine", "refused"), [(True, False, False), (None, True, False), (False, True, True)])
def test_chain_decides_about_cycles_before_the_engine(registry, own, engine, refused):
    head = {"configuration": {"allowCycle": own}}
    document = chain({"a": "pass"}, ["a Success a"], head=head)
    assert bool(found(document, registry, Settings(allow_cycle=engine))) is refused


def test_join_as_first_node_is_an_error(registry):
    document = chain({"j": "join"})
    assert found(document, registry) == [
        ("chain.join-first", "error", "node 'j' (join): a join cannot be the first node")
    ]


class Leading(Component[Config]):
    """Lead on."""

    relations = (TRUE, FALSE, FAILURE)
    onward = (TRUE,)

    def run(self, ctx, msg):
        return TRUE


def test_a_relation_that_has_to_lead_on_and_does_not_is_an_error():
    registry = Registry()
    registry.register("test/leading", category="test")(Leading)
    nodes = {"a": "test/leading", "b": "test/leading"}
    assert found(chain(nodes, ["a True b", "b True a"], head={"configuration": {"allowCycle": True}}), registry) == []
    alone = chain(nodes, ["a True b", "b False a"], head={"configuration": {"allowCycle": True}})
    text = "node 'b' (test/leading): nothing is connected to its relation 'True'"
    assert found(alone, registry) == [("chain.leads-nowhere", "error", text)]
    assert hints(alone, registry) == ["connect it to another node. The condition holds."]
    elsewhere = {"ruleChainConnections": [{"fromId": "b", "type": "True", "toId": "other"}]}
    assert found(chain(nodes, ["a True b"], **elsewhere), registry) == []


def test_join_that_nothing_reaches_is_an_error(registry):
    document = chain({"a": "pass", "b": "pass", "j": "join"}, ["b Success j"])
    assert [(code, severity) for code, severity, _ in found(document, registry)] == [
        ("chain.unreachable-node", "warning"),
        ("chain.unreachable-join", "error"),
    ]


def test_node_that_a_configuration_names_is_reached(registry):
    nodes = [{"id": "a", "type": "pass", "configuration": {"do": ["x, b", {"y": "chain:c"}]}}]
    nodes += [{"id": node_id, "type": "pass"} for node_id in "bcd"]
    document = read({"metadata": {"nodes": nodes}})
    texts = [problem.text for problem in check(document, registry) if problem.code == "chain.unreachable-node"]
    assert texts == ["node 'd' (pass): no path leads here from the first node"]


def test_node_that_an_endpoint_names_is_reached(registry):
    endpoint = {"id": "e", "type": "bell", "routers": [{"to": {"path": "this:b"}}]}
    assert found(chain({"a": "pass", "b": "pass"}, endpoints=[endpoint]), registry) == []


def test_unconnected_comment_is_no_unreachable_node(registry):
    assert found(chain({"a": "pass", "n": "comment"}), registry) == []


def test_endpoints_in_a_sub_chain_are_errors(registry):
    document = chain({"a": "pass"}, head={"root": False}, endpoints=[{"id": "e", "type": "bell"}])
    assert found(document, registry) == [
        ("chain.endpoint-in-sub-chain", "error", "endpoint 'e': a chain with root false may not have endpoints")
    ]


def test_negative_first_node_index_is_an_error(registry):
    text = "firstNodeIndex is -1; it counts from 0"
    assert found(chain({"a": "pass"}, firstNodeIndex=-1), registry) == [("chain.first-node-index", "error", text)]


def test_first_node_index_past_the_end_is_a_warning(registry):
    text = "firstNodeIndex is 1, past the 1 nodes: the chain counts as empty"
    assert found(chain({"a": "pass"}, firstNodeIndex=1), registry) == [("chain.no-nodes", "warning", text)]


def test_negative_first_node_index_without_nodes_is_an_error(registry):
    codes = [code for code, _, _ in found(chain({}, firstNodeIndex=-1), registry)]
    assert codes == ["chain.no-nodes", "chain.first-node-index"]


def test_empty_chain_is_a_warning(registry):
    assert found(read({}), registry) == [("chain.no-nodes", "warning", "the rule chain has no nodes")]


def test_chain_whose_nodes_are_all_wrong_is_not_called_empty(registry):
    assert [code for code, _, _ in found(read({"metadata": {"nodes": [None]}}), registry)] == ["chain.shape"]


def test_disabled_chain_is_an_error(registry):
    assert ("chain.disabled", "error", "the rule chain has been disabled") in found(
        chain({"a": "pass"}, head={"disabled": True}), registry
    )


@pytest.mark.parametrize(
    ("mode", "hint"), [("detial", "did you mean 'detail'?"), (True, "Use `off`, `summary` or `detail`.")]
)
def test_a_run_log_mode_that_is_none_is_a_warning_at_its_place(registry, mode, hint):
    head = {"additionalInfo": {"runLogMode": mode}}
    text = json.dumps({"ruleChain": head, "metadata": {"nodes": [{"id": "a", "type": "pass"}]}})
    [problem] = check(read(text), registry)
    assert (problem.code, problem.severity, problem.hint) == ("chain.run-log-mode", "warning", hint)
    assert problem.column == text.index(json.dumps(mode)) + 1


@pytest.mark.parametrize("mode", ["off", " Summary", "DETAIL", "", None])
def test_run_log_modes_are_known_without_regard_to_case(registry, mode):
    assert found(chain({"a": "pass"}, head={"additionalInfo": {"runLogMode": mode}}), registry) == []


def test_relation_that_a_component_never_emits_is_a_warning(registry):
    document = chain({"a": "t/filter", "b": "pass"}, ["a Ture b"])
    text = "node 'a' (t/filter): relation 'Ture' is not one of True, False, Failure"
    assert found(document, registry) == [("chain.unknown-relation", "warning", text)]
    assert hints(document, registry) == ["did you mean 'True'?"]


def test_any_relation_may_follow_a_switch(registry):
    assert found(chain({"a": "switch", "b": "pass"}, ["a any b"]), registry) == []


@pytest.mark.parametrize("relation", ["Hot", "Default", "Failure"])
def test_relations_that_settings_name_are_known_besides_the_declared_ones(registry, relation):
    assert found(cases_chain(relation, ["Hot", "Warm"]), registry) == []


@pytest.mark.parametrize(
    ("relation", "ways", "known", "hint"),
    [
        ("hot", ["Hot", "Warm", "Hot"], "Hot, Warm, Default, Failure", "did you mean 'Hot'?"),
        ("Any", [], "Default, Failure", "use one of Default, Failure"),
    ],
)
def test_relation_that_settings_do_not_name_is_a_warning(registry, relation, ways, known, hint):
    document = cases_chain(relation, ways)
    text = f"node 'a' (cases): relation {relation!r} is not one of {known}"
    assert found(document, registry) == [("chain.unknown-relation", "warning", text)]
    assert hints(document, registry) == [hint]


def test_relations_of_settings_that_cannot_be_read_are_not_complained_about(registry):
    assert [code for code, _, _ in found(cases_chain("hot", [{}]), registry)] == ["config.invalid"]


def cases_chain(relation, ways):
    nodes = [{"id": "a", "type": "cases", "configuration": {"ways": ways}}, {"id": "b", "type": "pass"}]
    connections = [{"fromId": "a", "type": relation, "toId": "b"}]
    return read({"ruleChain": {}, "metadata": {"nodes": nodes, "connections": connections}})


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        ({"type": True}, ["chain.shape"]),
        ({"type": 5}, ["chain.shape"]),
        ({"type": ""}, ["chain.unknown-relation"]),
        ({"type": None}, ["chain.unknown-relation"]),
        ({}, ["chain.unknown-relation"]),
    ],
)
def test_relation_that_is_no_text_is_told_once(registry, written, codes):
    nodes = [{"id": "a", "type": "t/filter"}, {"id": "b", "type": "pass"}]
    connections = [{"fromId": "a", "toId": "b", **written}]
    document = read({"ruleChain": {}, "metadata": {"nodes": nodes, "connections": connections}})
    assert [problem.code for problem in check(document, registry)] == codes


def test_connection_from_an_end_is_a_warning(registry):
    document = chain({"a": "end", "b": "pass"}, ["a Success b"])
    text = "node 'a' (end): branches end here, so the connection is never taken"
    assert found(document, registry) == [("chain.unknown-relation", "warning", text)]


def test_same_connection_twice_is_a_warning(registry):
    document = chain({"a": "pass", "b": "pass"}, ["a Success b", "a Success b"])
    text = "the connection a -Success-> b is there twice"
    assert found(document, registry) == [("chain.duplicate-connection", "warning", text)]


def test_strict_makes_warnings_errors(registry):
    nodes = {"a": "pass", "b": "pass"}
    by_engine = check(chain(nodes), registry, Settings(strict=True))
    by_chain = check(chain(nodes, head={"configuration": {"strict": "true"}}), registry)
    assert [problem.severity for problem in (*by_engine, *by_chain)] == ["error", "error"]


def test_wrong_chain_settings_are_errors(registry):
    configuration = {"maxVisits": 0, "onFailure": "stp", "allowCycles": True, "anything": 1, "vars": "{"}
    document = chain({"a": "pass"}, head={"configuration": configuration})
    problems = {problem.text: (problem.code, problem.hint) for problem in check(document, registry)}
    assert problems["maxVisits must be at least 1, not 0"][0] == "chain.setting"
    assert problems["onFailure must be one of 'continue' or 'stop', not 'stp'"][1] == "did you mean 'stop'?"
    assert problems["the option 'allowCycles' is not known"] == ("chain.unknown-key", "did you mean 'allowCycle'?")
    assert any(text.startswith("vars is a text that is not JSON") for text in problems)
    assert len(problems) == 4


WORDS = st.sampled_from(
    [
        "id",
        "type",
        "ruleChain",
        "metadata",
        "nodes",
        "connections",
        "configuration",
        "endpoints",
        "firstNodeIndex",
        "fromId",
        "toId",
        "test",
        "limit",
        "parts",
        "timeout",
        "retry",
        "vars",
        "strict",
        "a",
        "b",
        "t/filter",
        "join",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
NODES = st.fixed_dictionaries(
    {}, optional={"id": LEAVES, "type": WORDS | LEAVES, "configuration": ANYTHING, "timeout": LEAVES, "retry": ANYTHING}
)
EDGES = st.fixed_dictionaries({}, optional={"fromId": WORDS | LEAVES, "toId": WORDS | LEAVES, "type": LEAVES})
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "nodes": st.lists(NODES | ANYTHING, max_size=4) | ANYTHING,
        "connections": st.lists(EDGES | ANYTHING, max_size=4) | ANYTHING,
        "endpoints": ANYTHING,
        "firstNodeIndex": LEAVES,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional={"ruleChain": ANYTHING, "metadata": BODIES | ANYTHING}))
def test_no_document_makes_the_check_fail(registry, document):
    built, problems = build(read(document), registry)
    assert all(problem.code in CODES and problem.text and problem.hint for problem in problems)
    assert len(built) <= len(read(document).definition.nodes)
    placed = read(json.dumps(document))
    assert sorted(one.text for one in check(placed, registry)) == sorted(one.text for one in problems)
    assert all(one.line for one in check(placed, registry))


def test_every_code_explains_itself():
    for name, code in CODES.items():
        assert name == code.name
        assert all(text.endswith((".", "?")) for text in (code.meaning, code.cause, code.cure))


@pytest.mark.parametrize("template", ["${mgs.t}", "/a/${mgs.t}/b", "x ${uper(msg.a)}"])
def test_unknown_names_in_templates_are_warnings_too(registry, template):
    nodes = [{"id": "a", "type": "t/filter", "configuration": {"text": template}}]
    text = json.dumps({"metadata": {"nodes": nodes}})
    (problem,) = check(read(text), registry)
    assert (problem.code, problem.severity) == ("expression.unknown-name", "warning")
    assert problem.hint.startswith("did you mean")


def test_unknown_names_of_expressions_that_are_like_known_ones_are_warnings(registry):
    text = json.dumps(
        {
            "metadata": {
                "nodes": [
                    {
                        "id": "sensor",
                        "type": "t/filter",
                        "configuration": {"test": "mgs.t > 1 && senser.msg.a == other"},
                    },
                    {"id": "s2", "type": "t/filter", "configuration": {"test": "uper(msg.a) == 'A'"}},
                ],
                "connections": [{"fromId": "sensor", "toId": "s2", "type": "True"}],
            }
        }
    )
    problems = check(read(text), registry)
    assert {(problem.code, problem.severity) for problem in problems} == {("expression.unknown-name", "warning")}
    assert [problem.hint for problem in problems] == [
        "did you mean 'msg'?",
        "did you mean 'sensor'?",
        "did you mean 'upper'?",
    ]
    assert "there is no variable or function 'mgs' in 'mgs.t > 1" in problems[0].text
    assert [text[problem.column - 1 :][:4] for problem in problems] == ["mgs.", "sens", "uper"]

"""Definitions: what is read is written back, and what `timeout` and `retry` mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.definition import ChainDefinition, Connection, EndpointDefinition, NodeDefinition, Retry
from catenary.load import read

TEXTS = st.text(min_size=1, max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
MAPPINGS = st.dictionaries(TEXTS, JSON, max_size=3)
EXTRAS = st.dictionaries(st.sampled_from(["x-one", "x-two"]), JSON, max_size=2)
NODES = st.builds(
    NodeDefinition,
    id=TEXTS,
    type=st.text(max_size=3),
    name=st.text(max_size=3),
    debug_mode=st.booleans(),
    configuration=MAPPINGS,
    additional_info=MAPPINGS,
    timeout=st.sampled_from([None, 5, "500ms"]),
    retry=st.sampled_from([None, 3, {"maxRetries": 2}]),
    templates=st.sampled_from(["", "lenient"]),
    extra=EXTRAS,
)
CONNECTIONS = st.builds(Connection, from_id=TEXTS, to_id=TEXTS, type=TEXTS, label=st.text(max_size=3), extra=EXTRAS)
ENDPOINTS = st.builds(
    EndpointDefinition,
    id=TEXTS,
    type=TEXTS,
    configuration=MAPPINGS,
    additional_info=MAPPINGS,
    processors=st.lists(TEXTS, max_size=2).map(tuple),
    routers=st.lists(MAPPINGS, max_size=2).map(tuple),
    extra=EXTRAS,
)
CHAINS = st.builds(
    ChainDefinition,
    id=st.text(max_size=3),
    name=st.text(max_size=3),
    root=st.none() | st.booleans(),
    debug_mode=st.booleans(),
    disabled=st.booleans(),
    configuration=MAPPINGS,
    additional_info=MAPPINGS,
    first_node_index=st.integers(-1, 5),
    nodes=st.lists(NODES, max_size=3).map(tuple),
    connections=st.lists(CONNECTIONS, max_size=3).map(tuple),
    endpoints=st.lists(ENDPOINTS, max_size=2).map(tuple),
    rule_chain_connections=st.lists(CONNECTIONS, max_size=2).map(tuple),
    extra=EXTRAS,
    metadata_extra=EXTRAS,
    document_extra=EXTRAS,
)


@given(CHAINS)
def test_what_is_written_is_read_back_the_same(chain):
    document = read(chain.to_dict())
    assert document.definition == chain
    assert {problem.severity for problem in document.problems} <= {"warning"}


def test_unknown_keys_and_placeholders_survive():
    node = {"id": "a", "type": "t", "color": "red", "configuration": {"url": "${global.url}"}}
    written = {"ruleChain": {"id": "c", "owner": 1}, "metadata": {"nodes": [node], "grid": 2}, "editor": {"zoom": 3}}
    chain = read(written).definition.to_dict()
    assert chain["ruleChain"]["owner"] == 1
    assert chain["metadata"]["grid"] == 2
    assert chain["editor"] == {"zoom": 3}
    assert chain["metadata"]["nodes"][0]["color"] == "red"
    assert chain["metadata"]["nodes"][0]["configuration"] == {"url": "${global.url}"}


def test_what_is_written_is_a_copy():
    chain = read({"metadata": {"nodes": [{"id": "a", "type": "t", "configuration": {"l": [1]}}]}}).definition
    chain.to_dict()["metadata"]["nodes"][0]["configuration"]["l"].append(2)
    assert chain.nodes[0].configuration == {"l": [1]}


def test_root_counts_as_true_when_endpoints_are_there():
    endpoint = EndpointDefinition("e", "http")
    assert ChainDefinition(endpoints=(endpoint,)).is_root
    assert not ChainDefinition().is_root
    assert not ChainDefinition(endpoints=(endpoint,), root=False).is_root


@pytest.mark.parametrize(("index", "found"), [(0, "a"), (1, "b"), (2, None), (-1, None)])
def test_first_node_is_none_outside_the_list(index, found):
    chain = ChainDefinition(first_node_index=index, nodes=(NodeDefinition("a", "t"), NodeDefinition("b", "t")))
    assert (chain.first_node.id if chain.first_node else None) == found


def test_no_timeout_and_zero_are_no_limit():
    assert NodeDefinition("a", "t").timeout_s is None
    assert NodeDefinition("a", "t", timeout=0).timeout_s is None
    assert NodeDefinition("a", "t", timeout="2s").timeout_s == 2.0


def test_retry_is_a_number_or_a_policy():
    assert NodeDefinition("a", "t").retry_policy is None
    assert NodeDefinition("a", "t", retry=0).retry_policy is None
    assert NodeDefinition("a", "t", retry="2").retry_policy == Retry(2)
    written = {"MaxRetries": 5, "delay": "100ms", "maxDelay": 2, "backoff": 3, "jitter": 0, "x": None}
    assert NodeDefinition("a", "t", retry=written).retry_policy == Retry(5, 0.1, 2.0, 3.0, 0.0)
    assert NodeDefinition("a", "t", retry={}).retry_policy == Retry(3)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (-1, "^must be a whole number"),
        (True, "^must be a whole number"),
        ("many", "^must be a whole number"),
        ({"maxRetries": 1.5}, "'maxRetries' must be a whole number"),
        ({"delay": "x"}, "'delay' must be a number of seconds"),
        ({"backoff": 0}, "'backoff' must be a number from 1 to 100"),
        ({"jitter": 2}, "'jitter' must be a number from 0 to 1"),
        ({"tries": 2}, "'tries' is not one of maxRetries"),
    ],
)
def test_malformed_retry_names_the_part(value, part):
    with pytest.raises(ValueError, match=part):
        Retry.read(value)


def test_waits_grow_up_to_the_longest():
    policy = Retry(10, delay_s=1.0, max_delay_s=5.0, backoff=2.0, jitter=0.5)
    assert [policy.wait_s(retry) for retry in (1, 2, 3, 4, 5000)] == [1, 2, 4, 5, 5]
    assert policy.wait_s(1, chance=1.0) == 1.5

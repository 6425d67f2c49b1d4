"""`metadataTransform`: metadata from expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import ChainInvalid, End, Message


def metadata(end: End) -> dict[str, Any]:
    assert end.relation == "Success", end
    return dict(end.message.metadata)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("msg.name", "x"),
        ("msg.absent", ""),
        ("nil", ""),
        ("msg.t > 1", "true"),
        ("msg.t", "41"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1e21", "1000000000000000000000"),
        ("msg.big", "12345678901234567890123"),
        ("1 / 0", "+Inf"),
        ("{b: 1.0, a: ['<&>']}", '{"a":["<&>"],"b":1}'),
        ("duration('90s')", "1m30s"),
        ("msgType + dataType", "TJSON"),
    ],
)
def test_values_are_stored_in_text_form(send: Callable[..., End], expr: str, text: str) -> None:
    data = '{"name":"x","t":41.0,"big":12345678901234567890123}'
    end = send("metadataTransform", {"mapping": {"k": expr}}, data, type="T")
    assert metadata(end) == {"k": text}


def test_results_are_added_to_what_is_there(send: Callable[..., End]) -> None:
    end = send("metadataTransform", {"mapping": {"b": "'new'", "c": "3"}}, metadata={"a": "1", "b": "2"})
    assert metadata(end) == {"a": "1", "b": "new", "c": "3"}


def test_a_new_mapping_replaces_all_metadata(send: Callable[..., End]) -> None:
    configuration = {"isNew": True, "mapping": {"b": "metadata.a + '!'"}}
    assert metadata(send("metadataTransform", configuration, metadata={"a": "1"})) == {"b": "1!"}


def test_a_new_one_without_a_mapping_takes_all_metadata_away(send: Callable[..., End]) -> None:
    assert metadata(send("metadataTransform", {"isNew": True}, metadata={"a": "1"})) == {}


def test_without_a_mapping_nothing_is_written(send: Callable[..., End]) -> None:
    assert metadata(send("metadataTransform", {}, metadata={"a": "1"})) == {"a": "1"}
    assert metadata(send("metadataTransform", {"mapping": None}, metadata={"a": "1"})) == {"a": "1"}


@pytest.mark.parametrize("is_new", [True, False])
def test_an_empty_key_is_ignored(send: Callable[..., End], is_new: bool) -> None:
    end = send("metadataTransform", {"isNew": is_new, "mapping": {"": "'x'", "a": "1"}})
    assert metadata(end) == {"a": "1"}


def test_all_expressions_see_the_metadata_that_came(send: Callable[..., End]) -> None:
    mapping = {"a": "metadata.b", "b": "metadata.a", "c": "metadata.a + metadata.b + metadata.c"}
    assert metadata(send("metadataTransform", {"mapping": mapping}, metadata={"a": "1", "b": "2"})) == {
        "a": "2", "b": "1", "c": "12",
    }  # fmt: skip


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("wrong", ["msg.absent + 1", "[1 / 0]", "groupBy([1, 2], # % 2)"])
def test_any_failure_writes_no_key(send: Callable[..., End], wrong: str, is_new: bool) -> None:
    configuration = {"isNew": is_new, "mapping": {"b": "'x'", "c": wrong, "d": "'y'"}}
    end = send("metadataTransform", configuration, '{"t": 1}', metadata={"a": "1"})
    assert (end.relation, end.message.data) == ("Failure", '{"t": 1}')
    assert dict(end.message.metadata).keys() == {"a", "errorMsg"}


def test_a_result_that_is_no_text_names_its_key(send: Callable[..., End]) -> None:
    end = send("metadataTransform", {"mapping": {"good": "1", "bad": "[1 / 0]"}})
    assert end.message.metadata["errorMsg"] == "mapping 'bad': +Inf cannot be written as JSON"


def test_payload_type_and_data_type_stay(send: Callable[..., End]) -> None:
    message = Message("a <b>", "T", "TEXT", {"a": "1"}, id="m", ts=5)
    result = send("metadataTransform", {"mapping": {"k": "len(msg)"}}, message).message
    assert (result.data, result.type, result.data_type, result.id, result.ts) == ("a <b>", "T", "TEXT", "m", 5)


@pytest.mark.parametrize("mapping", [{"a": ""}, {"a": "1 +"}, {"a": "'x' - 1"}])
def test_a_wrong_expression_is_refused(send: Callable[..., End], mapping: dict[str, str]) -> None:
    with pytest.raises(ChainInvalid, match=r"mapping\.a"):
        send("metadataTransform", {"mapping": mapping})


def test_what_another_node_put_out_is_handed_to_a_script_as_metadata(load) -> None:
    nodes = [
        ("prepare:exprTransform", {"mapping": {"total": "msg.a + 1"}}),
        ("hand:metadataTransform", {"mapping": {"total": "prepare.msg.total"}}),
        ("use:jsTransform", {"jsScript": "msg.seen = metadata.total; msg.is = typeof prepare; return {msg};"}),
    ]
    chain = load(nodes, "prepare Success hand, hand Success use")
    assert chain.run_sync({"a": 1}).message.value == {"total": 2, "seen": "2", "is": "undefined"}

"""`fieldFilter`: whether fields are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import End, Message


@pytest.mark.parametrize(
    ("configuration", "relation"),
    [
        ({"dataNames": "a"}, "True"),
        ({"dataNames": "a,absent"}, "True"),
        ({"dataNames": "absent,gone"}, "False"),
        ({"metadataNames": "k"}, "True"),
        ({"dataNames": "absent", "metadataNames": "k"}, "True"),
        ({"dataNames": "a", "metadataNames": "absent"}, "True"),
        ({"dataNames": "k", "metadataNames": "a"}, "False"),
    ],
)
def test_one_field_is_enough(send: Callable[..., End], configuration: dict[str, Any], relation: str) -> None:
    assert send("fieldFilter", configuration, '{"a":1}', metadata={"k": "v"}).relation == relation


@pytest.mark.parametrize(
    ("configuration", "relation"),
    [
        ({"dataNames": "a,b"}, "True"),
        ({"dataNames": "a,absent"}, "False"),
        ({"dataNames": "a", "metadataNames": "k"}, "True"),
        ({"dataNames": "a", "metadataNames": "absent"}, "False"),
        ({"dataNames": "absent", "metadataNames": "k"}, "False"),
    ],
)
def test_all_fields_are_asked_for_with_check_all_keys(
    send: Callable[..., End], configuration: dict[str, Any], relation: str
) -> None:
    end = send("fieldFilter", {"checkAllKeys": True, **configuration}, '{"a":1,"b":2}', metadata={"k": "v"})
    assert end.relation == relation


@pytest.mark.parametrize("names", [" a , b ", "a,,b,", ["a", " b"], "a"])
def test_blanks_around_names_and_empty_names_do_not_matter(send: Callable[..., End], names: Any) -> None:
    configuration = {"checkAllKeys": True, "dataNames": names, "metadataNames": names}
    end = send("fieldFilter", configuration, '{"a":1,"b":2}', metadata={"a": "", "b": ""})
    assert end.relation == "True"


@pytest.mark.parametrize("value", ["null", "0", '""', "false", "[]"])
def test_presence_alone_counts(send: Callable[..., End], value: str) -> None:
    assert send("fieldFilter", {"dataNames": "a"}, f'{{"a":{value}}}').relation == "True"
    assert send("fieldFilter", {"metadataNames": "a"}, metadata={"a": ""}).relation == "True"


@pytest.mark.parametrize(("data", "relation"), [('{"a":{"b":1}}', "False"), ('{"a.b":1}', "True")])
def test_a_dotted_name_is_one_key(send: Callable[..., End], data: str, relation: str) -> None:
    assert send("fieldFilter", {"dataNames": "a.b"}, data).relation == relation


@pytest.mark.parametrize("names", [{}, {"dataNames": " , "}])
@pytest.mark.parametrize(("check_all", "relation"), [(True, "True"), (False, "False")])
def test_with_nothing_listed_check_all_keys_decides(
    send: Callable[..., End], names: dict[str, str], check_all: bool, relation: str
) -> None:
    assert send("fieldFilter", {"checkAllKeys": check_all, **names}, '{"a":1}').relation == relation


@pytest.mark.parametrize("data", ["[1]", "5", '"text"', "true", "", "  ", "{broken", "no json"])
@pytest.mark.parametrize("configuration", [{"dataNames": "a"}, {"metadataNames": "k"}, {}])
def test_a_json_payload_that_is_no_object_is_a_failure(
    send: Callable[..., End], data: str, configuration: dict[str, Any]
) -> None:
    end = send("fieldFilter", configuration, data, metadata={"k": "v"})
    assert (end.relation, end.message.data) == ("Failure", data)
    assert end.message.metadata["errorMsg"] == "the payload is no JSON object, so it has no fields to look for"


def test_null_acts_as_an_empty_object(send: Callable[..., End]) -> None:
    assert send("fieldFilter", {"dataNames": "a"}, "null").relation == "False"
    assert send("fieldFilter", {"checkAllKeys": True}, "null").relation == "True"
    assert send("fieldFilter", {"metadataNames": "k"}, Message(None, metadata={"k": "v"})).relation == "True"


@pytest.mark.parametrize("data", ["{}", {}])
def test_an_empty_object_has_no_fields(send: Callable[..., End], data: Any) -> None:
    assert send("fieldFilter", {"dataNames": "a"}, data).relation == "False"


@pytest.mark.parametrize("data_type", ["TEXT", "BINARY", "OTHER"])
def test_other_data_types_have_no_fields_but_metadata(send: Callable[..., End], data_type: str) -> None:
    data: Any = b'{"a":1}' if data_type == "BINARY" else '{"a":1}'
    message = Message(data, data_type=data_type, metadata={"k": "v"})
    assert send("fieldFilter", {"dataNames": "a"}, message).relation == "False"
    assert send("fieldFilter", {"metadataNames": "k"}, message).relation == "True"


def test_the_message_goes_on_unchanged(send: Callable[..., End]) -> None:
    message = Message('{"b": 1, "a": 2}', metadata={"k": "v"})
    assert send("fieldFilter", {"dataNames": "a"}, message).message is message

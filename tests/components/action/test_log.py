"""`log`: one record a message, its text as the script gave it."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from catenary import End


def test_without_a_script_payload_and_metadata_are_written(
    send: Callable[..., End], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "catenary.log")
    assert send("log", {}, '{"b": 1, "a": 2}', metadata={"k": "v"}).relation == "Success"
    (record,) = caplog.records
    assert record.getMessage() == 'Incoming message:\n{"a":2,"b":1}\nIncoming metadata:\n{"k":"v"}'


def test_a_silent_log_costs_nothing(send: Callable[..., End], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "catenary.log")
    assert send("log", {}).relation == "Success"
    assert not caplog.records


def test_the_text_is_written_as_it_is(send: Callable[..., End], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "catenary.log")
    end = send("log", {"jsScript": "return '100 %d %s {x} ' + msgType + dataType;"}, type="T")
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("catenary.log", "INFO", "100 %d %s {x} TJSON")
    assert vars(record)["node_id"] == "node"
    assert vars(record)["chain_id"] == "chain1"
    assert end.message.data == "{}"


@pytest.mark.parametrize("script", ["return 5;", "return {};", "return true;", "msg;"])
def test_only_a_string_can_be_written(send: Callable[..., End], script: str) -> None:
    end = send("log", {"jsScript": script})
    assert (end.relation, end.message.metadata["errorMsg"]) == ("Failure", "return the value is not a string")


def test_a_script_that_throws_is_a_failure(send: Callable[..., End]) -> None:
    assert send("log", {"jsScript": "throw 'no';"}).message.metadata["errorMsg"] == "no"

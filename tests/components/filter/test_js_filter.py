"""`jsFilter`: what counts as true, what fails, and what stays inside the script."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catenary import ChainInvalid, End, Engine, Message

INTENT = "var data = JSON.parse(msg.data); return data.action !== undefined;"


@pytest.mark.parametrize(
    ("script", "relation"),
    [
        ("return msg.t > 50;", "True"),
        ("return msg.t > 60;", "False"),
        ("return 1;", "False"),
        ("return 'true';", "False"),
        ("return new Boolean(true);", "True"),
        ("msg.t;", "False"),
        ("", "False"),
        ("throw 'no';", "Failure"),
        ("return absent > 1;", "Failure"),
        ("undeclared = 1; return true;", "Failure"),
        ("return vars.kind === 'a' && global.limit === '50';", "True"),
    ],
)
def test_only_the_boolean_true_is_true(load: Callable[..., object], script: str, relation: str) -> None:
    chain = load([("f:jsFilter", {"jsScript": script})], configuration={"vars": {"kind": "a"}})
    (end,) = chain.run_sync(Message('{"t":60}')).ends  # type: ignore[attr-defined]
    assert end.relation == relation


@pytest.mark.parametrize("data_type", ["JSON", "TEXT"])
@pytest.mark.parametrize(("data", "relation"), [('{"action":"on"}', "True"), ('{"answer":"hello"}', "False")])
def test_a_script_may_parse_the_raw_payload(send: Callable[..., End], data: str, data_type: str, relation: str) -> None:
    assert send("jsFilter", {"jsScript": INTENT}, data, data_type=data_type).relation == relation


def test_without_a_script_the_temperature_is_looked_at(send: Callable[..., End]) -> None:
    assert send("jsFilter", {}, '{"temperature":51}').relation == "True"


def test_what_is_thrown_is_the_error(send: Callable[..., End]) -> None:
    assert send("jsFilter", {"jsScript": "throw 'too hot';"}).message.metadata["errorMsg"] == "too hot"


def test_what_a_script_writes_stays_in_it(load: Callable[..., object]) -> None:
    chain = load(
        [
            ("f:jsFilter", {"jsScript": "msg.t = 99; metadata.k = 'w'; return true;"}),
            ("e:exprFilter", {"expr": "msg.t == 60"}),
        ],
        "f True e",
    )
    (end,) = chain.run_sync(Message({"t": 60}, metadata={"k": "v"})).ends  # type: ignore[attr-defined]
    assert (end.relation, end.message.metadata["k"], end.message.value) == ("True", "v", {"t": 60})


def test_a_syntax_error_is_refused_with_its_place(send: Callable[..., End]) -> None:
    with pytest.raises(ChainInvalid, match=r"line 1, column \d+"):
        send("jsFilter", {"jsScript": "retrun true;"})


def test_placeholders_are_put_in_when_the_chain_is_loaded(engine: Engine, send: Callable[..., End]) -> None:
    assert send("jsFilter", {"jsScript": "return msg.t > ${global.limit};"}, '{"t":51}').relation == "True"

"""`jsFilter`: what counts as true, what fails, and what stays inside the script."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catenary import ChainInvalid, End, Engine, Message
from catenary.defaults import ChainDefaults

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


@pytest.mark.parametrize(
    ("data", "data_type", "seen"),
    [
        ('{"a":1}', "JSON", 'object:{"a":1}'),
        ("", "JSON", "object:{}"),
        (" ", "JSON", "object:{}"),
        ("no json", "JSON", 'string:"no json"'),
        ("null", "JSON", "object:null"),
        ('{"a":1}', "TEXT", 'string:"{\\"a\\":1}"'),
        ("x", "WEIRD", 'string:"x"'),
        (b"\x01\xff", "BINARY", "object:[1,255]"),
    ],
)
def test_the_script_sees_the_payload(send: Callable[..., End], data: str | bytes, data_type: str, seen: str) -> None:
    script = f"return typeof msg + ':' + JSON.stringify(msg) === {seen!r};"
    assert send("jsFilter", {"jsScript": script}, data, data_type=data_type).relation == "True"


@pytest.mark.parametrize("data_type", ["JSON", "TEXT", "BINARY", "WEIRD"])
def test_the_data_type_is_a_plain_string(send: Callable[..., End], data_type: str) -> None:
    script = f"return typeof dataType === 'string' && dataType === '{data_type}';"
    assert send("jsFilter", {"jsScript": script}, "1", data_type=data_type).relation == "True"


def test_a_message_that_a_filter_passes_on_is_the_same(send: Callable[..., End]) -> None:
    message = Message('{ "b": 1, "a": 1.0 }', "T", metadata={"k": "v"})
    script = "msg.b = 2; metadata.k = 'w'; msgType = 'U'; dataType = 'TEXT'; return true;"
    assert send("jsFilter", {"jsScript": script}, message).message is message


def test_a_loop_that_never_ends_is_a_failure() -> None:
    with Engine(defaults=ChainDefaults(script_timeout_s=0.05)) as quick:
        node = {"id": "f", "type": "jsFilter", "configuration": {"jsScript": "while (true) {}"}}
        (end,) = quick.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}).run_sync({"a": 1}).ends
    assert end.relation == "Failure"
    assert end.message.metadata["errorMsg"].startswith("execution timeout")


def test_the_engine_says_how_often_a_script_may_call_the_host() -> None:
    with Engine(defaults=ChainDefaults(script_host_calls=3)) as few:
        few.host_function("f")(lambda: 1)
        node = {"id": "f", "type": "jsFilter", "configuration": {"jsScript": "while (true) f();"}}
        (end,) = few.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}).run_sync({"a": 1}).ends
    assert end.relation == "Failure"
    assert "more than 3 times" in end.message.metadata["errorMsg"]


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

"""`jsTransform`: what a script may return, and what becomes of the message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catenary import BINARY, JSON, TEXT, ChainInvalid, End, Engine, Message
from catenary.defaults import ChainDefaults

Send = Callable[..., End]


@pytest.fixture
def transform(send: Send) -> Send:
    """Send a message through a `jsTransform` with this script; all else as for `send`."""

    def transform(script: str, data: Any = '{"a":1}', **message: Any) -> End:
        return send("jsTransform", {"jsScript": script}, data, **message)

    return transform


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"jsScript": ""},
        {"jsScript": "  \n"},
        {"jsScript": "return {'msg':msg,'metadata':metadata,'msgType':msgType,'dataType':dataType};"},
    ],
)
@pytest.mark.parametrize("data", ['{ "b": 1, "a": 1.0 }', "", "no json", b"\xff\x00"])
def test_a_blank_or_default_script_passes_the_bytes_on(send: Send, configuration: dict[str, str], data: Any) -> None:
    end = send("jsTransform", configuration, data, type="T", metadata={"k": "v"})
    assert (end.relation, end.message.data, end.message.type) == ("Success", data, "T")
    assert end.message.metadata == {"k": "v"}


@pytest.mark.parametrize("script", ["return {};", "return Object.create(null);", "return new (class A {})();"])
def test_every_key_is_optional(transform: Send, script: str) -> None:
    message = Message('{ "a": 1 }', "T", JSON, {"k": "v"})
    end = transform(script, message)
    assert (end.relation, end.message) == ("Success", message)


@pytest.mark.parametrize(
    ("returned", "data"),
    [
        ("{b: 1, a: {d: 2, c: [1, 'x', null]}}", '{"a":{"c":[1,"x",null],"d":2},"b":1}'),
        ("{big: 123456789, small: 1.5, html: '<b>&'}", '{"big":123456789,"html":"<b>&","small":1.5}'),
        ("{gone: undefined, at: new Date(0)}", '{"at":"1970-01-01T00:00:00.000Z"}'),
        ("{}", "{}"),
        ("Object.assign(Object.create({inherited() {}}), {a: 1})", '{"a":1}'),
        ("'plain text'", "plain text"),
        ("new String('boxed')", "boxed"),
        ("''", ""),
        ("1.5", "1.5"),
        ("7", "7"),
        ("-0.5", "-0.5"),
        ("1e21", "1000000000000000000000"),
        ("-1.25e22", "-12500000000000000000000"),
        ("1.5e-7", "0.00000015"),
        ("-1e-7", "-0.0000001"),
        ("NaN", "NaN"),
        ("Infinity", "+Inf"),
        ("-Infinity", "-Inf"),
        ("new Number(5)", "5"),
        ("12345678901234567890n", "12345678901234567890"),
        ("true", "true"),
        ("false", "false"),
        ("new Boolean(true)", "true"),
        ("null", ""),
        ("undefined", ""),
        ("new Date(1700000000123)", "2023-11-14T22:13:20.123Z"),
        ("[72, 105]", "[72,105]"),
        ("[]", "[]"),
        ("[300, -1, 1.5]", "[300,-1,1.5]"),
        ("['a', 1]", '["a",1]'),
        ("[[1], {b: 1, a: 2}]", '[[1],{"a":2,"b":1}]'),
    ],
)
def test_a_returned_msg_becomes_the_payload_of_a_json_message(transform: Send, returned: str, data: str) -> None:
    end = transform(f"return {{msg: {returned}}};")
    assert (end.relation, end.message.data, end.message.data_type) == ("Success", data, JSON)


@pytest.mark.parametrize("data_type", [TEXT, BINARY, "WEIRD"])
def test_an_object_becomes_json_text_whatever_the_data_type(transform: Send, data_type: str) -> None:
    end = transform("return {msg: {b: 1, a: 2}};", "x", data_type=data_type)
    assert (end.message.data, end.message.value, end.message.data_type) == ('{"a":2,"b":1}', '{"a":2,"b":1}', data_type)


def test_a_string_leaves_the_data_type_alone(transform: Send) -> None:
    end = transform("return {msg: 'not json'};")
    assert (end.message.data, end.message.data_type) == ("not json", JSON)


def test_a_returned_data_type_goes_with_the_string(transform: Send) -> None:
    end = transform("return {msg: 'hello', dataType: 'TEXT'};")
    assert (end.message.data, end.message.data_type) == ("hello", TEXT)


@pytest.mark.parametrize(
    "bytes_", ["new Uint8Array([0, 255])", "new Uint8ClampedArray([0, 300])", "new Uint8Array([0, 255]).buffer"]
)
@pytest.mark.parametrize("data_type", [JSON, TEXT, BINARY])
def test_a_typed_array_of_bytes_becomes_those_bytes(transform: Send, bytes_: str, data_type: str) -> None:
    assert transform(f"return {{msg: {bytes_}}};", "1", data_type=data_type).message.data == b"\x00\xff"


@pytest.mark.parametrize(
    ("data_type", "returned", "data"),
    [
        (BINARY, "[72, 105]", b"Hi"),
        (BINARY, "[0, 255]", b"\x00\xff"),
        (BINARY, "[]", b""),
        (BINARY, "msg.concat([33])", b"\x01\x02!"),
        (BINARY, "['a', 1]", '["a",1]'),
        (TEXT, "[72, 105]", "Hi"),
        (TEXT, "[255]", b"\xff"),
        (JSON, "[72, 105]", "[72,105]"),
        ("WEIRD", "[72, 105]", "[72,105]"),
    ],
)
def test_numbers_are_bytes_only_where_the_data_type_says_so(
    transform: Send, data_type: str, returned: str, data: str | bytes
) -> None:
    end = transform(f"return {{msg: {returned}}};", b"\x01\x02", data_type=data_type)
    assert (end.relation, end.message.data) == ("Success", data)


def test_the_returned_data_type_decides_whether_numbers_are_bytes(transform: Send) -> None:
    assert transform("return {msg: [72, 105], dataType: 'BINARY'};").message.data == b"Hi"
    assert transform("return {msg: [72, 105], dataType: 'JSON'};", b"x", data_type=BINARY).message.data == "[72,105]"


@pytest.mark.parametrize(
    ("returned", "index", "value"),
    [
        ("[1, 256]", 1, "256"),
        ("[-1]", 0, "-1"),
        ("[0, 1, 1.5, 999]", 2, "1.5"),
        ("[NaN]", 0, "NaN"),
        ("[1e21]", 0, "1e+21"),
    ],
)
@pytest.mark.parametrize("data_type", [BINARY, TEXT])
def test_a_number_that_is_no_byte_is_a_failure(
    transform: Send, data_type: str, returned: str, index: int, value: str
) -> None:
    end = transform(f"return {{msg: {returned}}};", b"x", data_type=data_type)
    text = f"byte array element at index {index} has invalid value {value}: must be integer in range 0-255"
    assert (end.relation, end.message.metadata["errorMsg"]) == ("Failure", text)
    assert end.message.data == b"x"


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ("{a: {t: NaN}}", "t: NaN cannot be written as JSON"),
        ("[1, Infinity]", "msg: +Inf cannot be written as JSON"),
        ("{f: () => 1}", "f: a function cannot be written as JSON"),
        ("{f() {}}", "f: a function cannot be written as JSON"),
        ("{s: Symbol()}", "s: a symbol cannot be written as JSON"),
        ("{b: 1n}", "b: a bigint cannot be written as JSON"),
        ("() => 1", "msg: a function cannot be written as JSON"),
        ("{p: Promise.resolve(1)}", "p: a Promise is not awaited"),
        ("Promise.resolve(1)", "msg: a Promise is not awaited"),
        ("(() => { const a = {}; a.a = a; a.b = a; return a; })()", "levels deep, or holds itself"),
        ("(() => { let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a; })()", "levels deep"),
        ("new Date(NaN)", "Date value is NaN|Invalid time|date|Date"),
    ],
)
def test_what_json_cannot_hold_is_a_failure(transform: Send, returned: str, error: str) -> None:
    end = transform(f"return {{msg: {returned}}};", '{ "a": 1 }')
    assert (end.relation, end.message.data) == ("Failure", '{ "a": 1 }')
    assert any(part in end.message.metadata["errorMsg"] for part in error.split("|"))


@pytest.mark.parametrize(
    "returned",
    ["null", "[1]", "'text'", "5", "true", "undefined", "() => 1", "Promise.resolve({msg: 1})", "new Map()",
     "new Date(0)", "new Uint8Array(2)", "new String('a')"],
)  # fmt: skip
def test_only_an_object_can_be_returned(transform: Send, returned: str) -> None:
    end = transform(f"return {returned};")
    assert (end.relation, end.message.metadata["errorMsg"]) == ("Failure", "return the value is not a map")
    assert end.message.data == '{"a":1}'


def test_returning_nothing_is_a_failure(transform: Send) -> None:
    assert transform("msg.a = 2;").message.metadata["errorMsg"] == "return the value is not a map"


@pytest.mark.parametrize(
    ("script", "error"),
    [("throw 'too hot';", "too hot"), ("return {msg: absent};", "absent is not defined"), ("x = 1;", "x is not")],
)
def test_what_is_thrown_is_a_failure_with_the_input(transform: Send, script: str, error: str) -> None:
    end = transform(f"msg.a = 2; metadata.k = 'w'; {script}", '{ "a": 1 }', metadata={"k": "v"})
    assert (end.relation, end.message.data, end.message.metadata["k"]) == ("Failure", '{ "a": 1 }', "v")
    assert error in end.message.metadata["errorMsg"]


def test_a_loop_that_never_ends_is_a_failure() -> None:
    with Engine(defaults=ChainDefaults(script_timeout_s=0.05)) as quick:
        node = {"id": "t", "type": "jsTransform", "configuration": {"jsScript": "while (true) {}"}}
        chain = quick.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
        (end,) = chain.run_sync({"a": 1}).ends
    assert end.relation == "Failure"
    assert end.message.metadata["errorMsg"].startswith("execution timeout")
    assert end.message.value == {"a": 1}


def test_a_syntax_error_is_refused_with_its_place(transform: Send) -> None:
    with pytest.raises(ChainInvalid, match=r"line 2, column \d+"):
        transform("msg.a = 1;\nretrun {msg};")


@pytest.mark.parametrize(
    ("data", "data_type", "seen"),
    [
        ('{"a":1}', JSON, 'object:{"a":1}'),
        ("[1]", JSON, "object:[1]"),
        ("5", JSON, "number:5"),
        ("null", JSON, "object:null"),
        ("", JSON, 'string:""'),
        ("no json", JSON, 'string:"no json"'),
        ('{"a":1}', TEXT, 'string:"{\\"a\\":1}"'),
        ("x", "WEIRD", 'string:"x"'),
        (b"\x01\xff", BINARY, "object:[1,255]"),
    ],
)
def test_the_script_sees_the_payload(transform: Send, data: Any, data_type: str, seen: str) -> None:
    script = "return {msg: typeof msg + ':' + JSON.stringify(msg)};"
    assert transform(script, data, data_type=data_type).message.data == seen


def test_what_is_pushed_onto_a_list_of_the_payload_stays(transform: Send) -> None:
    end = transform("msg.items.push(3); msg.gone.length = 0; return {msg};", '{"items":[1],"gone":[1,2]}')
    assert end.message.data == '{"gone":[],"items":[1,3]}'


def test_returned_metadata_replaces_all_of_it(transform: Send) -> None:
    end = transform("return {metadata: {new: 'n'}};", metadata={"old": "o"})
    assert end.message.metadata == {"new": "n"}


def test_absent_metadata_is_kept(transform: Send) -> None:
    assert transform("metadata.k = 'w'; return {msg};", metadata={"k": "v"}).message.metadata == {"k": "v"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'s'", "s"),
        ("5", "5"),
        ("1.5", "1.5"),
        ("1e21", "1e+21"),
        ("true", "true"),
        ("null", ""),
        ("undefined", ""),
        ("{b: 1, a: [2]}", '{"b":1,"a":[2]}'),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    ],
)
def test_values_written_onto_the_metadata_become_text_as_javascript_writes_it(
    transform: Send, value: str, text: str
) -> None:
    end = transform(f"metadata.k = {value}; return {{metadata}};", metadata={"old": "o"})
    assert end.message.metadata == {"old": "o", "k": text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'s'", "s"),
        ("5", "5"),
        ("1e21", "1000000000000000000000"),
        ("NaN", "NaN"),
        ("true", "true"),
        ("null", ""),
        ("undefined", ""),
        ("{a: 1}", '{"a":1}'),
        ("[1, 'x']", '[1,"x"]'),
        ("new Number(5)", "5"),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    ],
)
def test_values_of_fresh_metadata_become_text_and_objects_json(transform: Send, value: str, text: str) -> None:
    assert transform(f"return {{metadata: {{k: {value}}}}};").message.metadata == {"k": text}


def test_metadata_that_json_cannot_hold_is_a_failure(transform: Send) -> None:
    end = transform("return {metadata: {k: {f: () => 1}}};")
    assert end.message.metadata["errorMsg"] == "f: a function cannot be written as JSON"


def test_metadata_as_json_text_is_parsed(transform: Send) -> None:
    end = transform("""return {metadata: '{"a":"x","b":{"c":1},"d":5}'};""", metadata={"old": "o"})
    assert end.message.metadata == {"a": "x", "b": '{"c":1}', "d": "5"}


@pytest.mark.parametrize("returned", ["null", "undefined", "5", "true", "[1]", "'no json'", "'[1]'", "''"])
def test_metadata_that_is_no_object_empties_it(transform: Send, returned: str) -> None:
    assert transform(f"return {{metadata: {returned}}};", metadata={"old": "o"}).message.metadata == {}


def test_an_empty_metadata_key_is_left_out(transform: Send) -> None:
    assert transform("metadata[''] = 'x'; metadata.k = 'v'; return {metadata};").message.metadata == {"k": "v"}


def test_metadata_may_have_the_key_proto(transform: Send) -> None:
    message = Message("{}", metadata={"__proto__": "p"})
    assert transform("metadata.n = 5; return {metadata};", message).message.metadata == {"__proto__": "p", "n": "5"}


@pytest.mark.parametrize(
    ("returned", "text"),
    [("'alarm'", "alarm"), ("5", "5"), ("true", "true"), ("null", ""), ("{a: 1}", '{"a":1}')],
)
def test_a_returned_type_becomes_text(transform: Send, returned: str, text: str) -> None:
    assert transform(f"return {{msgType: {returned}}};", type="T").message.type == text


@pytest.mark.parametrize(
    ("returned", "data_type"),
    [
        ("'WEIRD'", "WEIRD"),
        ("''", JSON),
        ("null", JSON),
        ("undefined", JSON),
        ("'TEXT'", TEXT),
        ("5", "5"),
        ("true", "true"),
    ],
)
def test_a_returned_data_type_is_taken_unless_it_is_empty(transform: Send, returned: str, data_type: str) -> None:
    end = transform(f"return {{dataType: {returned}}};", '{ "a": 1 }')
    assert (end.message.data, end.message.data_type) == ('{ "a": 1 }', data_type)


def test_data_read_as_another_type_has_another_value(transform: Send) -> None:
    assert transform("return {dataType: 'JSON'};", '{"a":1}', data_type=TEXT).message.value == {"a": 1}


def test_a_script_may_return_its_payload_for_a_result(transform: Send) -> None:
    assert transform("return msg;", '{"msg":"inner","msgType":"U"}').message.data == "inner"


def test_integers_that_the_script_leaves_alone_keep_all_digits(transform: Send) -> None:
    data = '{"big":12345678901234567890,"n":1}'
    assert transform("msg.n = 2; return {msg};", data).message.data == '{"big":12345678901234567890,"n":2}'
    assert transform("return {msg: msg.big};", data).message.data == "12345678901234567890"


def test_id_and_time_stay(transform: Send) -> None:
    message = Message("{}", id="m1", ts=5)
    end = transform("return {msg: {}, metadata: {a: 'b'}, msgType: 'U', dataType: 'TEXT'};", message)
    assert (end.message.id, end.message.ts) == ("m1", 5)


def test_later_nodes_see_the_new_payload_and_siblings_the_one_before(load: Callable[..., Any]) -> None:
    chain = load(
        [
            ("a:fork", {}),
            ("t:jsTransform", {"jsScript": "msg.n = 2; metadata.k = 'w'; return {msg, metadata};"}),
            ("one:exprFilter", {"expr": "msg.n == 2 && metadata.k == 'w'"}),
            ("two:exprFilter", {"expr": "msg.n == 1 && metadata.k == 'v'"}),
        ],
        "a Success t, t Success one, a Success two",
    )
    ends = chain.run_sync(Message({"n": 1}, metadata={"k": "v"})).ends
    assert sorted((end.node_id, str(end.relation)) for end in ends) == [("one", "True"), ("two", "True")]

"""What an expression can see, and the rules on numbers and text."""

from __future__ import annotations

from tests.engine.expr.language import ENVIRONMENT, Outputs, fails, gives, refuses, value

from catenary.expr import Environment, Expression, text_of
from catenary.message import BINARY, TEXT, Message


def test_the_message_is_seen_by_its_parts() -> None:
    gives({"id": "7", "ts": 9, "msgType": "alarm", "dataType": "JSON", "metadata.kind": "a", "msg.t": 41})
    assert value("data", Message('{"b": 1,  "a": 2}')) == '{"b": 1,  "a": 2}'


def test_type_without_parentheses_is_the_type_of_the_message_and_with_them_the_builtin() -> None:
    gives({"type": "alarm", "type == 'alarm'": True, "type(type)": "string", "type(msg.l)": "array"})


def test_the_data_type_is_a_plain_string() -> None:
    gives({"dataType == 'JSON'": True, "dataType + '!'": "JSON!", "type(dataType)": "string"})


def test_msg_is_the_parsed_payload_when_it_is_json_and_else_the_text() -> None:
    assert value("msg", Message("[1]")) == [1]
    assert value("msg == 5", Message("5"))
    assert value("msg", Message("no json")) == "no json"
    assert value("msg", Message('{"a":1}', data_type=TEXT)) == '{"a":1}'


def test_an_empty_payload_of_json_is_an_empty_map() -> None:
    assert value("msg", Message("")) == {}


def test_a_missing_key_of_metadata_global_and_vars_is_empty_text_and_never_nil() -> None:
    gives(
        {
            "metadata.nope": "",
            "metadata.nope == nil": False,
            "metadata.nope ?? 'd'": "",
            "global.nope": "",
            "vars.nope": "",
            "let m = metadata; m.nope": "",
            "let g = global; g['nope']": "",
            "metadata['nope']": "",
        }
    )


def test_a_missing_key_of_msg_is_nil() -> None:
    gives({"msg.nope": None, "msg.nope == nil": True, "msg.nope ?? 'd'": "d"})


def test_keys_of_global_may_hold_dots() -> None:
    gives({"global.a.b": "dotted", "global.models.default.url": "u", "global['a.b']": "dotted"})


def test_an_unknown_name_is_nil_and_no_error() -> None:
    gives({"missing": None, "kind": None, "missing == nil": True, "missing ?? 1": 1})


def test_metadata_keys_are_names_in_templates_only() -> None:
    gives({"kind": None})


def test_the_rule_chain_is_known_at_run_time() -> None:
    gives({"upper(ruleChain.id)": "C1", "ruleChain.additionalInfo.x": 1, "ruleChain.nope": None})


def test_a_node_is_what_it_put_out() -> None:
    gives(
        {
            "s1.msg.a": 7,
            "s1.metadata.x": "y",
            "s1.metadata.nope": "",
            "s1.msgType": "made",
            "s1.type": "made",
            "s1.data": '{"a":7}',
            "s1.id": "2",
            "s1.ts": 6,
            "s1.dataType": "JSON",
        },
        ctx=Outputs(),
    )


def test_a_node_that_has_not_run_is_nil() -> None:
    gives({"s2": None, "s1": None, "s2?.msg.a ?? 'none'": "none"})
    fails({"s2.msg": "cannot fetch msg from nil"})


def test_variables_win_over_node_ids_of_the_same_name() -> None:
    environment = Environment(nodes=frozenset({"msg", "type"}))
    assert Expression.compile("msg.a", environment).evaluate(Message({"a": 1})) == 1
    assert Expression.compile("type", environment).evaluate(Message("", "t")) == "t"


def test_msg_data_is_the_raw_text_unless_the_payload_has_the_key() -> None:
    text = '{"b": 1,  "a": 2}'
    for source in ["msg.data", "msg['data']", "msg?.data", "$env.msg.data", "$env['msg'].data", "let m = msg; m.data"]:
        assert value(source, Message(text)) == text
        assert value(source, Message('{"data": 5}')) == 5
        assert value(source, Message("hello", data_type=TEXT)) == "hello"


def test_msg_data_of_a_node_is_its_raw_text_too() -> None:
    rows = ["s1.msg.data", "s1.msg['data']", "s1['msg'].data", "$env.s1.msg.data", "let o = s1.msg; o.data"]
    gives(dict.fromkeys(rows, '{"a":7}'), ctx=Outputs())
    gives({"s2.msg.data": None})


def test_a_payload_that_comes_out_of_a_function_or_a_list_is_a_plain_value() -> None:
    gives({"first([msg]).data": None, "get($env, 'msg').data": None, "let msg = {a: 1}; msg.data": None})


def test_the_bytes_of_a_binary_payload_are_text_or_bytes_by_index() -> None:
    assert value("msg[0] == 65", Message(b"A", data_type=BINARY))


def test_integers_of_a_payload_keep_all_their_digits() -> None:
    message = Message('{"n": 12345678901234567890123}')
    assert value("msg.n", message) == 12345678901234567890123
    assert text_of(value("msg", message)) == '{"n":12345678901234567890123}'
    assert value("msg.n == int('12345678901234567890123')", message)
    assert value("map([msg.n], #)[0] - 1", message) == 12345678901234567890122


def test_numbers_of_a_payload_keep_their_kind_and_are_equal_by_value() -> None:
    message = Message('{"i": 2, "f": 2.0}')
    assert value("type(msg.i) + type(msg.f)", message) == "intfloat"
    assert value("msg.i == msg.f and [msg.i] == [msg.f] and {a: msg.i} == {a: msg.f}", message)


def test_text_forms_are_those_of_the_language() -> None:
    for source, text in {
        "nil": "",
        "true": "true",
        "41.0": "41",
        "1e21": "1000000000000000000000",
        "0.1 + 0.2": "0.30000000000000004",
        "1/0": "+Inf",
        "-1/0": "-Inf",
        "0/0": "NaN",
        "b'\\xc3\\xa9'": "\u00e9",
        "duration('90s')": "1m30s",
        "date('2024-02-03')": "2024-02-03T00:00:00Z",
        "{b: 1e21, a: ['<b>&', 1e-7, 1e8]}": '{"a":["<b>&",1e-7,100000000],"b":1e+21}',
        "['\\u2028']": '["\\u2028"]',
    }.items():
        assert text_of(value(source)) == text


def test_names_that_begin_with_two_underscores_are_refused() -> None:
    refuses({"msg.__class__": "is not readable", "msg.s.__len__()": "is not readable"})
    assert Expression.compile("msg['__class__']", ENVIRONMENT).evaluate(Message({})) is None

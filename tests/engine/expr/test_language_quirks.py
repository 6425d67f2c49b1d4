"""Where the language does the sane thing in place of what its model does."""

from __future__ import annotations

from datetime import datetime

from tests.engine.expr.language import ENVIRONMENT, gives, value

from catenary.expr import Template, text_of
from catenary.message import JSON, Message


def test_a_data_type_equals_its_name_and_prints_without_quotes() -> None:
    message = Message({"a": 1}, data_type=JSON)
    assert value("dataType == 'JSON'", message) is True
    assert Template.compile("<${dataType}>", ENVIRONMENT).render(message) == "<JSON>"


def test_the_message_type_is_the_variable_type() -> None:
    message = Message({}, "alarm")
    assert value("type == 'alarm' and type(1) == 'int'", message) is True
    assert Template.compile("${type}", ENVIRONMENT).render(message) == "alarm"


def test_integers_of_any_size_come_out_as_they_came_in() -> None:
    text = '{"big":123456789012345678901234567890,"n":9007199254740993,"neg":-18446744073709551617}'
    message = Message(text)
    assert text_of(value("msg", message)) == text
    assert (
        text_of(value("map([msg.n, msg.big], # + 0)", message)) == "[9007199254740993,123456789012345678901234567890]"
    )
    assert value("toJSON(msg.big)", message) == "123456789012345678901234567890"
    assert value("fromJSON('9007199254740993') == msg.n", message) is True


def test_the_remainder_of_whole_floats_works() -> None:
    assert value("msg.n % 2", Message('{"n": 7.0}')) == 1
    assert value("int(msg.n) % 2", Message('{"n": 7.0}')) == 1


def test_maps_keep_the_order_in_which_they_were_written() -> None:
    gives(
        {
            "keys({z: 1, a: 2, m: 3})": ["z", "a", "m"],
            "values({z: 1, a: 2})": [1, 2],
            "toPairs({z: 1, a: 2})": [["z", 1], ["a", 2]],
            "keys(fromPairs([['z', 1], ['a', 2]]))": ["z", "a"],
        }
    )


def test_the_text_of_now_is_rfc_3339() -> None:
    text = Template.compile("${now()}", ENVIRONMENT).render(Message(""))
    assert datetime.fromisoformat(text).tzinfo is not None
    assert "T" in text
    assert datetime.fromisoformat(Template.compile("${now().String()}", ENVIRONMENT).render(Message(""))).tzinfo


def test_lists_of_strings_can_be_looped_over() -> None:
    gives({"map(split('a,b', ','), upper(#))": ["A", "B"], "filter(split('a,b', ','), # != 'a')": ["b"]})


def test_numbers_in_maps_are_equal_by_value() -> None:
    assert value("{a: msg.n} == {a: 2}", Message('{"n": 2.0}')) is True
    assert value("{a: [msg.n]} in [{a: [2]}]", Message('{"n": 2.0}')) is True


def test_the_rule_chain_is_the_same_at_run_time() -> None:
    assert Template.compile("${upper(ruleChain.id)}", ENVIRONMENT).render(Message("")) == "C1"


def test_built_in_names_win_over_metadata_keys_in_templates() -> None:
    message = Message({"a": 1}, "t", metadata={"id": "x", "type": "y", "deviceId": "d"}, id="7")
    assert Template.compile("${id} ${type} ${deviceId} ${metadata.id}", ENVIRONMENT).render(message) == "7 t d x"


def test_reading_msg_data_gives_the_raw_text_and_is_in_no_output() -> None:
    message = Message('{"b": 1}')
    assert value("msg.data", message) == '{"b": 1}'
    assert value("keys(msg)", message) == ["b"]
    assert text_of(value("msg", message)) == '{"b":1}'
    assert value("'data' in msg", message) is False

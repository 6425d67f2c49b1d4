"""What an author is told that was probably meant."""

from __future__ import annotations

import pytest

from catenary.errors import ExpressionError
from catenary.expr import Environment, Expression, Template
from catenary.expr.advice import doubtful, doubtful_parts
from catenary.message import Message

ENVIRONMENT = Environment(nodes=frozenset({"sensor", "s2"}), vars={"limit": 3})
MESSAGE = Message({"temperature": 41, "device": {"name": "a"}, "rows": [{"value": 1}]}, metadata={"deviceId": "d"})


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("msg.temprature > 40", "msg has no 'temprature'; did you mean 'temperature'?"),
        ("1 + msg['temprature']", "msg has no 'temprature'; did you mean 'temperature'?"),
        ("upper(msg.device.nmae)", "msg.device has no 'nmae'; did you mean 'name'?"),
        ("temprature + 1", "unknown name 'temprature'; did you mean 'msg.temperature'?"),
        ("temperature + 1", "unknown name 'temperature'; did you mean 'msg.temperature'?"),
        ("upper(deviceID)", "unknown name 'deviceID'; did you mean 'metadata.deviceId'?"),
        ("mgs.temperature > 1", "unknown name 'mgs'; did you mean 'msg'?"),
        ("senser.msg", "unknown name 'senser'; did you mean 'sensor'?"),
        ("int(metadata.deviceid)", "metadata has no 'deviceid'; did you mean 'deviceId'?"),
        ("let x = msg.temprature; x + 1", "msg has no 'temprature'; did you mean 'temperature'?"),
    ],
)
def test_a_failure_names_the_key_or_variable_that_was_probably_meant(source: str, advice: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source, ENVIRONMENT).evaluate(MESSAGE)
    assert str(raised.value).endswith(f"; {advice}")


@pytest.mark.parametrize(
    "source", ["msg.other > 40", "msg.data + 1", "other.x", "sensor.msg", "msg.rows[0].vlaue + 1", "1 + nil"]
)
def test_nothing_is_guessed_where_nothing_is_like_it(source: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression.compile(source, ENVIRONMENT).evaluate(MESSAGE)
    assert "did you mean" not in str(raised.value)


def test_parts_of_templates_tell_it_too() -> None:
    with pytest.raises(ExpressionError, match=r"msg has no 'temprature'; did you mean 'temperature'\?"):
        Template.compile("a ${msg.temperature} b ${msg.temprature + 1}", ENVIRONMENT).render(MESSAGE)


def test_unknown_names_like_known_ones_are_doubtful() -> None:
    found = doubtful("mgs.a > 1 and senser.msg.b and other and (let x = 1; x) == y", ENVIRONMENT)
    assert [(doubt.name, doubt.position, doubt.close) for doubt in found] == [
        ("mgs", 0, "msg"),
        ("senser", 14, "sensor"),
    ]
    assert str(found[0]) == "unknown name 'mgs'; did you mean 'msg'?"


def test_unknown_functions_are_always_doubtful() -> None:
    assert [doubt.close for doubt in doubtful("uper('a') + zzz()", ENVIRONMENT)] == ["upper", ""]


def test_parts_of_templates_are_doubtful_where_no_key_of_the_metadata_can_be_meant() -> None:
    text = "a ${mgs.a} ${deviceTypo} ${senser.msg.b} ${uper('a')} ${msg.x}"
    assert [(doubt.name, doubt.position, doubt.close) for doubt in doubtful_parts(text, ENVIRONMENT)] == [
        ("mgs", 4, "msg"),
        ("senser", 27, "sensor"),
        ("uper", 43, "upper"),
    ]
    assert doubtful_parts("${msgs} ${types}", ENVIRONMENT) == []


def test_known_names_and_wrong_texts_are_not_doubtful() -> None:
    assert doubtful("msg.a + s2.msg.b + vars.limit + len(data) + filter([1], # > 1)[0]", ENVIRONMENT) == []
    assert doubtful("1 +", ENVIRONMENT) == []


def test_an_id_with_a_dash_is_told_as_it_is_written_in_an_expression() -> None:
    environment = Environment(nodes=frozenset({"pre-fetch", "b"}))
    assert [str(doubt) for doubt in doubtful_parts("x ${pre-fetch.msg.y}", environment)] == [
        "unknown name 'pre-fetch'; did you mean \"$env['pre-fetch']\"?"
    ]
    assert doubtful("pre - b.msg.y", environment) == []
    assert "pre-fetch" in Template.compile("${$env['pre-fetch'].msg.y}", environment).node_references

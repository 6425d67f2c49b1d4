"""The pass over a configuration when a chain is loaded."""

from __future__ import annotations

from contextlib import suppress
from time import thread_time
from typing import Any

import pytest

from catenary.errors import TemplateError
from catenary.expr import Environment, resolve_placeholders
from catenary.expr.placeholders import split_parts

ENVIRONMENT = Environment(
    properties={
        "x": "1",
        "a.b": "dotted",
        "a": {"c": {"d.e": 5}},
        "on": True,
        "late": "${msg.x}",
        "list": [1, 2.0],
        "no": None,
    },
    vars={"v": 12},
    rule_chain={"id": "c1", "root": True, "additionalInfo": {"k": "i"}, "configuration": {"vars": {}}},
)


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${global.x}", "1"),
        ("a ${ global.x } b ${vars.v}", "a 1 b 12"),
        ("${global.a.b}", "dotted"),
        ("${global.a.c.d.e}", "5"),
        ("${global.on}", "true"),
        ("${global.list}", "[1,2]"),
        ("${global.a.c}", '{"d.e":5}'),
        ("${ruleChain.id}", "c1"),
        ("${ruleChain.root}", "true"),
        ("${ruleChain.additionalInfo.k}", "i"),
        ("${global.nope}", "${global.nope}"),
        ("${global.no}", ""),
        ("${global.x.y}", "${global.x.y}"),
        ("${vars.nope} ${msg.x}", "${vars.nope} ${msg.x}"),
        ("${global.late}", "${msg.x}"),
        ("${upper(ruleChain.id)}", "${upper(ruleChain.id)}"),
        ("${global.x + 'a'}", "${global.x + 'a'}"),
        ("plain", "plain"),
        (5, 5),
        (None, None),
        ({"${global.x}": ["${global.x}", {"k": "${vars.v}"}]}, {"${global.x}": ["1", {"k": "12"}]}),
    ],
)
def test_plain_paths_are_replaced_at_any_depth(value: Any, resolved: Any) -> None:
    assert resolve_placeholders(value, ENVIRONMENT) == resolved


@pytest.mark.parametrize("piece", ["${", "${/*", "${'", "${`", "${ {", "${msg.x ", "${global.a ", " "])
def test_long_texts_are_cut_in_linear_time(piece: str) -> None:
    def took(count: int) -> float:
        times: list[float] = []
        for _ in range(3):
            text = "${global.a" + piece * count
            began = thread_time()
            resolve_placeholders(text, Environment())
            with suppress(TemplateError):
                split_parts(text + "}")
            times.append(thread_time() - began)
        return min(times)

    assert took(16_000) < 32 * max(took(2_000), 0.000_1)

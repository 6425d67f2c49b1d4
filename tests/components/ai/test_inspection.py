"""What is misspelt in the settings of an agent is told when its chain is checked, at its place and with a hint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catenary import Engine
from catenary.errors import ChainInvalid

OPTION, NAME, INVALID = "config.unknown-option", "config.unknown-name", "config.invalid"


def chain(**settings: Any) -> dict[str, Any]:
    node = {"id": "a", "type": "ai/agent", "configuration": {"model": "mock:x", **settings}}
    return {"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}


def builtin(name: str, **config: Any) -> dict[str, Any]:
    return {"type": "builtin", "name": name, "config": config}


def component(name: str, **config: Any) -> dict[str, Any]:
    return {"type": "component", "name": "t", "component": name, "config": config}


@pytest.mark.parametrize(
    ("settings", "code", "at", "meant"),
    [
        ({"hooks": ["loop_gard"]}, NAME, '"loop_gard"', "loop_guard"),
        ({"hooks": [{"name": "evicton"}]}, NAME, '"evicton"', "eviction"),
        ({"hooks": [{"name": "eviction", "config": {"maxLenght": 9}}]}, INVALID, "9", "maxLength"),
        ({"hooks": [{"at": "before_tol", "chain": "x"}]}, INVALID, '"before_tol"', "before_tool"),
        ({"hooks": [{"at": "before_tool", "component": "jsTrnsform"}]}, INVALID, '"jsTrnsform"', "jsTransform"),
        ({"tools": [builtin("raed")]}, NAME, '"raed"', "read"),
        ({"tools": [builtin("datetime", timzone="UTC")]}, INVALID, '"UTC"', "timezone"),
        ({"tools": [component("exprTransfrm")]}, INVALID, '"exprTransfrm"', "exprTransform"),
        ({"tools": [component("exprTransform", maping={})]}, OPTION, "{}", "mapping"),
        ({"tools": [{"name": "f", "group": "shpo"}], "toolGroups": [{"name": "shop"}]}, INVALID, '"shpo"', "shop"),
        ({"tools": ["pay"], "permission": {"deny": ["pya(*)"]}}, NAME, '"pya(*)"', "pay"),
        ({"tools": ["pay"], "permission": {"ask": [{"tool": "pya"}]}}, NAME, '{"tool"', "pay"),
    ],
)
def test_what_is_misspelt_is_told_at_its_place_with_what_was_meant(
    settings: dict[str, Any], code: str, at: str, meant: str
) -> None:
    text = json.dumps(chain(**settings))
    with Engine() as engine:
        (problem,) = engine.check(text)
    assert (problem.code, problem.hint) == (code, f"did you mean {meant!r}?")
    assert text[problem.column - 1 :].startswith(at)
    assert problem.severity == ("error" if code == INVALID else "warning")


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": ["mine", "eviction"]},
        {"hooks": [{"at": "after_tool", "chain": "note"}]},
        {"tools": ["anything", builtin("my_own"), builtin("datetime", timezone="UTC")]},
        {"tools": [component("exprTransform", mapping={"a": "msg.b"})]},
        {
            "tools": ["pay"],
            "permission": {"deny": ["pay*", "remove_everything", "*"]},
            "fallbackModel": "openai:gpt-4o",
        },
        {"tools": ["pay"], "permission": "default", "fallbackModel": "${global.spare}"},
    ],
)
def test_what_a_program_may_bring_is_not_doubted(settings: dict[str, Any]) -> None:
    with Engine({"spare": "mock:y"}) as engine:
        assert not engine.check(json.dumps(chain(**settings)))


def test_what_is_wrong_with_the_schema_of_a_tool_or_with_a_spare_model_is_told() -> None:
    tool = {"type": "external", "name": "t", "description": "?", "parameters": {"type": "objct"}}
    with Engine() as engine:
        (problem,) = engine.check(chain(tools=[tool]))
        assert "parameters: type must be one of object" in problem.text
        (problem,) = engine.check(chain(fallbackModel="opnai:x"))
        assert "Did you mean 'openai:x'?" in problem.text


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("read", "; the one that comes with agents is {type: builtin, name: read}"),
        ("stok", "; registered with engine.tool: stock; did you mean 'stock'?"),
        (builtin("raed"), "; did you mean 'read'?"),
    ],
)
def test_a_tool_that_is_not_there_is_told_where_it_is_listed(tool: Any, told: str) -> None:
    text = json.dumps(chain(tools=[tool]))
    with Engine() as engine:
        engine.tool(lambda: "1", name="stock")
        with pytest.raises(ChainInvalid) as caught:
            engine.load(text)
    problem = caught.value.problems[-1]
    assert problem.text.endswith(told)
    assert text[problem.column - 1 :].startswith("[")

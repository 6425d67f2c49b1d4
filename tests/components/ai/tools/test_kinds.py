"""Kinds of tools beside functions and chains, and the settings that all of them have."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from catenary import ChainInvalid
from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai import tool
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.groups import switch
from catenary_components.ai.tools.listing import ToolConfig, ToolGroupConfig, toolbox
from catenary_components.ai.tools.names import plain_spelling
from catenary_components.ai.tools.tool import Tool

CITY: Any = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}


def entry(**settings: Any) -> ToolConfig:
    return ToolConfig.model_validate(settings)


def results(bench: Any) -> list[str]:
    return [str(message["content"]) for message in bench.last if message["role"] == "tool"]


async def test_a_component_is_a_tool_with_the_arguments_as_its_message(bench: Any) -> None:
    shout = {
        "type": "component",
        "name": "shout",
        "component": "jsTransform",
        "config": {"jsScript": "return {msg: {loud: msg.text.toUpperCase()}, metadata: metadata, msgType: msgType};"},
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
    bench.load(calls("shout", text="hey"), calls("shout"), "ok", tools=[shout])
    assert (await bench.say()).ok
    assert bench.model.requests[0].body["tools"][0]["function"]["parameters"] == shout["parameters"]
    assert results(bench) == [
        '{"loud":"HEY"}',
        "Error: blocked_invalid_arguments - invalid or empty arguments for tool shout: text is required",
    ]


async def test_the_arguments_of_a_component_can_be_mapped(bench: Any) -> None:
    where = {
        "type": "component",
        "name": "where",
        "component": "jsTransform",
        "config": {
            "jsScript": "return {msg: {at: msg + ' in ' + metadata.city}, metadata, msgType, dataType: 'JSON'};"
        },
        "data": "the ${msg.thing}",
        "metadata": {"city": "${msg.city}"},
        "result": "${msg.at}!",
    }
    bench.load(calls("where", thing="box", city="Hull"), "ok", tools=[where])
    await bench.say()
    assert results(bench) == ["the box in Hull!"]


async def test_a_component_that_is_not_there_is_told_when_the_chain_is_loaded(bench: Any) -> None:
    with pytest.raises(ChainInvalid, match="nowhereAtAll"):
        bench.load("ok", tools=[{"type": "component", "name": "x", "component": "nowhereAtAll"}])


async def test_a_component_that_fails_is_told(bench: Any) -> None:
    broken = {"type": "component", "name": "broken", "component": "jsTransform", "config": {"jsScript": "throw 'no'"}}
    bench.load(calls("broken"), "ok", tools=[broken])
    await bench.say()
    assert results(bench)[0].startswith("Error: Tool execution failed: ")


@pytest.mark.parametrize(("early", "result"), [("fork", "late"), ("end", "early")])
async def test_the_result_of_a_chain_is_its_last_answer(bench: Any, early: str, result: str) -> None:
    @bench.engine.function("both")
    async def both(ctx: Any, msg: Any) -> str:
        await ctx.emit("early", msg.with_data("early"))
        return "late"

    nodes = [
        {"id": "both", "type": "functions", "configuration": {"functionName": "both"}},
        {"id": "a", "type": early},  # in a chain with `end` nodes what ends elsewhere is no answer
        {"id": "b", "type": "exprTransform", "configuration": {"expr": "'late'"}},
    ]
    connections = [{"fromId": "both", "toId": to, "type": kind} for to, kind in (("a", "early"), ("b", "late"))]
    bench.engine.load({"ruleChain": {"id": "two"}, "metadata": {"nodes": nodes, "connections": connections}})
    bench.load(calls("two"), "ok", tools=[{"type": "rulechain", "name": "two", "targetId": "two"}])
    await bench.say()
    assert results(bench) == [result]


TOLD = "return {msg: metadata, metadata, msgType, dataType: 'JSON'};"


@pytest.mark.parametrize("kind", ["rulechain", "component"])
async def test_of_the_metadata_a_tool_gets_what_it_lists_and_nothing_else(bench: Any, kind: str) -> None:
    node = {"id": "t", "type": "jsTransform", "configuration": {"jsScript": TOLD}}
    bench.engine.load({"ruleChain": {"id": "told"}, "metadata": {"nodes": [node], "connections": []}})
    whom: Any = {"type": kind, "name": "whom", "passMetadata": ["userId", "tenant", "nobody"]}
    if kind == "component":
        whom |= {"component": "jsTransform", "config": {"jsScript": TOLD}, "metadata": {"tenant": "${msg.tenant}"}}
    else:
        whom["targetId"] = "told"
    bench.load(calls("whom", userId="eve", tenant="evil"), "ok", tools=[whom])
    await bench.say(userId="ann", tenant="t1", secret="x")
    assert json.loads(results(bench)[0]) == {"userId": "ann", "tenant": "t1"}


async def test_a_chain_that_is_a_tool_is_part_of_the_run(bench: Any) -> None:
    runs: list[str] = []

    @bench.engine.function("where")
    def where(ctx: Any, msg: Any) -> str:
        runs.append(ctx.run_id)
        return "Success"

    node = {"id": "w", "type": "functions", "configuration": {"functionName": "where"}}
    bench.engine.load({"ruleChain": {"id": "where"}, "metadata": {"nodes": [node], "connections": []}})
    bench.load(calls("where"), "ok", tools=[{"type": "rulechain", "name": "where", "targetId": "where"}])
    outcome = await bench.say()
    assert runs == [outcome.run_id]


async def test_a_chain_without_a_schema_takes_any_object(bench: Any) -> None:
    bench.load("ok", tools=[{"type": "rulechain", "name": "two", "targetId": "two", "parameters": ""}])
    await bench.say()
    assert bench.model.requests[0].body["tools"][0]["function"]["parameters"]["type"] == "object"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"type": "component", "name": "x"}, "needs name and component"),
        ({"type": "external"}, "a tool of type external needs a name"),
        ({"type": "magic"}, "unsupported tool type: magic; it must be function, builtin,"),
    ],
)
def test_what_a_kind_needs_is_told(settings: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        entry(**{"component": "", **settings})


async def test_an_action_is_ok_at_once(bench: Any) -> None:
    bench.load(calls("open_map", city="Hull"), "ok", tools=[{"type": "action", "name": "open_map", "parameters": CITY}])
    await bench.say()
    assert results(bench) == ["OK"]


def test_external_tools_are_marked() -> None:
    box = toolbox([entry(type="external", name="a"), entry(type="frontend", name="b", view="qlc")], {})
    assert [(tool.is_external, tool.kind, tool.timeout_s) for tool in map(box.get, "ab") if tool] == [
        (True, "external", 120.0),
        (True, "qlc", 300.0),
    ]


def test_settings_of_an_entry_count_before_those_of_the_tool() -> None:
    def look() -> None: ...

    tool = toolbox(
        [entry(name="look", serial=True, readOnly=True, retry=2, timeout=50, mayRepeat=True)], {"look": look}
    )
    found = tool.get("look")
    assert isinstance(found, Tool)
    assert (found.is_serial, found.is_read_only, found.retries, found.timeout_s, found.may_repeat) == (
        True,
        True,
        2,
        0.05,
        True,
    )


async def test_presets_are_hidden_and_win(bench: Any) -> None:
    def weather(city: str, unit: str) -> str:
        return f"{city} {unit}"

    bench.engine.tool(weather)
    tool = {"name": "weather", "presets": {"unit": "C"}}
    bench.load(calls("weather", city="Hull", unit="F"), calls("weather", city="York"), "ok", tools=[tool])
    await bench.say()
    shown = bench.model.requests[0].body["tools"][0]["function"]["parameters"]
    assert (list(shown["properties"]), shown["required"]) == (["city"], ["city"])
    assert results(bench) == ["Hull C", "York C"]


def test_a_preset_for_what_the_tool_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="the tool look has no argument 'x' that could be preset"):
        toolbox([entry(name="look", presets={"x": 1})], {"look": lambda: None})


async def test_a_chain_gets_its_presets_in_its_message(bench: Any) -> None:
    bench.engine.load({"ruleChain": {"id": "echo"}, "metadata": {"nodes": [{"id": "e", "type": "log"}]}})
    tool = {"type": "rulechain", "name": "echo", "targetId": "echo", "parameters": CITY, "presets": {"unit": "C"}}
    bench.load(calls("echo", city="Hull"), "ok", tools=[tool])
    await bench.say()
    assert results(bench) == ['{"city":"Hull","unit":"C"}']


async def test_a_tool_that_fails_is_tried_again(bench: Any) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("busy")
        return "well"

    bench.engine.tool(flaky)
    bench.load(calls("flaky"), "ok", tools=[{"name": "flaky", "retry": 2}])
    await bench.say()
    assert results(bench) == ["well"]
    assert bench.clock.slept == [1.0, 2.0]


async def test_an_agent_says_for_all_its_tools_how_long_they_may_take_and_how_often_they_are_tried(bench: Any) -> None:
    @tool(timeout=7_000)
    def marked() -> str:
        return ""

    bench.engine.tool(marked)
    bench.engine.tool(lambda: "", name="plain")
    bench.engine.tool(lambda: "", name="own")
    asked = {"type": "frontend", "name": "asked"}
    own = {"name": "own", "timeout": 3_000, "retry": 0}
    bench.load(tools=["plain", "marked", own, asked], toolTimeout=50, toolRetry=2)
    (agent,) = bench.engine.get("c").instances
    found = {name: agent.component.toolbox.get(name) for name in ("plain", "marked", "own", "asked")}
    assert {name: (one.timeout_s, one.retries) for name, one in found.items()} == {
        "plain": (0.05, 2),
        "marked": (7, 2),
        "own": (3, 0),
        "asked": (300, 0),
    }


async def test_a_strict_tool_is_offered_as_such(bench: Any) -> None:
    @tool(strict=True)
    def strict(city: str) -> str:
        return city

    bench.engine.tool(strict)
    bench.engine.tool(lambda: "", name="loose")
    bench.load("ok", tools=["strict", "loose"])
    await bench.say()
    offered = [one["function"] for one in bench.model.requests[-1].body["tools"]]
    assert [one.get("strict") for one in offered] == [True, None]


# Groups


def grouped() -> Any:
    groups = [
        ToolGroupConfig(name="shop", description="Buying.", notes="Ask before you buy."),
        ToolGroupConfig(name="maps", description="Ways.", active=True),
        ToolGroupConfig(name="admin", switched_by="code"),
    ]
    tools = [entry(name=name, group=group) for name, group in (("a", ""), ("b", "shop"), ("c", "maps"), ("d", "admin"))]
    return toolbox(tools, dict.fromkeys("abcd", lambda: None), None, groups)


def test_tools_of_groups_that_are_off_are_not_offered_and_the_order_stays() -> None:
    box, state = grouped(), AgentState()
    assert [spec.name for spec in box.specs(state)] == ["a", "c", "reset_equipped_tools"]
    switch(box, state, on=["shop", "admin"])
    assert [spec.name for spec in box.specs(state)] == ["a", "b", "c", "d", "reset_equipped_tools"]
    switch(box, state, off=["maps"])
    assert state.groups == ["shop", "admin"]
    with pytest.raises(ValueError, match="there is no group of tools 'x'"):
        switch(box, state, on=["x"])


def test_a_group_that_is_not_there_or_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="is of the group 'x', which toolGroups does not have"):
        toolbox([entry(name="a", group="x")], {"a": lambda: None})
    with pytest.raises(ValueError, match="two groups of tools are called 'g'"):
        toolbox([], {}, None, [ToolGroupConfig(name="g"), ToolGroupConfig(name="g")])


async def test_the_model_switches_groups_and_is_told_how_to_use_them(bench: Any) -> None:
    bench.engine.tool(lambda: "bought", name="buy")
    groups = [{"name": "shop", "description": "Buying.", "notes": "Ask before you buy."}, {"name": "x"}]
    script = [
        calls("buy"),
        calls("reset_equipped_tools", to_activate=["shop"]),
        calls("buy"),
        calls("reset_equipped_tools", to_activate=[]),
        "ok",
    ]
    bench.load(*script, tools=[{"name": "buy", "group": "shop"}], toolGroups=groups)
    await bench.say()
    offered = [[tool["function"]["name"] for tool in request.body["tools"]] for request in bench.model.requests]
    without, with_shop = ["reset_equipped_tools"], ["buy", "reset_equipped_tools"]
    assert offered == [without, without, with_shop, with_shop, without]
    assert results(bench) == [
        "Error: Unauthorized tool call: 'buy' is not available",
        "Switched on: shop.\n<tool-instructions>\nshop: Ask before you buy.\n</tool-instructions>",
        "bought",
        "No group of tools is switched on.",
    ]


async def test_a_group_that_the_model_may_not_switch_is_refused(bench: Any) -> None:
    groups = [{"name": "shop"}, {"name": "admin", "switchedBy": "code"}]
    script = [calls("reset_equipped_tools", to_activate=["admin"]), calls("reset_equipped_tools"), "ok"]
    bench.load(*script, toolGroups=groups)
    await bench.say()
    assert results(bench)[0].endswith("there is no group 'admin' to switch; there are shop")
    assert results(bench)[1].endswith("to_activate is required")


# Names, arguments


@pytest.mark.parametrize(
    "name", ["getStock", "get-stock", "Get Stock", "get_stock_tool", "GET__STOCK", "getStockFunction"]
)
def test_spellings_of_a_name_are_one(name: str) -> None:
    assert plain_spelling(name) == "get_stock"


async def test_a_name_spelled_otherwise_is_put_right_before_anything_sees_it(bench: Any) -> None:
    bench.engine.tool(lambda: "40", name="get_stock")
    bench.load(calls("getStock"), "ok", tools=["get_stock"])
    await bench.say()
    assert results(bench) == ["40"]
    assert bench.last[-2]["tool_calls"][0]["function"]["name"] == "get_stock"


async def test_a_spelling_that_two_tools_share_names_neither(bench: Any) -> None:
    bench.engine.tool(lambda: "1", name="get_stock")
    bench.engine.tool(lambda: "2", name="getStock")
    bench.load(calls("get-stock"), calls("getStock"), "ok", tools=["get_stock", "getStock"])
    await bench.say()
    assert results(bench) == ["Error: Unknown tool 'get-stock', please use registered tools.", "2"]


async def test_arguments_that_were_cut_off_are_told_so(bench: Any) -> None:
    bench.engine.tool(lambda text: text, name="write_down")
    half = Reply(tool_calls=[ToolCall("write_down", '{"text": "abc')], finish_reason="length")
    bench.load(half, "ok", tools=["write_down"])
    await bench.say()
    assert "they were cut off after 13 characters, because the reply was as long as it may be" in results(bench)[0]


async def test_null_for_what_may_be_left_out_is_left_out(bench: Any) -> None:
    def look(place: str = "here", limit: int | None = 3, deep: dict[str, int] | None = None) -> str:
        return f"{place} {limit} {deep}"

    bench.engine.tool(look)
    bench.load(calls("look", place=None, limit=None, deep={}), "ok", tools=["look"])
    await bench.say()
    assert results(bench) == ["here None {}"]


async def test_a_tool_that_ignores_that_its_time_is_over_is_left_behind(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catenary_components.ai.tools.execute.GRACE_S", 0.01)
    go_on = asyncio.Event()

    async def stubborn() -> None:
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue

    bench.engine.tool(stubborn)
    bench.load(calls("stubborn"), "ok", tools=[{"name": "stubborn", "timeout": 20, "retry": 3}])
    assert (await bench.say()).message.data == "ok"
    go_on.set()
    assert results(bench) == ["Error: Tool execution failed: the tool took longer than 0.02 s and does not stop"]


async def test_a_tool_that_cleans_up_while_the_event_loop_stands_still_now_and_then_has_stopped(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catenary_components.ai.tools.execute.GRACE_S", 0.1)

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                time.sleep(0.11)  # noqa: ASYNC251 - the whole process stands still, and its time goes on
                await asyncio.sleep(0)

    bench.engine.tool(tidy)
    bench.load(calls("tidy"), "ok", tools=[{"name": "tidy", "timeout": 20}])
    await bench.say()
    assert results(bench) == ["Error: Tool execution failed: the tool took longer than 0.02 s"]


async def test_ten_megabytes_are_cut_for_the_model(bench: Any) -> None:
    bench.engine.tool(lambda: "x" * 10_000_000, name="dump")
    bench.load(calls("dump"), "ok", tools=["dump"])
    assert (await bench.say()).message.data == "ok"
    assert results(bench)[0] == "x" * 50_000 + "...(truncated, original: 10000000 bytes)"


TREE: Any = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "required": ["root"],
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "name": {"$ref": "#/$defs/Name", "description": "How it is called."},
                "size": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        "Name": {"type": "string", "minLength": 2},
    },
}


async def test_a_schema_with_references_is_passed_on_and_checked(bench: Any) -> None:
    bench.engine.load({"ruleChain": {"id": "grow"}, "metadata": {"nodes": [{"id": "e", "type": "log"}]}})
    tree = {"type": "rulechain", "name": "grow", "targetId": "grow", "parameters": TREE}
    good = {"name": "oak", "children": [{"name": "twig", "size": None, "children": []}]}
    bad = {"name": "oak", "children": [{"name": "x", "size": 1.5, "leaf": 1}]}
    bench.load(calls("grow", root=good), calls("grow", root=bad), "ok", tools=[tree])
    await bench.say()
    assert bench.model.requests[0].body["tools"][0]["function"]["parameters"] == TREE
    first, second = results(bench)
    assert first == '{"root":{"children":[{"children":[],"name":"twig"}],"name":"oak"}}'
    assert second == (
        "Error: blocked_invalid_arguments - invalid or empty arguments for tool grow: root.children[0].leaf is not an "
        "argument of this tool; root.children[0].name must have at least 2 characters; root.children[0].size must be "
        "of type integer, not number"
    )


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/No"}}}, "#/$defs/No leads to nothing"),
        ({"$defs": {"A": {"items": {"$ref": "other.json"}}}}, "other.json leads to nothing"),
        ({"$defs": {"A": {"type": "strng"}}}, "$defs.A.type must be one of object, array, string"),
        ({"properties": {"a": {"minimum": "1"}}}, "properties.a.minimum must be a number, not '1'"),
        ({"required": "a"}, "required must be a list of names"),
        ({"type": "array"}, "type must be object, not array"),
    ],
)
def test_a_schema_that_is_none_is_told_with_its_tool(parameters: Any, text: str) -> None:
    with pytest.raises(ValueError, match=rf"the tool grow: parameters: {text.replace('$', '[$]')}"):
        toolbox([entry(type="external", name="grow", parameters=parameters)], {})


def test_keywords_that_nobody_looks_at_are_passed_on() -> None:
    parameters = {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "if": {"required": ["a"]}}
    tool = toolbox([entry(type="external", name="grow", parameters=parameters)], {}).get("grow")
    assert tool is not None
    assert tool.parameters == parameters


async def test_a_tool_of_a_group_that_is_off_is_refused_though_its_result_comes_from_outside(bench: Any) -> None:
    tools = [{"type": "external", "name": "buy", "group": "shop"}]
    bench.load(calls("buy"), "ok", tools=tools, toolGroups=[{"name": "shop"}])
    assert (await bench.say()).ok
    assert results(bench) == ["Error: Unauthorized tool call: 'buy' is not available"]


def test_a_preset_that_does_not_fit_is_told_at_load() -> None:
    node = {"type": "external", "name": "grow", "parameters": TREE, "presets": {"root": {"name": "x"}}}
    with pytest.raises(ValueError, match=r"the tool grow: presets: root.name must have at least 2 characters"):
        toolbox([entry(**node)], {})
    assert toolbox([entry(**{**node, "presets": {"root": {"name": "oak"}}})], {}).get("grow")


async def test_a_tool_that_the_service_runs_itself_is_offered_beside_others_and_its_call_goes_back(bench: Any) -> None:
    own = {"type": "builtin_function", "function": {"name": "$web_search"}}
    bench.load(
        calls("$web_search", query="bolts"),
        "found",
        tools=[{"type": "builtin", "name": "calculator"}],
        params={"extraFields": {"tools": [own]}},
        permission="default",
    )
    assert (await bench.say()).message.text == "found"
    first, second = bench.model.requests
    body: Any = first.body
    assert [tool["function"]["name"] for tool in body["tools"]] == ["calculator", "$web_search"]
    call, result = second.messages[-2:]
    assert call["tool_calls"][0]["function"]["name"] == "$web_search"
    assert json.loads(result["content"]) == {"query": "bolts"}

"""Built-in tools as agents list them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine
from catenary.errors import CatenaryError
from catenary.testing import Reply, calls
from catenary_components.ai.tools.builtin.browser import BrowserUse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.components.ai.conftest import Bench
    from tests.components.ai.tools.builtin.conftest import Shop


def _tool(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "builtin", "name": name, **more}


async def test_an_agent_has_the_built_in_tools_that_it_lists(bench: Bench) -> None:
    bench.load(calls("calculator", expression="6 * 7"), "42.", tools=[_tool("calculator"), _tool("datetime")])
    outcome = await bench.say()
    assert outcome.message.text == "42."
    assert bench.last[-1]["content"] == "42"
    told: Any = bench.model.requests[0].body["tools"]
    assert [one["function"]["name"] for one in told] == ["calculator", "datetime"]
    assert told[0]["function"]["parameters"]["required"] == ["expression"]


async def test_a_built_in_tool_may_be_described_anew(bench: Bench) -> None:
    bench.load("ok", tools=[_tool("calculator", description="For sums of money.")])
    await bench.say()
    told: Any = bench.model.requests[0].body["tools"]
    assert told[0]["function"]["description"] == "For sums of money."


async def test_a_function_of_that_name_is_taken_where_no_built_in_tool_has_it(bench: Bench) -> None:
    bench.engine.tool(lambda: "from a function", name="stock_level")
    bench.load(calls("stock_level"), "done", tools=[_tool("stock_level")])
    await bench.say()
    assert bench.last[-1]["content"] == "from a function"


async def test_a_built_in_tool_comes_before_a_function_of_its_name(bench: Bench) -> None:
    bench.engine.tool(lambda expression: "from a function", name="calculator")
    bench.load(calls("calculator", expression="1 + 1"), "done", tools=[_tool("calculator")])
    await bench.say()
    assert bench.last[-1]["content"] == "2"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (_tool("nowhere"), "builtin tool not found: nowhere"),
        (_tool("datetime", config={"timezone": "Nowhere"}), "builtin tool datetime: timezone: there is no time zone"),
        (_tool("datetime", config={"timezone": ["a", "b"]}), "builtin tool datetime: timezone must be a text"),
        (_tool("datetime", config={"timeZoned": "UTC"}), "builtin tool datetime: the option 'timeZoned' is not known"),
    ],
)
async def test_what_cannot_be_a_built_in_tool_keeps_the_chain_from_being_opened(
    bench: Bench, tool: dict[str, Any], text: str
) -> None:
    with pytest.raises(CatenaryError) as raised:
        bench.load("ok", tools=[tool])
    assert text in str(raised.value)


NAMES = ("bash", "read", "write", "edit", "glob", "grep", "fetch", "todo", "datetime", "calculator")


async def test_what_changes_something_runs_alone_and_what_only_looks_beside_others(shop: Shop) -> None:
    made = {name: shop.make(name) for name in NAMES}
    assert {name for name, tool in made.items() if tool.is_serial} == {"bash", "write", "edit", "todo"}
    assert BrowserUse.is_serial
    assert {name for name, tool in made.items() if not tool.is_read_only} == {"bash", "write", "edit"}


async def test_a_file_that_is_written_is_read_after_that_in_the_same_reply(bench: Bench, tmp_path: Path) -> None:
    place = {"config": {"workDir": str(tmp_path)}}
    both = [*calls("write", path="a.txt", content="new\n").tool_calls, *calls("read", path="a.txt").tool_calls]
    async with Engine({"data_dir": str(tmp_path)}, clock=bench.clock) as engine:
        bench.engine = engine
        bench.load(Reply(tool_calls=both), "ok", tools=[_tool("write", **place), _tool("read", **place)])
        assert (await bench.say()).ok
    assert "1: new" in bench.last[-1]["content"]

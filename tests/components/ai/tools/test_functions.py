"""Python functions as tools."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from catenary import Engine
from catenary.testing import calls
from catenary_components.ai.runtime_context import RuntimeContext
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.functions import function_tool
from catenary_components.ai.tools.injection import Injected
from catenary_components.ai.tools.listing import ToolConfig, toolbox
from catenary_components.ai.tools.live import ToolCallInfo
from catenary_components.ai.tools.marking import tool as marked
from catenary_components.ai.tools.tool import Tool, Toolbox, ToolInputError

if TYPE_CHECKING:
    from catenary import Context


class Box(BaseModel):
    """A box."""

    size: int


def stock(sku: str, place: Literal["here", "there"] = "here", *, limit: int = 10) -> dict[str, Any]:
    """Tell how much there is of a thing.

    Counts what lies on the shelf.

    Args:
        sku: Number of the thing,
            as printed on the box.
        place (str): Where to look.

    Returns:
        The level.
    """
    return {"sku": sku, "place": place, "limit": limit}


async def run(tool: Tool, **arguments: Any) -> Any:
    tool.work.check(arguments)
    return await tool.work.run("the context", arguments, "")  # type: ignore[arg-type]


def test_the_schema_comes_from_hints_and_docstring() -> None:
    tool = function_tool(stock)
    assert tool.name == "stock"
    assert tool.description == "Tell how much there is of a thing.\n\nCounts what lies on the shelf."
    assert tool.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["sku"],
        "properties": {
            "sku": {"type": "string", "description": "Number of the thing, as printed on the box."},
            "place": {"type": "string", "enum": ["here", "there"], "default": "here", "description": "Where to look."},
            "limit": {"type": "integer", "default": 10},
        },
    }
    assert tool.needs_arguments


def test_name_and_description_may_be_given() -> None:
    tool = function_tool(stock, name="level", description="Say it.")
    assert (tool.name, tool.description) == ("level", "Say it.")


async def test_defaults_of_the_function_hold() -> None:
    assert await run(function_tool(stock), sku="a") == {"sku": "a", "place": "here", "limit": 10}


async def test_arguments_are_read_by_their_types() -> None:
    def weigh(boxes: list[Box], factor: float) -> float:
        return sum(box.size for box in boxes) * factor

    assert await run(function_tool(weigh), boxes=[{"size": 2}, {"size": 3}], factor=2) == 10


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "sku is required"),
        ({"sku": "a", "color": 1}, "color is not an argument of this tool"),
        ({"sku": "a", "place": "nowhere"}, "place: Input should be 'here' or 'there'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ToolInputError) as raised:
        function_tool(stock).work.check(arguments)
    assert str(raised.value) == text


async def test_the_context_is_given_and_hidden() -> None:
    def where(ctx: Context, again: bool = False) -> str:
        return f"{ctx} {again}"

    tool = function_tool(where)
    assert list(tool.parameters["properties"]) == ["again"]
    assert await run(tool) == "the context False"


async def test_a_plain_function_runs_in_a_thread() -> None:
    def thread() -> str:
        return threading.current_thread().name

    assert await run(function_tool(thread)) != threading.current_thread().name


async def test_an_async_function_is_awaited() -> None:
    async def wait(seconds: Annotated[float, Field(ge=0)]) -> str:
        await asyncio.sleep(seconds)
        return "done"

    assert await run(function_tool(wait), seconds=0) == "done"


async def test_an_object_that_can_be_called_is_a_tool() -> None:
    class Greet:
        """Greet somebody."""

        async def __call__(self, name: str) -> str:
            return f"Hello {name}"

    tool = function_tool(Greet())
    assert (tool.name, tool.description) == ("Greet", "Greet somebody.")
    assert await run(tool, name="Ada") == "Hello Ada"


async def test_what_is_returned_becomes_a_json_value() -> None:
    @dataclass
    class Level:
        count: int

    class Odd:
        def __str__(self) -> str:
            return "odd"

    def level() -> list[Any]:
        return [Level(3), Box(size=1), {1}, Odd()]

    assert await run(function_tool(level)) == [{"count": 3}, {"size": 1}, [1], "odd"]


async def test_what_a_plain_function_gives_to_be_awaited_is_awaited() -> None:
    async def later(delay: float) -> str:
        await asyncio.sleep(delay)
        return "done"

    async def items() -> AsyncGenerator[int]:
        yield 1
        yield 2

    assert await run(function_tool(lambda delay=0: later(delay)), delay=0) == "done"
    assert await run(function_tool(items)) == 2


async def test_a_generator_runs_in_the_thread() -> None:
    def names() -> Generator[str]:
        yield threading.current_thread().name

    assert await run(function_tool(names)) != [threading.current_thread().name]


async def test_a_function_that_finds_no_next_item_fails_at_once() -> None:
    def first() -> object:
        return next(iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(run(function_tool(first)), 15)


def test_a_default_that_json_cannot_show_is_left_out() -> None:
    def tool(a: int = 1, b: Any = object()) -> None: ...  # noqa: B008

    assert function_tool(tool).parameters["properties"] == {"a": {"type": "integer", "default": 1}, "b": {}}


def unknown_name(value: Unheard) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def no_value(value: Callable[[], int]) -> None: ...


@pytest.mark.parametrize("function", [unknown_name, no_value])
def test_a_hint_that_gives_no_schema_is_refused_with_the_name_of_the_tool(function: Any) -> None:
    with pytest.raises(TypeError, match=f"the tool function {function.__name__}: no schema.*$") as raised:
        function_tool(function)
    assert "\n" not in str(raised.value)


async def test_a_parameter_may_have_any_name() -> None:
    def tool(schema: str, copy: str, model_fields: str, self_: str) -> str:
        return schema + copy + model_fields + self_

    assert await run(function_tool(tool), schema="a", copy="b", model_fields="c", self_="d") == "abcd"


async def test_a_parameter_without_a_hint_takes_anything() -> None:
    def tool(value):  # type: ignore[no-untyped-def]
        return value

    assert await run(function_tool(tool), value=[1]) == [1]


@pytest.mark.parametrize("function", [lambda *values: values, lambda **values: values, lambda value, /: value])
def test_parameters_that_have_no_name_are_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="a tool takes named parameters only"):
        function_tool(function)


def test_two_tools_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="two tools are called 'stock'"):
        Toolbox([function_tool(stock), function_tool(stock)])


def test_a_toolbox_finds_its_tools() -> None:
    box = Toolbox([function_tool(stock)])
    assert len(box) == 1
    assert box.get("stock") is not None
    assert box.get("other") is None
    assert [spec.name for spec in box.specs()] == ["stock"]


# What the run has


class Till:
    """No model can write one."""


class SmallTill(Till):
    """A kind of till."""


@dataclass
class Customer:
    name: str


async def test_what_the_run_has_is_given_by_type_and_hidden(bench: Any) -> None:
    till, ada = SmallTill(), Customer("Ada")

    def pay(
        amount: int,
        state: AgentState,
        context: RuntimeContext,
        call: ToolCallInfo,
        till: Till,
        customer: Injected[Customer],
        nothing: Engine | None = None,
    ) -> str:
        return (
            f"{amount} {state.steps} {context.text('shop')} {call.name} {type(till).__name__} {customer.name} {nothing}"
        )

    assert list(function_tool(pay).parameters["properties"]) == ["amount"]
    bench.engine.tool(pay)
    bench.load(calls("pay", amount=3), "ok", tools=["pay"])
    context = RuntimeContext(till, ada, shop="Hull")
    outcome = await bench.engine.run("c", "hi", scope=[context])
    assert outcome.ok
    assert bench.last[-1]["content"] == "3 1 Hull pay SmallTill Ada None"


async def test_what_the_run_does_not_have_is_none(bench: Any) -> None:
    bench.engine.tool(has_till)
    bench.load(calls("has_till"), "ok", tools=["has_till"])
    await bench.say()
    assert bench.last[-1]["content"] == "None"


def has_till(till: Till) -> str:
    return str(till)


async def test_a_hint_that_only_type_checkers_can_read_will_do() -> None:
    def look(where: catenary.Context, state: AgentState | None = None) -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(where)

    tool = function_tool(look)
    assert tool.parameters["properties"] == {}


async def test_a_plain_function_shows_pieces_from_its_thread(bench: Any) -> None:
    def climb(call: ToolCallInfo) -> str:
        call.show_now("half way")
        return f"{call.attempt} {call.idempotency_key == call.id}"

    bench.engine.tool(climb)
    bench.load(calls("climb"), "ok", tools=["climb"])
    pieces = [event.data["delta"] async for event in bench.engine.stream("c", "hi") if event.name == "tool.delta"]
    assert pieces == ["half way"]
    assert bench.last[-1]["content"] == "1 True"


# What is said of a function


def test_what_is_said_of_a_function_counts_wherever_it_is_listed_and_the_list_goes_before() -> None:
    @marked(read_only=True, timeout=5_000)
    def look() -> str:
        """Look."""
        return "seen"

    assert look() == "seen"
    named, listed = (
        toolbox(entries, {"look": look}).get("look")
        for entries in (["look"], [ToolConfig(name="look", read_only=False)])
    )
    assert named is not None
    assert listed is not None
    assert (named.is_read_only, named.timeout_s) == (True, 5.0)
    assert (listed.is_read_only, listed.timeout_s) == (False, 5.0)


def test_a_setting_that_no_tool_has_is_refused() -> None:
    with pytest.raises(TypeError, match="a tool has no setting 'readonly'; there are description, read_only"):
        marked(readonly=True)
    with pytest.raises(ValidationError, match="timeout"):
        marked(timeout=-1)
    with pytest.raises(TypeError, match="write a function that calls it"):
        marked("".join, read_only=True)

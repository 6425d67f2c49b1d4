from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Shop


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(12.5 + 3) * 4 ** 2 / 7", "35.42857142857143"),
        ("round(2 / 3, 2)", "0.67"),
        ("9007199254740993 * 3", "27021597764222979"),
        ("sqrt(16) + 17 % 5", "6"),
        ("2 > 1", "true"),
        ("round(pi(), 4)", "3.1416"),
    ],
)
async def test_the_calculator_works_an_expression_out(shop: Shop, expression: str, value: str) -> None:
    assert await shop.call("calculator", expression=expression) == value


@pytest.mark.parametrize(
    "expression",
    ["2 +", "__import__('os')", "10 / 0", "10 ** 400", "sqrt(-1)", "().__class__", "include('/etc/passwd')"],
)
async def test_the_calculator_tells_what_it_cannot_work_out(shop: Shop, expression: str) -> None:
    assert (await shop.call("calculator", expression=expression)).startswith("Error: ")


async def test_the_calculator_is_not_kept_busy(shop: Shop) -> None:
    assert (await shop.call("calculator", expression="9 ** 9 ** 9 ** 9")).startswith("Error: ")
    for expression in ("1 / 0", "10 ** 400", "0 / 0"):
        text = await shop.call("calculator", expression=expression)
        assert text == "Error: the result is no finite number; there may be a division by zero in it"
    assert (await shop.call("calculator", expression="1" * 3_000)).startswith("Error: blocked_invalid_arguments")


async def test_datetime_tells_the_time_of_the_engines_clock(shop: Shop) -> None:
    told = json.loads(await shop.call("datetime", timezone="Asia/Tokyo"))
    plain = json.loads(await shop.call("datetime"))
    assert (told["iso"], told["weekday"]) == ("2023-11-15T07:13:20+09:00", "Wednesday")
    assert (plain["timezone"], plain["iso"], plain["weekday"]) == ("UTC", "2023-11-14T22:13:20+00:00", "Tuesday")
    assert (plain["date"], plain["time"]) == ("2023-11-14", "22:13:20")


@pytest.mark.parametrize(
    ("city", "zone"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("São Paulo", "America/Sao_Paulo"),
        ("nyc", "America/New_York"),
        ("Beijing", "Asia/Shanghai"),
    ],
)
async def test_datetime_knows_large_cities(shop: Shop, city: str, zone: str) -> None:
    assert json.loads(await shop.call("datetime", city=city))["timezone"] == zone


async def test_datetime_knows_offsets_and_says_what_is_no_time_zone(shop: Shop) -> None:
    assert json.loads(await shop.call("datetime", timezone="+02:00"))["iso"].endswith("+02:00")
    for wrong in ("Mars/Olympus", "../../etc/passwd", "+99:99"):
        assert (await shop.call("datetime", timezone=wrong)).startswith("Error: there is no time zone")
    assert "is not known" in await shop.call("datetime", city="Atlantis")


async def test_datetime_has_a_time_zone_of_its_own(shop: Shop) -> None:
    shop.make("datetime", timezone="Europe/Berlin")
    assert json.loads(await shop.call("datetime"))["timezone"] == "Europe/Berlin"
    with pytest.raises(ValueError, match=r"builtin tool datetime: timezone: there is no time zone 'Nowhere'"):
        shop.make("datetime", timezone="Nowhere")


def _todo(subject: str, status: str = "pending") -> Any:
    return {"subject": subject, "status": status}


async def test_todo_replaces_the_list_and_keeps_ids_by_subject(shop: Shop) -> None:
    await shop.call("todo", todos=[_todo("buy bolts", "in_progress"), _todo("count")])
    first: Any = list(shop.state.todos)
    text = await shop.call("todo", todos=[_todo("sweep"), _todo("buy bolts", "completed")])
    second: Any = shop.state.todos
    assert [one["subject"] for one in second] == ["sweep", "buy bolts"]
    assert second[1]["id"] == first[0]["id"]
    assert second[0]["id"] not in {one["id"] for one in first}
    assert text == "The list of tasks is saved (1 of 2 completed):\n[ ] sweep\n[x] buy bolts"
    assert shop.visit.events[-1] == ("todo.update", {"todos": second})


async def test_a_todo_list_that_cannot_be_is_refused_and_changes_nothing(shop: Shop) -> None:
    await shop.call("todo", todos=[_todo("count")])
    before = list(shop.state.todos)
    two = [_todo("a", "in_progress"), _todo("b", "in_progress")]
    assert "at most one task may be in_progress, but 2 are" in await shop.call("todo", todos=two)
    assert "two tasks are called 'a'" in await shop.call("todo", todos=[_todo("a"), _todo(" a ")])
    assert "needs a subject" in await shop.call("todo", todos=[_todo("  ")])
    assert "blocked_invalid_arguments" in await shop.call("todo", todos=[_todo("a", "begun")])
    assert "at most 100 items" in await shop.call("todo", todos=[_todo(f"{n}") for n in range(101)])
    assert shop.state.todos == before


async def test_an_empty_todo_list_is_a_list(shop: Shop) -> None:
    await shop.call("todo", todos=[_todo("count")])
    assert await shop.call("todo", todos=[]) == "The list of tasks is empty."
    assert shop.state.todos == []

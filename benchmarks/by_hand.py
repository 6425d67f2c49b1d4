"""The floor: what a programmer would write who needs just this one chain and nothing around it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from chains import BRANCHES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Loads = Callable[[str], Any]


async def _is_warm(value: dict[str, Any]) -> bool:
    return value["t"] > 40


async def _converted(value: dict[str, Any]) -> dict[str, Any]:
    return {"id": value["deviceId"], "fahrenheit": value["t"] * 1.8 + 32}


async def _answered(value: dict[str, Any]) -> dict[str, Any]:
    return value


async def handle_message(text: str, loads: Loads) -> dict[str, Any] | None:
    """Read a message, filter it, transform it, and give the answer; each step is awaited."""
    value = loads(text)
    if not await _is_warm(value):
        return None
    return await _answered(await _converted(value))


def handle_message_sync(text: str, loads: Loads) -> dict[str, Any] | None:
    """Do the same in one plain function."""
    value = loads(text)
    if not value["t"] > 40:
        return None
    return {"id": value["deviceId"], "fahrenheit": value["t"] * 1.8 + 32}


class _PassThrough:
    async def run(self, message: Any) -> Any:
        return message


def awaited_steps(count: int) -> Callable[[Any], Awaitable[Any]]:
    """Give a program that awaits this many objects one after the other."""
    steps = [_PassThrough().run for _ in range(count)]

    async def program(message: Any) -> Any:
        for step in steps:
            message = await step(message)
        return message

    return program


async def _branch(value: Any) -> Any:
    return value


async def split(value: Any) -> list[Any]:
    """Await ten branches one after the other and list what they give."""
    return [await _branch(value) for _ in range(BRANCHES)]


async def _suspended_branch(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def split_into_tasks(value: Any) -> list[Any]:
    """Run ten branches that suspend once in a task group, and list what they give."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_suspended_branch(value)) for _ in range(BRANCHES)]
    return [task.result() for task in tasks]


async def _round(value: dict[str, Any]) -> dict[str, Any]:
    return {"n": value["n"] + 1}


async def loop(value: dict[str, Any]) -> dict[str, Any]:
    """Await a step again and again until it has counted to a hundred, with a new value each time."""
    while value["n"] < 100:
        value = await _round(value)
    return value


async def wait_for(gate: asyncio.Event, text: str, loads: Loads) -> Any:
    """Read a message, then wait."""
    value = loads(text)
    await gate.wait()
    return value

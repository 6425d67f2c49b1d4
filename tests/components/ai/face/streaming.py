"""What tests of blocks share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    from catenary_components.ai import Agent, BlockEvent


async def listed(events: AsyncIterable[BlockEvent]) -> list[BlockEvent]:
    """Give all events."""
    return [event async for event in events]


async def blocks(agent: Agent, said: str = "hi", **options: Any) -> list[BlockEvent]:
    """Say something, and give the blocks of the answer."""
    return await listed(agent.stream(said, vocabulary="blocks", **options))


def types(events: list[BlockEvent]) -> list[str]:
    """Give the types, deltas of one block as one."""
    found: list[str] = []
    for event in events:
        if not (found and event.type.endswith("_DELTA") and found[-1] == event.type):
            found.append(event.type)
    return found


def of_type(events: list[BlockEvent], type_: str) -> list[dict[str, Any]]:
    """Give the data of all events of a type."""
    return [dict(event.data) for event in events if event.type == type_]


def assert_balanced(events: list[BlockEvent]) -> None:
    """Check that what begins ends, and that nothing begins twice."""
    opened: Counter[tuple[str, str]] = Counter()
    for event in events:
        kind, _, what = event.type.rpartition("_")
        own = str(event.data.get("blockId") or event.data.get("toolCallId") or "")
        opened[event.source + kind, own] += {"START": 1, "END": -1}.get(what, 0)
        assert opened[event.source + kind, own] in (0, 1)
    assert not any(opened.values())

"""Follow a run while it goes on: two branches at once, an event for each thing that happens.

python examples/stream_events.py
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from catenary import SUCCESS, Engine, Message
from catenary.events import BranchEnded, NodeFinished, NodeStarted

if TYPE_CHECKING:
    from catenary.component import Context

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "order"},
    "metadata": {
        "nodes": [
            {"id": "split", "type": "fork"},
            {"id": "stock", "type": "functions", "configuration": {"functionName": "reserve"}},
            {"id": "price", "type": "exprTransform", "configuration": {"mapping": {"total": "msg.count * 3"}}},
            {"id": "both", "type": "join", "configuration": {"mergeToMap": True}},
        ],
        "connections": [
            {"fromId": "split", "type": "Success", "toId": "stock"},
            {"fromId": "split", "type": "Success", "toId": "price"},
            {"fromId": "stock", "type": "Success", "toId": "both"},
            {"fromId": "price", "type": "Success", "toId": "both"},
        ],
    },
}


async def reserve(ctx: Context, msg: Message) -> tuple[str, Message]:  # noqa: ARG001 - what every function is given
    """Stand in for a call to the warehouse."""
    await asyncio.sleep(0.05)
    return SUCCESS, msg.with_data({"reserved": msg.value["count"]})


async def follow() -> None:
    """Print the events of one run that a person may care about."""
    async with Engine() as engine:
        engine.function("reserve")(reserve)
        engine.load(CHAIN)
        async for event in engine.stream("order", {"count": 4}):
            match event:
                case NodeStarted():
                    print("->", event.node_id)
                case NodeFinished():
                    print("<-", event.node_id, "by", ", ".join(event.relations))
                case BranchEnded():
                    print("==", event.message.text)
                case _:
                    print(event.name)


def main() -> None:
    """Follow one order."""
    asyncio.run(follow())


if __name__ == "__main__":
    main()

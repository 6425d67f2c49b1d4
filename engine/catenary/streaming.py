"""The events of one run as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from catenary.chain import Chain
    from catenary.events import Event


async def stream(chain: Chain, message: Any, options: Mapping[str, Any]) -> AsyncGenerator[Event]:
    """Run a chain in a task and give its events until the terminal one. Leaving the loop early cancels the run."""
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    listener = options.get("listener")

    def note(event: Event) -> None:
        if listener is not None:
            listener(event)
        events.put_nowait(event)

    run = asyncio.create_task(chain.run(message, **dict[str, Any](options, listener=note)))
    run.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await run
    finally:
        if not run.done():
            run.cancel()
            await asyncio.wait([run])

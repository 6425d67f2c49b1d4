"""What an agent does, as those who listen to it hear it: the events of its run without the engine's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary.events import NodeEvent, RunCompleted, RunFailed, RunPaused, RunStarted, RunWasCancelled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

    from catenary.events import Event

_TOLD: Final = (NodeEvent, RunStarted, RunCompleted, RunFailed, RunPaused, RunWasCancelled)
TERMINAL: Final = (RunCompleted, RunFailed, RunPaused, RunWasCancelled)


async def told(events: AsyncIterable[Event]) -> AsyncGenerator[Event]:
    """Give the events that tell what the agent does, and how the run began and ended; numbered anew, without gaps."""
    seq = 0
    async for event in events:
        if isinstance(event, _TOLD):
            seq += 1
            yield replace(event, seq=seq)

"""What nodes and endpoints agree on, so that a node can send to the clients of an endpoint."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_LOOKS: Final = 4
"""How often within its time limit it is looked whether the peer takes something."""


class WsPeers:
    """Whom a `ws` node sends to: the server that it has called, or the clients of a `ws` endpoint."""

    async def push(self, target: str, data: str | bytes) -> None:
        """Send a text or bytes.

        Args:
            target: Which of several peers; `*` or nothing for all.
            data: What is sent.

        Raises:
            ResourceError: When nobody got it.
        """
        raise NotImplementedError


@asynccontextmanager
async def while_taken(transport: asyncio.WriteTransport, limit_s: float) -> AsyncGenerator[None]:
    """Limit the time in which the peer takes nothing of what is sent to it; a slow one may take as long as it needs.

    While the event loop stands still, nobody can take anything: that counts as one look.

    Args:
        transport: By which it is sent.
        limit_s: Seconds; 0 is no limit.

    Raises:
        TimeoutError: When it took nothing for so long.
    """
    if not limit_s:
        yield
        return
    loop = asyncio.get_running_loop()
    left = in_vain = 0

    def look() -> None:
        nonlocal left, in_vain, timer
        before, left = left, transport.get_write_buffer_size()
        in_vain = 0 if left < before else in_vain + 1
        if in_vain == _LOOKS:
            limit.reschedule(loop.time())
        else:
            timer = loop.call_later(limit_s / _LOOKS, look)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_later(limit_s / _LOOKS, look)
        try:
            yield
        finally:
            timer.cancel()

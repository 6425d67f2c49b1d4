"""Waiting for what code of others does, which may itself wait for something that is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar, cast

from catenary.errors import ResourceError

if TYPE_CHECKING:
    from collections.abc import Awaitable

AnyT = TypeVar("AnyT")


async def awaited(work: Awaitable[AnyT]) -> AnyT:
    """Give what comes of some work.

    Raises:
        CancelledError: When the task that waits here is cancelled.
        ResourceError: When something was cancelled that the work waited for: that must not end who waits here.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        if cast("asyncio.Task[object]", asyncio.current_task()).cancelling():
            raise
        raise ResourceError("something that it waited for was cancelled", retryable=True) from error

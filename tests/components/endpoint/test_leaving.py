"""Clients that go away, under servers of others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from catenary_components.endpoint.leaving import ClientGone, gone_cancels, is_of_leaving


def client(*events: str) -> Any:
    """Give the `receive` of a client that sends these events, and then nothing."""
    left = list(events)

    async def receive() -> Any:
        if not left:
            await asyncio.Event().wait()
        return {"type": left.pop(0)}

    return receive


async def test_the_block_is_cancelled_when_the_client_goes_away() -> None:
    with pytest.raises(ClientGone), gone_cancels(client("http.request", "http.disconnect")):
        await asyncio.Event().wait()
    await asyncio.sleep(0)  # the task itself is not cancelled any more


async def test_a_client_that_stays_disturbs_nobody() -> None:
    with gone_cancels(client("http.request")):
        await asyncio.sleep(0.01)


async def test_an_error_of_the_block_is_raised_although_the_client_is_gone() -> None:
    with pytest.raises(ValueError, match="mine"), gone_cancels(client("http.disconnect")):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("mine") from None


async def test_a_cancellation_from_outside_stays_one() -> None:
    async def wait() -> None:
        with gone_cancels(client()):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_several_errors_are_of_leaving_when_all_of_them_are() -> None:
    gone, fault = ConnectionResetError("gone"), ValueError("broken")
    assert is_of_leaving(ExceptionGroup("", [gone, ExceptionGroup("", [ClientGone()])]))
    assert not is_of_leaving(ExceptionGroup("", [gone, fault]))

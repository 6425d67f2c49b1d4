"""Nodes that hang, and turns of the event loop."""

from __future__ import annotations

import asyncio

from catenary import SUCCESS


async def hang(ctx, msg):
    await asyncio.Event().wait()


async def turns(count=10):
    for _ in range(count):
        await asyncio.sleep(0)


class Meeting:
    """Nodes that hang, and others that go on once so many of them are there."""

    def __init__(self, size):
        self.size = size
        self.all_there = asyncio.Event()

    async def hang(self, ctx, msg):
        self.size -= 1
        if not self.size:
            self.all_there.set()
        await asyncio.Event().wait()

    async def go_on(self, ctx, msg):
        await self.all_there.wait()
        return SUCCESS


class Cleaning(Meeting):
    """A meeting whose nodes that hang clean up until `done` is set."""

    def __init__(self, size):
        super().__init__(size)
        self.all_cleaning, self.done = asyncio.Event(), asyncio.Event()
        self._cleaning = size

    async def hang(self, ctx, msg):
        try:
            await super().hang(ctx, msg)
        finally:
            self._cleaning -= 1
            if not self._cleaning:
                self.all_cleaning.set()
            await self.done.wait()

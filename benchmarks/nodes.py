"""The smallest components that can be measured: what is left is the kernel."""

# ruff: noqa: ARG002 - a component is called with ctx and msg, whether it needs them or not

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from catenary import FALSE, SUCCESS, TRUE
from catenary.component import Arrival, Component, Config, Context, Emission, register

if TYPE_CHECKING:
    from catenary import Message, Relation


@register("bench/pass", category="bench")
class Pass(Component[Config]):
    """Let every message through."""

    def run(self, ctx: Context, msg: Message) -> Relation:
        return SUCCESS


@register("bench/passAsync", category="bench")
class PassAsync(Component[Config]):
    """Let every message through, as an `async def` that returns at once."""

    async def run(self, ctx: Context, msg: Message) -> Relation:
        return SUCCESS


@register("bench/suspend", category="bench")
class Suspend(Component[Config]):
    """Give way to the event loop once, then let the message through."""

    async def run(self, ctx: Context, msg: Message) -> Relation:
        await asyncio.sleep(0)
        return SUCCESS


@register("bench/wait", category="bench")
class Wait(Component[Config]):
    """Wait until the benchmark opens the gate."""

    gate: asyncio.Event

    async def run(self, ctx: Context, msg: Message) -> Relation:
        await Wait.gate.wait()
        return SUCCESS


@register("bench/round", category="bench")
class Round(Component[Config]):
    """Make a new message with a number one higher; `True` up to 100, then `False`."""

    relations = (TRUE, FALSE)

    def run(self, ctx: Context, msg: Message) -> Emission:
        number = msg.value["n"] + 1
        return (TRUE if number < 100 else FALSE), msg.with_data({"n": number})


@register("bench/gather", category="bench")
class Gather(Component[Config]):
    """Wait for all branches and list their values."""

    collects = True

    def run(self, ctx: Context, msg: list[Arrival]) -> Emission:
        return SUCCESS, msg[0].message.with_data([arrival.message.value for arrival in msg])

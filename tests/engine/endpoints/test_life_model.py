"""The life of an endpoint against a slow model of it: loads, reloads, stops, failures, time, messages in hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule
from tests.cases import times
from tests.engine.endpoints.conftest import turns

from catenary import SUCCESS, Component, Config, Engine, Message
from catenary.component import option
from catenary.endpoints import Endpoint, EndpointConfig, Exchange
from catenary.registry import Registry
from catenary.testing import FakeClock


class SlowConfig(EndpointConfig):
    """Settings of a `slow`."""

    server: str = option("1", help="Where.", ref="primary")


class Slow(Endpoint[SlowConfig, object]):
    """Takes a while for everything, and keeps a list of what runs."""

    fails: ClassVar[int] = 0
    live: ClassVar[list[Slow]] = []
    over: ClassVar[list[Slow]] = []

    async def start(self):
        await turns()
        assert self not in self.over, "what was stopped is never started again"
        if Slow.fails:
            Slow.fails -= 1
            raise OSError("taken")
        assert not self.live, "two run at the same time"
        self.live.append(self)

    async def stop(self):
        assert self in self.live
        self.live.remove(self)
        await turns()

    def close(self):
        self.over.append(self)


class StampedConfig(Config):
    """Settings of a `stamp`."""

    number: int = option(0, help="The number of the version.")


class Stamp(Component[StampedConfig]):
    """Waits at the gate of the message, and notes the number of the version."""

    async def run(self, ctx, msg):
        gate = Life.gates.get(msg.id)
        if gate is not None:
            await gate.wait()
        return SUCCESS, msg.with_data(str(self.config.number), "TEXT")


@dataclass
class Held:
    """A message in hand."""

    number: int
    gate: asyncio.Event
    task: asyncio.Task


class Life(RuleBasedStateMachine):
    """What an endpoint does, beside what it should do."""

    gates: ClassVar[dict[str, asyncio.Event]] = {}
    held = Bundle("held")

    def __init__(self):
        super().__init__()
        Slow.fails, Slow.live[:], Slow.over[:] = 0, [], []
        self.runner = asyncio.Runner()
        registry = Registry()
        registry.register("endpoint/slow", category="endpoint")(Slow)
        registry.register("stamp", category="test")(Stamp)
        self.clock = FakeClock()
        self.engine = Engine(registry=registry, clock=self.clock)
        self.number = 0
        self.wanted: tuple[str, str] | None = None
        self.in_hand: list[Held] = []
        self.runner.run(self.engine.__aenter__())

    def chain(self, server, router):
        self.number += 1
        node = {"id": "a", "type": "stamp", "configuration": {"number": self.number}}
        routers = [{"from": {"path": router}, "to": {"wait": True, "processors": ["responseToBody"]}}]
        endpoint = {"id": "e", "type": "slow", "configuration": {"server": server}, "routers": routers}
        body = {"nodes": [node], "endpoints": [endpoint] if server else []}
        return {"ruleChain": {"id": "c"}, "metadata": body}

    async def rest(self):
        """Let go of all messages, and wait until nothing more happens."""
        for one in self.in_hand:
            one.gate.set()
            await one.task
        await self.settled()
        await turns()

    async def settled(self):
        await turns()
        await self.engine.endpoints.settled()

    @rule(server=st.sampled_from(["1", "2", ""]), router=st.sampled_from(["/a", "/b"]), in_thread=st.booleans())
    def load(self, server, router, in_thread):
        """Put another version into service, and look no further."""
        chain = self.chain(server, router)

        async def work():
            if in_thread:
                await self.rest()  # how far anything comes while a thread works is chance
                await asyncio.to_thread(self.engine.reload, chain)
                await self.settled()
                await turns()
            else:
                self.engine.reload(chain)
            self.wanted = (server, router) if server else None

        self.runner.run(work())

    @rule()
    def remove(self):
        """Take the chain out of service, and look no further."""

        async def work():
            if "c" in self.engine.chains:
                self.engine.remove("c")
            self.wanted = None

        self.runner.run(work())

    @precondition(lambda self: not self.in_hand)
    @rule()
    def stop(self):
        """Stop the chain; nothing of its endpoints runs afterwards."""

        async def work():
            if "c" in self.engine.chains:
                await self.engine.stop("c")
                assert not Slow.live
            self.wanted = None

        self.runner.run(work())

    @rule(count=st.integers(1, 3))
    def fail(self, count):
        """Let the next attempts to start fail."""
        Slow.fails = count

    @rule(seconds=st.sampled_from([0.5, 2, 3.1, 100]))
    def wait(self, seconds):
        """Let time go by."""

        async def work():
            self.clock.advance(seconds)
            await turns()

        self.runner.run(work())

    @rule(count=st.integers(0, 3))
    def turn(self, count):
        """Let everything go a step further."""

        async def work():
            for _ in range(count):
                await asyncio.sleep(0)

        self.runner.run(work())

    @precondition(lambda self: not self.in_hand)
    @rule()
    def settle(self):
        """What runs is what is wanted, unless it cannot start."""

        async def work():
            await self.settled()
            running = self.engine.endpoints.find("c", "e")
            assert Slow.live == ([] if running is None else [running])
            (status,) = self.engine.endpoints.status() if self.wanted else (None,)
            if self.wanted is None:
                assert running is None
            elif running is None:
                assert (status.state, status.error) == ("reconnecting", "taken")
            else:
                assert status.state == "connected"
                assert (running.config.server, list(running.routers)) == (self.wanted[0], [self.wanted[1]])

        self.runner.run(work())

    @rule(target=held)
    def hold(self):
        """Send a message that stays in hand."""

        async def work():
            running = self.engine.endpoints.find("c", "e")
            if running is None or not self.wanted or not running.routers:
                return None
            message = Message("{}")
            gate = Life.gates[message.id] = asyncio.Event()
            exchange = Exchange(message)
            (router,) = running.routers.values()
            task = asyncio.ensure_future(running.handle(router, exchange))
            await asyncio.sleep(0)
            task.exchange = exchange
            return Held(self.number, gate, task)

        one = self.runner.run(work())
        if one is not None:
            self.in_hand.append(one)
        return one

    @rule(one=consumes(held))
    def let_go(self, one):
        """Answer a message: by the version that was in service when it came."""
        if one is None or one not in self.in_hand:
            return

        async def work():
            one.gate.set()
            await one.task
            assert one.task.exchange.answer.body == str(one.number)

        self.runner.run(work())
        self.in_hand.remove(one)

    @invariant()
    def at_most_one_runs(self):
        assert len(Slow.live) <= 1

    def teardown(self):
        async def work():
            for one in self.in_hand:
                one.gate.set()
            await self.engine.close()
            for one in self.in_hand:
                await one.task
                assert one.task.exchange.answer.body == str(one.number)
            assert not Slow.live
            assert self.engine.endpoints.find("c", "e") is None

        self.runner.run(work())
        self.runner.close()
        Life.gates.clear()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=times(60), stateful_step_count=25, deadline=None)

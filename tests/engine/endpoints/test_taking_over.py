"""Endpoints that take over from the one with other settings, rather than being started when that is gone."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.endpoints.conftest import Probe, chain, probe
from tests.programs import eventually

from catenary import Engine
from catenary.registry import Registry

told: list[str] = []
"""What became of all of them, in order."""


class Heir(Probe):
    """Takes over."""

    takes_over = True

    @property
    def name(self) -> str:
        return self.config.server

    async def start(self) -> None:
        told.append(f"start {self.name} instead of {self.instead_of and self.instead_of.config.server}")
        await super().start()

    async def stop(self) -> None:
        told.append(f"stop {self.name}")


class OtherHeir(Heir):
    """Another kind, which cannot take over from the first one."""


@pytest.fixture
def engine() -> Engine:
    told.clear()
    registry = Registry()
    registry.register("endpoint/probe", category="endpoint")(Heir)
    registry.register("endpoint/other", category="endpoint")(OtherHeir)
    return Engine(registry=registry)


def at(server: str, kind: str = "probe"):
    """Give a chain whose endpoint has an address."""
    return chain(type=kind, configuration={"server": server})


async def test_it_is_started_while_the_other_one_runs_which_is_stopped_then(engine):
    engine.load(at("one"))
    async with engine:
        before = probe(engine)
        is_answered = asyncio.Event()
        before.spawn(is_answered.wait())
        engine.reload(at("two"))
        await eventually(lambda: probe(engine) is not before)
        assert before.in_flight
        assert (await probe(engine).send("/x")).answer.body == '{"x":1}'
        (status,) = engine.endpoints.status()
        assert status.state == "connected"
        is_answered.set()
        await engine.endpoints.settled()
        assert not before.in_flight
        assert probe(engine).instead_of is None
    assert told == ["start one instead of None", "start two instead of one", "stop one", "stop two"]


async def test_one_that_cannot_take_over_is_started_when_the_other_one_is_gone(engine, caplog):
    engine.load(at("one"))
    async with engine:
        Probe.fails.append(OSError("the other one has it"))
        engine.reload(at("two"))
        await engine.endpoints.settled()
        assert probe(engine).name == "two"
    life = ["start two instead of one", "stop one", "start two instead of None", "stop two"]
    assert told == ["start one instead of None", *life]
    assert not caplog.records


async def test_another_kind_of_endpoint_is_started_when_the_other_one_is_gone(engine):
    engine.load(at("one"))
    async with engine:
        engine.reload(at("two", "other"))
        await engine.endpoints.settled()
    assert told == ["start one instead of None", "stop one", "start two instead of None", "stop two"]


async def test_what_is_wanted_while_one_takes_over_is_what_runs_in_the_end(engine):
    engine.load(at("one"))
    async with engine:
        before = probe(engine)
        is_answered = asyncio.Event()
        before.spawn(is_answered.wait())
        for server in ("two", "three"):
            engine.reload(at(server))
            await eventually(lambda: probe(engine) is not before)
        is_answered.set()
        await engine.endpoints.settled()
        assert probe(engine).name == "three"
        engine.remove("c")
        await engine.endpoints.settled()
        assert engine.endpoints.find("c", "e") is None
    assert told[-4:] == ["stop one", "start three instead of two", "stop two", "stop three"]

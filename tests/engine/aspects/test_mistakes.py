"""What a host program does wrong with aspects, and how it is told."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.runtime.kit import load
from tests.engine.runtime.stepping import STEPPING

from catenary import Engine, Message
from catenary.errors import EngineError


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


@pytest.mark.parametrize("uses", ["drops", "looks", "goes twice", "passes on", "wraps"])
@pytest.mark.parametrize("changes", [False, True])
async def test_a_plain_around_that_does_not_pass_on_an_awaited_node_is_told_so(uses, changes):
    engine = Engine()

    @engine.around
    def careless(ctx, msg, proceed):
        given = proceed(msg.put("k", "v") if changes else msg)
        if uses == "looks":
            _, msg = given
        if uses == "goes twice":
            return proceed(msg)
        if uses == "wraps":
            return awaiting(given)
        return given if uses == "passes on" else "Success"

    async def awaiting(given):
        return await given

    async def node(ctx, msg):
        return "Success"

    outcome = await load(engine, {"n": node}).run("x")
    assert outcome.ok == (uses in {"passes on", "wraps"})
    if not outcome.ok:
        assert "'careless' is a plain def and did not pass on what proceed() gave" in str(outcome.error)


async def test_a_plain_around_that_is_cancelled_before_it_goes_on_is_cancelled():
    engine = Engine()

    @engine.around
    def late(ctx, msg, proceed):
        async def later(given):
            await asyncio.Event().wait()
            return await given

        return later(proceed(msg))

    async def node(ctx, msg):
        raise AssertionError("it is never visited")

    outcome = await load(engine, {"n": node}).run("x", timeout=60)
    assert outcome.status == "cancelled"


async def test_a_visit_that_is_over_cannot_be_gone_on_with():
    engine, kept = Engine(), []

    @engine.around
    async def keep(ctx, msg, proceed):
        kept.append(proceed)
        return await proceed(msg)

    assert (await load(engine, {"n": None}).run("x")).ok
    with pytest.raises(EngineError, match="after the visit was over"):
        await kept[0](Message("y"))


def test_a_cut_that_nobody_knows_is_an_error():
    with pytest.raises(EngineError, match="'node' says not where an aspect applies"):
        Engine().around(node=["n"])(lambda ctx, msg, proceed: proceed(msg))


@pytest.mark.parametrize("point", ["before", "around", "after"])
def test_a_function_that_cannot_be_called_at_its_point_is_an_error(point):
    with pytest.raises(EngineError, match=r"'short' cannot be called with \(ctx, msg, "):

        @getattr(Engine(), point)
        def short(msg):
            return msg

    getattr(Engine(), point)(max)  # does not say what it takes
    getattr(Engine(), point)(lambda *arguments: None)

"""One version of a chain: its compiled forms and its life."""

from __future__ import annotations

from tests.engine.runtime.kit import END, load, ways

from catenary.runtime.run import Run


async def test_observed_form_is_made_once(engine):
    chain = load(engine, {"a": None})
    await chain.run("x", listener=lambda event: None)
    observed = chain.observed
    await chain.run("x", listener=lambda event: None)
    assert chain.observed is observed
    assert chain.compiled is not observed


async def test_chain_in_service_is_not_closed_when_idle(engine):
    closed = []
    chain = load(engine, {"a": None})
    chain.compiled.steps[0].component.close = lambda: closed.append(1)
    await chain.close_if_idle()
    assert closed == []
    assert not chain.is_closed
    await chain.close()
    await chain.close()
    assert closed == [1]
    assert chain.is_closed


async def test_part_of_a_chain_is_made_once_and_looks_at_each_node_once(engine):
    chain = load(engine, {"a": None, "b": None, "c": None, "d": END}, ["a b", "a c", "b d", "c d"])
    part = chain.part(chain.compiled, "a", follow=True)
    assert part is chain.part(chain.compiled, "a", follow=True)
    assert part.gated
    assert not chain.part(chain.compiled, "a", follow=False).gated


def test_run_is_stopped_once(engine):
    run = Run(load(engine, {"a": None}).compiled)
    run.stop("first")
    run.stop("second")
    assert run.stopping == "first"
    assert not run.live


async def test_chain_may_be_run_by_itself(engine):
    chain = load(engine, {"a": None, "b": None}, ["a b"])
    assert ways(await chain.run("x")) == ["b Success"]
    assert ways(chain.run_sync("x")) == ["b Success"]
    assert [event.name async for event in chain.stream("x")][-1] == "run.complete"

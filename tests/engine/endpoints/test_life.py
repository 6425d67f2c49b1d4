"""The life of endpoints: started, tried again, kept through reloads, drained, stopped."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from tests.engine.endpoints.conftest import Probe, chain, probe, router, turns
from tests.programs import eventually

from catenary import Engine
from catenary.errors import EngineError, ResourceError
from catenary.shared import ConnectionStatus
from catenary.testing import FakeClock

ECHO = {"a": {"type": "jsFilter", "configuration": {"jsScript": "return true"}}}


def states(engine: Engine) -> dict[str, str]:
    return {one.id: one.state for one in engine.endpoints.status()}


async def test_endpoints_run_while_the_engine_is_entered(engine):
    engine.load(chain())
    assert states(engine) == {"e": "none"}
    async with engine:
        assert states(engine) == {"e": "connected"}
        running = probe(engine)
    assert running.life == ["start", "stop"]


async def test_an_engine_without_endpoints_checks_them_and_starts_none(registry):
    async with Engine(registry=registry, endpoints=False) as engine:
        engine.load(chain())
        assert states(engine) == {"e": "none"}
        assert engine.check(chain(routers=[router("bad")])) != []


async def test_endpoints_of_chains_that_are_loaded_later_are_started(engine):
    async with engine:
        engine.load(chain())
        await engine.endpoints.settled()
        assert (await probe(engine).send("/x")).answer.body == '{"x":1}'


async def test_a_chain_that_is_loaded_in_a_thread_has_its_endpoints_on_the_loop_of_the_engine(engine):
    async with engine:
        await asyncio.to_thread(engine.load, chain())
        await asyncio.sleep(0)
        await engine.endpoints.settled()
        assert probe(engine).life == ["start"]


async def test_a_reload_with_the_same_configuration_keeps_the_endpoint_running(engine):
    engine.load(chain())
    async with engine:
        before = probe(engine)
        engine.reload(
            chain({"a": {"type": "jsTransform", "configuration": {"jsScript": "return {msg: {y: 2}}"}}}, [router("/y")])
        )
        assert probe(engine) is before
        assert before.life == ["start", "routed"]
        assert list(before.routers) == ["/y"]
        assert (await before.send("/y")).answer.body == '{"y":2}'


async def test_a_reload_with_another_configuration_restarts_the_endpoint(engine):
    engine.load(chain())
    async with engine:
        before = probe(engine)
        engine.reload(chain(configuration={"server": "probe:2"}))
        await engine.endpoints.settled()
        assert before.life == ["start", "stop"]
        assert probe(engine).life == ["start"]
        assert probe(engine).config.server == "probe:2"


async def test_an_endpoint_that_a_reload_has_not_any_more_is_stopped(engine):
    engine.load(chain())
    async with engine:
        before = probe(engine)
        without = chain()
        del without["metadata"]["endpoints"]
        engine.reload(without)
        await engine.endpoints.settled()
        assert before.life == ["start", "stop"]
        assert engine.endpoints.status() == []


async def test_the_status_says_what_to_do_about_a_package_that_is_missing(engine):
    Probe.fails.append(ResourceError("it needs a package", hint="install it with: pip install 'catenary[server]'"))
    async with engine:
        engine.load(chain())
        await engine.endpoints.settled()
        (status,) = engine.endpoints.status()
    assert status.error == "it needs a package; install it with: pip install 'catenary[server]'"


async def test_a_start_that_fails_is_tried_again_after_ever_longer_waits_and_its_success_is_logged(registry, caplog):
    caplog.set_level("INFO", "catenary.endpoints")
    clock = FakeClock()
    Probe.fails += [OSError("the address is taken"), OSError("still taken")]
    async with Engine(registry=registry, clock=clock) as engine:
        engine.load(chain())
        await engine.endpoints.settled()
        (status,) = engine.endpoints.status()
        assert (status.state, status.error) == ("reconnecting", "the address is taken")
        clock.advance(2)
        await eventually(lambda: engine.endpoints.status()[0].error == "still taken")
        clock.advance(2.9)
        await turns()
        assert states(engine) == {"e": "reconnecting"}
        clock.advance(0.2)
        await eventually(lambda: states(engine) == {"e": "connected"})
    assert [record.message for record in caplog.records][-1] == "an endpoint is there again"


async def cancelled_within() -> None:
    waiting = asyncio.ensure_future(asyncio.Event().wait())
    waiting.cancel()
    await waiting


async def test_a_start_that_waits_for_something_cancelled_is_told_and_tried_again(registry):
    clock = FakeClock()
    async with Engine(registry=registry, clock=clock) as engine:
        engine.load(chain())
        start, Probe.start = Probe.start, lambda self: cancelled_within()
        try:
            await engine.endpoints.settled()
        finally:
            Probe.start = start
        (status,) = engine.endpoints.status()
        assert (status.state, status.error) == ("reconnecting", "something that it waited for was cancelled")
        clock.advance(2)
        await eventually(lambda: states(engine) == {"e": "connected"})


async def test_stopping_a_chain_stops_its_endpoints_first(engine):
    engine.load(chain())
    async with engine:
        running = probe(engine)
        await engine.stop("c")
        assert running.life == ["start", "stop"]
        assert engine.endpoints.find("c", "e") is None


async def test_what_is_in_hand_is_answered_before_the_chain_is_stopped(engine):
    engine.load(chain({"a": {"type": "delay", "configuration": {"delayMs": 50}}}))
    async with engine:
        sending = asyncio.ensure_future(probe(engine).send("/x", '{"a":1}'))
        await asyncio.sleep(0)
    assert (await sending).answer.body == '{"a":1}'


async def test_a_message_that_comes_while_the_engine_is_closed_is_refused(engine):
    engine.load(chain({"a": {"type": "delay", "configuration": {"delayMs": 50}}}))
    async with engine:
        running = probe(engine)
        sending = asyncio.ensure_future(running.send("/x"))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(engine.close())
        await asyncio.sleep(0)
        answer = (await running.send("/x")).answer
        assert (answer.status, answer.body) == (503, "engine is shutting down")
        await asyncio.gather(sending, closing)


async def test_a_reload_with_other_variables_keeps_an_endpoint_that_reads_none(engine):
    engine.load(chain())
    async with engine:
        before = probe(engine)
        source = chain()
        source["ruleChain"]["configuration"] = {"vars": {"a": 1}}
        engine.reload(source)
        assert before.life == ["start", "routed"]
        engine.reload(chain(ECHO, processors=["toHex"]))
        assert probe(engine) is before
        assert (await before.send("/x", "{}")).answer.body == "7b7d"


async def test_what_is_in_hand_when_the_time_is_over_is_cancelled(engine, caplog):
    engine.load(chain({"a": {"type": "delay", "configuration": {"periodInSeconds": 60}}}, [router(wait=False)]))
    async with engine:
        running = probe(engine)
        await running.send("/x")
        with caplog.at_level(logging.WARNING):
            await engine.stop("c", grace_s=0.05)
        assert running.in_flight == 0
        assert "an endpoint is stopped while messages are in hand" in caplog.text


def fail() -> None:
    raise OSError("cannot")


@pytest.mark.parametrize("fail", [fail, cancelled_within])
async def test_an_endpoint_that_cannot_be_stopped_is_left_and_logged(engine, caplog, fail):
    engine.load(chain())
    async with engine:
        probe(engine).stop = fail
        with caplog.at_level(logging.ERROR):
            await engine.stop("c")
        assert "an endpoint could not be stopped" in caplog.text
        assert engine.endpoints.find("c", "e") is None


async def test_routers_that_an_endpoint_cannot_take_over_are_tried_again(registry):
    fails = [OSError("cannot"), OSError("not yet")]

    def fail() -> None:
        if fails:
            raise fails.pop(0)

    clock = FakeClock()
    async with Engine(registry=registry, clock=clock) as engine:
        engine.load(chain())
        await engine.endpoints.settled()
        running = probe(engine)
        running.routed = fail
        engine.reload(chain(routers=[router("/y")]))
        (status,) = engine.endpoints.status()
        assert (status.state, status.error) == ("reconnecting", "cannot")
        await engine.endpoints.settled()
        clock.advance(2)
        await eventually(lambda: engine.endpoints.status()[0].error == "not yet")
        clock.advance(3)
        await eventually(lambda: states(engine) == {"e": "connected"})
        assert running.life == ["start"]


async def test_a_start_that_hangs_does_not_keep_the_engine_from_closing(engine):
    async def hang() -> None:
        await asyncio.Event().wait()

    async with engine:
        engine.load(chain())
        Probe.made[-1].start = hang
        await turns()
        await engine.close(grace_s=0.05)
    assert engine.endpoints.status() == []


async def test_a_message_in_hand_is_answered_by_the_version_that_it_came_to(engine):
    engine.load(chain({"a": {"type": "delay", "configuration": {"delayMs": 30}}}))
    async with engine:
        sending = asyncio.ensure_future(probe(engine).send("/x", {"a": 1}))
        await asyncio.sleep(0)
        engine.reload(chain(configuration={"server": "probe:2"}))
        await engine.endpoints.settled()
        assert (await sending).answer.body == '{"a":1}'


def test_an_engine_that_no_loop_was_given_closes_all_the_same(engine):
    engine.load(chain())
    engine.close_sync()
    assert Probe.made[0].life == []


async def test_nobody_runs_an_endpoint_as_a_node(engine):
    engine.load(chain())
    (built,) = engine.get("c").endpoints
    with pytest.raises(EngineError, match="an endpoint is no node"):
        built.component.run(None, None)


async def test_what_endpoints_have_in_common_is_made_once(engine):
    made = engine.endpoints.shared("k", list)
    assert engine.endpoints.shared("k", list) is made
    engine.endpoints.unshare("k")
    assert engine.endpoints.shared("k", list) is not made


async def test_an_endpoint_that_never_started_is_forgotten_with_its_chain(registry):
    Probe.fails.append(OSError("taken"))
    async with Engine(registry=registry, clock=FakeClock()) as engine:
        engine.load(chain())
        await engine.endpoints.settled()
        assert engine.shared.health().problems == ["c/e: reconnecting: taken"]
        engine.remove("c")
        await engine.endpoints.settled()
        assert engine.endpoints._keepers == {}


async def test_the_health_of_an_engine_tells_of_its_endpoints(engine):
    engine.load(chain())
    assert engine.shared.health().chains == {"c": {"e": ConnectionStatus("none")}}
    async with engine:
        assert engine.shared.health().chains == {"c": {"e": ConnectionStatus("connected")}}


async def test_endpoints_are_stopped_on_their_own_loop_also_from_another_thread(engine):
    engine.load(chain())
    loops = []
    async with engine:
        running = probe(engine)

        async def stop() -> None:
            loops.append(asyncio.get_running_loop())

        running.stop = stop
        await asyncio.to_thread(engine.stop_sync, "c")
    assert loops == [asyncio.get_running_loop()]


def test_endpoints_whose_loop_is_over_are_forgotten(engine):
    engine.load(chain())
    asyncio.run(engine.endpoints.start())
    engine.close_sync()
    assert engine.endpoints._keepers == {}


async def test_no_message_is_lost_while_its_chain_is_reloaded_again_and_again(engine):
    def version(number: int) -> Any:
        nodes = {
            "a": {"type": "delay", "configuration": {"delayMs": 1}},
            "b": {"type": "jsTransform", "configuration": {"jsScript": f"return {{msg: {{n: {number}}}}}"}},
        }
        return chain(nodes, connections=[("a", "Success", "b")])

    engine.load(version(0))
    async with engine:
        running = probe(engine)
        answers: list[Any] = []

        async def send() -> None:
            answers.extend([(await running.send("/x")).answer for _ in range(30)])

        sending = [asyncio.ensure_future(send()) for _ in range(5)]
        for number in range(1, 20):
            engine.reload(version(number))
            await asyncio.sleep(0.001)
        await asyncio.gather(*sending)
        assert {answer.status for answer in answers} == {None}
        assert len(answers) == 150
        assert (await running.send("/x")).answer.body == '{"n":19}'

"""What rarely happens to a message, and must not surprise anybody."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from tests.engine.endpoints.conftest import chain, probe, router

from catenary import Answer, Component, Config, Message
from catenary.endpoints import Headers

SLOW = {"a": {"type": "delay", "configuration": {"periodInSeconds": 60}}}
ECHO = {"a": {"type": "jsFilter", "configuration": {"jsScript": "return true"}}}


async def started(engine: Any, source: Any) -> Any:
    engine.load(source)
    await engine.endpoints.start()
    return probe(engine)


async def test_a_message_for_a_chain_that_is_being_stopped_is_refused(engine):
    slow = chain(SLOW, id="slow")
    del slow["metadata"]["endpoints"]
    engine.load(slow)
    endpoint = await started(engine, chain(routers=[router(path="slow"), router("/soon", path="slow", answer="first")]))
    waiting = asyncio.ensure_future(endpoint.send("/x"))
    await asyncio.sleep(0)
    stopping = asyncio.ensure_future(engine.stop("slow", grace_s=60))
    await asyncio.sleep(0)
    for path in ("/x", "/soon"):
        answer = (await endpoint.send(path)).answer
        assert (answer.status, answer.body) == (503, "engine is shutting down")
    stopping.cancel()  # by which the time is over
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert (await waiting).answer.status == 400
    await engine.close()


async def test_a_run_that_is_cancelled_is_a_failure_with_its_reason(engine):
    endpoint = await started(engine, chain(SLOW))
    sending = asyncio.ensure_future(endpoint.send("/x"))
    await asyncio.sleep(0)
    await engine.close(grace_s=0.05)
    assert (await sending).answer.status == 400


async def test_a_target_that_breaks_down_is_the_answer(engine, caplog):
    async def break_down(router: Any, exchange: Any) -> Message:
        raise RuntimeError("broken")

    engine.endpoints.executors["broken"] = break_down
    endpoint = await started(
        engine, chain(routers=[router(path="broken:x"), router("/later", path="broken:x", wait=False)])
    )
    with caplog.at_level(logging.ERROR):
        assert (await endpoint.send("/x")).answer.body == "broken"
        assert (await endpoint.send("/later")).answer.body is None
        await endpoint.idle()
    assert len(caplog.records) == 2
    await engine.close()


async def test_a_target_of_the_host_answers_each_message_by_itself(engine):
    async def same(router: Any, exchange: Any) -> Message:
        return exchange.message

    engine.endpoints.executors["same"] = same
    endpoint = await started(engine, chain(routers=[router(path="same:x")]))
    bodies: list[Any] = []

    async def deliver(answer: Answer) -> None:
        bodies.append(answer.body)

    await endpoint.send("/x", "hi", each=deliver)
    assert bodies == ["hi"]
    await engine.close()


async def test_a_component_that_cannot_be_opened_is_told_to_who_sends(engine):
    class Closed(Component[Config]):
        """Cannot be opened."""

        def open(self, ctx: Any) -> None:
            raise OSError("locked")

        def run(self, ctx: Any, msg: Any, /) -> str:
            return "Success"

    engine.registry.register("closed", category="action")(Closed)
    endpoint = await started(engine, chain(routers=[router(path="component:closed")]))
    assert "locked" in (await endpoint.send("/x")).answer.body
    await engine.close()


async def test_a_chain_that_cannot_be_opened_is_told_to_who_sends(engine):
    class Locked(Component[Config]):
        """Cannot be opened."""

        async def open(self, ctx: Any) -> None:
            raise OSError("locked")

        def run(self, ctx: Any, msg: Any, /) -> str:
            return "Success"

    engine.registry.register("locked", category="action")(Locked)
    endpoint = await started(engine, chain({"a": {"type": "locked"}}, [router(), router("/soon", answer="first")]))
    assert "locked" in (await endpoint.send("/x")).answer.body
    assert "locked" in (await endpoint.send("/soon")).answer.body
    await engine.close()


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_processor_that_is_awaited_says_whether_it_goes_on(engine, goes_on):
    async def ask(router: Any, exchange: Any) -> bool:
        return goes_on

    engine.endpoints.processors.add("ask", ask)
    endpoint = await started(engine, chain(ECHO, [router(processors=["ask", "responseToBody"])]))
    assert (await endpoint.send("/x", "1")).answer.body == ("1" if goes_on else None)
    await engine.close()


async def test_a_processor_that_says_false_keeps_the_others_from_an_answer(engine):
    engine.endpoints.processors.add("no", lambda router, exchange: False)
    endpoint = await started(engine, chain(ECHO, [router(processors=["no", "responseToBody"])]))
    assert (await endpoint.send("/x", "1")).answer.body is None
    await engine.close()


async def test_a_list_has_bodies_that_are_no_json_as_texts(engine):
    nodes = {"a": ECHO["a"], "b": {"type": "jsTransform", "configuration": {"jsScript": "return {msg: 'b'}"}}}
    source = chain({**nodes, "c": nodes["a"]}, [router(answer="list")], [("a", "True", "b"), ("a", "True", "c")])
    endpoint = await started(engine, source)
    assert (await endpoint.send("/x", message=Message("no json", data_type="JSON"))).answer.body == '["b","no json"]'
    assert (await endpoint.send("/x", message=Message(b"\xff", data_type="BINARY"))).answer.body == '["b","\ufffd"]'
    await engine.close()


async def test_ends_that_come_after_the_first_are_processed_too(engine):
    seen: list[str] = []
    engine.endpoints.processors.add("note", lambda router, exchange: seen.append(exchange.answer.node_id))
    nodes = {"a": ECHO["a"], "b": ECHO["a"], "c": {"type": "delay", "configuration": {"delayMs": 5}}}
    source = chain(nodes, [router(answer="first", processors=["note"])], [("a", "True", "b"), ("a", "True", "c")])
    endpoint = await started(engine, source)
    await endpoint.send("/x")
    await endpoint.idle()
    assert seen == ["b", "c"]
    await engine.close()


async def test_what_is_in_the_first_answer_is_not_in_those_of_later_ends(engine):
    seen: list[Any] = []

    def note(router: Any, exchange: Any) -> None:
        seen.append(dict(exchange.answer.headers))
        exchange.answer.set_header("Node", exchange.answer.node_id)

    engine.endpoints.processors.add("note", note)
    nodes = {"a": ECHO["a"], "b": ECHO["a"], "c": {"type": "delay", "configuration": {"delayMs": 5}}}
    source = chain(nodes, [router(answer="first", processors=["note"])], [("a", "True", "b"), ("a", "True", "c")])
    endpoint = await started(engine, source)
    assert (await endpoint.send("/x")).answer.headers == {"Node": "b"}
    await endpoint.idle()
    assert seen == [{}, {}]
    await engine.close()


async def test_a_limit_that_ends_a_run_is_told_where_every_end_is_an_answer(engine):
    source = chain(ECHO, connections=[("a", "True", "a")])
    source["ruleChain"]["configuration"] = {"allowCycle": True, "maxVisits": 3}
    endpoint = await started(engine, source)
    answers: list[Answer] = []

    async def deliver(answer: Answer) -> None:
        answers.append(answer)

    await endpoint.send("/x", each=deliver)
    assert [answer.status for answer in answers] == [400]
    await engine.close()


def test_headers_show_their_names_only():
    headers = Headers([(b"authorization", b"secret"), ("b", "c")])
    assert repr(headers) == "Headers(Authorization, B)"
    assert (len(headers), list(headers), headers.get("AUTHORIZATION")) == (2, ["Authorization", "B"], "secret")


async def test_what_an_endpoint_spawns_and_loses_is_told_to_the_loop(engine):
    endpoint = await started(engine, chain())
    told: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context["message"]))

    async def break_down() -> None:
        raise RuntimeError("broken")

    endpoint.spawn(break_down())
    await endpoint.idle()
    loop.set_exception_handler(None)
    assert told == ["a message of an endpoint failed"]
    await engine.close()


@pytest.mark.parametrize("wait", [True, False])
async def test_a_peer_that_takes_no_answer_breaks_nothing(engine, wait):
    async def gone(answer):
        raise ConnectionResetError("the peer is gone")

    unexpected: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unexpected.append(context))
    async with engine:
        engine.load(chain(routers=[router(wait=wait), router("/none", path="chain:none", wait=wait)]))
        await engine.endpoints.settled()
        for name in ("/x", "/none"):
            await probe(engine).send(name, each=gone)
        await probe(engine).idle()
    assert unexpected == []

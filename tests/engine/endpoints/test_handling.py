"""Messages through an endpoint: to their target, and back as answers."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.endpoints.conftest import Probe, chain, probe, router

from catenary import Answer, Engine, Message
from catenary.endpoints import Headers

if TYPE_CHECKING:
    from catenary.jsontext import Json

ECHO = {"a": {"type": "jsFilter", "configuration": {"jsScript": "return true"}}}
FAILING = {"a": {"type": "jsFilter", "configuration": {"jsScript": "throw new Error('no, ' + vars.pin)"}}}


def script(text: str) -> dict[str, Json]:
    return {"type": "jsTransform", "configuration": {"jsScript": text}}


def forked(**to: Json) -> dict[str, Json]:
    """Give a chain whose two branches end with `b` and `c` in the data."""
    nodes = {"a": ECHO["a"], "b": script("return {msg: {b: 1}}"), "c": script("return {msg: {c: 1}}")}
    return chain(nodes, [router(**to)], [("a", "True", "b"), ("a", "True", "c")])


@pytest.fixture
async def run(engine):
    """Load a chain, and give what sends a message to its endpoint."""

    async def load(source: dict[str, Json]) -> Any:
        engine.load(source)
        if not engine._is_entered:
            await engine.__aenter__()
        await engine.endpoints.settled()
        return probe(engine)

    yield load
    await engine.close()


# Answers


async def test_the_data_of_the_end_is_the_answer(run):
    exchange = await (await run(chain())).send("/x", {"a": 1})
    assert (exchange.answer.body, exchange.answer.status) == ('{"a":1,"x":1}', None)
    assert exchange.answer.headers == {"Content-Type": "application/json"}
    assert (exchange.answer.relation, exchange.answer.node_id) == ("Success", "a")
    assert exchange.outcome.ok


async def test_without_processors_the_answer_is_empty(run):
    answer = (await (await run(chain(routers=[router(processors=[])]))).send("/x")).answer
    assert (answer.body, answer.status, answer.headers) == (None, None, {})


class Hold:
    """A function that keeps messages until it is over."""

    def __init__(self):
        self.is_over = asyncio.Event()

    async def __call__(self, ctx, msg):
        await self.is_over.wait()
        return "Success", msg


HELD = {"a": {"type": "functions", "configuration": {"functionName": "hold"}}}


async def test_without_wait_the_answer_is_empty_at_once(engine, run):
    engine.function("hold")(hold := Hold())
    endpoint = await run(chain(HELD, [router(wait=False)]))
    exchange = await endpoint.send("/x", {"a": 1})
    assert (exchange.answer.body, exchange.outcome, endpoint.in_flight) == (None, None, 1)
    hold.is_over.set()
    await endpoint.idle()
    assert endpoint.in_flight == 0


async def test_without_wait_processors_still_see_how_it_ended(engine, run):
    seen = []
    engine.endpoints.processors.add("note", lambda _, exchange: seen.append(exchange.answer.body))
    endpoint = await run(chain(routers=[router(wait=False, processors=["responseToBody", "note"])]))
    await endpoint.send("/x", {"a": 1})
    await endpoint.idle()
    assert seen == ['{"a":1,"x":1}']


async def test_a_failure_is_status_400_with_its_text_and_no_secret(run):
    source = chain(FAILING)
    source["ruleChain"]["configuration"] = {"vars": {"pin": "1234"}}
    answer = (await (await run(source)).send("/x")).answer
    assert answer.status == 400
    assert "no, 1234" in answer.body
    assert answer.headers == {"Content-Type": "text/plain; charset=utf-8"}


@pytest.mark.parametrize("to", [{}, {"answer": "last"}])
async def test_the_last_end_is_the_answer(run, to):
    answer = (await (await run(forked(**to))).send("/x")).answer
    assert answer.body == '{"c":1}'


async def test_the_first_end_is_the_answer(run):
    answer = (await (await run(forked(answer="first"))).send("/x")).answer
    assert answer.body == '{"b":1}'


async def test_the_first_end_is_answered_while_the_rest_goes_on(engine, run):
    engine.function("hold")(hold := Hold())
    nodes = {"a": ECHO["a"], "b": script("return {msg: {b: 1}}"), "c": HELD["a"]}
    endpoint = await run(chain(nodes, [router(answer="first")], [("a", "True", "b"), ("a", "True", "c")]))
    assert (await endpoint.send("/x")).answer.body == '{"b":1}'
    assert endpoint.in_flight == 1
    hold.is_over.set()


async def test_when_no_end_is_the_first_the_policy_is_that_of_the_last(run):
    nodes = {"a": ECHO["a"], "end": {"type": "end"}}
    answer = (await (await run(chain(nodes, [router(answer="first")]))).send("/x")).answer
    assert (answer.body, answer.message) == (None, None)


async def test_all_ends_are_a_list(run):
    answer = (await (await run(forked(answer="list"))).send("/x")).answer
    assert answer.body == '[{"b":1},{"c":1}]'
    assert answer.headers == {"Content-Type": "application/json"}
    assert answer.message.value == [{"b": 1}, {"c": 1}]


async def test_one_end_is_a_list_too(run):
    answer = (await (await run(chain(routers=[router(answer="list")]))).send("/x")).answer
    assert answer.body == '[{"x":1}]'


async def test_a_branch_that_failed_is_told_of_in_the_list(run):
    source = chain(
        {"a": ECHO["a"], "b": FAILING["a"], "c": script("return {msg: 1}")},
        [router(answer="list")],
        [("a", "True", "b"), ("a", "True", "c")],
    )
    answer = (await (await run(source)).send("/x")).answer
    assert answer.message.value[0]["nodeId"] == "b"
    assert (answer.message.value[1], answer.status, answer.error) == (1, None, None)


async def test_a_list_of_failures_is_a_failure(run):
    answer = (await (await run(chain(FAILING, [router(answer="list")]))).send("/x")).answer
    assert (answer.status, answer.message.value[0]["nodeId"]) == (400, "a")


async def test_processors_are_called_at_each_end_with_an_answer_of_its_own(engine, run):
    seen = []
    engine.endpoints.processors.add(
        "note", lambda _, exchange: seen.append((exchange.answer.node_id, exchange.answer.body))
    )
    await (await run(forked(processors=["note", "responseToBody", "note"]))).send("/x")
    assert seen == [("b", None), ("b", '{"b":1}'), ("c", None), ("c", '{"c":1}')]


async def test_ends_that_an_end_node_gates_are_no_answer(run):
    nodes = {"a": ECHO["a"], "b": script("return {msg: {b: 1}}"), "end": {"type": "end"}}
    answer = (
        await (await run(chain(nodes, [router()], [("a", "True", "b"), ("a", "True", "end")]))).send("/x", "{}")
    ).answer
    assert (answer.body, answer.node_id) == ("{}", "end")


async def test_a_limit_that_ends_the_run_is_the_answer(run):
    source = chain({"a": ECHO["a"]}, connections=[("a", "True", "a")])
    source["ruleChain"]["configuration"] = {"allowCycle": True, "maxVisits": 3}
    answer = (await (await run(source)).send("/x")).answer
    assert (answer.status, "3 visits" in answer.body or "3" in answer.body) == (400, True)


# Streams, and ends that are answers each


async def test_pieces_are_delivered_in_order_while_it_runs_and_the_end_is_the_answer(engine, run):
    register_pieces(engine)
    endpoint = await run(chain({"a": {"type": "pieces"}}))
    pieces: list[Answer] = []

    async def deliver(answer: Answer) -> None:
        await asyncio.sleep(0.001)
        pieces.append(answer)

    exchange = await endpoint.send("/x", "{}", stream=deliver)
    assert [(piece.relation, piece.body) for piece in pieces] == [("Stream", "one"), ("Stream", "two")]
    assert exchange.answer.body == "one two"


async def test_a_status_is_for_the_answer_and_not_for_the_pieces_before_it(engine, run):
    register_pieces(engine)
    engine.endpoints.processors.add("add", adding(statusCode="none"))
    routers = [
        {
            "from": {"path": "/x", "processors": ["add"]},
            "to": {"wait": True, "processors": ["metadataToStatus", "responseToBody"]},
        }
    ]
    endpoint = await run(chain({"a": {"type": "pieces"}}, routers))
    pieces: list[Answer] = []

    async def deliver(answer: Answer) -> None:
        pieces.append(answer)

    exchange = await endpoint.send("/x", "{}", stream=deliver)
    assert [(piece.status, piece.body) for piece in pieces] == [(None, "one"), (None, "two")]
    assert exchange.answer.status == 500


async def test_an_endpoint_that_cannot_stream_answers_with_the_whole(engine, run):
    register_pieces(engine)
    endpoint = await run(chain({"a": {"type": "pieces"}}))
    assert (await endpoint.send("/x")).answer.body == "one two"


@pytest.mark.parametrize("wait", [True, False])
async def test_every_end_is_an_answer_where_the_endpoint_says_so(run, wait):
    endpoint = await run(forked(wait=wait, answer="list"))
    bodies = []

    async def deliver(answer: Answer) -> None:
        bodies.append(answer.body)

    exchange = await endpoint.send("/x", each=deliver)
    await endpoint.idle()
    assert (bodies, exchange.answer.body) == (['{"b":1}', '{"c":1}'], None)


async def test_an_answer_that_a_processor_stops_is_not_delivered(engine, run):
    engine.endpoints.processors.add("odd", lambda _, exchange: exchange.answer.node_id == "c")
    endpoint = await run(forked(processors=["odd", "responseToBody"]))
    bodies = []

    async def deliver(answer: Answer) -> None:
        bodies.append(answer.body)

    await endpoint.send("/x", each=deliver)
    assert bodies == ['{"c":1}']


async def test_what_cannot_be_run_is_an_answer_too_where_each_end_is_one(run):
    endpoint = await run(chain(routers=[router(path="chain:gone")]))
    bodies = []

    async def deliver(answer: Answer) -> None:
        bodies.append(answer.body)

    await endpoint.send("/x", each=deliver)
    assert bodies == ["chainId=gone not found error"]


# Processors


async def test_processors_of_the_endpoint_come_before_those_of_the_router(engine, run):
    seen = []
    for name in ("one", "two"):
        engine.endpoints.processors.add(name, lambda r, _, name=name: seen.append((name, r.id)))
    source = chain(routers=[{**router(), "from": {"path": "/x", "processors": ["two"]}}], processors=["one"])
    await (await run(source)).send("/x")
    assert seen == [("one", "/x"), ("two", "/x")]


async def test_a_processor_that_gives_false_stops_the_message_silently(engine, run):
    async def stop(router: Any, exchange: Any) -> bool:
        exchange.answer.status = 401
        return False

    engine.endpoints.processors.add("stop", stop)
    exchange = await (await run(chain(processors=["stop"]))).send("/x")
    assert (exchange.answer.status, exchange.answer.body, exchange.outcome) == (401, None, None)


async def test_a_processor_may_be_awaited(engine, run):
    async def later(router: Any, exchange: Any) -> None:
        await asyncio.sleep(0)
        exchange.answer.set_header("A", "b")

    engine.endpoints.processors.add("later", later)
    answer = (
        await (await run(chain(routers=[router(processors=["responseToBody", "later", "metadataToHeaders"])]))).send(
            "/x"
        )
    ).answer
    assert answer.headers["A"] == "b"


async def test_what_a_processor_of_messages_raises_is_the_answer(engine, run, caplog):
    def refuse(router: Any, exchange: Any) -> None:
        raise ValueError("not you")

    engine.endpoints.processors.add("refuse", refuse)
    with caplog.at_level(logging.ERROR):
        answer = (await (await run(chain(processors=["refuse"]))).send("/x")).answer
    assert (answer.status, answer.body) == (400, "not you")
    assert "could not be taken in" in caplog.text


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_processor_of_answers_raises_is_logged_and_status_500(engine, run, caplog, is_async):
    def fail(router: Any, exchange: Any) -> None:
        raise ValueError("oh")

    async def fail_later(router: Any, exchange: Any) -> None:
        fail(router, exchange)

    engine.endpoints.processors.add("fail", fail_later if is_async else fail)
    with caplog.at_level(logging.ERROR):
        answer = (await (await run(chain(routers=[router(processors=["fail", "responseToBody"])]))).send("/x")).answer
    assert (answer.status, answer.body) == (500, None)
    assert "a processor of answers failed" in caplog.text


async def through(run: Any, *names: str, out: str = "responseToBody", message: Message, headers: Any = ()) -> Any:
    source = chain(
        ECHO, [{"from": {"path": "/x", "processors": list(names)}, "to": {"wait": True, "processors": out.split()}}]
    )
    return await (await run(source)).send("/x", message=message, headers=Headers(headers))


async def test_headers_become_metadata_under_their_usual_names(run):
    exchange = await through(
        run, "headersToMetadata", message=Message("{}"), headers=[(b"x-abc-def", b"1"), ("X-ABC-def", "2")]
    )
    assert exchange.outcome.message.metadata["X-Abc-Def"] == "1"


@pytest.mark.parametrize(
    ("name", "data_type", "content_type"),
    [
        ("setJsonDataType", "JSON", "application/json"),
        ("setTextDataType", "TEXT", "text/plain; charset=utf-8"),
        ("setBinaryDataType", "BINARY", "application/octet-stream"),
    ],
)
async def test_a_data_type_that_is_set_is_that_of_the_answer_too(run, name, data_type, content_type):
    exchange = await through(run, name, message=Message("1", data_type="TEXT"))
    assert exchange.outcome.message.data_type == data_type
    assert (exchange.answer.headers, exchange.answer.body) == ({"Content-Type": content_type}, "1")


async def test_data_becomes_hex_digits(run):
    exchange = await through(run, "toHex", message=Message(b"\x00\xff", data_type="BINARY"))
    assert (exchange.answer.body, exchange.outcome.message.data_type) == ("00ff", "TEXT")


async def test_text_has_no_content_type_of_its_own(run):
    assert (await through(run, message=Message("hi", data_type="TEXT"))).answer.headers == {}


def adding(**metadata: Any) -> Any:
    def add(router: Any, exchange: Any) -> None:
        for name, value in metadata.items():
            exchange.message = exchange.message.put(name.replace("_", "-"), value)

    return add


async def test_metadata_become_headers_that_no_value_can_break(engine, run):
    added = {
        "A_B": "x\r\nSet-Cookie: y",
        "no header": "z",
        "Content_Length": "5",
        "Transfer_Encoding": "chunked",
        "n": {"a": 1},
    }
    engine.endpoints.processors.add("add", adding(**added))
    answer = (await through(run, "add", out="responseToBody metadataToHeaders", message=Message("{}"))).answer
    assert answer.headers == {"Content-Type": "application/json", "A-B": "x Set-Cookie: y", "n": '{"a":1}'}


async def test_metadata_that_the_engine_keeps_for_itself_are_no_headers(engine, run):
    def add(router: Any, exchange: Any) -> None:
        exchange.message = exchange.message.put_all({"_loopIndex": "0", "_": "x", "a_b": "2"})

    engine.endpoints.processors.add("add", add)
    answer = (await through(run, "add", out="metadataToHeaders", message=Message("{}"))).answer
    assert answer.headers == {"a_b": "2"}


async def test_metadata_that_a_message_came_with_are_no_headers_and_no_status(run):
    came = Message("{}", metadata={"Location": "http://evil", "statusCode": "302"})
    answer = (await through(run, out="metadataToHeaders metadataToStatus", message=came)).answer
    assert (answer.headers, answer.status) == ({}, None)


@pytest.mark.parametrize("status", ["200", 201, "404", 599])
async def test_a_chain_chooses_the_status_of_its_answer(engine, run, status):
    engine.endpoints.processors.add("add", adding(statusCode=status))
    answer = (await through(run, "add", out="metadataToStatus responseToBody", message=Message("{}"))).answer
    assert (answer.status, answer.body) == (int(status), "{}")


@pytest.mark.parametrize(
    "status", ["199", "600", "0200", "200 OK", "-200", "2e2", "", "\u0662\u0660\u0660", True, [200]]
)
@pytest.mark.parametrize("out", ["metadataToStatus responseToBody", "responseToBody metadataToStatus"])
async def test_what_is_no_status_is_answered_with_500_that_says_so(engine, run, status, out):
    engine.endpoints.processors.add("add", adding(statusCode=status))
    answer = (await through(run, "add", out=out, message=Message("{}"))).answer
    assert answer.status == 500
    assert str(answer.body).startswith("the metadata statusCode is ")
    assert str(answer.body).endswith("which is no status from 200 to 599")


@pytest.mark.parametrize(("status", "answered"), [("404", 404), ("503", 503), ("200", 400), ("302", 400)])
@pytest.mark.parametrize("out", ["metadataToStatus responseToBody", "responseToBody metadataToStatus"])
async def test_a_failure_is_never_answered_with_a_status_of_success(engine, run, status, answered, out):
    engine.endpoints.processors.add("add", adding(statusCode=status))
    node = {"bad": {"type": "jsFilter", "configuration": {"jsScript": "throw new Error('no')"}}}
    routers = [{"from": {"path": "/x", "processors": ["add"]}, "to": {"wait": True, "processors": out.split()}}]
    answer = (await (await run(chain(node, routers))).send("/x", message=Message("{}"))).answer
    assert answer.status == answered
    assert "no" in str(answer.body)


# Targets


async def test_the_message_goes_to_the_chain_that_is_named(engine, run):
    engine.load(chain({"z": script("return {msg: 'other'}")}, [], id="other"))
    for path in ("chain:other", "other", "other:z", "chain:other:z", " other "):
        endpoint = await run(chain(routers=[router(path=path)], id="c"))
        assert (await endpoint.send("/x")).answer.body == "other", path
        await engine.stop("c")


async def test_a_target_may_start_at_a_node(run):
    source = chain({"a": FAILING["a"], "b": script("return {msg: 'b'}")}, [router(path="c:b")])
    assert (await (await run(source)).send("/x")).answer.body == "b"


async def test_an_unknown_chain_is_an_error_in_the_words_of_the_field(run):
    answer = (await (await run(chain(routers=[router(path="gone")]))).send("/x")).answer
    assert (answer.status, answer.body) == (400, "chainId=gone not found error")


async def test_the_chain_may_be_named_by_the_metadata(engine, run):
    engine.load(chain({"z": script("return {msg: 'other'}")}, [], id="other"))
    endpoint = await run(chain(routers=[router(path="chain:${chainId}")]))
    assert (await endpoint.send("/x", message=Message("{}", metadata={"chainId": "other"}))).answer.body == "other"
    assert (await endpoint.send("/x", message=Message("{}"))).answer.body == "chainId=${chainId} not found error"


@pytest.mark.parametrize("name", ["c:b", "chain:c:b", "component:log", "component:", ":b", ""])
async def test_who_names_the_chain_names_no_node_and_no_component(run, name):
    nodes = {"a": script("return {msg: 'a'}"), "b": script("return {msg: 'b'}")}
    endpoint = await run(chain(nodes, [router(path="${to}")], [("a", "Never", "b")]))
    answer = (await endpoint.send("/x", message=Message("{}", metadata={"to": name}))).answer
    assert answer.body == (f"chainId={name} not found error" if name else "a")


async def test_a_node_may_be_named_by_the_metadata(run):
    nodes = {"a": script("return {msg: 'a'}"), "b": script("return {msg: 'b'}")}
    endpoint = await run(chain(nodes, [router(path="chain:c:${node}")], [("a", "Never", "b")]))
    assert (await endpoint.send("/x", message=Message("{}", metadata={"node": "b"}))).answer.body == "b"
    assert (
        "node id=z not found" in (await endpoint.send("/x", message=Message("{}", metadata={"node": "z"}))).answer.body
    )


async def test_a_component_may_be_the_target(run):
    to = {"path": "component:jsTransform", "configuration": {"jsScript": "return {msg: 'one'}"}}
    assert (await (await run(chain(FAILING, [router(**to)]))).send("/x")).answer.body == "one"


async def test_the_host_may_add_targets(engine, run):
    async def shout(router: Any, exchange: Any) -> Message:
        return exchange.message.with_data(f"{router.to.path} {exchange.message.text}!", "TEXT")

    engine.endpoints.executors["shout"] = shout
    endpoint = await run(chain(routers=[router(path="shout:at")]))
    assert (await endpoint.send("/x", "hi")).answer.body == "shout:at hi!"


async def test_a_reload_counts_for_the_next_message(engine, run):
    engine.load(chain({"z": script("return {msg: 'one'}")}, [], id="other"))
    endpoint = await run(chain(routers=[router(path="other")]))
    engine.reload(chain({"z": script("return {msg: 'two'}")}, [], id="other"))
    assert (await endpoint.send("/x")).answer.body == "two"


# What a message asks for


async def test_metadata_say_where_the_message_came_from(run):
    exchange = await (await run(chain(ECHO))).send("/x", message=Message("{}", metadata={"_triggerSource": "me"}))
    assert exchange.outcome.message.metadata["_triggerSource"] == Probe.trigger_source


async def test_a_message_may_ask_not_to_be_passed_on(run):
    source = chain({"a": ECHO["a"], "b": FAILING["a"]}, connections=[("a", "True", "b")])
    exchange = await (await run(source)).send("/x", message=Message("{}", metadata={"_skipTellNext": "true"}))
    assert (exchange.answer.node_id, exchange.answer.error) == ("a", None)


async def test_a_message_may_ask_for_debugging(engine, run):
    seen = []
    engine.hooks.on_debug.append(lambda *told: seen.append(told[2]))
    endpoint = await run(chain(ECHO))
    await endpoint.send("/x")
    assert seen == []
    await endpoint.send("/x", message=Message("{}", metadata={"_debugMode": "true"}))
    assert set(seen) == {"a"}


async def test_an_endpoint_in_debug_mode_has_its_runs_in_debug_mode(engine, run):
    seen = []
    engine.hooks.on_debug.append(lambda *told: seen.append(told[2]))
    await (await run(chain(ECHO, debugMode=True))).send("/x")
    assert set(seen) == {"a"}


# Back-pressure


async def test_more_messages_than_it_takes_are_refused(engine, run):
    engine.function("hold")(hold := Hold())
    endpoint = await run(chain(HELD, configuration={"maxInFlight": 2}))
    taken = [asyncio.ensure_future(endpoint.send("/x")) for _ in range(2)]
    await asyncio.sleep(0)
    refused = (await endpoint.send("/x")).answer
    assert refused.status == 503
    assert "maxInFlight" in refused.body
    hold.is_over.set()
    assert [(await one).answer.status for one in taken] == [None, None]
    assert (await endpoint.send("/x")).answer.status is None


async def test_a_client_that_goes_away_cancels_the_run(run):
    endpoint = await run(chain({"a": {"type": "delay", "configuration": {"periodInSeconds": 60}}}))
    sending = asyncio.ensure_future(endpoint.send("/x"))
    await asyncio.sleep(0.01)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert endpoint.in_flight == 0


def register_pieces(engine: Engine) -> None:
    """Register a node that emits two pieces, and then the whole."""
    from catenary import STREAM, SUCCESS, Component, Config, Context, Emission

    class Pieces(Component[Config]):
        """Say it in pieces."""

        relations = (STREAM, SUCCESS)

        async def run(self, ctx: Context, msg: Message, /) -> Emission:
            for piece in ("one", "two"):
                await ctx.emit(STREAM, msg.with_data(piece, "TEXT"))
            return SUCCESS, msg.with_data("one two", "TEXT")

    engine.registry.register("pieces", category="action")(Pieces)

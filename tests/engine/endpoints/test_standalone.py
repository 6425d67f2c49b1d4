"""Endpoints outside of any chain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.engine.endpoints.conftest import Probe, chain, probe, router, turns

from catenary import Engine, Message
from catenary.component import Config, Context, option
from catenary.errors import ChainInvalid, EngineError
from catenary.shared import SharedComponent

if TYPE_CHECKING:
    from catenary.jsontext import Json


def alone(*routers: dict[str, Json], id: str = "s", **more: Json) -> dict[str, Json]:  # noqa: A002
    return {"id": id, "type": "probe", "routers": list(routers), **more}


async def test_an_endpoint_alone_sends_to_the_chains_that_its_routers_name(engine):
    engine.load(chain(routers=[]))
    assert engine.endpoints.add(alone(router(path="c"))) == "s"
    async with engine:
        assert (await probe(engine, "", "s").send("/x", {"a": 1})).answer.body == '{"a":1,"x":1}'
        (_, status) = engine.endpoints.status()
        assert (status.id, status.chain_id, status.state) == ("s", "", "connected")


async def test_routers_are_added_replaced_and_removed_while_it_runs(engine):
    async with engine:
        engine.load(chain(routers=[]))
        engine.endpoints.add(alone())
        await engine.endpoints.settled()
        running = probe(engine, "", "s")
        assert engine.endpoints.add_router("s", router("/a", path="c")) == "/a"
        assert (await running.send("/a")).answer.body == '{"x":1}'
        assert engine.endpoints.replace_router("s", "/a", router("/b", path="gone")) == "/b"
        assert (await running.send("/b")).answer.body == "chainId=gone not found error"
        engine.endpoints.remove_router("s", "/b")
        assert dict(running.routers) == {}
        assert running.life == ["start", "routed", "routed", "routed"]


async def test_another_configuration_restarts_it(engine):
    async with engine:
        engine.endpoints.add(alone())
        await engine.endpoints.settled()
        before = probe(engine, "", "s")
        engine.endpoints.reload(alone(configuration={"server": "probe:2"}))
        await engine.endpoints.settled()
        assert before.life == ["start", "stop"]
        assert probe(engine, "", "s").config.server == "probe:2"
        assert engine.endpoints.get("s").configuration == {"server": "probe:2"}


async def test_one_that_is_removed_is_stopped(engine):
    async with engine:
        engine.endpoints.add(alone())
        await engine.endpoints.settled()
        running = probe(engine, "", "s")
        engine.endpoints.remove("s")
        await engine.endpoints.settled()
        assert running.life == ["start", "stop"]
        assert engine.endpoints.status() == []


def test_ids_are_unique_and_known(engine):
    engine.endpoints.add(alone())
    with pytest.raises(EngineError, match="duplicate endpoint id:s"):
        engine.endpoints.add(alone())
    with pytest.raises(EngineError, match="endpoint id=z not found"):
        engine.endpoints.remove("z")
    with pytest.raises(EngineError, match="router id=/z not found"):
        engine.endpoints.remove_router("s", "/z")
    with pytest.raises(ChainInvalid, match="two routers have the id '/x'"):
        engine.endpoints.replace_router(
            "s", engine.endpoints.add_router("s", router(path="c")), router(path="c")
        ) and engine.endpoints.add_router("s", router(path="c"))


def test_what_is_wrong_is_told_with_its_place(engine):
    text = 'id: s\ntype: probe\nrouters:\n  - from: {path: bad}\n    to: {}\n  - to: {path: "component:"}\n'
    with pytest.raises(ChainInvalid) as raised:
        engine.endpoints.add(text)
    assert [(one.line, one.column, one.text) for one in raised.value.problems] == [
        (4, 18, "endpoint 's' (probe), router 'bad': the path 'bad' is bad"),
        (5, 9, "endpoint 's' (probe), router 'bad': the target is empty, and the endpoint is in no chain"),
        (6, 16, "endpoint 's' (probe), router '': the target 'component:' names no component: write component:TYPE"),
    ]
    assert engine.endpoints.status() == []
    assert Probe.made[0].life == []


async def test_an_endpoint_alone_may_come_from_a_file(engine, tmp_path):
    file = tmp_path / "in.json"
    file.write_text('{"id": "s", "type": "endpoint/probe", "routers": [{"from": {"path": "/x"}, "to": {"path": "c"}}]}')
    assert engine.endpoints.add(file) == "s"


async def test_routers_that_threads_add_at_once_are_all_there(engine):
    names = [f"/{number}" for number in range(40)]
    async with engine:
        engine.endpoints.add({"id": "e", "type": "probe"})
        added = (asyncio.to_thread(engine.endpoints.add_router, "e", router(name, path="chain:c")) for name in names)
        await asyncio.gather(*added)
        await turns()
        assert set(probe(engine, "").routers) == set(names)


def component(text: str) -> dict[str, Json]:
    """Write a chain that gives a text."""
    node: Json = {"id": "a", "type": "text/template", "configuration": {"template": text}}
    return {"ruleChain": {"id": "word"}, "metadata": {"nodes": [node]}}


async def test_a_component_that_is_a_chain_is_replaced_where_endpoints_send_to_it(engine):
    engine.register_component("test/word", component("one"))
    engine.load(chain(routers=[router(path="component:test/word")]))
    engine.endpoints.add(alone(router(path="component:test/word")))
    engine.load(chain(id="other"))
    engine.endpoints.add(alone(router("/${global.later}", path="component:log"), id="other"))
    async with engine:
        running = [probe(engine), probe(engine, "", "s")]
        engine.properties["later"] = "x"
        assert [chain.id for chain in engine.reload_component("test/word", component("two"))] == ["c"]
        assert [(await probe(engine, *at).send("/x")).answer.body for at in (("c", "e"), ("", "s"))] == ["two", "two"]
        assert [one.life for one in running] == [["start", "routed"], ["start", "routed"]]
        assert list(probe(engine, "", "other").routers) == ["/${global.later}"]


async def test_all_that_is_loaded_anew_includes_what_stands_alone(registry):
    properties: dict[str, Json] = {"path": "/a", "target": "c"}
    engine = Engine(properties, registry=registry)
    engine.load(chain(routers=[]))
    engine.endpoints.add(alone(router("${global.path}", path="${global.target}")))
    async with engine:
        properties["path"] = "/b"
        engine.reload_all()
        assert list(probe(engine, "", "s").routers) == ["/b"]
        properties["path"], properties["target"] = "/c", "component:nothing"
        with pytest.raises(ChainInvalid, match="component not found"):
            engine.reload_all()
        assert list(probe(engine, "", "s").routers) == ["/b"]
        assert engine.get("c").version == 3


def pool(*endpoints: dict[str, Json], **more: Json) -> dict[str, Json]:
    """Write what is shared: endpoints that stand alone."""
    head: Json = {"id": "pool", "configuration": {"vars": {"at": "probe:7"}}}
    return {"ruleChain": head, "metadata": {"endpoints": list(endpoints), **more}}


async def test_endpoints_among_shared_resources_stand_alone(engine):
    engine.load(chain(routers=[]))
    shared = pool(alone(router(path="c"), configuration={"server": "${vars.at}"}))
    assert engine.shared.load(shared) == ["s"]
    assert engine.shared.ids() == []
    async with engine:
        assert probe(engine, "", "s").config.server == "probe:7"
        assert (await probe(engine, "", "s").send("/x")).answer.body == '{"x":1}'


async def test_routers_of_a_shared_endpoint_see_the_variables_that_stand_before_it(engine):
    async with engine:
        engine.shared.load(pool(alone(configuration={"server": "${vars.at}"})))
        await engine.endpoints.settled()
        running = probe(engine, "", "s")
        assert engine.endpoints.add_router("s", router("/${vars.at}", path="c")) == "/probe:7"
        assert probe(engine, "", "s") is running


async def test_a_shared_endpoint_with_the_same_settings_goes_on_when_all_is_loaded_again(engine):
    async with engine:
        engine.shared.load(pool(alone(), alone(id="t")))
        await engine.endpoints.settled()
        first, second = probe(engine, "", "s"), probe(engine, "", "t")
        again = pool(alone(router("/a", path="c")), alone(id="t", configuration={"server": "probe:2"}))
        assert await engine.shared.reload(again) == ["s", "t"]
        await engine.endpoints.settled()
        assert first.life == ["start", "routed"]
        assert second.life == ["start", "stop"]
        assert await engine.shared.reload(pool(alone(), alone(id="t")), "s") == ["s"]
        await engine.endpoints.settled()
        assert first.life == ["start", "routed", "routed"]
        assert probe(engine, "", "t").config.server == "probe:2"


def test_shared_endpoints_are_checked_as_those_that_stand_alone(engine):
    with pytest.raises(ChainInvalid, match="the target is empty"):
        engine.shared.load(pool(alone(router())))
    (problem,) = engine.shared.declare(pool(alone(router())))
    assert problem.code == "endpoint.target"
    engine.shared.load(pool(alone()))
    with pytest.raises(EngineError, match="duplicate node id:s"):
        engine.shared.load(pool(alone()))
    assert engine.endpoints.get("s").type == "probe"


def test_a_node_that_borrows_from_an_endpoint_alone_is_no_warning(engine):
    class BorrowerConfig(Config):
        server: str = option("", help="Where it connects.", ref="primary")

    @engine.registry.register("borrowsFromAlone", category="external")
    class Borrower(SharedComponent[BorrowerConfig, object]):
        def run(self, ctx: Context, msg: Message) -> None:
            del ctx, msg

    node: dict[str, Json] = {"type": "borrowsFromAlone", "configuration": {"server": "ref://s"}}
    assert [problem.code for problem in engine.check(chain({"b": node}))] == ["chain.unknown-resource"]
    engine.endpoints.add(alone())
    assert engine.check(chain({"b": node})) == []
    engine.endpoints.remove("s")
    engine.shared.declare(pool(alone()))
    assert engine.check(chain({"b": node})) == []

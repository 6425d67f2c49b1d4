"""Endpoints of chains when these are loaded: what is wrong is told at once, with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.endpoints.conftest import Probe, chain, probe, router

from catenary import Engine, Message
from catenary.component import Component, Config, Context, option
from catenary.shared import SharedComponent

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary.relation import Relation


def problems(engine: Engine, source: Any) -> list[tuple[str, str]]:
    return [(one.code, one.text) for one in engine.check(source)]


def test_all_that_is_wrong_with_endpoints_is_told_at_once(engine):
    text = """\
metadata:
  nodes: [{id: a, type: log}]
  endpoints:
    - id: e
      type: probe
      processors: [setJsonDataTyp]
      configuration: {maxInFlight: many}
      routers:
        - from: {path: bad, processors: [responseToBody]}
          to: {path: "component:nothing", wait: perhaps}
        - {id: r, from: {path: /a}, too: {}, to: {path: ":b", processors: [toHex]}}
        - {id: r, to: {path: "component:endpoint/probe", answer: all}}
    - {id: e, type: prob}
    - {id: f, type: log}
    - {id: a, type: probe, routers: [{id: r}, {id: r, to: {path: "component:jsFilter", configuration: {jsScript: (}}}]}
"""
    found = [(one.line, one.code, one.text.partition(": ")[2]) for one in engine.check(text)]
    assert [(line, code, text.removesuffix(text.partition("jsScript")[2])) for line, code, text in found] == [
        (6, "endpoint.unknown-processor", "processor not found: setJsonDataTyp"),
        (7, "config.invalid", "maxInFlight must be a whole number, not 'many'"),
        (9, "endpoint.router", "the path 'bad' is bad"),
        (9, "endpoint.unknown-processor", "processor not found: responseToBody"),
        (10, "chain.unknown-type", "component not found. componentType=nothing"),
        (10, "config.invalid", "to.wait must be true or false, not 'perhaps'"),
        (11, "config.unknown-option", "the option 'too' is not known"),
        (11, "endpoint.target", "the chain has no node 'b' to start at"),
        (11, "endpoint.unknown-processor", "processor not found: toHex"),
        (12, "endpoint.duplicate-router", "two routers have the id 'r'"),
        (12, "node.is-endpoint", "'endpoint/probe' is an endpoint, and no node"),
        (12, "config.invalid", "to.answer must be one of 'last', 'first' or 'list', not 'all'"),
        (13, "chain.duplicate-id", ""),
        (13, "chain.unknown-type", "component not found. componentType=prob"),
        (14, "endpoint.is-node", "'log' is a node, and no endpoint"),
        (15, "chain.duplicate-id", ""),
        (15, "endpoint.duplicate-router", "two routers have the id 'r'"),
        (15, "script.syntax", "jsScript"),
    ]


def test_routers_without_ids_are_no_duplicates_where_the_endpoint_cannot_be_made(engine):
    routers = [{"params": [method], "from": {"path": "/a"}} for method in ("GET", "POST")]
    found = problems(engine, chain(routers=routers, configuration={"maxInFlight": "many"}))
    assert [code for code, _ in found] == ["config.invalid"]


def test_what_came_by_a_placeholder_is_not_quoted(registry):
    engine = Engine({"key": "swordfish"}, registry=registry)
    to: dict[str, Json] = {"path": "component:${global.key}", "wait": "${global.key}"}
    first = {"id": "${global.key}", "from": {"path": "bad", "processors": ["${global.key}"]}, "to": to}
    second = {"id": "${global.key}", "to": {"path": ":${global.key}"}}
    found = problems(engine, chain(routers=[first, second], configuration={"maxInFlight": "${global.key}"}))
    assert len(found) == 7
    assert [text for _, text in found if "swordfish" in text or "${global.key}" not in text] == []


def test_an_endpoint_among_nodes_is_an_error(engine):
    source = chain({"a": {"type": "endpoint/probe"}})
    assert ("node.is-endpoint", "node 'a': 'endpoint/probe' is an endpoint, and no node") in problems(engine, source)


def test_an_endpoint_is_no_target(engine):
    found = problems(engine, chain(routers=[router(path="component:endpoint/probe")]))
    assert [code for code, _ in found] == ["node.is-endpoint"]


@pytest.mark.parametrize("name", ["probe", "endpoint/probe", "probing"])
def test_the_type_may_leave_out_what_all_endpoints_begin_with(engine, name):
    assert problems(engine, chain(type=name)) == []


def test_a_type_that_is_spelt_wrong_is_told_which_is_meant(engine):
    (problem,) = engine.check(chain(type="prob"))
    assert problem.hint == "did you mean 'probe'?"


def test_routers_are_read_leniently(engine):
    raw: dict[str, Json] = {"Params": "POST", "FROM": {"Path": "/x", "processors": "toHex"}, "to": {"wait": "true"}}
    engine.load(chain(routers=[raw]))
    ((name, found),) = engine.get("c").endpoints[0].routers.items()
    assert (name, found.params, found.path, found.processors, found.to.wait) == (
        "POST:/x",
        ("POST",),
        "/x",
        ("toHex",),
        True,
    )


def test_placeholders_are_resolved_and_the_definition_stays_as_it_was(registry):
    engine = Engine({"at": "probe:9"}, registry=registry)
    source = chain(
        routers=[router("/${vars.p}", path="${vars.p}")],
        configuration={"server": "${global.at}", "password": "${vars.p}"},
    )
    source["ruleChain"]["configuration"] = {"vars": {"p": "pass-1234"}}
    loaded = engine.load(source)
    (built,) = loaded.endpoints
    assert (built.component.config.server, list(built.routers)) == ("probe:9", ["/pass-1234"])
    endpoints = json.dumps(loaded.to_dict()["metadata"]["endpoints"])
    assert "probe:9" not in endpoints
    assert "pass-1234" not in endpoints
    assert engine.masker.text("pass-1234") != "pass-1234"


def test_a_placeholder_without_a_value_is_a_warning(engine):
    found = problems(engine, chain(configuration={"server": "${global.nowhere}"}))
    assert found == [("chain.unresolved-placeholder", "endpoint 'e' (probe): ${global.nowhere} has no value")]


def test_placeholders_of_routers_and_processors_without_a_value_are_warnings(engine):
    sends = {
        "from": {"path": "/${global.path}"},
        "to": {"path": "chain:${vars.target}", "configuration": {"jsScript": "return '${global.elsewhere}'"}},
    }
    found = engine.check(chain(routers=[sends], processors=["${global.name}"]))
    assert [(problem.code, problem.text.rpartition(": ")[2], problem.hint) for problem in found] == [
        (
            "endpoint.unknown-processor",
            "${global.name}",
            "the processors here are: headersToMetadata, setBinaryDataType, setJsonDataType, setTextDataType, toHex",
        ),
        (
            "chain.unresolved-placeholder",
            "${global.name} has no value",
            "set the property 'name' (--set global.name=... on the command line)",
        ),
        (
            "chain.unresolved-placeholder",
            "${global.path} has no value",
            "set the property 'path' (--set global.path=... on the command line)",
        ),
        (
            "chain.unresolved-placeholder",
            "${vars.target} has no value",
            "add 'target' to ruleChain.configuration.vars",
        ),
    ]


async def test_processors_of_an_endpoint_are_named_by_placeholders_too(registry):
    engine = Engine({"first": "toHex"}, registry=registry)
    engine.load(chain(processors=["${global.first}"]))
    async with engine:
        assert (await probe(engine).send("/x", "ab")).message.data == "6162"


def test_nothing_is_opened_by_check(engine):
    assert engine.check(chain()) == []
    assert Probe.made[0].life == []
    assert not hasattr(Probe.made[0], "shared")


def test_what_an_endpoint_borrows_is_looked_for(engine):
    (problem,) = engine.check(chain(configuration={"server": "ref://nowhere"}))
    assert (problem.code, problem.text, problem.hint) == (
        "chain.unknown-resource",
        "endpoint 'e' (probe): node resource not found id=nowhere",
        "it is no node or endpoint of this chain; load it before the chain is run",
    )
    source = chain(configuration={"server": "ref://f"})
    source["metadata"]["endpoints"].append({"id": "f", "type": "probe"})
    assert engine.check(source) == []


async def test_a_node_borrows_what_an_endpoint_of_its_chain_lends(engine):
    class UsesConfig(Config):
        server: str = option("ref://e", help="Whose.", ref="primary")

    class Uses(SharedComponent[UsesConfig, object]):
        """Use what an endpoint lends."""

        async def run(self, ctx: Context, msg: Message, /) -> tuple[Relation | str, Message]:
            async with self.connection(ctx) as lent:
                return "Success", msg.with_data(str(lent), "TEXT")

    engine.registry.register("uses", category="action")(Uses)
    source = chain({"a": {"type": "uses"}})
    assert problems(engine, source) == []
    engine.load(source)
    outcome = await engine.run("c", "{}")
    assert str(outcome.ends[0].error) == "node resource not found id=e"
    async with engine:
        assert (await engine.run("c", "{}")).message.data == "lent by e"


async def test_a_component_that_is_no_endpoint_is_never_started(engine):
    class Plain(Component[Config]):
        """Do nothing."""

    engine.registry.register("endpoint/plainly", category="endpoint")(Plain)
    assert [code for code, _ in problems(engine, chain(type="plainly"))] == ["chain.unknown-type"]


async def test_every_change_of_an_endpoint_is_an_event(engine):
    seen = []
    engine.subscribe(seen.append)
    Probe.fails.append(OSError("taken"))
    engine.load(chain())
    async with engine:
        engine.reload(chain(configuration={"server": "probe:2"}))
        await engine.endpoints.settled()
        probe(engine).report("reconnecting", "gone")
    assert [(one.name, one.chain_id, one.node_id, one.state, one.error) for one in seen] == [
        ("connection.change", "c", "e", "reconnecting", "taken"),
        ("connection.change", "c", "e", "connected", ""),
        ("connection.change", "c", "e", "reconnecting", "gone"),
        ("connection.change", "c", "e", "disconnected", ""),
    ]

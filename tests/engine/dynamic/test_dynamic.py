"""Chains as component types: options, defaults, ends, forms, aliases, and replacing them."""

from __future__ import annotations

import pytest

from catenary import Engine
from catenary.component import Component, Config, registered
from catenary.dynamic import register_chain
from catenary.errors import ChainInvalid, EngineError
from catenary.registry import Registry

SCHEMA = {
    "type": "object",
    "required": ["limit"],
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "title": "Highest", "description": "What is too hot."},
        "word": {"type": "string", "default": "hot", "enum": ["hot", "warm"]},
        "parts": {"type": "array", "items": {"type": "number"}, "default": [1]},
        "deep": {"type": "object", "properties": {"a": {"type": "boolean", "default": True}}},
    },
}


def component(*, schema=SCHEMA, own=None, **about):
    nodes = [
        {"id": "f", "type": "exprFilter", "configuration": {"expr": "msg.t > ${vars.limit}"}},
        {
            "id": "t",
            "type": "exprTransform",
            "configuration": {"mapping": {"is": "'${vars.word}'", "site": "vars.site", "limit": "vars.limit"}},
        },
    ]
    info = {"relationTypes": "Success, False", **about} | ({"inputSchema": schema} if schema else {})
    return {
        "ruleChain": {
            "id": "hot",
            "name": "Too hot",
            "additionalInfo": info,
            "configuration": {"vars": {"site": "own", "limit": 99, **(own or {})}},
        },
        "metadata": {"nodes": nodes, "connections": [{"fromId": "f", "toId": "t", "type": "True"}]},
    }


def host(configuration, *, own=None, kind="acme/hot", name="host"):
    return {
        "ruleChain": {"id": name, "configuration": {"vars": own or {}}},
        "metadata": {"nodes": [{"id": "n", "type": kind, "configuration": configuration}]},
    }


@pytest.fixture
def engine():
    with Engine() as made:
        made.register_component("acme/hot", component())
        yield made


def test_each_end_goes_on_by_its_relation(engine):
    chain = engine.load(host({"limit": 30}))
    assert chain.run_sync({"t": 31}).message.value == {"is": "hot", "site": "own", "limit": 30}
    assert chain.run_sync({"t": 29}).ends[0].relation == "False"


def test_a_failure_inside_is_a_failure_of_the_node(engine):
    outcome = engine.load(host({"limit": 30})).run_sync({"t": "text"})
    assert outcome.ends[0].relation == "Failure"
    assert outcome.ends[0].node_id == "n"


def test_options_win_over_the_hosts_variables_and_those_over_defaults_and_own_ones(engine):
    own = {"limit": 20, "site": "host", "word": "warm"}
    assert engine.load(host({}, own=own)).run_sync({"t": 21}).message.value == {
        "is": "warm",
        "site": "host",
        "limit": 20,
    }
    value = engine.reload(host({"limit": "10", "word": "hot"}, own=own)).run_sync({"t": 11}).message.value
    assert value == {"is": "hot", "site": "host", "limit": 10}


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ({}, "the option 'limit' is required"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"limit": "many"}, "limit must be a whole number"),
        ({"limit": 1, "word": "cold"}, "word must be one of 'hot' or 'warm'"),
        ({"limit": 1, "parts": ["x"]}, "parts.0 must be a number"),
        ({"limit": 1, "deep": {"a": "zzz"}}, "deep.a must be"),
    ],
)
def test_the_schema_holds_for_nodes_and_problems_have_their_place(engine, configuration, text):
    with pytest.raises(ChainInvalid) as caught:
        engine.load(host(configuration))
    (problem,) = caught.value.problems
    assert text in problem.text
    assert problem.text.startswith("node 'n' (acme/hot): ")


def test_a_problem_has_line_and_column(engine):
    text = '{"metadata": {"nodes": [\n {"id": "n", "type": "acme/hot", "configuration": {\n  "limit": 0}}]}}'
    with pytest.raises(ChainInvalid) as caught:
        engine.load(text)
    assert (caught.value.line, caught.value.column) == (3, 12)


def test_an_unknown_option_is_a_warning(engine):
    (problem,) = engine.check(host({"limit": 1, "limt": 2}))
    assert problem.code == "config.unknown-option"


def test_the_chain_of_a_node_has_an_id_of_its_own(engine):
    seen = []
    engine.subscribe(lambda event: seen.append(event.chain_id))
    engine.load(host({"limit": 30})).run_sync({"t": 31})
    assert set(seen) == {"host", "host#n"}


def test_without_a_schema_the_variables_that_are_read_are_the_options():
    with Engine() as engine:
        engine.register_component("acme/hot", component(schema=None))
        fields = {one["name"]: one for one in engine.registry.form("acme/hot")["fields"]}
        assert list(fields) == ["limit", "word"]
        assert (fields["limit"]["type"], fields["limit"]["defaultValue"], fields["limit"]["required"]) == (
            "int",
            99,
            False,
        )
        chain = engine.load(host({"limit": 3, "word": "x", "site": "given"}))
        assert chain.run_sync({"t": 4}).message.value == {"is": "x", "site": "given", "limit": 3}


def test_a_chain_that_is_wrong_with_these_options_is_a_problem_of_the_node(engine):
    engine.register_component("acme/broken", component(schema=None, own={"limit": "("}))
    with pytest.raises(ChainInvalid, match=r"node 'n' \(acme/broken\) cannot be opened"):
        engine.load(host({}, kind="acme/broken"))


def test_the_form_tells_what_additional_info_says():
    about = {"category": "heat", "icon": "sun", "description": "Tell what is too hot.", "version": "2.1"}
    with Engine() as engine:
        engine.register_component("acme/hot", component(**about), aliases=["hot"])
        form = engine.registry.form("hot")
        told = {key: form[key] for key in ("type", "category", "icon", "desc", "version", "componentKind", "label")}
        assert told == {
            "type": "acme/hot",
            "category": "heat",
            "icon": "sun",
            "desc": "Tell what is too hot.",
            "version": "2.1",
            "componentKind": "dc",
            "label": "Too hot",
        }
        assert form["relationTypes"] == ["Success", "False", "Failure"]
        limit = form["fields"][0]
        assert (limit["name"], limit["label"], limit["required"]) == ("limit", "Highest", True)
        assert engine.registry.schema("acme/hot")["required"] == ["limit"]
        assert "acme/hot" in engine.registry.types("heat")


def test_absent_additional_info_has_its_defaults(engine):
    form = engine.registry.form("acme/hot")
    assert (form["category"], form["icon"], form["version"]) == ("custom", "custom-node", "")


def test_it_is_there_for_its_engine_only(engine):
    assert engine.registry.find("acme/hot") is not None
    assert Registry().find("acme/hot") is None
    with pytest.raises(EngineError, match=r"already exists.*componentType=acme/hot"):
        engine.register_component("acme/hot", component())
    engine.registry.unregister("acme/hot")
    assert engine.registry.find("acme/hot") is None


def test_a_built_in_type_can_be_replaced_by_a_chain():
    with Engine() as engine:
        engine.register_component("log", component())
        assert engine.load(host({"limit": 1}, kind="log")).run_sync({"t": 2}).message.value["is"] == "hot"


def test_a_component_inside_itself_is_refused():
    def around(kind):
        return {"ruleChain": {"id": kind}, "metadata": {"nodes": [{"id": "x", "type": kind}]}}

    with Engine() as engine:
        engine.register_component("acme/a", around("acme/b"))
        engine.register_component("acme/b", around("acme/a"))
        with pytest.raises(ChainInvalid, match="the component runs itself: acme/a -> acme/b -> acme/a"):
            engine.load(host({}, kind="acme/a"))


def test_replacing_it_makes_new_versions_of_the_chains_that_use_it(engine):
    outer = {"ruleChain": {"id": "o"}, "metadata": {"nodes": [{"id": "x", "type": "acme/hot", "configuration": {}}]}}
    outer["metadata"]["nodes"][0]["configuration"] = {"limit": 5}
    engine.register_component("acme/outer", outer)
    engine.load(host({"limit": 30}))
    engine.load(host({}, kind="acme/outer", name="nested"))
    engine.load(host({}, kind="log", name="other"))
    new = component()
    new["metadata"]["nodes"][0]["configuration"]["expr"] = "false"
    assert {chain.id for chain in engine.reload_component("acme/hot", new)} == {"host", "nested"}
    assert engine.run_sync("host", {"t": 31}).ends[0].relation == "False"
    assert engine.run_sync("nested", {"t": 31}).ends[0].relation == "False"
    assert engine.get("other").version == 1


def test_chains_that_the_new_one_does_not_suit_stay_as_they_are(engine):
    engine.load(host({"limit": 30}))
    with pytest.raises(ChainInvalid, match="the option 'more' is required"):
        engine.reload_component("acme/hot", component(schema={"required": ["more"], "properties": {"more": {}}}))
    assert engine.run_sync("host", {"t": 31}).message.value["limit"] == 30


def test_only_chains_can_be_replaced_by_chains(engine):
    with pytest.raises(EngineError, match="the component 'log' is no chain"):
        engine.reload_component("log", component())


def test_a_package_registers_a_chain_for_the_process():
    try:
        made = register_chain("test/processChain", component(), aliases=["test/pc"])
        assert register_chain("test/processChain", component(), aliases=["test/pc"]).info == made.info
        assert Registry().find("test/pc") is not None
        with pytest.raises(ValueError, match="the component already exists"):
            register_chain("test/processChain", component(schema=None))
    finally:
        for name in ("test/processChain", "test/pc"):
            registered.pop(name, None)


@pytest.mark.parametrize("schema", [7, {"type": "string"}])
def test_an_input_schema_that_is_none_is_refused(schema):
    with Engine() as engine, pytest.raises(EngineError, match="inputSchema is no JSON Schema of an object"):
        engine.register_component("acme/hot", component(schema=schema))


def test_closing_the_engine_closes_what_is_inside():
    class Closing(Component[Config]):
        """Count."""

        closed = 0

        def close(self):
            Closing.closed += 1

        def run(self, ctx, msg):
            return "Success"

    registry = Registry()
    registry.register("test/closingInside", category="test")(Closing)
    inner = {"ruleChain": {"id": "i"}, "metadata": {"nodes": [{"id": "x", "type": "test/closingInside"}]}}
    with Engine(registry=registry) as engine:
        engine.register_component("acme/inner", inner)
        assert engine.load(host({}, kind="acme/inner")).run_sync({}).ok
    assert Closing.closed == 1


class Counting(Component[Config]):
    """Count its visits in the cache of the chain."""

    def run(self, ctx, msg):
        cache = ctx.chain_cache
        cache.set("visits", cache.get("visits") + 1 if cache.has("visits") else 1)
        return "Success", msg.with_data([ctx.chain_id, cache.get("visits")])


async def test_what_is_kept_inside_survives_a_reload_and_goes_with_the_chain_around():
    registry = Registry()
    registry.register("test/countingInside", category="test")(Counting)
    async with Engine(registry=registry) as engine:
        for kind, inner in {"acme/inner": "test/countingInside", "acme/outer": "acme/inner"}.items():
            nodes = [{"id": "x", "type": inner}]
            engine.register_component(kind, {"ruleChain": {"id": "i"}, "metadata": {"nodes": nodes}})
        around, other = host({}, kind="acme/outer"), host({}, kind="acme/inner", name="other")
        engine.load(around)
        engine.load(other)
        for visits in (1, 2, 3):
            assert (await engine.run("host", {})).message.value == ["host#n#x", visits]
            assert (await engine.run("other", {})).message.value == ["other#n", visits]
            engine.reload(around)
            engine.reload_node("other", {"id": "n", "type": "acme/inner"})
        engine.reload(host({}, kind="acme/inner"))
        assert engine.cache.has("host#n#x:visits")
        engine.remove("host")
        await engine.stop("other")
        assert len(engine.cache) == 0

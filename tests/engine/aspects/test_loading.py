"""Aspects while chains are loaded, replaced and closed; the rules of the host."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.engine.runtime.kit import definition, load

from catenary import Aspect, Engine, Message, Objection
from catenary.aspects import Validator
from catenary.definition import Connection, NodeDefinition
from catenary.errors import ChainInvalid

YAML = """\
ruleChain: {id: written}
metadata:
  nodes:
    - id: a
      type: t/def
    - id: b
      type: t/def
      configuration: {key: -1}
  connections:
    - {fromId: a, toId: b, type: Success}
"""


class Story(Aspect):
    """Writes down what becomes of chains."""

    def __init__(self, told):
        self.told = told

    def chain_before_init(self, definition):
        self.told.append(f"chain {definition.id}")

    def node_before_init(self, definition, node):
        self.told.append(f"node {node.id}")

    def created(self, chain):
        self.told.append(f"created {chain.id} {chain.version}")

    def reload(self, chain, node_id=""):
        self.told.append(f"reload {chain.version} {node_id}".strip())

    def destroy(self, chain):
        self.told.append(f"destroy {chain.version}")


async def test_the_life_of_a_chain_is_told_in_order():
    told = []
    async with Engine(aspects=[Story(told)]) as engine:
        load(engine, {"n": None})
        assert told == ["chain c", "node n", "created c 1"]
        told.clear()
        engine.reload(definition({"n": None, "m": None}))
        assert sorted(told) == ["chain c", "destroy 1", "node m", "node n", "reload 2"]
        assert told[:3] == ["chain c", "node n", "node m"]
        told.clear()
    assert told == ["destroy 2"]


async def test_a_node_that_is_reloaded_is_named():
    told = []
    async with Engine(aspects=[Story(told)]) as engine:
        load(engine, {"n": None, "m": None})
        told.clear()
        engine.reload_node("c", {"id": "m", "type": "t/def"})
        assert "reload 2 m" in told


async def test_a_failed_reload_leaves_the_old_version_alone():
    told = []
    async with Engine(aspects=[Story(told)]) as engine:
        load(engine, {"n": None})
        told.clear()
        with pytest.raises(ChainInvalid):
            engine.reload({"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "n", "type": "nothing"}]}})
        assert told == ["chain c", "node n"]
        assert engine.get("c").version == 1


def test_an_aspect_may_change_the_chain_before_it_is_made():
    class Adding(Aspect):
        def chain_before_init(self, definition):
            extra = NodeDefinition("extra", "t/def")
            edge = Connection("n", "extra", "Success")
            return replace(definition, nodes=(*definition.nodes, extra), connections=(edge,))

        def node_before_init(self, definition, node):
            return replace(node, name=node.id.upper())

    with Engine(aspects=[Adding()]) as engine:
        chain = load(engine, {"n": None})
        outcome = chain.run_sync("x")
        assert [end.node_id for end in outcome.ends] == ["extra"]
        assert [node.name for node in chain.definition.nodes] == ["N", "EXTRA"]
        again = engine.reload(definition({"n": None}))
        assert [node.id for node in again.definition.nodes] == ["n", "extra"]


def test_what_an_aspect_adds_wrongly_is_a_problem_like_any_other():
    class Adding(Aspect):
        def chain_before_init(self, definition):
            return replace(definition, connections=(Connection("n", "nowhere", "Success"),))

    with pytest.raises(ChainInvalid) as caught:
        load(Engine(aspects=[Adding()]), {"n": None})
    assert [problem.code for problem in caught.value.problems] == ["chain.unknown-node"]


def test_a_refusal_is_a_problem_with_code_place_and_hint_beside_all_others(tmp_path):
    class Strict(Aspect):
        def node_before_init(self, definition, node):
            if node.id == "b":
                raise Objection("no key here", option="key", hint="leave it out")

        def chain_before_init(self, definition):
            raise ValueError("not this chain")

    file = tmp_path / "written.yaml"
    file.write_text(YAML.replace("toId: b", "toId: x"))
    with pytest.raises(ChainInvalid) as caught:
        Engine(aspects=[Strict()]).load(file)
    found = [(one.code, one.line, one.text) for one in caught.value.problems if one.severity == "error"]
    assert found == [
        ("chain.refused", 1, "not this chain"),
        ("chain.refused", 8, "node 'b': no key here"),
        ("chain.unknown-node", 10, "toId names no node: 'x' does not exist"),
    ]
    refused = next(one for one in caught.value.problems if one.line == 8)
    assert refused.hint == "leave it out"
    assert str(file) in str(refused)


def test_a_node_keeps_its_id():
    class Renaming(Aspect):
        def node_before_init(self, definition, node):
            return replace(node, id="other")

    with pytest.raises(ChainInvalid, match="calls the node 'other'"):
        load(Engine(aspects=[Renaming()]), {"n": None})


def test_what_created_raises_refuses_the_chain_and_closes_it():
    told = []

    class Refusing(Story):
        def created(self, chain):
            raise ValueError("not now")

    engine = Engine(aspects=[Refusing(told)])
    with pytest.raises(ChainInvalid, match="not now"):
        load(engine, {"n": None})
    assert not engine.chains
    assert told[-1] == "destroy 1"


async def test_what_reload_and_destroy_raise_is_logged(caplog):
    class Clumsy(Aspect):
        def reload(self, chain, node_id=""):
            raise ValueError("oh")

        def destroy(self, chain):
            raise ValueError("oh")

    async with Engine(aspects=[Clumsy()]) as engine:
        load(engine, {"n": None})
        engine.reload(definition({"n": None, "m": None}))
        assert engine.get("c").version == 2
    assert "reload of the aspect Clumsy raised" in caplog.text
    assert "destroy of the aspect Clumsy raised" in caplog.text


# Instances


class Counted(Aspect):
    """Has a number of its own for each chain."""

    made = 0

    def new(self):
        type(self).made += 1
        one = Counted()
        one.number = type(self).made
        return one

    def after(self, ctx, msg, relation, error):
        return msg.with_data(f"{self.number}", "TEXT")


async def test_each_chain_of_each_engine_has_its_own_instance_and_keeps_it_when_it_is_reloaded():
    Counted.made = 0
    aspect = Counted()
    async with Engine(aspects=[aspect]) as one, Engine(aspects=[aspect]) as other:
        load(one, {"n": None}, id="a")
        load(one, {"n": None}, id="b")
        load(other, {"n": None}, id="a")
        numbers = [
            engine.get(name).run_sync("").message.text for engine, name in ((one, "a"), (one, "b"), (other, "a"))
        ]
        assert numbers == ["1", "2", "3"]
        one.reload(definition({"n": None, "m": None}, ["n m"], id="a"))
        assert one.get("a").run_sync("").message.text == "1"
        one.remove("a")
        load(one, {"n": None}, id="a")
        assert one.get("a").run_sync("").message.text == "4"


async def test_reload_weaves_the_same_aspects_as_load_and_those_added_since():
    async with Engine(aspects=[Validator(lambda definition: None if definition.nodes else "empty")]) as engine:
        load(engine, {"n": None})
        engine.after(lambda ctx, msg, relation, error: msg.with_data("!", "TEXT"))
        assert engine.get("c").run_sync("x").message.text == "x"
        engine.reload(definition({"n": None, "m": None}, ["n m"]))
        assert engine.get("c").run_sync("x").message.text == "!"
        with pytest.raises(ChainInvalid, match="empty"):
            engine.reload({"ruleChain": {"id": "c"}, "metadata": {"nodes": []}})


def test_messages_in_flight_keep_the_aspects_of_their_version():
    async def main():
        gate = asyncio.Event()

        async def waiting(ctx, msg):
            await gate.wait()
            return "Success"

        async with Engine() as engine:
            chain = load(engine, {"n": waiting, "m": None}, ["n m"])
            task = asyncio.create_task(chain.run("x"))
            await asyncio.sleep(0)
            engine.after(lambda ctx, msg, relation, error: msg.with_data("!", "TEXT"))
            engine.reload(definition({"n": None}))
            gate.set()
            return (await task).message.text, (await engine.run("c", "x")).message.text

    assert asyncio.run(main()) == ("x", "!")


# The rules of the host


def test_all_that_rules_say_is_reported_at_check_load_and_reload():
    engine = Engine()

    @engine.rule
    def has_name(definition):
        return None if definition.name else "the chain has no name"

    @engine.rule
    def short_ids(definition):
        return [Objection("too long", node_id=node.id) for node in definition.nodes if len(node.id) > 1]

    chain = definition({"a": None, "bb": None, "cc": None})
    expected = ["the chain has no name", "node 'bb': too long", "node 'cc': too long"]
    assert [problem.text for problem in engine.check(chain) if problem.code == "chain.refused"] == expected
    for call in (engine.load, engine.reload):
        with pytest.raises(ChainInvalid) as caught:
            call(chain)
        assert [one.text for one in caught.value.problems if one.code == "chain.refused"] == expected


def test_rules_may_warn():
    engine = Engine(aspects=[Validator(lambda definition: Objection("hm", severity="warning"))])
    assert load(engine, {"n": None}).run_sync(Message("x")).ok
    assert [(one.text, one.severity) for one in engine.check(definition({"n": None}))] == [("hm", "warning")]


@pytest.mark.parametrize("error", [Objection("it is so"), ZeroDivisionError("it is so")])
def test_what_a_rule_raises_is_an_objection(error):
    def rule(definition):
        raise error

    with pytest.raises(ChainInvalid, match="it is so"):
        load(Engine(aspects=[Validator(rule)]), {"n": None})


def test_rules_hold_for_the_chain_as_aspects_leave_it():
    class Naming(Aspect):
        order = 500

        def chain_before_init(self, definition):
            return replace(definition, name="named")

    engine = Engine(aspects=[Validator(lambda definition: None if definition.name else "no name"), Naming()])
    assert load(engine, {"n": None}).definition.name == "named"

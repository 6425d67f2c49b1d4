"""The life of chains against a slow model of it: loads, reloads, broken reloads, nodes, runs, stops, aliases."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from tests.cases import times

from catenary import SUCCESS, Component, Config, Engine, option, register
from catenary.errors import CatenaryError

IDS = ("x", "y", "z")
NODES = ("a", "b")


class StampConfig(Config):
    """Says which making of the node it is."""

    number: int = option(0, help="The number.")


@register("t/stamped", category="test")
class Stamped(Component[StampConfig]):
    """Notes its number on messages; waits at the gate of the run, when there is one."""

    opened: list[int] = []  # noqa: RUF012 - one for all
    closed: list[int] = []  # noqa: RUF012

    def open(self, ctx):
        self.opened.append(self.config.number)

    def close(self):
        self.closed.append(self.config.number)

    async def run(self, ctx, msg):
        if self.config.number in self.closed:
            return "Closed"
        if ctx.node_id == "a":
            await ctx.scope[asyncio.Event].wait()
        return SUCCESS, msg.put(ctx.node_id, self.config.number)


@dataclass
class Version:
    """One version of a chain, as the model sees it."""

    number: int
    own: str
    nodes: dict[str, int]
    runs: int = 0
    present: bool = True


@dataclass
class Held:
    """A run that waits at its first node."""

    version: Version
    leave: asyncio.Event
    task: asyncio.Task


class Life(RuleBasedStateMachine):
    """What an engine does, beside what it should do."""

    held = Bundle("held")

    def __init__(self):
        super().__init__()
        Stamped.opened, Stamped.closed = [], []
        self.runner = asyncio.Runner()
        self.engine = Engine()
        self.present: dict[str, Version] = {}
        self.versions: list[Version] = []
        self.count = 0

    def fresh(self):
        self.count += 1
        return self.count

    def text(self, own, numbers, *, broken=False):
        nodes = [
            {"id": name, "type": "nope" if broken and name == "b" else "t/stamped", "configuration": {"number": number}}
            for name, number in numbers.items()
        ]
        edges = [{"fromId": "a", "toId": "b", "type": "Success"}]
        return {"ruleChain": {"id": own}, "metadata": {"nodes": nodes, "connections": edges}}

    def do(self, function, *arguments, **named):
        """Do something on the event loop. Returns: what it gave, or the error."""

        async def doing():
            try:
                result = function(*arguments, **named)
                return await result if asyncio.iscoroutine(result) else result
            except CatenaryError as error:
                return error

        return self.runner.run(doing())

    def named(self, name):
        """Give the id that a name stands for; None when it is unclear or unknown."""
        if name in self.present:
            return name
        ids = [chain_id for chain_id, version in self.present.items() if version.own == name]
        return ids[0] if len(ids) == 1 else None

    def aliased(self, name):
        return [one for one, version in self.present.items() if version.own == name and one != name]

    def put(self, chain_id, version):
        before = self.present.get(chain_id)
        if before is not None:
            before.present = False
        self.present[chain_id] = version
        self.versions.append(version)

    @rule(chain_id=st.sampled_from(IDS), own=st.sampled_from(IDS))
    def load(self, chain_id, own):
        numbers = {name: self.fresh() for name in NODES}
        result = self.do(self.engine.load, self.text(own, numbers), id=chain_id)
        if chain_id in self.present or self.aliased(chain_id):
            assert isinstance(result, CatenaryError)
        else:
            assert result.version == 1
            self.put(chain_id, Version(1, own, numbers))

    @rule(chain_id=st.sampled_from(IDS), own=st.sampled_from(IDS), broken=st.booleans())
    def reload(self, chain_id, own, broken):
        numbers = {name: self.fresh() for name in NODES}
        result = self.do(self.engine.reload, self.text(own, numbers, broken=broken), id=chain_id)
        if broken or (chain_id not in self.present and len(self.aliased(chain_id)) > 1):
            assert isinstance(result, CatenaryError)
            return
        actual = self.named(chain_id) or chain_id
        before = self.present.get(actual)
        number = before.number + 1 if before else 1
        assert (result.id, result.version) == (actual, number)
        self.put(actual, Version(number, own, numbers))

    @rule(name=st.sampled_from(IDS), node=st.sampled_from((*NODES, "c")), broken=st.booleans())
    def reload_node(self, name, node, broken):
        number = self.fresh()
        given = {"id": node, "type": "nope" if broken else "t/stamped", "configuration": {"number": number}}
        result = self.do(self.engine.reload_node, name, given)
        chain_id = self.named(name)
        if chain_id is None or broken or node == "c":
            assert isinstance(result, CatenaryError)
            return
        before = self.present[chain_id]
        assert result.version == before.number + 1
        self.put(chain_id, Version(before.number + 1, before.own, {**before.nodes, node: number}))

    @rule(target=held, name=st.sampled_from(IDS))
    def run(self, name):
        chain_id = self.named(name)

        async def begin():
            leave = asyncio.Event()
            task = asyncio.create_task(self.engine.run(name, "x", scope=[leave]))
            for _ in range(3):
                await asyncio.sleep(0)
            return leave, task

        if chain_id is None:
            assert isinstance(self.do(self.engine.get, name), CatenaryError)
            return multiple()
        leave, task = self.do(begin)
        version = self.present[chain_id]
        version.runs += 1
        return Held(version, leave, task)

    @rule(run=consumes(held))
    def finish(self, run):
        run.leave.set()

        async def finished():
            return await run.task

        outcome = self.do(finished)
        run.version.runs -= 1
        assert outcome.ok
        assert dict(outcome.message.metadata) == run.version.nodes

    @rule(name=st.sampled_from(IDS), stops=st.booleans())
    def remove(self, name, stops):
        chain_id = self.named(name)
        busy = [one for one in self.versions if one.runs]
        if stops and chain_id is not None and busy:
            return  # which runs it cancels is told by tests of their own
        result = self.do(self.engine.stop if stops else self.engine.remove, name)
        if chain_id is None:
            assert isinstance(result, CatenaryError)
            return
        self.present.pop(chain_id).present = False

    @invariant()
    def components_are_open_while_a_version_needs_them_and_closed_once(self):
        needed = {number for one in self.versions if one.present or one.runs for number in one.nodes.values()}
        made = {number for one in self.versions for number in one.nodes.values()}
        assert len(Stamped.closed) == len(set(Stamped.closed))
        assert len(Stamped.opened) == len(set(Stamped.opened))
        assert set(Stamped.opened) - set(Stamped.closed) == needed
        assert made <= set(Stamped.opened)

    @invariant()
    def engine_has_the_chains_of_the_model(self):
        assert {name: chain.version for name, chain in self.engine.chains.items()} == {
            name: version.number for name, version in self.present.items()
        }

    def teardown(self):
        self.do(self.engine.close, grace_s=0)
        self.runner.close()
        assert sorted(Stamped.closed) == sorted(Stamped.opened)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=times(30), stateful_step_count=30, deadline=None)

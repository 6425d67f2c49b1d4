"""Any mix of aspects does what a slow model says, which calls them one after the other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times
from tests.engine.runtime.kit import Kind, line, load

from catenary import Engine

NODES = "abc"


@dataclass(frozen=True)
class Plan:
    """One aspect: where it stands, and what it does: marks, does nothing, refuses, raises, or goes on twice."""

    point: str
    order: int
    nodes: str
    action: str
    is_async: bool


plans = st.builds(
    Plan,
    point=st.sampled_from(["before", "around", "after"]),
    order=st.integers(1, 3),
    nodes=st.sampled_from(["", "a", "b", "bc"]),
    action=st.sampled_from(["mark", "mark", "nothing", "refuse", "raise", "twice"]),
    is_async=st.booleans(),
)
kinds = st.lists(st.sampled_from(["t/def", "t/async", "t/flow"]), min_size=3, max_size=3)


class Model:
    """Calls aspects and nodes as the guide says; what went on is a text and a relation."""

    def __init__(self, aspects):
        self.aspects = sorted(enumerate(aspects), key=lambda pair: (pair[1].order, pair[0]))

    def run(self, text):
        for node in NODES:
            relation, text = self.visit(node, text)
            if relation != "Success":
                return node, relation, text
        return NODES[-1], "Success", text

    def visit(self, node, text):
        own = [(name, plan) for name, plan in self.aspects if not plan.nodes or node in plan.nodes]
        try:
            for name, plan in own:
                if plan.point == "before":
                    text = acted(plan, name, text)
            relation, sent = self.inside(node, [one for one in own if one[1].point == "around"], text)
        except ValueError:
            relation, sent = "Failure", text
        for name, plan in own:
            if plan.point == "after":
                try:
                    sent = acted(plan, name, sent)
                except ValueError:
                    return "Failure", sent
        return relation, sent

    def inside(self, node, arounds, text):
        if not arounds:
            return "Success", f"{text}{node}"
        (name, plan), *rest = arounds
        if plan.action == "refuse":
            return "Refused", text
        if plan.action == "twice":
            self.inside(node, rest, text)
        return self.inside(node, rest, acted(plan, name, text))


def acted(plan, name, text):
    if plan.action == "raise":
        raise ValueError(name)
    return f"{text}{name}" if plan.action == "mark" else text


def woven(engine, name, plan):
    """Register a plan as a function of the engine."""

    def looking(ctx, msg, *_):
        text = acted(plan, name, msg.text)
        return msg.with_data(text, "TEXT") if plan.action == "mark" else None

    async def looking_later(ctx, msg, *_):
        await asyncio.sleep(0)
        return looking(ctx, msg)

    def around(ctx, msg, proceed):
        if plan.action == "refuse":
            return "Refused"
        return proceed(msg.with_data(acted(plan, name, msg.text), "TEXT"))

    async def around_later(ctx, msg, proceed):
        if plan.action == "twice":
            await proceed(msg)
        emission = around(ctx, msg, proceed)
        return emission if isinstance(emission, str) else await emission

    if plan.point == "around":
        function = around_later if plan.is_async or plan.action == "twice" else around
    else:
        function = looking_later if plan.is_async else looking
    getattr(engine, plan.point)(order=plan.order, nodes=list(plan.nodes))(function)


def node_of(kind, name):
    return Kind(kind, lambda ctx, msg: ("Success", msg.with_data(f"{msg.text}{name}", "TEXT")))


@settings(max_examples=times(80), deadline=None)
@given(st.lists(plans, max_size=6), kinds, st.booleans())
def test_any_mix_of_aspects_equals_the_model(aspects, kinds, watched):
    async def main():
        engine = Engine()
        for name, plan in enumerate(aspects):
            woven(engine, name, plan)
        nodes = {name: node_of(kind, name) for name, kind in zip(NODES, kinds, strict=True)}
        options = {"listener": lambda event: None} if watched else {}
        outcome = await load(engine, nodes, line(*NODES)).run("", **options)
        (end,) = outcome.ends
        return end.node_id, str(end.relation), end.message.text

    assert asyncio.run(main()) == Model(aspects).run("")

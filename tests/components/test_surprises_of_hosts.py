"""What surprises hosts of engines of the field does not happen here: reloads, callbacks, aspects, run logs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.components.surprising import boom, document, echo, load, ways

from catenary import Aspect, ChainDefaults, Component, Config, Engine, EngineError, Outcome
from catenary.aspects import ConcurrencyLimit, Metrics, SkipFallback
from catenary.recording import MemoryRecorder
from catenary.registry import Registry
from catenary.runlog import snapshot
from catenary.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    engine.function("echo")(echo)
    yield engine
    engine.close_sync()


# Reloading


def test_the_reload_of_a_node_that_is_not_there_is_an_error(engine):
    load(engine, {"a": "fork"})
    with pytest.raises(EngineError, match="node id=nobody not found"):
        engine.reload_node("c", {"id": "nobody", "type": "fork"})


def test_a_reload_keeps_the_id_that_nodes_see_and_what_they_keep(engine):
    seen = []

    def note(ctx, msg):
        seen.append((ctx.chain_id, ctx.chain_cache.has("k")))
        ctx.chain_cache.set("k", "kept")
        return "Success"

    load(engine, {"a": note}).run_sync({})
    engine.reload(document({"a": note}, id="another"), id="c")
    engine.run_sync("c", {})
    assert seen == [("c", False), ("c", True)]
    engine.stop_sync("c")
    load(engine, {"a": note}).run_sync({})
    assert seen[-1] == ("c", False)


async def test_a_reload_waits_for_nobody_and_nobody_waits_for_it(engine):
    open_, go_on = asyncio.Event(), asyncio.Event()

    async def old(ctx, msg):
        open_.set()
        await go_on.wait()
        return "Old"

    def new(ctx, msg):
        return "New"

    first = asyncio.create_task(load(engine, {"a": old}).run({}))
    await open_.wait()
    load(engine, {"a": new})  # a plain call, with a message in flight
    assert ways(await engine.run("c", {})) == ["a New"]
    go_on.set()
    assert ways(await first) == ["a Old"]


# Callbacks


async def test_callbacks_of_a_run_come_in_order_and_the_completion_last(engine):
    told = []

    async def slow(ctx, msg):
        await asyncio.sleep(0)
        return "Success"

    chain = load(engine, {"s": "fork", "a": slow, "b": slow}, "s a, s b")
    await chain.run(
        {},
        debug=True,
        on_debug=lambda chain_id, flow, node_id, *rest: told.append(f"{flow} {node_id}"),
        on_end=lambda info, msg, error, relation: told.append(f"end {info.node_id}"),
        on_all_completed=lambda: told.append("all"),
        on_completed=lambda record: told.append("completed"),
    )
    assert told[-2:] == ["all", "completed"]
    assert len(told) == len(set(told)) == 10
    for node in "ab":
        places = [told.index(f"{what} {node}") for what in ("IN", "OUT", "end")]
        assert places == sorted(places)


def test_the_callback_of_a_run_does_not_silence_that_of_the_engine(engine):
    told = []
    engine.hooks.on_completed.append(lambda record: told.append("engine"))
    load(engine, {"a": "fork"}).run_sync({}, on_completed=lambda record: told.append("run"))
    assert told == ["engine", "run"]


@pytest.mark.parametrize(("mode", "visits"), [("off", 0), ("summary", 1), ("detail", 1)])
def test_callbacks_are_called_in_every_mode_of_the_run_log(mode, visits):
    told = []
    with Engine(defaults=ChainDefaults(run_log_mode=mode)) as engine:
        engine.hooks.on_completed.append(lambda record: told.append(len(record.visits)))
        load(engine, {"a": "fork"}).run_sync({})
    assert told == [visits]


# Aspects


def test_a_completed_aspect_gets_the_last_message_and_an_end_aspect_the_last_node(engine):
    told: list[Any] = []

    class Told(Aspect):
        def end(self, ctx, msg, relation, error):
            told.append(ctx.node_id)

        def completed(self, ctx, msg, outcome):
            told.append(msg.value)

    def double(ctx, msg):
        return "Success", msg.with_data({"n": msg.value["n"] * 2})

    engine.add_aspect(Told())
    load(engine, {"a": double, "b": double}, "a b").run_sync({"n": 1})
    assert told == ["b", {"n": 4}]


@pytest.mark.parametrize("point", ["start", "before", "around", "after"])
def test_the_message_that_an_aspect_gives_is_the_one_that_goes_on(engine, point):
    def marked(self, ctx, msg, *rest):
        return msg.put("mark", point)

    def around(self, ctx, msg, proceed):
        return proceed(msg.put("mark", point))

    engine.add_aspect(type("Marks", (Aspect,), {point: around if point == "around" else marked, "nodes": ("a",)})())
    got = []

    def look(ctx, msg):
        got.append(msg.metadata.get("mark"))
        return "Success"

    load(engine, {"a": "fork", "b": look}, "a b").run_sync({})
    assert got == [point]


def test_an_around_aspect_that_refuses_loses_no_branch(engine):
    class Refuses(Aspect):
        def around(self, ctx, msg, proceed):
            return "Refused"

    told = []
    engine.add_aspect(Refuses())
    chain = load(engine, {"a": boom})
    outcome = chain.run_sync({}, on_end=lambda info, msg, error, relation: told.append(relation))
    assert ways(outcome) == ["a Refused"]
    assert told == ["Refused"]


def test_a_limit_gets_its_slot_back_when_a_later_aspect_refuses_the_run(engine):
    class Refuses(Aspect):
        def start(self, ctx, msg):
            if msg.value.get("bad"):
                raise ValueError("refused")

    engine.add_aspect(ConcurrencyLimit(1))
    engine.add_aspect(Refuses())
    chain = load(engine, {"a": "fork"})
    for _ in range(3):
        assert "refused" in str(chain.run_sync({"bad": True}).error)
    assert chain.run_sync({}).ok


def test_a_breaker_closes_again_under_steady_traffic():
    clock = FakeClock()
    broken = True

    def shaky(ctx, msg):
        if broken:
            raise ValueError("broken")
        return "Success"

    with Engine(aspects=[SkipFallback(2, 10.0)], clock=clock) as engine:
        chain = load(engine, {"a": shaky})
        assert [str(chain.run_sync({}).ends[0].error) for _ in range(3)] == ["broken", "broken", "skip fallback error"]
        broken = False
        went = []
        for _ in range(12):
            clock.advance(1.0)
            went.append(chain.run_sync({}).ok)
    assert went[0] is False
    assert went[-2:] == [True, True]


def test_metrics_belong_to_one_chain_of_one_engine_and_outlive_the_loading_of_others():
    metrics = Metrics()
    with Engine(aspects=[metrics]) as one, Engine(aspects=[metrics]) as other:
        load(one, {"a": "fork"}).run_sync({})
        load(other, {"a": "fork"})
        load(one, {"a": "fork"}, id="second")
        counted = [
            {name: chain["messages"]["total"] for name, chain in e.metrics["chains"].items()} for e in (one, other)
        ]
    assert counted[0]["c"] == 1
    assert counted[0].get("second", 0) == 0
    assert counted[1].get("c", 0) == 0


def test_metrics_count_messages_and_branches_apart():
    with Engine(aspects=[Metrics()]) as engine:
        load(engine, {"s": "fork", "a": "fork", "b": boom}, "s a, s b").run_sync({})
        counted = engine.metrics["chains"]["c"]
    assert counted["messages"]["total"] == counted["messages"]["failed"] == 1
    assert counted["ends"] == {"success": 1, "failed": 1}


def test_a_reload_leaves_all_aspects_in_place():
    class Marks(Aspect):
        def before(self, ctx, msg, relation):
            return msg.put("mark", "yes")

    with Engine(aspects=[Metrics()]) as engine:
        load(engine, {"a": "fork"})
        engine.add_aspect(Marks())
        outcome = load(engine, {"a": "fork"}).run_sync({})
        assert outcome.message.metadata["mark"] == "yes"
        assert engine.metrics["chains"]["c"]["messages"]["total"] == 1


# Run logs


def test_a_run_log_has_one_entry_for_each_visit_in_order_with_those_of_sub_runs_inside(engine):
    recorder = MemoryRecorder()
    nodes = {"l": ("for", {"range": "1..2", "do": "b"}), "b": "fork", "z": "fork"}
    load(engine, nodes, "l z").run_sync({}, recorder=recorder)
    logs = snapshot(recorder.records[0])["logs"]
    assert [log["nodeId"] for log in logs] == ["l", "z"]
    assert [log["nodeId"] for log in logs[0]["logs"]] == ["b", "b"]


# Folders and registries


def test_each_chain_of_a_folder_is_new_once(engine, tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(document({"a": "fork"}, id=name)))
    new: list[str] = []
    engine.on_new(lambda chain: new.append(chain.id))
    engine.load_folder(tmp_path)
    engine.load_folder(tmp_path)
    assert new == ["one", "two"]


def test_a_registry_may_put_a_type_of_its_own_in_the_place_of_a_built_in_one():
    class Loud(Component[Config]):
        """Shout."""

        def run(self, ctx, msg):
            return "Loud"

    registry = Registry()
    registry.register("fork", category="flow")(Loud)
    with Engine(registry=registry) as own, Engine() as other:
        assert ways(load(own, {"a": "fork"}).run_sync({})) == ["a Loud"]
        assert ways(load(other, {"a": "fork"}).run_sync({})) == ["a Success"]


def test_a_component_made_of_a_chain_keeps_to_the_defaults_of_its_schema(engine):
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "default": 30}}}
    nodes = {"f": ("exprFilter", {"expr": "msg.t > vars.limit"})}
    engine.register_component("acme/above", document(nodes, additionalInfo={"inputSchema": schema}))
    assert ways(load(engine, {"x": "acme/above"}).run_sync({"t": 31})) == ["x True"]
    assert ways(load(engine, {"x": ("acme/above", {"limit": 40})}).run_sync({"t": 31})) == ["x False"]


# Beginning elsewhere


def test_to_begin_behind_a_node_without_relations_does_not_run_the_node(engine):
    visited = []

    def note(ctx, msg):
        visited.append(ctx.node_id)
        return "Success"

    def outcome_of(relations: Any) -> Outcome:
        return chain.run_sync({}, start_after={"a": relations})

    chain = load(engine, {"a": note, "b": note}, "a b")
    assert ways(outcome_of("Success")) == ["b Success"]
    assert "names no relation" in str(outcome_of(()).error)
    assert ways(outcome_of("")) == ["a "]
    assert visited == ["b"]

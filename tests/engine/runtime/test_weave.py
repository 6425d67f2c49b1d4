"""Retry, timeout, threads and kept output."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.engine.runtime.kit import Kind, blocking, join, load, ways
from tests.engine.runtime.stepping import STEPPING

from catenary import FAILURE, SUCCESS, Component, Config, Engine, Message, fail, register
from catenary.errors import ConnectFailed, ExpressionError, Refused, RunTimeout
from catenary.relation import NodeFailure
from catenary.testing import FakeClock


@pytest.fixture(scope="module")
def anyio_backend():
    return STEPPING


@pytest.fixture
def patient():
    """An engine whose waits take no time, and its clock."""
    clock = FakeClock(auto=True)
    engine = Engine(clock=clock)
    yield engine, clock
    engine.close_sync()


def failing(times, error, tries):
    def run(ctx, msg):
        tries.append(1)
        if len(tries) <= times:
            raise error
        return SUCCESS

    return run


@pytest.mark.parametrize("kind", ["t/def", "t/async", "t/flow", "t/blocking"])
async def test_node_is_tried_again(patient, kind):
    engine, clock = patient
    tries = []
    node = Kind(kind, failing(2, ValueError("x"), tries))
    policy = {"maxRetries": 3, "delay": 1, "backoff": 2, "jitter": 0}
    outcome = await load(engine, {"a": node}, keys={"a": {"retry": policy}}).run("x")
    assert outcome.ok
    assert len(tries) == 3
    assert clock.slept == [1.0, 2.0]


async def test_last_failure_counts(patient):
    engine, _ = patient
    tries = []
    outcome = await load(engine, {"a": failing(9, ValueError("x"), tries)}, keys={"a": {"retry": 2}}).run("x")
    assert (ways(outcome), len(tries)) == (["a Failure"], 3)
    assert outcome.message.metadata["errorMsg"] == "x"


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (ValueError("x"), 3),
        (ConnectFailed("x", retryable=True), 3),
        (Refused("x"), 1),
        (ExpressionError("x"), 1),
        (asyncio.CancelledError(), 1),
    ],
)
async def test_what_another_try_cannot_help_is_not_tried_again(patient, error, count):
    engine, _ = patient
    tries = []
    await load(engine, {"a": failing(9, error, tries)}, keys={"a": {"retry": 2}}).run("x")
    assert len(tries) == count


@pytest.mark.parametrize("shape", [lambda msg: FAILURE, lambda msg: "Failure", lambda msg: fail("no", msg)])
async def test_failure_that_is_returned_is_tried_again(patient, shape):
    engine, _ = patient
    tries = []

    def run(ctx, msg):
        tries.append(1)
        return shape(msg)

    await load(engine, {"a": run}, keys={"a": {"retry": 1}}).run("x")
    assert len(tries) == 2


async def test_nothing_is_tried_again_once_something_was_emitted(patient):
    engine, _ = patient
    tries = []

    async def run(ctx, msg):
        tries.append(1)
        await ctx.emit("Item", msg)
        raise ValueError("x")

    outcome = await load(engine, {"a": run}, keys={"a": {"retry": 5}}).run("x")
    assert (ways(outcome), len(tries)) == (["a Item", "a Failure"], 1)


async def test_join_is_tried_again_with_all_arrivals(patient):
    engine, _ = patient
    sizes = []

    def run(ctx, arrivals):
        sizes.append(len(arrivals))
        if len(sizes) < 2:
            raise ValueError("x")
        return SUCCESS

    nodes = {"s": None, "a": None, "j": join(run)}
    outcome = await load(engine, nodes, ["s a", "s j", "a j"], keys={"j": {"retry": 1}}).run("x")
    assert (ways(outcome), sizes) == (["j Success"], [2, 2])


@pytest.mark.parametrize("inner", ["async", "blocking"])
async def test_timeout_interrupts_what_waits(engine, inner):
    go = threading.Event()

    async def hang(ctx, msg):
        await asyncio.Event().wait()

    node = hang if inner == "async" else blocking(lambda ctx, msg: go.wait(15))
    outcome = await load(engine, {"a": node, "b": None}, ["a Failure b"], keys={"a": {"timeout": 0.01}}).run("x")
    go.set()
    assert ways(outcome) == ["b Success"]
    assert outcome.message.metadata["errorMsg"] == "took longer than its timeout of 0.01 s"
    assert asyncio.current_task().cancelling() == 0


async def test_timeout_of_one_node_leaves_siblings_alone(engine):
    async def hang(ctx, msg):
        await asyncio.Event().wait()

    async def slow(ctx, msg):
        await asyncio.sleep(30)
        return SUCCESS

    chain = load(engine, {"s": None, "a": hang, "b": slow}, ["s a", "s b"], keys={"a": {"timeout": "10s"}})
    outcome = await chain.run("x")
    assert sorted(ways(outcome)) == ["a Failure", "b Success"]
    assert isinstance(outcome.ends[0].error, RunTimeout)


async def test_timeout_error_of_the_node_itself_is_its_own(engine):
    async def run(ctx, msg):
        raise TimeoutError("mine")

    outcome = await load(engine, {"a": run}, keys={"a": {"timeout": 60}}).run("x")
    assert outcome.message.metadata["errorMsg"] == "mine"


async def test_timeout_that_is_kept_changes_nothing(engine):
    async def run(ctx, msg):
        return "Own"

    nodes = {"a": run, "b": lambda ctx, msg: "Own"}
    chain = load(engine, nodes, ["a Own b"], keys={"a": {"timeout": 60}, "b": {"timeout": 60}})
    assert ways(await chain.run("x")) == ["b Own"]


def test_timeout_of_a_plain_node_is_told_afterwards(engine, monkeypatch):
    from catenary.runtime import weave

    times = iter([0.0, 2.5])
    monkeypatch.setattr(weave, "monotonic", lambda: next(times))
    outcome = load(engine, {"a": None}, keys={"a": {"timeout": 1}}).run_sync("x")
    assert "took 2.5 s, longer than its timeout of 1 s" in outcome.message.metadata["errorMsg"]


async def test_each_try_has_the_whole_timeout(patient):
    engine, _ = patient
    tries = []

    async def run(ctx, msg):
        tries.append(1)
        if len(tries) < 3:
            await asyncio.Event().wait()
        return SUCCESS

    keys = {"a": {"timeout": 10, "retry": 3}}
    assert (await load(engine, {"a": run}, keys=keys).run("x")).ok


async def test_blocking_node_runs_in_a_thread(engine):
    seen = []
    here = threading.get_ident()
    chain = load(engine, {"a": blocking(lambda ctx, msg: seen.append((threading.get_ident(), ctx.node_id)) or SUCCESS)})
    assert (await chain.run("x")).ok
    assert seen[0][0] != here
    assert seen[0][1] == "a"


class Reference:
    """Stands for a template that names a node."""

    node_references = ("a",)


@register("t/reads", category="test")
class Reads(Component[Config]):
    """Reads what node `a` sent on last."""

    def __init__(self, config):
        super().__init__(config)
        object.__setattr__(self.config, "seen", [{"deep": (Reference(),)}])

    def run(self, ctx, msg):
        kept = ctx.output("a")
        return SUCCESS, msg.with_data(kept.text if kept else "nothing", "TEXT")


@pytest.mark.parametrize(
    ("emission", "kept"),
    [
        (lambda msg: SUCCESS, "x"),
        (lambda msg: (SUCCESS, msg.with_data("y")), "y"),
        (lambda msg: ["Other", (SUCCESS, msg.with_data("z"))], "z"),
        (lambda msg: [(SUCCESS, msg.with_data("z")), "Other"], "x"),
        (lambda msg: (), "nothing"),
        (lambda msg: (SUCCESS, 3), "nothing"),
        (lambda msg: 3, "nothing"),
    ],
)
@pytest.mark.parametrize("kind", ["t/def", "t/async"])
async def test_output_of_named_nodes_is_kept(engine, emission, kept, kind):
    nodes = {"a": Kind(kind, lambda ctx, msg: emission(msg)), "r": Kind("t/reads")}
    outcome = await load(engine, nodes, ["a r", "a Failure r"]).run("x")
    assert [end.message.text for end in outcome.ends if end.node_id == "r"] == [kept]


@pytest.mark.parametrize("kind", ["t/def", "t/async"])
@pytest.mark.parametrize(
    "error", [ValueError("no"), NodeFailure("no", Message("own", data_type="TEXT"))], ids=["raised", "own"]
)
async def test_what_a_node_sent_by_failure_is_its_output_with_the_error_text(engine, kind, error):
    def broken(ctx, msg):
        raise error

    kept = []
    nodes = {"a": Kind(kind, broken), "b": lambda ctx, msg: kept.append(ctx.output("a")), "r": Kind("t/reads")}
    await load(engine, nodes, ["a Failure b", "a Never r"]).run("x")
    assert [(one.text, one.metadata["errorMsg"]) for one in kept] == [
        ("own" if isinstance(error, NodeFailure) else "x", "no")
    ]


def test_output_of_nodes_nobody_names_is_not_kept(engine):
    seen = []
    load(engine, {"a": None, "b": lambda ctx, msg: seen.append(ctx.output("a"))}, ["a b"]).run_sync("x")
    assert seen == [None]


def test_last_output_counts(engine):
    nodes = {"a": lambda ctx, msg: (SUCCESS, msg.with_data(msg.text + "1")), "r": Kind("t/reads")}
    outcome = load(engine, nodes, ["a r"]).run_sync("x", start=["a", "a"])
    assert [end.message.text for end in outcome.ends] == ["x1", "x1"]


async def test_a_blocking_node_that_finds_no_next_item_fails_at_once(engine):
    outcome = await load(engine, {"a": blocking(lambda ctx, msg: next(iter([])))}).run("x")
    assert outcome.status == "failed"
    assert outcome.message.metadata["errorMsg"].startswith("StopIteration")

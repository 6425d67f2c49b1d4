"""Pauses in a file: answered from elsewhere, taken up when the process of the run is gone, by one only."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import catenary_components
from catenary import SUCCESS, Chain, ChainInvalid, Engine, Message, Outcome
from catenary.errors import AnswererRefused, AnswerInvalid, PauseError
from catenary.pauses import Answer
from catenary.pauses.resuming import place_answer
from catenary.store import Database
from catenary.store.owners import Owner, is_there
from catenary.store.pauses import PauseStore, StoredState
from catenary.store.pickup import Pickup
from catenary.testing import FakeClock

assert catenary_components.__doc__

ASK: dict[str, Any] = {"use": "merge", "relations": ["Yes", "No"], "answerers": ["ann"], "schema": {"type": "object"}}
Nodes = dict[str, tuple[str, dict[str, Any]]]
DONE = {"mapping": {"n": "msg.n", "m": "msg.m", "by": "metadata._answerer"}}


def engine_on(path: Path, **options: Any) -> Engine:
    engine = Engine(**options)
    engine.pauses.keep_in(path)
    return engine


def chain_of(engine: Engine, nodes: Nodes, ways: list[str]) -> Chain:
    connections = [dict(zip(("fromId", "type", "toId"), way.split(), strict=True)) for way in ways]
    written = [{"id": name, "type": kind, "configuration": settings} for name, (kind, settings) in nodes.items()]
    return engine.load({"ruleChain": {"id": "x"}, "metadata": {"nodes": written, "connections": connections}})


def asking(engine: Engine, **settings: Any) -> Chain:
    nodes = {"w": ("wait", {**ASK, **settings}), "t": ("exprTransform", DONE)}
    return chain_of(engine, nodes, ["w Yes t"])


async def until_waiting(engine: Engine, number: int = 1) -> str:
    while len(engine.pauses) < number:  # noqa: ASYNC110 - the test's own patience
        await asyncio.sleep(0.005)
    return next(iter(engine.pauses)).run_id


async def left(engine: Engine, chain: Chain, message: Any, number: int = 1, **options: Any) -> str:
    """Run a chain until it waits, and close its engine; give the id of the run."""
    run = asyncio.ensure_future(chain.run(message, **options))
    run_id = await until_waiting(engine, number)
    await engine.close()
    assert (await run).status == "paused"
    return run_id


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def test_another_engine_answers_a_run_that_is_held(file: Path) -> None:
    async with engine_on(file) as holder, engine_on(file) as other:
        run = asyncio.ensure_future(asking(holder).run({"n": 1}))
        run_id = await until_waiting(holder)
        with pytest.raises(AnswererRefused):
            await other.answer(run_id, "w", answerer="bob", data={})
        with pytest.raises(AnswerInvalid):
            await other.answer(run_id, "w", answerer="ann", data=[])
        assert await other.answer(run_id, "w", answerer="ann", data={"m": 2}) is None
        assert (await run).message.value == {"n": 1, "m": 2, "by": "ann"}
        for engine in (holder, other):
            with pytest.raises(PauseError, match="was answered already by ann"):
                await engine.answer(run_id, "w", answerer="ann", data={})


def is_right(answer: Answer) -> None:
    if answer.data != {"m": 2}:
        raise AnswerInvalid("m must be 2")


async def test_an_answer_that_comes_when_the_time_is_over_is_looked_at_too(file: Path) -> None:
    """The holder finds it in the file when it closes the question: a wrong one does not count, a right one does."""
    for data, expected in (({"m": 3}, "expired"), ({"m": 2}, "answered")):
        async with engine_on(file) as holder:
            chain = asking(holder)
            run = asyncio.ensure_future(chain.run({"n": 1}))
            run_id = await until_waiting(holder)
            (held,) = holder.pauses._held.values()
            held.check = is_right
            store = holder.pauses.store
            assert store is not None
            holder.pauses._file.look_no_more()
            assert store.answer((run_id, "w", 1), Answer(answerer="ann", data=data))
            await holder.pauses._expire(held)
            assert held.state == expected
            await run


async def test_whoever_takes_a_run_up_knows_its_chain_before_it_goes_on(file: Path) -> None:
    first = engine_on(file)
    run_id = await left(first, asking(first), {"n": 1})
    async with engine_on(file) as second:
        taken = place_answer(second, run_id, "w", {"answerer": "ann", "data": {"m": 2}})
        assert taken is not None
        assert taken.chain_id == "x"
        assert (await taken.run()).run_id == taken.run_id


async def test_pauses_are_kept_once_there_is_a_file(file: Path) -> None:
    assert not Engine().pauses.is_kept
    engine = engine_on(file)
    assert not engine.pauses.is_kept
    await left(engine, asking(engine), {"n": 1})
    assert engine.pauses.is_kept
    with closing(Database(file)) as database:
        engine.pauses.keep_in(database)
        assert engine.pauses.is_kept


async def test_a_run_that_nobody_holds_goes_on_behind_the_node(file: Path) -> None:
    first = engine_on(file)
    run_id = await left(first, asking(first), Message({"n": 1}, "T", metadata={"k": "v"}))
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", answerer="ann", data={"m": 2})
        assert outcome is not None
        assert [(end.node_id, end.message.value) for end in outcome.ends] == [("t", {"n": 1, "m": 2, "by": "ann"})]
        assert (outcome.message.type, outcome.message.metadata["k"]) == ("T", "v")
        assert outcome.run_id != run_id
        with pytest.raises(PauseError, match=f"was answered already by ann, in run {outcome.run_id}"):
            await other.answer(run_id, "w", answerer="ann", data={})


async def test_one_of_many_who_take_up_a_run_wins(file: Path) -> None:
    first = engine_on(file)
    run_id = await left(first, asking(first), {"n": 1})
    engines = [engine_on(file) for _ in range(4)]
    tried = await asyncio.gather(
        *(engine.answer(run_id, "w", answerer="ann", data={"m": 1}) for engine in engines), return_exceptions=True
    )
    assert len([one for one in tried if isinstance(one, PauseError)]) == 3
    (outcome,) = [one for one in tried if isinstance(one, Outcome)]
    assert outcome.ok
    for engine in engines:
        await engine.close()


async def test_the_chain_is_the_one_that_was_left_also_when_another_version_is_loaded(file: Path) -> None:
    first = engine_on(file)
    run_id = await left(first, asking(first), {"n": 1})
    async with engine_on(file) as other:
        chain_of(other, {"w": ("wait", ASK)}, [])
        outcome = await other.answer(run_id, "w", answerer="ann", data={"m": 2})
        assert outcome is not None
        assert outcome.ends[0].node_id == "t"


async def test_what_waits_in_a_loop_cannot_go_on_when_its_process_is_gone(file: Path) -> None:
    first = engine_on(file)
    chain = chain_of(first, {"l": ("for", {"range": "[1]", "do": "w"}), "w": ("wait", {})}, [])
    run_id = await left(first, chain, {})
    async with engine_on(file) as other:
        with pytest.raises(PauseError, match="the process of its run is gone, and it waits inside a loop"):
            await other.answer(run_id, "w")


async def test_what_else_waits_in_the_run_waits_again_and_joins_wait_for_it(file: Path) -> None:
    first = engine_on(file)
    nodes: Nodes = {
        "f": ("fork", {}),
        "a": ("wait", {"use": "merge"}),
        "b": ("wait", {"use": "merge", "timeout": "1h"}),
        "j": ("join", {"mergeToMap": True}),
    }
    ways = ["f Success a", "f Success b", "a Success j", "b Success j"]
    run_id = await left(first, chain_of(first, nodes, ways), {"n": 1}, 2)
    async with engine_on(file) as other:
        going = asyncio.ensure_future(other.answer(run_id, "a", data={"a": 1}))
        new_id = await until_waiting(other)
        (pause,) = other.pauses
        assert (pause.node_id, new_id != run_id) == ("b", True)
        with pytest.raises(PauseError, match=f"waits elsewhere, in run {new_id}"):
            await other.answer(run_id, "b")
        await other.answer(new_id, "b", data={"b": 2})
        outcome = await going
        assert outcome is not None
        assert outcome.message.value == {"n": 1, "a": 1, "b": 2}


async def test_time_goes_on_while_nobody_holds_the_run(file: Path) -> None:
    clock = FakeClock(start_ms=1000)  # long ago: by the clock of the machine the time is over
    first = engine_on(file, clock=clock)
    run_id = await left(first, asking(first, timeout="5s"), {"n": 1})
    async with engine_on(file) as other:
        with pytest.raises(PauseError, match="nobody answered in time") as caught:
            await other.answer(run_id, "w", answerer="ann", data={})
        assert "'Timeout'" in caught.value.hint
        outcome = await other.answer(run_id, "w", relation="Timeout")
        assert outcome is not None
        assert [(end.node_id, str(end.relation)) for end in outcome.ends] == [("w", "Timeout")]


async def test_a_run_that_ended_otherwise_leaves_nothing_to_answer(file: Path) -> None:
    async with engine_on(file) as holder:
        run = asyncio.ensure_future(asking(holder).run({}))
        run_id = await until_waiting(holder)
        run.cancel()
        await asyncio.wait([run])
        async with engine_on(file) as other:
            with pytest.raises(PauseError, match="its run was stopped"):
                await other.answer(run_id, "w", answerer="ann", data={})


@pytest.mark.parametrize(("state", "told"), [("cancelled", "its run was stopped"), ("expired", "nobody answered")])
async def test_an_answer_that_nobody_has_taken_is_not_told_to_be(
    file: Path, state: StoredState, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = PauseStore.answer

    def too_late(store: PauseStore, key: tuple[str, str, int], given: Answer) -> bool:
        is_first = answer(store, key, given)
        store.settle(key, state, ("answered",)).result()  # what the holder writes that has not seen it
        return is_first

    monkeypatch.setattr(Pickup, "begin", lambda _: None)  # nobody looks for it
    monkeypatch.setattr(PauseStore, "answer", too_late)
    async with engine_on(file) as holder, engine_on(file) as other:
        run = asyncio.ensure_future(asking(holder).run({}))
        run_id = await until_waiting(holder)
        with pytest.raises(PauseError, match=told):
            await other.answer(run_id, "w", answerer="ann", data={})
        run.cancel()
        await asyncio.wait([run])


async def test_a_run_that_was_put_off_goes_on_in_the_same_engine(file: Path) -> None:
    async with engine_on(file) as engine:
        run = asyncio.ensure_future(asking(engine).run({"n": 1}))
        run_id = await until_waiting(engine)
        await engine.pauses.put_off(run_id)
        assert (await run).status == "paused"
        outcome = await engine.answer(run_id, "w", answerer="ann", data={"m": 2})
        assert outcome is not None
        assert outcome.message.value == {"n": 1, "m": 2, "by": "ann"}


async def test_an_answer_that_was_not_taken_is_what_counts(file: Path) -> None:
    first = engine_on(file)
    run_id = await left(first, asking(first), {"n": 1})
    async with engine_on(file) as other:
        store = other.pauses.store
        assert store is not None
        from catenary.pauses.answers import Answer

        assert store.answer((run_id, "w", 1), Answer(answerer="ann", data={"m": "handed in"}))
        outcome = await other.answer(run_id, "w", answerer="ann", data={"m": "later"})
        assert outcome is not None
        assert outcome.message.value == {"n": 1, "m": "handed in", "by": "ann"}


def test_an_owner_is_there_until_it_is_closed(tmp_path: Path) -> None:
    store = tmp_path / "x.db"
    owner = Owner(store)
    assert is_there(store, owner.name)
    assert is_there(store, owner.name)  # looking takes nothing away
    owner.close()
    owner.close()
    assert not is_there(store, owner.name)
    assert not is_there(store, "")


def test_files_of_owners_that_are_gone_are_cleared_away(tmp_path: Path) -> None:
    store = tmp_path / "x.db"
    owner = Owner(store)
    folder = tmp_path / "x.db-holders"
    (folder / "gone.lock").touch()
    another = Owner(store)
    assert sorted(path.stem for path in folder.iterdir()) == sorted([owner.name, another.name])
    owner.close()
    another.close()


def test_pauses_that_were_over_long_ago_are_forgotten(file: Path) -> None:
    from catenary.store.pauses import PauseStore

    with Engine() as engine:
        chain = asking(engine)
        database = Database(file)
        store = PauseStore(database)
        engine.pauses.keep_in(database)
        from catenary.pauses.answers import Ask, Pause

        for visit, changed in ((1, "1"), (2, "changed_ms")):
            pause = Pause(
                run_id="r",
                chain_id="x",
                chain_version=1,
                node_id="w",
                visit=visit,
                ask=Ask(),
                message=Message(""),
                since_ms=0,
            )
            store.open(pause, chain).result()
            sql = f"UPDATE pauses SET state = 'done', changed_ms = {changed} WHERE visit = {visit}"
            database.write(lambda connection, sql=sql: connection.execute(sql))
        again = PauseStore(database)
        database.write(lambda connection: None)
        assert [one.pause.visit for one in again.find("r", "w", None)] == [2]
        store.close()
        database.close()


JOINED: Nodes = {
    "f": ("fork", {}),
    "a": ("exprTransform", {"mapping": {"a": "1"}}),
    "w": ("wait", {"use": "merge"}),
    "b": ("exprTransform", {"mapping": {"b": "msg.b"}}),
    "j": ("join", {"mergeToMap": True}),
}
JOINED_WAYS = ["f Success a", "f Success w", "w Success b", "a Success j", "b Success j"]


@pytest.mark.parametrize("is_put_off", [True, False])
async def test_what_had_arrived_at_a_join_is_there_in_the_run_that_goes_on(file: Path, *, is_put_off: bool) -> None:
    holder = engine_on(file)
    run = asyncio.ensure_future(chain_of(holder, JOINED, JOINED_WAYS).run({"n": 1}))
    run_id = await until_waiting(holder)
    if is_put_off:
        await holder.close()
    else:
        crash(holder)
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"b": 2})
        assert outcome is not None
        assert [(end.node_id, end.message.value) for end in outcome.ends] == [("j", {"a": 1, "b": 2})]
    await holder.close()
    await run


def crash(engine: Engine) -> None:
    """Let go of what an engine holds, as the system does when its process is killed."""
    store = engine.pauses.store
    assert store is not None
    store.owner.close()


async def test_what_arrives_while_a_run_waits_is_kept_as_well(file: Path) -> None:
    holder = engine_on(file)
    nodes: Nodes = {**JOINED, "a": ("delay", {"delayMs": 20})}
    run = asyncio.ensure_future(chain_of(holder, nodes, JOINED_WAYS).run({"n": 1}))
    run_id = await until_waiting(holder)
    with closing(Database(file)) as database:
        while not database.read("SELECT * FROM paused_joins"):  # noqa: ASYNC110 - the test's own patience
            await asyncio.sleep(0.005)
    crash(holder)
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"b": 2})
        assert outcome is not None
        assert outcome.message.value == {"n": 1, "b": 2}
    await holder.close()
    await run


async def test_failures_that_had_arrived_are_failures_still(file: Path) -> None:
    first = engine_on(file)
    nodes: Nodes = {**JOINED, "a": ("exprTransform", {"mapping": {"a": "msg.n.x.y"}}), "j": ("join", {})}
    ways = [*JOINED_WAYS, "a Failure j"]
    run_id = await left(first, chain_of(first, nodes, ways), {"n": 1})
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"b": 2})
        assert outcome is not None
        (end,) = outcome.ends
        assert (end.node_id, end.relation) == ("j", "Failure")
        assert [one["nodeId"] for one in end.message.value] == ["a", "b"]
        assert end.message.value[0]["err"]
        assert str(end.error).startswith(f"NodeId=a,Err={end.message.value[0]['err']}")


async def test_a_join_that_went_on_early_stays_closed(file: Path) -> None:
    first = engine_on(file)
    nodes: Nodes = {**JOINED, "j": ("join", {"quorum": 1})}
    run_id = await left(first, chain_of(first, nodes, JOINED_WAYS), {"n": 1})
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"b": 2})
        assert outcome is not None
        assert [(end.node_id, end.relation) for end in outcome.ends] == [("j", "Late")]


async def test_what_arrived_at_a_join_that_only_work_cut_off_could_reach_is_left_out(file: Path) -> None:
    first = engine_on(file)
    nodes: Nodes = {**JOINED, "c": ("delay", {"delayMs": 1000000})}
    ways = ["f Success a", "f Success w", "f Success c", "a Success j", "c Success j", "w Success b"]
    run_id = await left(first, chain_of(first, nodes, ways), {"n": 1})
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"b": 2})
        assert outcome is not None
        assert [end.node_id for end in outcome.ends] == ["b"]


async def test_data_that_cannot_be_written_is_lost_with_a_word(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = engine_on(file)
    chain = chain_of(first, JOINED, JOINED_WAYS).replacing(
        {"a": lambda _ctx, message: (SUCCESS, message.with_data(object()))}
    )
    run_id = await left(first, chain, {"n": 1})
    assert "what node 'a' sent to a join is lost" in caplog.text
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"b": 2})
        assert outcome is not None
        assert outcome.message.value == {"b": 2}


async def test_answers_that_were_not_taken_go_along(file: Path) -> None:
    holder = engine_on(file)
    nodes: Nodes = {"f": ("fork", {}), "v": ("wait", {}), "w": ("wait", {}), "j": ("join", {"mergeToMap": True})}
    ways = ["f Success v", "f Success w", "v Success j", "w Success j"]
    run = asyncio.ensure_future(chain_of(holder, nodes, ways).run({"n": 1}))
    run_id = await until_waiting(holder, 2)
    store = holder.pauses.store
    assert store is not None
    assert holder.pauses._file._pickup is not None
    holder.pauses._file.look_no_more()
    assert store.answer((run_id, "v", 1), Answer(data={"v": 1}))
    crash(holder)
    async with engine_on(file) as other:
        outcome = await other.answer(run_id, "w", data={"w": 2})
        assert outcome is not None
        assert outcome.message.value == {"v": 1, "w": 2}
    await holder.close()
    await run


async def test_a_chain_that_cannot_be_loaded_leaves_the_question_open(file: Path) -> None:
    first = engine_on(file)
    run_id = await left(first, asking(first), {"n": 1})
    with closing(Database(file)) as database:
        database.write(
            lambda connection: connection.execute(
                "UPDATE paused_chains SET body = replace(body, 'exprTransform', 'gone')"
            )
        )
    async with engine_on(file) as other:
        with pytest.raises(ChainInvalid, match="gone"):
            await other.answer(run_id, "w", answerer="ann", data={})
        store = other.pauses.store
        assert store is not None
        assert [one.pause.run_id for one in store.waiting()] == [run_id]


async def test_stopping_a_chain_puts_off_its_runs_that_wait(file: Path) -> None:
    async with engine_on(file) as engine:
        asking(engine)
        other = engine.load({"ruleChain": {"id": "other"}, "metadata": {"nodes": [{"id": "w", "type": "wait"}]}})
        stays = asyncio.ensure_future(other.run({}))
        run = asyncio.ensure_future(engine.run("x", {"n": 1}))
        await until_waiting(engine, 2)
        await engine.stop("x")
        outcome = await run
        assert (outcome.status, stays.done()) == ("paused", False)
        assert [pause.chain_id for pause in engine.pauses] == ["other"]
        done = await engine.answer(outcome.run_id, "w", answerer="ann", data={"m": 2}, relation="Yes")
        assert done is not None
        assert done.message.value == {"n": 1, "m": 2, "by": "ann"}
        await engine.answer(next(iter(engine.pauses)).run_id, "w")
        assert (await stays).ok


async def test_a_run_that_begins_to_wait_while_its_engine_is_closed_is_put_off(file: Path) -> None:
    engine = engine_on(file)
    begun, goes = asyncio.Event(), asyncio.Event()

    async def busy(_ctx: Any, message: Message) -> Any:
        begun.set()
        await goes.wait()
        return SUCCESS, message

    nodes: Nodes = {"a": ("log", {}), "w": ("wait", {"use": "merge"})}
    chain = chain_of(engine, nodes, ["a Success w"]).replacing({"a": busy})
    run = asyncio.ensure_future(chain.run({"n": 1}))
    await begun.wait()
    closing = asyncio.ensure_future(engine.close(grace_s=60))
    await asyncio.sleep(0)
    goes.set()
    outcome = await run
    await closing
    assert outcome.status == "paused"
    async with engine_on(file) as later:
        done = await later.answer(outcome.run_id, "w", data={"m": 2})
        assert done is not None
        assert done.message.value == {"n": 1, "m": 2}

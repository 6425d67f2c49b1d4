"""Questions that nobody answers in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.components.ai.permission.asking import approve, wants
from tests.programs import eventually

from catenary import Engine
from catenary.errors import AnswerInvalid, PauseError
from catenary.events import NodeEvent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.components.ai.permission.conftest import Desk


@pytest.fixture
def told(desk: Desk) -> list[tuple[str, Any]]:
    """What is told of approvals by anybody, a message or not."""
    found: list[tuple[str, Any]] = []

    def listen(event: Any) -> None:
        if isinstance(event, NodeEvent) and event.name.startswith("approval."):
            found.append((event.name, event.data))

    desk.bench.engine.subscribe(listen)
    return found


@pytest.mark.parametrize("session", [None, "s"])
async def test_that_a_question_is_over_is_told_though_nobody_says_anything(
    desk: Desk, told: list[Any], session: str | None
) -> None:
    await desk.ask(wants(c1="ann", c2="bob"), session=session, approvalTimeout=1000)
    desk.bench.clock.advance(0.9)
    assert [name for name, _ in told] == ["approval.request"]
    desk.bench.clock.advance(0.1)
    await eventually(lambda: len(told) == 2 and not desk.bench.engine.pauses)
    assert told[1][0] == "approval.expired"
    assert told[1][1] == {"id": told[0][1]["id"], "calls": ["c1", "c2"]}
    assert desk.sent == []


async def test_an_answer_that_comes_too_late_runs_nothing_and_is_told_so(desk: Desk, told: list[Any]) -> None:
    paused = await desk.ask(wants(c1="ann"), approvalTimeout=1000)
    desk.bench.clock.advance(1)
    with pytest.raises(PauseError, match="is over: nobody answered in time"):
        await desk.answer(paused, approve("c1"))
    await eventually(lambda: not desk.bench.engine.pauses)
    with pytest.raises(PauseError, match="is over: nobody answered in time"):
        await desk.answer(paused, approve("c1"))
    assert desk.sent == []


async def test_an_answer_in_time_is_the_end_of_the_question(desk: Desk, told: list[Any]) -> None:
    paused = await desk.ask(wants(c1="ann"), approvalTimeout=1000)
    assert (await desk.answer(paused, approve("c1"))).message.text == "done"
    desk.bench.clock.advance(10)
    await desk.bench.engine.close()
    assert [name for name, _ in told] == ["approval.request", "approval.resolved"]


async def test_who_is_told_that_a_question_is_over_may_do_something_about_it(desk: Desk) -> None:
    sorry = {"id": "sorry", "type": "exprTransform", "configuration": {"expr": "metadata.errorMsg"}}
    connection = {"fromId": "agent", "toId": "sorry", "type": "Failure"}
    ends: list[str] = []
    desk.bench.load(
        wants(c1="ann"),
        tools=["send"],
        permission="default",
        approvalTimeout=1000,
        nodes=[sorry],
        connections=[connection],
    )
    await desk.bench.say()
    desk.bench.engine.subscribe(lambda event: ends.append(event.node_id) if event.name == "node.start" else None)
    desk.bench.clock.advance(1)
    await eventually(lambda: "sorry" in ends)


async def test_after_that_the_conversation_goes_on(desk: Desk) -> None:
    await desk.ask(wants(c1="ann"), session="s", approvalTimeout=1000)
    desk.bench.clock.advance(1)
    await eventually(lambda: not desk.bench.engine.pauses)
    assert (await desk.bench.say("hello?")).message.text == "done"
    assert desk.told == {"c1": "[ERROR] Nobody answered in time whether this may be run. Tool: send"}


async def test_an_answer_to_a_process_that_is_gone_comes_too_late_as_well(desk: Desk, tmp_path: Path) -> None:
    desk.bench.engine.pauses.keep_in(tmp_path / "records.db")
    paused = await desk.ask(wants(c1="ann"), approvalTimeout=1000)
    await desk.bench.engine.close()
    desk.bench.clock.advance(2)
    async with Engine(clock=desk.bench.clock) as other:
        other.tool(lambda to: desk.sent.append(to) or "ok", name="send")
        other.pauses.keep_in(tmp_path / "records.db")
        outcome = await other.answer(paused.run_id, "agent", data=[approve("c1")])
        assert (outcome.status, desk.sent) == ("failed", [])
        assert "nobody answered in time" in outcome.message.text
        with pytest.raises(PauseError, match="is over: nobody answered in time"):
            await other.answer(paused.run_id, "agent", data=[approve("c1")])


async def test_another_process_that_watches_the_file_says_that_the_time_is_over(desk: Desk, tmp_path: Path) -> None:
    desk.bench.engine.pauses.keep_in(tmp_path / "records.db")
    await desk.ask(wants(c1="ann"), approvalTimeout=1000)
    await desk.bench.engine.close()
    seen: list[str] = []
    async with Engine(clock=desk.bench.clock) as other:
        other.tool(lambda to: desk.sent.append(to) or "ok", name="send")
        other.pauses.keep_in(tmp_path / "records.db")
        other.subscribe(lambda event: seen.append(event.name))
        await other.pauses.watch_kept()
        desk.bench.clock.advance(2)
        await eventually(lambda: "approval.expired" in seen)
        await eventually(lambda: not (store := other.pauses.store) or not store.waiting())
    assert desk.sent == []


async def test_a_wrong_answer_in_another_process_leaves_nothing_open(desk: Desk, tmp_path: Path) -> None:
    desk.bench.engine.pauses.keep_in(tmp_path / "records.db")
    paused = await desk.ask(wants(c1="ann"))
    definition = desk.bench.engine.chains["c"].to_dict()
    await desk.bench.engine.close()
    changed = {**definition, "ruleChain": {**definition["ruleChain"], "name": "Another"}}
    async with Engine(clock=desk.bench.clock) as other:
        other.tool(lambda to: desk.sent.append(to) or "ok", name="send")
        other.load(changed)  # so that the chain of the question is made for the answer alone
        other.pauses.keep_in(tmp_path / "records.db")
        with pytest.raises(AnswerInvalid, match="there is no call c9"):
            await other.answer(paused.run_id, "agent", data=[approve("c9")])
        done = await other.answer(paused.run_id, "agent", data=[approve("c1")])
    assert done is not None
    assert (done.message.text, desk.sent) == ("done", ["ann"])


async def test_a_question_in_a_file_is_over_in_time(desk: Desk, told: list[Any], tmp_path: Path) -> None:
    desk.bench.engine.pauses.keep_in(tmp_path / "records.db")
    paused = await desk.ask(wants(c1="ann"), approvalTimeout=1000)
    desk.bench.clock.advance(1)
    await eventually(lambda: not desk.bench.engine.pauses)
    assert [name for name, _ in told] == ["approval.request", "approval.expired"]
    with pytest.raises(PauseError, match="is over: nobody answered in time"):
        await desk.answer(paused, approve("c1"))


async def test_an_engine_that_is_closed_lets_no_time_be_over(desk: Desk, told: list[Any]) -> None:
    await desk.ask(wants(c1="ann"), approvalTimeout=1000)
    await desk.bench.engine.close()
    desk.bench.clock.advance(2)
    assert [name for name, _ in told] == ["approval.request"]

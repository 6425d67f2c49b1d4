"""Answers that come to a session while something runs in it: never two at once, and each call runs once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.components.ai.permission.asking import approve
from tests.programs import eventually

from catenary import Engine
from catenary.errors import AnswerInvalid, CatenaryError, PauseError
from catenary.testing import ScriptedModel, calls, mock, server_error
from catenary_components.ai import Agent, tool
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.sessions.files import FileStore
from catenary_components.ai.sessions.store import SessionBusy, SessionConflict
from catenary_components.ai.sessions.turns import Turns

MODEL = "mock:face-at-once"


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    scripted = ScriptedModel()
    with mock("face-at-once", scripted):
        yield scripted


class Office:
    """A tool that has to be approved, and holds on until it may go on."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.go = asyncio.Event()

    async def send(self, to: str) -> str:
        """Send a letter."""
        self.sent.append(to)
        await self.go.wait()
        return f"sent to {to}"


@pytest.fixture
def office() -> Office:
    return Office()


async def asked(agent: Agent) -> str:
    """Have an agent ask. Returns: the call that it asks about."""
    await agent.call("write")
    ((call,),) = [(await agent.state()).pending]
    return call.id


async def test_answers_that_come_while_the_session_goes_on_are_refused(model: ScriptedModel, office: Office) -> None:
    model.add(calls("send", to="ann"), "done")
    async with Agent("A", model=MODEL, tools=[office.send]) as agent:
        answers = [approve(await asked(agent))]
        first = asyncio.create_task(agent.resume(answers))
        await eventually(lambda: len(office.sent) == 1)
        with pytest.raises(SessionBusy, match="in use by another call"):
            await agent.resume(answers)
        with pytest.raises(SessionBusy):
            await agent.call("something else")
        office.go.set()
        assert (await first).text == "done"
    assert office.sent == ["ann"]


async def test_or_wait_their_turn_and_find_that_nothing_is_asked_any_more(model: ScriptedModel, office: Office) -> None:
    model.add(calls("send", to="ann"), "done", "other")
    async with Agent("A", model=MODEL, tools=[office.send], check_running=False) as agent:
        call_id = await asked(agent)
        first = asyncio.create_task(agent.resume([approve(call_id)]))
        await eventually(lambda: len(office.sent) == 1)
        second = asyncio.create_task(agent.resume([approve(call_id)]))
        third = asyncio.create_task(agent.call("something else"))
        await asyncio.sleep(0)
        assert len(model.requests) == 1
        office.go.set()
        assert (await first).text == "done"
        with pytest.raises(AnswerInvalid, match=f"the call {call_id} was answered already"):
            await second
        assert (await third).text == "other"
    assert office.sent == ["ann"]


async def test_answers_to_a_call_that_has_not_asked_yet_wait_for_it(model: ScriptedModel, office: Office) -> None:
    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        await office.go.wait()
        return "seen"

    model.add(calls("look"), "done")
    async with Agent("A", model=MODEL, tools=[look], check_running=False) as agent:
        first = asyncio.create_task(agent.call("look"))
        await eventually(lambda: len(model.requests) == 1)
        second = asyncio.create_task(agent.resume([approve("c1")]))
        office.go.set()
        assert (await first).text == "done"
        with pytest.raises(AnswerInvalid):
            await second


async def test_an_answer_by_the_engine_and_one_by_the_agent_run_a_call_once(
    model: ScriptedModel, office: Office
) -> None:
    model.add(calls("send", to="ann"), "done")
    async with Engine() as engine:
        agent = Agent("A", model=MODEL, tools=[office.send], engine=engine, check_running=False)
        call_id = await asked(agent)
        (pause,) = engine.pauses
        first = asyncio.create_task(agent.resume([approve(call_id)]))
        await eventually(lambda: len(office.sent) == 1)
        second = asyncio.create_task(engine.answer(pause.run_id, pause.node_id, data=[approve(call_id)]))
        office.go.set()
        assert (await first).text == "done"
        with pytest.raises(PauseError):
            await second
        assert list(engine.pauses) == []
    assert office.sent == ["ann"]


async def test_what_ran_after_a_pause_is_kept_though_the_call_fails_behind_it(
    model: ScriptedModel, office: Office
) -> None:
    model.add(calls("send", to="ann"), server_error(501), "done")
    office.go.set()
    async with Agent("A", model=MODEL, tools=[office.send]) as agent:
        call_id = await asked(agent)
        with pytest.raises(ModelError):
            await agent.resume([approve(call_id)])
        assert (await agent.call("and?")).text == "done"
    said = [message["content"] for message in model.requests[-1].messages]
    assert said == ["write", "", "sent to ann", "and?"]
    assert office.sent == ["ann"]


def together(load: Any) -> Any:
    """Have the first two who read a record read it before either goes on."""
    both, begun = asyncio.Barrier(2), list[str]()

    async def read(store: FileStore, key: str) -> Any:
        record = await load(store, key)
        begun.append(key)
        if len(begun) <= both.parties:
            await both.wait()
        return record

    return read


@asynccontextmanager
async def no_turn(*_: Any) -> AsyncGenerator[None]:
    yield


async def test_two_processes_that_go_on_with_one_session_at_once_run_a_call_once(
    model: ScriptedModel, office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes do not wait for each other: the record tells the second one before anything runs."""
    model.add(calls("send", to="ann"), "done")
    monkeypatch.setattr(Turns, "take", no_turn)
    store = f"files:{tmp_path}"
    async with Engine(roots=[tmp_path]) as one, Engine(roots=[tmp_path]) as two:
        agents = [Agent("A", model=MODEL, tools=[office.send], store=store, engine=engine) for engine in (one, two)]
        call_id = await asked(agents[0])
        office.go.set()
        monkeypatch.setattr(FileStore, "load", together(FileStore.load))
        done: list[Any] = await asyncio.gather(
            *(agent.resume([approve(call_id)]) for agent in agents), return_exceptions=True
        )
        failed = [one for one in done if isinstance(one, CatenaryError)]
        assert office.sent == ["ann"]
        assert [type(error) for error in failed] == [SessionConflict]
        assert [reply.text for reply in done if reply not in failed] == ["done"]
        assert (await agents[0].state()).messages[-1].text == "done"

"""One call has a session for itself, finds what was said, and leaves what was said since."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from catenary.clock import SystemClock
from catenary.testing import FakeClock
from catenary_components.ai.messages import ToolCall, Usage, assistant_message, tool_message, user_message
from catenary_components.ai.records import NewerRecord, RecordError
from catenary_components.ai.sessions.hold import SessionPolicy, Sessions
from catenary_components.ai.sessions.memory import MemoryStore
from catenary_components.ai.sessions.store import SessionBusy, SessionConflict, SessionError
from catenary_components.ai.sessions.window import Window

if TYPE_CHECKING:
    from catenary_components.ai.sessions.store import SessionStore


def sessions_in(store: SessionStore, **policy: Any) -> Sessions:
    return Sessions(store, SystemClock(), SessionPolicy(**policy))


async def talk(sessions: Sessions, said: str, answer: str = "yes", key: str = "k") -> None:
    async with sessions.hold(key) as slot:
        slot.take([user_message(said)])
        slot.state.messages.append(assistant_message(answer))
        await slot.save()


def apart(work: Any) -> asyncio.Task[None]:
    """Begin a call that is no part of the one that is here."""
    return asyncio.create_task(work, context=Context())


async def texts(sessions: Sessions, key: str = "k") -> list[str]:
    state = await sessions.read(key)
    return [message.text for message in state.messages] if state else []


async def test_what_was_said_is_there_at_the_next_call(store: SessionStore) -> None:
    sessions = sessions_in(store)
    await talk(sessions, "one")

    async with sessions.hold("k") as slot:
        assert [message.text for message in slot.state.messages] == ["one", "yes"]
        assert slot.state.session_id == "k"


async def test_a_session_that_was_never_saved_is_none() -> None:
    assert await sessions_in(MemoryStore()).read("k") is None


async def test_the_window_hides_what_the_record_keeps() -> None:
    sessions = sessions_in(MemoryStore(), window=Window(runs=1))
    await talk(sessions, "one")
    await talk(sessions, "two")

    async with sessions.hold("k") as slot:
        assert [message.text for message in slot.state.messages] == ["two", "yes"]
    assert await texts(sessions) == ["one", "yes", "two", "yes"]


async def test_a_call_that_failed_leaves_what_the_user_said_and_no_more() -> None:
    sessions = sessions_in(MemoryStore())
    await talk(sessions, "one")

    async with sessions.hold("k") as slot:
        slot.take([user_message("two")])
        slot.state.messages.append(assistant_message("half an ans"))
        await slot.save(RuntimeError("broken"))

    assert await texts(sessions) == ["one", "yes", "two"]


async def test_a_call_that_failed_after_its_question_became_part_of_a_summary_leaves_the_question() -> None:
    sessions = sessions_in(MemoryStore())

    async with sessions.hold("k") as slot:
        slot.take([user_message("two")])
        slot.state.messages[:] = [assistant_message("half an ans")]
        await slot.save(RuntimeError("broken"))

    assert await texts(sessions) == ["two"]


async def test_what_waits_for_an_answer_and_its_counters_are_there_at_the_next_call() -> None:
    sessions = sessions_in(MemoryStore())
    async with sessions.hold("k") as slot:
        slot.take([user_message("pay")])
        slot.state.messages.append(assistant_message(calls=[ToolCall("1", "pay", state="asking")]))
        slot.state.steps, slot.state.usage = 3, Usage(total=9)
        await slot.save()

    async with sessions.hold("k") as slot:
        assert slot.is_paused
        assert (slot.state.steps, slot.state.usage.total) == (3, 9)


async def test_a_call_that_goes_on_after_a_pause_and_fails_keeps_what_it_has_run() -> None:
    sessions = sessions_in(MemoryStore())
    async with sessions.hold("k") as slot:
        slot.take([user_message("pay")])
        slot.state.messages.append(assistant_message(calls=[ToolCall("1", "pay")]))
        await slot.save()

    async with sessions.hold("k") as slot:
        slot.state.messages.append(tool_message("1", "paid"))
        await slot.save()  # what was run is recorded at once
        slot.state.messages.append(assistant_message("half an ans"))
        await slot.save(RuntimeError("broken"))

    state = await sessions.read("k")
    assert state is not None
    assert not state.pending
    assert [message.role for message in state.messages] == ["user", "assistant", "tool", "assistant"]


async def test_a_session_without_a_word_for_too_long_begins_anew() -> None:
    store, clock = MemoryStore(), FakeClock()
    sessions = Sessions(store, clock, SessionPolicy(ttl_s=60))
    message = replace(user_message("one"), time_ms=clock.time_ms())
    await sessions.observe("k", [message])
    clock.advance(60)
    assert await texts(sessions) == ["one"]

    clock.advance(0.001)
    assert await sessions.read("k") is None
    await sessions.observe("k", [replace(user_message("two"), time_ms=clock.time_ms())])
    assert await texts(sessions) == ["two"]


async def test_sessions_that_are_over_are_forgotten_when_they_are_purged() -> None:
    clock = FakeClock()
    store = MemoryStore()
    sessions = Sessions(store, clock, SessionPolicy(ttl_s=60))
    said = user_message("a")
    await sessions.observe("old", [replace(said, time_ms=clock.time_ms())])
    clock.advance(120)
    await sessions.observe("new", [replace(said, time_ms=clock.time_ms())])
    await store.save("damaged", '{"version":1,"messages":5}', 0)

    assert await sessions.purge("n") == []
    assert await sessions.purge() == ["old"]
    assert await store.keys() == ["damaged", "new"]
    assert await Sessions(store, clock).purge() == []


async def test_observing_adds_to_the_conversation() -> None:
    sessions = sessions_in(MemoryStore())
    await talk(sessions, "one")
    await sessions.observe("k", [user_message("by the way")])

    assert await texts(sessions) == ["one", "yes", "by the way"]


async def test_clearing_empties_the_conversation_and_keeps_the_rest() -> None:
    sessions = sessions_in(MemoryStore(), window=Window(runs=1))
    await talk(sessions, "one")
    async with sessions.hold("k") as slot:
        slot.take([user_message("two")])
        slot.state.todos.append("sweep")
        await slot.save()
    await sessions.clear("k")

    state = await sessions.read("k")
    assert state is not None
    assert (state.messages, state.todos) == ([], ["sweep"])


async def test_a_deleted_session_is_forgotten() -> None:
    sessions = sessions_in(MemoryStore())
    await talk(sessions, "one")

    assert await sessions.delete("k") is True
    assert await sessions.keys() == []


# One at a time


async def test_calls_on_one_session_take_their_turns_in_order() -> None:
    sessions = sessions_in(MemoryStore())
    began: list[int] = []

    async def call(number: int) -> None:
        async with sessions.hold("k") as slot:
            began.append(number)
            await asyncio.sleep(0)
            slot.take([user_message(str(number))])
            await slot.save()

    await asyncio.gather(*map(call, range(5)))

    assert began == [0, 1, 2, 3, 4]
    assert await texts(sessions) == ["0", "1", "2", "3", "4"]


async def test_calls_on_two_sessions_go_on_at_the_same_time() -> None:
    sessions = sessions_in(MemoryStore())

    async with sessions.hold("a"), asyncio.timeout(15):
        await asyncio.create_task(talk(sessions, "hi", key="b"))


async def test_a_second_caller_is_refused_when_asked_for() -> None:
    sessions = sessions_in(MemoryStore(), when_busy="fail")
    entered, leave = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with sessions.hold("k"):
            entered.set()
            await leave.wait()

    task = asyncio.create_task(first())
    await entered.wait()
    with pytest.raises(SessionBusy, match="session 'k' is in use by another call"):
        await talk(sessions, "hi")
    leave.set()
    await task
    await talk(sessions, "again")


async def test_a_session_is_free_after_a_call_that_failed() -> None:
    sessions = sessions_in(MemoryStore(), when_busy="fail")
    with pytest.raises(RuntimeError):
        async with sessions.hold("k"):
            raise RuntimeError

    await talk(sessions, "hi")


async def test_who_is_cancelled_while_waiting_holds_nobody_up() -> None:
    sessions = sessions_in(MemoryStore())
    async with sessions.hold("k"):
        waiting = [apart(talk(sessions, str(number))) for number in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        await asyncio.sleep(0)
    await asyncio.wait(waiting)

    assert await texts(sessions) == ["0", "yes", "2", "yes"]


async def test_who_is_cancelled_when_it_is_his_turn_passes_it_on() -> None:
    sessions = sessions_in(MemoryStore())
    async with sessions.hold("k"):
        first, second = (apart(talk(sessions, name)) for name in ("first", "second"))
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first, second])

    assert first.cancelled()
    assert await texts(sessions) == ["second", "yes"]


async def test_a_call_within_a_call_on_the_same_session_fails_rather_than_waits_for_ever() -> None:
    sessions = sessions_in(MemoryStore())

    async with sessions.hold("k"):
        with pytest.raises(SessionBusy, match="in use by the very call that this one is part of"):
            await asyncio.create_task(talk(sessions, "hi"))


async def test_a_task_that_outlives_its_call_may_have_the_session_later() -> None:
    sessions = sessions_in(MemoryStore())
    go = asyncio.Event()

    async def later() -> None:
        await go.wait()
        await talk(sessions, "later")

    async with sessions.hold("k"):
        task = asyncio.create_task(later())
    go.set()
    await task

    assert await texts(sessions) == ["later", "yes"]


def test_callers_on_two_event_loops_take_their_turns() -> None:
    sessions = sessions_in(MemoryStore())

    async def many() -> None:
        await asyncio.gather(*(talk(sessions, "hi") for _ in range(20)))

    async def both() -> None:
        await asyncio.gather(many(), asyncio.to_thread(asyncio.run, many()))

    asyncio.run(both())

    assert len(asyncio.run(texts(sessions))) == 80


# Several processes


async def test_two_processes_on_one_session_are_told(store: SessionStore) -> None:
    sessions = sessions_in(store)
    async with sessions.hold("k") as slot:
        await store.save("k", '{"version":1}', 0)
        slot.take([user_message("mine")])
        with pytest.raises(SessionConflict):
            await slot.save()


async def test_a_conflict_may_overwrite_or_merge(store: SessionStore) -> None:
    for policy, expected in (("overwrite", ["mine"]), ("merge", ["hi", "yes", "mine"])):
        sessions = sessions_in(store, on_conflict=policy)
        async with sessions.hold(policy) as slot:
            elsewhere: Any = _Elsewhere(store)
            other = Sessions(elsewhere, SystemClock())
            await talk(other, "hi", key=policy)
            slot.take([user_message("mine")])
            await slot.save()
        assert await texts(sessions, policy) == expected


class _Elsewhere:
    """The same store as another process sees it: with lines of its own."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self.place = "elsewhere"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


# Damage


async def test_what_was_merged_once_stays_when_the_same_call_saves_again() -> None:
    store = MemoryStore()
    sessions = sessions_in(store, on_conflict="merge")
    await talk(sessions, "before")
    async with sessions.hold("k") as slot:
        slot.take([user_message("question")])
        state = await sessions.read("k")
        assert state is not None
        state.messages.append(user_message("of somebody else"))
        await store.save("k", state.to_json(), 1)
        await slot.save()
        assert await texts(sessions) == ["before", "yes", "of somebody else", "question"]
        slot.state.messages.append(assistant_message("answer"))
        await slot.save()
    assert await texts(sessions) == ["before", "yes", "of somebody else", "question", "answer"]


async def test_a_damaged_record_is_set_aside_and_the_call_is_told(store: SessionStore) -> None:
    sessions = sessions_in(store)
    await store.save("k", '{"version":1,"messages":5}', 0)

    with pytest.raises(RecordError, match=r"session 'k' is damaged.*messages of the record must be a list.*\.corrupt-"):
        await talk(sessions, "hi")
    await talk(sessions, "hi")

    assert await texts(sessions) == ["hi", "yes"]


async def test_a_damaged_record_may_be_passed_over_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    sessions = sessions_in(store, on_corrupt="reset")
    await store.save("k", "[]", 0)

    await talk(sessions, "hi")

    assert await texts(sessions) == ["hi", "yes"]
    assert "set aside" in caplog.text


async def test_a_record_of_a_later_program_is_left_alone() -> None:
    store = MemoryStore()
    await store.save("k", '{"version":2}', 0)

    with pytest.raises(NewerRecord):
        await talk(sessions_in(store, on_corrupt="reset"), "hi")
    assert await store.load("k") == (1, {"version": 2})


# Saving


class _Full(MemoryStore):
    """A store whose disk is full."""

    async def save(self, key: str, text: str, expected: int) -> int:
        raise SessionError("no space left on device")


async def test_a_save_that_fails_is_an_error() -> None:
    with pytest.raises(SessionError, match="no space left"):
        await talk(sessions_in(_Full()), "hi")


async def test_a_save_that_fails_never_hides_the_first_error() -> None:
    error = RuntimeError("first")
    async with sessions_in(_Full()).hold("k") as slot:
        await slot.save(error)

    assert error.__notes__ == ["The session could not be saved, either: no space left on device"]


async def test_a_save_comes_to_its_end_when_the_call_is_cancelled_meanwhile() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    class Slow(MemoryStore):
        async def save(self, key: str, text: str, expected: int) -> int:
            begun.set()
            await go.wait()
            return await super().save(key, text, expected)

    sessions = sessions_in(Slow())
    task = asyncio.create_task(talk(sessions, "hi"))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    await asyncio.wait([task])

    assert task.cancelled()
    assert await texts(sessions) == ["hi", "yes"]

"""Threads of plain functions."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest
from tests.programs import eventually

from catenary.testing.conformance import leftovers
from catenary_components.ai.tools import threads
from catenary_components.ai.tools.threads import in_thread


async def test_a_thread_that_has_nothing_to_do_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []

    class Noted(threads._Worker):
        def start(self) -> None:
            begun.append(self)
            super().start()

    monkeypatch.setattr(threads, "IDLE_S", 20.0)
    monkeypatch.setattr(threads, "_idle", [])
    monkeypatch.setattr(threads, "_Worker", Noted)
    assert {(await in_thread(threading.current_thread)).daemon for _ in range(1000)} == {True}
    assert len(begun) <= 1  # none, where one of another test has just come to its end


async def test_functions_that_run_at_the_same_time_have_threads_of_their_own() -> None:
    together = threading.Barrier(5, timeout=10)

    def meet() -> threading.Thread:
        together.wait()
        return threading.current_thread()

    assert len(set(await asyncio.gather(*(in_thread(meet) for _ in range(5))))) == 5


async def test_a_thread_that_is_not_needed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.01)
    monkeypatch.setattr(threads, "_idle", [])
    thread = await in_thread(threading.current_thread)
    await asyncio.to_thread(thread.join, 10)
    assert (thread.is_alive(), threads._idle) == (False, [])


async def test_nothing_of_a_call_is_kept_by_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thing: ...

    monkeypatch.setattr(threads, "IDLE_S", 20.0)  # longer than it is waited for: an end of the thread would let it go

    thing = Thing()
    gone = weakref.ref(thing)
    thread = await in_thread(lambda one: threading.current_thread(), thing)
    del thing
    await eventually(lambda: gc.collect() >= 0 and gone() is None)  # it may not be done with it yet
    assert thread.is_alive()


async def test_nothing_of_a_call_is_kept_by_its_thread_once_its_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thing: ...

    loop, is_seen = asyncio.get_running_loop(), threading.Event()
    wake = loop.call_soon_threadsafe

    def wake_and_stand_still(*call: Any) -> None:
        wake(*call)
        is_seen.wait(10)

    monkeypatch.setattr(loop, "call_soon_threadsafe", wake_and_stand_still)
    thing = Thing()
    gone = weakref.ref(thing)
    await in_thread(lambda one: None, thing)
    del thing
    gc.collect()
    assert gone() is None
    is_seen.set()


async def test_no_thread_is_there_for_as_long_as_leftovers_are_looked_for() -> None:
    assert threads.IDLE_S <= leftovers.WAIT_S / 2


async def test_what_a_function_raises_is_raised_and_its_thread_goes_on() -> None:
    def fail() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await in_thread(fail)
    assert await in_thread(lambda: 1) == 1

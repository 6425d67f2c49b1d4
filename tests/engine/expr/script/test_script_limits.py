"""Limits on scripts: time by the clock of the thread, memory, stack; a script in a thread holds up nobody."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from catenary.errors import ScriptError
from catenary.expr import Environment
from catenary.expr.script.script import Script
from catenary.message import Message

EMPTY = Message("{}")
LOOP = "let n = 0; for (let i = 0; i < msg.turns; i++) n += i % 7; return n;"


def compiled(source: str, **settings: Any) -> Script:
    return Script.compile(source, Environment(**settings))


def failure(source: str, **settings: Any) -> str:
    with pytest.raises(ScriptError) as caught:
        compiled(source, **settings).call(EMPTY)
    return str(caught.value)


def thread_seconds(call: Any) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


class Neighbours:
    """Scripts in other threads that use up processor time."""

    def __init__(self, count: int) -> None:
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._burn) for _ in range(count)]

    def _burn(self) -> None:
        script = compiled("for (let i = 0; i < 2e5; i++); return 1;")
        while not self._over.is_set():
            script.call(EMPTY)

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def stopped_after(limit_s: float) -> float:
    script = compiled("for (;;);", script_timeout_s=limit_s)

    def call() -> None:
        with pytest.raises(ScriptError, match=f"(?m)^execution timeout: the script ran longer than {limit_s:g} s$"):
            script.call(EMPTY)

    return thread_seconds(call)


@pytest.mark.parametrize("limit_s", [0.05, 0.3])
def test_a_loop_without_end_is_stopped_at_about_the_limit(limit_s: float) -> None:
    assert limit_s * 0.8 < stopped_after(limit_s) < limit_s * 2 + 0.1


def test_a_loop_without_end_is_stopped_while_neighbours_are_busy() -> None:
    with Neighbours(2):
        assert 0.2 < stopped_after(0.3) < 0.3 * 4


def test_busy_neighbours_do_not_shorten_the_time_of_a_script() -> None:
    script = compiled(LOOP, script_timeout_s=2.0)
    turns, took = 1000, 0.0
    while took < 0.05:
        turns *= 2
        began = time.thread_time()
        script.call(Message({"turns": turns}))
        took = time.thread_time() - began
    limited = compiled(LOOP, script_timeout_s=took * 2)
    with Neighbours(2):
        assert limited.call(Message({"turns": turns})) > 0


def test_a_script_that_was_slow_once_is_quick_again() -> None:
    script = compiled(LOOP, script_timeout_s=2.0)
    assert script.call(Message({"turns": 3_000_000})) > 0
    assert [script.call(Message({"turns": 10})) for _ in range(3)] == [24, 24, 24]


def test_a_script_that_is_slow_each_time_comes_to_its_end() -> None:
    script = compiled(LOOP, script_timeout_s=2.0)
    assert len({script.call(Message({"turns": 1_000_000})) for _ in range(3)}) == 1


def test_the_limit_cannot_be_caught() -> None:
    assert failure("for (;;) { try { for (;;); } catch {} finally { for (;;); } }", script_timeout_s=0.05).startswith(
        "execution timeout"
    )


@pytest.mark.parametrize("source", ["throw null;", "const x = null; throw x;", "eval('throw null');"])
def test_null_that_is_thrown_is_no_lack_of_memory(source: str) -> None:
    assert failure(source) == "null"


@pytest.mark.parametrize(
    "source",
    [
        "const a = []; for (;;) a.push({a});",
        "let a; for (;;) a = {a};",
        "return 'x'.repeat(2 ** 26).length;",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, {});",
        "return new Uint8Array(2 ** 28).length;",
        "try { const a = []; for (;;) a.push([]); } catch (e) { throw e; }",
    ],
)
def test_a_script_that_fills_the_memory_is_stopped(source: str) -> None:
    assert failure(source, script_memory_bytes=16 * 2**20) == "out of memory: the script took more than 16 MiB"


@pytest.mark.parametrize("source", ["(function f() { f(); })();", "const f = () => [1].map(f); f();"])
def test_endless_recursion_is_an_error(source: str) -> None:
    assert failure(source).startswith("stack overflow")


def test_a_long_source_and_many_sources_do_not_fill_the_memory() -> None:
    settings = {"script_memory_bytes": 4 * 2**20}
    scripts = [compiled(f"const t = '{'x' * 20_000}'; return t.length + {n};", **settings) for n in range(60)]
    assert [script.call(EMPTY) for script in scripts] == [20_000 + n for n in range(60)]


async def test_other_tasks_go_on_while_a_script_runs_in_a_thread() -> None:
    script = compiled("for (;;);", script_timeout_s=0.3)
    turns = 0
    running = asyncio.ensure_future(asyncio.to_thread(script.call, EMPTY))
    while not running.done():
        turns += 1
        await asyncio.sleep(0)
    with pytest.raises(ScriptError, match="execution timeout"):
        await running
    assert turns > 10


def test_no_time_limit_at_all_when_it_is_zero() -> None:
    assert compiled(LOOP, script_timeout_s=0).call(Message({"turns": 2_000_000})) > 0


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
@pytest.mark.parametrize(
    "source",
    [
        "Prom\\u0069se.resolve().then(() => { for (;;); }); return 1;",
        "globalThis['Pro' + 'mise'].resolve().then(() => { for (;;); }); return 1;",
        "Promise.resolve().then(function again() { Promise.resolve().then(again); }); return 1;",
    ],
)
def test_what_a_script_leaves_behind_does_no_harm_to_the_next_one(engine: str, source: str) -> None:
    pytest.importorskip("py_mini_racer" if engine == "v8" else "quickjs")
    settings = {"script_engine": engine, "script_timeout_s": 0.1}
    try:
        assert compiled(source, **settings).call(EMPTY) == 1
    except ScriptError as error:
        assert str(error).startswith("execution timeout")
    assert compiled("return 1 + 1;", **settings).call(EMPTY) == 2

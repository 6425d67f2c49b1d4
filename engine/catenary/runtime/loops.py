"""Runs without an event loop, and the loops that an engine keeps for the rest of those that need one."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from catenary.outcome import Outcome


def drive_by_hand(coroutine: Coroutine[Any, Any, Outcome], loops: Loops) -> Outcome:
    """Run a coroutine to its end without an event loop; when it asks for one, go on with it in a loop of its own.

    Raises:
        EngineError: When it needs an event loop and one is running in this thread already.
    """
    try:
        coroutine.send(None)  # comes back only when `ask_for_loop` yields
    except StopIteration as done:
        return done.value
    if asyncio._get_running_loop() is not None:
        coroutine.close()
        raise EngineError(
            "run_sync() was called inside a running event loop, and the chain has nodes that wait",
            hint="use `await engine.run(...)` there",
        )
    return loops.run(coroutine)


class Loops:
    """Event loops kept for `run_sync`, so that connections outlive one call. Safe to use from many threads."""

    def __init__(self) -> None:
        self._idle: list[asyncio.Runner] = []

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end in an idle loop, or in a new one when all are busy."""
        try:
            runner = self._idle.pop()
        except IndexError:  # not asked beforehand: another thread may be quicker
            runner = asyncio.Runner()
        try:
            return runner.run(coroutine, context=copy_context())  # of the caller, not of who made the loop
        finally:
            self._idle.append(runner)

    def run_outside(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run what has an async form, too. Raises: EngineError: inside a running event loop."""
        if asyncio._get_running_loop() is not None:
            coroutine.close()
            raise EngineError(
                f"{name}_sync() was called inside a running event loop", hint=f"use `await engine.{name}()` there"
            )
        return self.run(coroutine)

    @property
    def are_kept(self) -> bool:
        """True while there is a loop to close."""
        return bool(self._idle)

    def close(self) -> None:
        """Close all idle loops. No event loop may run in this thread."""
        while self._idle:
            self._idle.pop().close()

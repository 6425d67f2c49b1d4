"""Time that goes by at once: the clock of an event loop jumps, and nobody has to wait for limits that are long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Have the clock of the running event loop go on by so many seconds: `jump(60)`.

    What is due by then happens in the next rounds of the loop, in the order of its times. So a test that wants a limit
    to be over need not have a short one, which what comes before might reach, too.
    It is for single tests; `tests.skipping` is for whole modules, and `STEPPING` for what needs no sockets or programs.
    """
    ahead: dict[asyncio.AbstractEventLoop, float] = {}

    def jump(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if loop not in ahead:
            ahead[loop] = 0.0
            time = loop.time
            monkeypatch.setattr(loop, "time", lambda: time() + ahead[loop])
        ahead[loop] += seconds

    return jump

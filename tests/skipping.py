"""An event loop whose time can be moved forward, for limits that are to be over only when all is as it should be.

It is for modules that wait for programs or sockets. Where nothing does, `STEPPING` has no time of the machine at all;
for single tests there is the fixture `jump` of `tests.ahead`.
"""

from __future__ import annotations

import asyncio


class SkippingLoop(asyncio.SelectorEventLoop):
    """Its time is that of the machine, and what was skipped."""

    def __init__(self) -> None:
        self._skipped_s = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self._skipped_s

    def skip(self, seconds: float) -> None:
        """Move its time forward."""
        self._skipped_s += seconds


SKIPPING = "asyncio", {"loop_factory": SkippingLoop}
"""What a fixture `anyio_backend` gives to have tests run on such a loop."""


def skip(seconds: float) -> None:
    """Move the time of the event loop that runs forward."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)

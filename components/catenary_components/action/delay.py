"""`delay`: hold messages back for a while."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from catenary import FAILURE, SUCCESS, Template, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.message import Message, metadata_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json

OFFSET_KEY: Final = "_delayOffsetMs"
"""The metadata key of the milliseconds that a message has waited already."""

_DEFAULT_PENDING: Final = 1000
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,15}")
_KEY: Final = re.compile(r"\$\{\s*([^{}]*?)\s*\}")


class DelayConfig(Config):
    """Settings of one `delay` node."""

    delay_ms: Template = option(
        "",
        unit="milliseconds",
        help="How long a message waits, a whole number; 0 or less lets it pass at once.",
        examples=[1000, "${metadata.delayMs}"],
    )
    max_pending_msgs: int = option(
        _DEFAULT_PENDING,
        unit="messages",
        help="How many messages may wait at once; further ones leave by `Failure`. 0 or less is the default.",
    )
    overwrite: bool = option(
        False, help="True when only the latest message counts: it takes the place of the one that waits."
    )
    period_in_seconds: int = option(
        0, unit="seconds", help="How long a message waits when `delayMs` is blank.", deprecated="use `delayMs`"
    )
    period_in_seconds_pattern: str = option(
        "",
        unit="seconds",
        help="A text in which `${key}` stands for metadata; wins over `periodInSeconds` where `delayMs` is blank.",
        deprecated="use `delayMs`",
    )


@register("delay", category="action", since="0.1", label="Delay")
class Delay(Component[DelayConfig]):
    """Hold messages back for a while; they leave by `Success` as they came.

    Each arrival waits on its own, and nothing else is held up: other messages and branches go on. Without any delay
    a message passes at once. A delay that is no whole number leaves by `Failure`, and so does a message that would be
    one more than `maxPendingMsgs`. The metadata key `_delayOffsetMs` holds milliseconds that are taken off the wait,
    for messages that had waited before and are sent again.

    With `overwrite` the first message starts the clock. Each one that comes before the time is over takes the place of
    the one before it, whose branch ends there: its run completes, and has no answer. The last one goes on when the time
    of the first is over, and the next one starts the clock again.

    Messages wait in the memory of their run: they outlive a reload of the chain, but not the process.
    """

    relations = (SUCCESS, FAILURE)
    waits = False
    examples = (
        Example("a short wait", config={"delayMs": 20}, inputs=[{"a": 1}], leaves_by=["Success"], data=['{"a":1}']),
        Example(
            "each message says how long it waits",
            config={"delayMs": "${msg.wait}"},
            inputs=[{"wait": 0}, {"wait": "soon"}],
            leaves_by=["Success", "Failure"],
        ),
    )

    def __init__(self, config: DelayConfig) -> None:
        super().__init__(config)
        self._pending = 0
        self._most = config.max_pending_msgs if config.max_pending_msgs > 0 else _DEFAULT_PENDING
        self._latest: _Waiting | None = None
        self._gate = Lock()  # runs in other threads may be on event loops of their own
        delay = config.delay_ms
        self._is_set = bool(delay) and not (isinstance(delay.source, str) and not delay.source.strip())
        if self._is_set and delay.is_constant:
            _whole(delay.render(Message("")), "delayMs")  # what is wrong with every message is told at load

    async def run(self, ctx: Context, msg: Message) -> Emission:
        wait_ms = self._wait_ms(ctx, msg)
        if self.config.overwrite:
            return await self._wait_as_latest(ctx, wait_ms)
        if wait_ms <= 0:
            return SUCCESS
        with self._gate:
            if self._pending >= self._most:
                return fail("max limit of pending messages", msg)
            self._pending += 1
        try:
            await ctx.need_loop()
            await ctx.clock.sleep(wait_ms / 1000)
        finally:
            with self._gate:
                self._pending -= 1
        return SUCCESS

    def _wait_ms(self, ctx: Context, msg: Message) -> int:
        config = self.config
        if self._is_set:
            wait_ms = _whole(config.delay_ms.render(msg, ctx), "delayMs")
        elif config.period_in_seconds_pattern.strip():
            text = _substituted(config.period_in_seconds_pattern, msg.metadata)
            wait_ms = 1000 * _whole(text, "periodInSecondsPattern")
        else:
            wait_ms = 1000 * config.period_in_seconds
        offset = metadata_text(msg.metadata.get(OFFSET_KEY, ""))
        return wait_ms - _whole(offset, OFFSET_KEY) if offset else wait_ms

    async def _wait_as_latest(self, ctx: Context, wait_ms: int) -> Emission:
        """Wait for the end of the time that an earlier message began, or begin it; a later one ends the wait."""
        with self._gate:
            before = self._latest
            if before is None and wait_ms <= 0:
                return SUCCESS
        await ctx.need_loop()
        with self._gate:
            before = self._latest
            until = ctx.clock.monotonic() + wait_ms / 1000 if before is None else before.until
            mine = self._latest = _Waiting(ctx.clock, until)
        if before is not None:
            before.wake()
        is_latest = True
        try:
            await mine.wait()
        except asyncio.CancelledError:
            if self._latest is mine:
                raise  # not woken by a later message: the run itself is being stopped
        finally:
            with self._gate:
                is_latest = self._latest is mine
                if is_latest:
                    self._latest = None
        return SUCCESS if is_latest else None


class _Waiting:
    """A message that waits until a later one wakes it. Made on the event loop on which it waits."""

    def __init__(self, clock: Any, until: float) -> None:
        self.until = until
        self._loop = asyncio.get_running_loop()
        self._sleep: asyncio.Task[None] = self._loop.create_task(clock.sleep(max(until - clock.monotonic(), 0.0)))

    async def wait(self) -> None:
        """Come back when the time is over. Raises: CancelledError: when woken before, and when cancelled."""
        try:
            await self._sleep
        finally:
            self._sleep.cancel()

    def wake(self) -> None:
        """End the wait, from whatever thread."""
        with suppress(RuntimeError):  # its event loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._sleep.cancel)


def _whole(text: str, name: str) -> int:
    """Read a whole number. Raises: ValueError: when it is none, or far too large."""
    if _WHOLE.fullmatch(text.strip()):
        return int(text)
    raise ValueError(f"failed to parse delay time: {name} is {text!r:.60}, which is no whole number that can be waited")


def _substituted(pattern: str, metadata: Mapping[str, Json]) -> str:
    """Put metadata in the place of each `${key}`; a key that is not there stays as it is written."""

    def value_of(match: re.Match[str]) -> str:
        key = match.group(1)
        return metadata_text(metadata[key]) if key in metadata else match.group()

    return _KEY.sub(value_of, pattern)

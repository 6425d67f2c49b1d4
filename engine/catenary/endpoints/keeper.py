"""Keeps one endpoint as it should be: started, tried again, restarted when it is another one, drained and stopped."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from catenary.endpoints.binding import Binding
from catenary.life.stopping import GRACE_S
from catenary.reasons import reason_of
from catenary.shared.resource import ConnectionStatus
from catenary.waiting import awaited

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.chain import Chain
    from catenary.endpoints.base import Endpoint
    from catenary.engine import Engine
    from catenary.load.endpoints import BuiltEndpoint

    Told = Callable[["Keeper"], None]

logger = logging.getLogger(__name__)

FIRST_WAIT_S: Final = 2.0
"""Seconds after the first attempt that failed; each wait is half as long again as the one before."""

LONGEST_WAIT_S: Final = 60.0
START_WITHIN_S: Final = 30.0
"""Seconds that one attempt to start may take."""

TOO_SLOW: Final = f"it took longer than {START_WITHIN_S:g} s to start"


class Keeper:
    """Brings one endpoint to where it is wanted, in one task, whatever is asked for meanwhile.

    All is called on the event loop of the endpoints.

    Attributes:
        wanted: What should run; None for nothing.
        running: What runs.
        status: How it is.
        grace_s: Seconds that messages in hand have when it is stopped.
    """

    def __init__(self, engine: Engine, chain_id: str, endpoint_id: str, on_status: Told) -> None:
        self._engine = engine
        self.chain_id = chain_id
        self.id = endpoint_id
        self.wanted: BuiltEndpoint | None = None
        self.running: Endpoint[Any, Any] | None = None
        self.status = ConnectionStatus("none")
        self.grace_s = GRACE_S
        self._on_status = on_status
        self._binding: Binding | None = None
        self._opened: Endpoint[Any, Any] | None = None
        self._attempt: asyncio.Timeout | None = None
        self._is_routed = True
        self._changed = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # What is wanted

    def want(self, built: BuiltEndpoint | None, chain: Chain | None = None) -> None:
        """Say what should run from now on: an endpoint of this version of a chain, or nothing."""
        before = self.wanted
        if built is not None and chain is not None:
            if before is not None and before.fingerprint == built.fingerprint:
                built = replace(built, component=before.component)
            self._bind(built, chain)
        self.wanted = built
        if built is not None and before is not None and built.component is before.component and self._is_routed:
            return
        self._changed.set()
        self._at_rest.clear()
        if self._attempt is not None:
            self._attempt.reschedule(asyncio.get_running_loop().time() + self.grace_s)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())

    def _bind(self, built: BuiltEndpoint, chain: Chain) -> None:
        """Give an endpoint its routers, and each router its plan."""
        component = built.component
        before = self._binding
        self._binding = Binding(self._engine, built, chain, self._reported, self._try_now)
        if before is not None:
            before.release()
        if component is self.running:
            self._route(component)

    def _route(self, component: Endpoint[Any, Any]) -> None:
        """Tell a running endpoint of its routers."""
        try:
            component.routed()
        except Exception as error:
            self._is_routed = False
            self._tell_failure("an endpoint could not take over its routers; it is tried again", error)
        else:
            if not self._is_routed:
                self._set(ConnectionStatus("connected"))
            self._is_routed = True

    def _route_again(self, component: Endpoint[Any, Any]) -> None:
        if self.wanted is not None and self.wanted.component is component:
            self._route(component)

    async def settled(self) -> None:
        """Wait until it is as it is wanted, or waits to try again."""
        await self._at_rest.wait()

    # Bringing it there

    async def _work(self) -> None:
        wait_s = FIRST_WAIT_S
        try:
            while True:
                self._changed.clear()
                wanted = None if self.wanted is None else self.wanted.component
                if self.running is wanted:
                    if wanted is None or self._is_routed:
                        break
                    wait_s = await self._pause(wait_s)
                    self._route_again(wanted)
                elif self.running is not None:
                    if wanted is None or not await self._hand_over(self.running, wanted):
                        await self._stop(self.running)
                    wait_s = FIRST_WAIT_S
                elif wanted is not None and not await self._start(wanted):
                    wait_s = await self._pause(wait_s)
        finally:
            if self.running is None:
                self._let_go()
            self._at_rest.set()

    async def _hand_over(self, before: Endpoint[Any, Any], component: Endpoint[Any, Any]) -> bool:
        """Start an endpoint in the place of one with other settings, which is then stopped. Returns: if it runs."""
        if not component.takes_over or type(before) is not type(component):
            return False
        component.instead_of = before
        try:
            runs = await self._start(component, is_told=False)
        finally:
            component.instead_of = None
        if runs:
            await self._drain(before)
        return runs

    async def _start(self, component: Endpoint[Any, Any], *, is_told: bool = True) -> bool:
        """Start an endpoint. Returns: whether it runs."""
        try:
            async with asyncio.timeout(START_WITHIN_S) as self._attempt:
                if component is not self._opened:
                    await self._open(component)
                await awaited(component.start())
        except Exception as error:
            if is_told:
                reason = TimeoutError(TOO_SLOW) if isinstance(error, TimeoutError) else error
                self._tell_failure("an endpoint could not be started; it is tried again", reason)
            return False
        finally:
            self._attempt = None
        self.running = component
        self._set(ConnectionStatus("connected"))
        return True

    async def _open(self, component: Endpoint[Any, Any]) -> None:
        assert self._binding is not None
        opening: Any = component.open(self._binding.context)
        if opening is not None:
            await awaited(opening)
        self._opened = component

    async def _pause(self, wait_s: float) -> float:
        """Wait before the next attempt, or until something else is wanted. Returns: the seconds of the next wait."""
        clock = self._engine.clock
        timer = clock.call_at(clock.monotonic() + wait_s, self._changed.set)
        wanted = self.wanted
        self._at_rest.set()
        try:
            await self._changed.wait()
        finally:
            timer.cancel()
        self._at_rest.clear()
        is_other = self.wanted is None or wanted is None or self.wanted.component is not wanted.component
        return FIRST_WAIT_S if is_other else min(wait_s * 1.5, LONGEST_WAIT_S)

    def _try_now(self, component: Endpoint[Any, Any]) -> None:
        """End the wait before the next attempt of an endpoint."""
        if self.wanted is not None and self.wanted.component is component:
            self._changed.set()

    async def _stop(self, component: Endpoint[Any, Any]) -> None:
        """Stop the endpoint that runs."""
        await self._drain(component)
        self.running = self._opened = None
        self._is_routed = True
        self._set(ConnectionStatus("disconnected"))

    async def _drain(self, component: Endpoint[Any, Any]) -> None:
        """Stop an endpoint, wait for what is in hand as long as it has, and close it."""
        end = monotonic() + self.grace_s
        await self._within(end, component.stop, component)
        await self._within(end, component.idle, component)
        with suppress(Exception):
            await component.cancel_all()
        await self._within(monotonic() + 1.0, component.close, component)

    async def _within(self, end: float, work: Callable[[], Any], component: Endpoint[Any, Any]) -> None:
        try:
            async with asyncio.timeout(max(end - monotonic(), 0)):
                waiting = work()
                if waiting is not None:
                    await awaited(waiting)
        except TimeoutError:
            extra = {**self._place(), "in_flight": component.in_flight}
            logger.warning("an endpoint is stopped while messages are in hand", extra=extra)
        except Exception:
            logger.exception("an endpoint could not be stopped", extra=self._place())

    def _let_go(self) -> None:
        if self._binding is not None and self.wanted is None:
            self._binding.release()
            self._binding = None
            self._set(ConnectionStatus("disconnected"))

    # Telling

    def _reported(self, component: Endpoint[Any, Any], status: ConnectionStatus) -> None:
        if component is self.running:
            self._set(status)

    def _tell_failure(self, text: str, error: Exception) -> None:
        told = [reason_of(error), getattr(error, "hint", "")]
        reason = self._engine.masker.text("; ".join(part for part in told if part))
        logger.warning(text, extra={**self._place(), "reason": reason})
        self._set(ConnectionStatus("reconnecting", reason))

    def _set(self, status: ConnectionStatus) -> None:
        if status != self.status:
            if (self.status.state, status.state) == ("reconnecting", "connected"):
                logger.info("an endpoint is there again", extra=self._place())
            self.status = status
            self._on_status(self)

    def _place(self) -> dict[str, str]:
        return {"chain_id": self.chain_id, "endpoint_id": self.id}

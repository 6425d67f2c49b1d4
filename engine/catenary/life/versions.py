"""The life of one version of a chain: who is on it, and the components it keeps open, alone or with other versions."""

from __future__ import annotations

import asyncio
import inspect
import logging
from concurrent.futures import Future
from functools import partial
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import EngineError, RunCancelled
from catenary.runtime.context import opening_context

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Collection, Iterable

    from catenary.component import Component
    from catenary.runtime.compiled import Compiled
    from catenary.runtime.run import Run

logger = logging.getLogger(__name__)

SHUTTING_DOWN: Final = "engine is shutting down"

_lock = Lock()
_openings = count(1)


class Instance:
    """The component that was made for a node. Versions that differ in other nodes have it in common.

    Attributes:
        users: How many versions use it; the last one closes it.
        opened: Its number in the order in which components were opened; 0 while it is not open.
        stays_closed: True when nothing calls it, so that it is never opened.
    """

    __slots__ = ("component", "node_id", "opened", "stays_closed", "users")

    def __init__(self, node_id: str, component: Component[Any]) -> None:
        self.node_id = node_id
        self.component = component
        self.users = 0
        self.opened = 0
        self.stays_closed = False

    @property
    def opens_later(self) -> bool:
        """True when its `open` has to be awaited, and has not been yet."""
        return not (self.opened or self.stays_closed) and inspect.iscoroutinefunction(self.component.open)


class Gate:
    """Lets one at a time open components of the versions of a chain, from whatever thread and event loop.

    Attributes:
        loop: The event loop on which something was opened last.
    """

    def __init__(self) -> None:
        self.loop: AbstractEventLoop | None = None
        self.opening: Future[None] | None = None


class Version:
    """What a chain is while it is in service and after.

    Attributes:
        runs: The runs that are on this version, sub-runs included.
        retired: True when it takes in no new runs.
        stopping: True while somebody waits for its runs, to close it afterwards.
        released: True when it has given up its components.
        must_open: True while components with an `async def open` wait for the first run.
        on_closed: Is called with the version, once, when all that it kept open alone is closed.
    """

    id: str
    compiled: Compiled
    on_closed: Callable[[Any], None] | None = None

    def __init__(self, instances: Iterable[Instance], gate: Gate | None = None) -> None:
        self.runs: set[Run] = set()
        self.retired = False
        self.stopping = False
        self.released = False
        self.instances = list(instances)
        self.gate = gate or Gate()
        self.must_open = False
        self._rest: list[Instance] = []  # given up, and not closed yet; the next one last
        self._closing: list[Future[None]] = []
        self._waiting: list[Future[None]] = []
        self._task: object = None
        with _lock:
            for instance in self.instances:
                instance.users += 1

    @property
    def active(self) -> int:
        """How many runs are on this version, sub-runs included."""
        return len(self.runs)

    # Opening

    def open(self, *, but: Collection[str] = ()) -> list[tuple[str, Exception]]:
        """Open the components whose `open` is a plain `def`; the others are opened at first use.

        Args:
            but: The ids of nodes whose components nothing calls: they are not opened at all.

        Returns:
            What each node that cannot be opened raised, by node id; then what was opened for this version is closed
            again.
        """
        failed: list[tuple[str, Exception]] = []
        for instance in sorted(self.instances, key=lambda one: not one.component.opens_first):
            if instance.node_id in but:
                instance.stays_closed = True
            elif instance.opens_later:
                self.must_open = True
            elif not instance.opened:
                try:
                    instance.component.open(opening_context(self.compiled.by_id[instance.node_id]))
                except Exception as error:
                    failed.append((instance.node_id, error))
                else:
                    instance.opened = next(_openings)
        if failed:
            self.retired = True
            self.close_now()
        return failed

    async def open_rest(self) -> None:
        """Open the components whose `open` is an `async def`, once, whoever asks first.

        Raises:
            EngineError: When one of them cannot be opened; the next run tries again.
        """
        gate = self.gate
        while self.must_open:
            mine: Future[None] = Future()
            with _lock:
                others = gate.opening
                if others is None:
                    gate.opening = mine
            if others is not None:
                await asyncio.wrap_future(others)  # whoever opens may be at it in another thread, on another loop
                continue
            mine.set_running_or_notify_cancel()  # so that nobody who waits for it can cancel it
            try:
                await self._open_each()
            finally:
                gate.opening = None
                mine.set_result(None)

    async def _open_each(self) -> None:
        self.gate.loop = asyncio.get_running_loop()
        for instance in self.instances:
            if not instance.opens_later:
                continue
            try:
                await instance.component.open(opening_context(self.compiled.by_id[instance.node_id]))  # type: ignore[misc]
            except Exception as error:
                raise EngineError(f"node {instance.node_id!r} cannot be opened: {error}") from error
            instance.opened = next(_openings)
        self.must_open = False

    # Being used

    async def idle(self, within_s: float | None) -> bool:
        """Wait until no run is on this version, at most for some seconds. Returns: whether that is so."""
        if not self.runs:
            return True
        waiting: Future[None] = Future()
        self._waiting.append(waiting)
        if not self.runs:  # the last one went between the two looks
            self._tell_idle()
        try:
            await asyncio.wait([asyncio.wrap_future(waiting)], timeout=within_s)
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        return not self.runs

    def _tell_idle(self) -> None:
        while self._waiting:
            waiting = self._waiting.pop()
            if waiting.set_running_or_notify_cancel():
                waiting.set_result(None)

    def stop_runs(self, reason: str, stopped: Collection[Run]) -> None:
        """Have all runs on this version stopped, whatever event loop they are on.

        Args:
            reason: What their ends tell.
            stopped: The runs at the top that are stopped as well. A sub-run of any other is stopped alone: the node
                that it belongs to fails, and the run around it goes on.
        """
        for run in list(self.runs):
            root = run.root
            if root in stopped:
                _where_it_runs(root, partial(root.stop, reason))
            else:
                _where_it_runs(run, partial(run.abort, RunCancelled(reason, run_id=root.id)))

    # Closing

    def retire(self) -> None:
        """Take in no new runs; components are closed once the runs on it are over."""
        self.retired = True
        if self._may_release():
            self.close_now()
            if self._rest:
                self._close_where_opened()

    async def close_if_idle(self, *, has_loop: bool = True) -> None:
        """Close the components of a retired version when no run is on it any more.

        Without an event loop those with an `async def close` stay open until somebody with a loop closes them.
        """
        if not self.retired or self.runs:
            return
        self._tell_idle()
        if self.stopping or not self._may_release():
            return
        if has_loop:
            await self.close()
        else:
            self.close_now()
            if self._rest:
                self._close_where_opened()

    def close_now(self) -> None:
        """Close the components whose `close` is a plain `def`; the others stay for `close`."""
        self._release()
        waiting: list[Instance] = []
        while self._rest:
            instance = self._rest.pop()
            if inspect.iscoroutinefunction(instance.component.close):
                waiting.append(instance)
                continue
            try:
                instance.component.close()
            except Exception:
                self._log_close(instance)
        self._rest = waiting[::-1]
        self._tell_closed()

    async def close(self) -> None:
        """Close all components that no other version uses, the last one opened first.

        One that cannot be closed is logged. What somebody else is closing is waited for.
        """
        self.retired = True
        self._release()
        while self._rest:
            instance = self._rest.pop()
            done: Future[None] = Future()
            self._closing.append(done)
            try:
                closing = instance.component.close()
                if closing is not None:
                    await closing
            except Exception:
                self._log_close(instance)
            finally:
                self._closing.remove(done)
                done.set_result(None)
        for others in list(self._closing):
            await asyncio.wrap_future(others)
        self._tell_closed()

    def _may_release(self) -> bool:
        """Give up the components when no run is on this version. Returns: whether it has."""
        if self.released:
            return True
        self.released = True  # first this, then the look: a sub-run is entered first, and then looks at this
        if self.runs:
            self.released = False
            return False
        return True

    def _release(self) -> None:
        """Find out which components nobody uses any more; those are closed."""
        self.released = True
        with _lock:
            instances, self.instances = self.instances, []
            for instance in instances:
                instance.users -= 1
            gone = [instance for instance in instances if not instance.users and instance.opened]
        self._rest += sorted(gone, key=lambda instance: instance.opened)

    def _tell_closed(self) -> None:
        if not self.is_closed:
            return
        self.give_up_forms()
        tell = self.on_closed
        if tell is not None:
            self.on_closed = None
            tell(self)

    def give_up_forms(self) -> None:
        """Forget what is compiled. Its steps name the version, and as long as they are held by it in turn, a closed
        version stays until the garbage collector comes: many at once are a long pause for all who run messages.
        """

    def _close_where_opened(self) -> None:
        """Have the rest closed on an event loop that runs, if there is one."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            loop = self.gate.loop
            if loop is not None and loop.is_running():
                self._task = asyncio.run_coroutine_threadsafe(self.close(), loop)
        else:
            self._task = here.create_task(self.close())

    def _log_close(self, instance: Instance) -> None:
        logger.exception("a component could not be closed", extra={"chain_id": self.id, "node_id": instance.node_id})

    @property
    def is_closed(self) -> bool:
        """True when nothing is left to close."""
        return self.released and not self._rest and not self._closing


def _where_it_runs(run: Run, stop: Callable[[], None]) -> None:
    """Stop a run on its event loop, or here when it has none."""
    task = run.task or run.root.task
    loop = task.get_loop() if task is not None else None
    if loop is None or loop.is_closed():
        stop()
    else:
        loop.call_soon_threadsafe(stop)

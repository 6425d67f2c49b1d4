"""The endpoints of an engine: those of its chains, and those that stand alone."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from catenary.endpoints.keeper import Keeper
from catenary.endpoints.processors import Processors
from catenary.endpoints.standalone import Alone, StandAlone
from catenary.events import ConnectionChanged, deliver
from catenary.life.stopping import GRACE_S
from catenary.shared.resource import ConnectionStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Hashable

    from catenary.chain import Chain
    from catenary.endpoints.base import Endpoint
    from catenary.endpoints.targets import Executor
    from catenary.engine import Engine
    from catenary.load.endpoints import BuiltEndpoint
    from catenary.shared.resource import ConnectionState

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EndpointStatus:
    """How an endpoint is.

    Attributes:
        id: Its id.
        chain_id: The chain that it is in; empty when it stands alone.
        type: Its type, as written.
        address: Where it takes messages in.
        state: `none` before it is started, then `connected`, `reconnecting` while it is tried again, `disconnected`.
        error: What went wrong last; empty while it is connected.
    """

    id: str
    chain_id: str
    type: str
    address: str
    state: ConnectionState
    error: str = ""


class Endpoints(StandAlone):
    """The endpoints of an engine, see `Engine.endpoints`.

    They run on one event loop: that on which they were started. Chains may be loaded from other threads.

    Attributes:
        processors: What routers may name; the host adds its own.
        executors: More kinds of targets, by the word in front of the colon.
    """

    def __init__(
        self, engine: Engine, loop: asyncio.AbstractEventLoop | None = None, *, is_enabled: bool = True
    ) -> None:
        """Make the endpoints of an engine: on the event loop that it was entered on, if it was."""
        self.processors = Processors()
        self.executors: dict[str, Executor] = {}
        self._engine = engine
        self._is_enabled = is_enabled
        self._loop = loop
        self._keepers: dict[tuple[str, str], Keeper] = {}
        self._alone: dict[str, Alone] = {}
        self._turn = threading.RLock()
        self._common: dict[Hashable, Any] = {}
        self._is_closing = False
        engine.on_new(self._changed)
        engine.on_updated(lambda chain, _: self._changed(chain))
        engine.on_deleted(self._sync_where_they_run)

    # Life

    @property
    def waits_for_engine(self) -> bool:
        """True when endpoints could be started, and the engine has not been entered."""
        return self._is_enabled and self._loop is None

    async def start(self) -> None:
        """Start the endpoints of all chains, and come back when each has been tried once.

        Those of chains that are loaded later are started then. `async with engine` does it.
        """
        if not self._is_enabled:
            return
        self._loop = asyncio.get_running_loop()
        for chain_id in ["", *self._engine.chains]:
            self._sync(chain_id)
        await self.settled()

    async def settled(self) -> None:
        """Wait until every endpoint is as it should be, or waits to be tried again."""
        await self._where_they_run(self._settled)

    async def _settled(self) -> None:
        for keeper in list(self._keepers.values()):
            await keeper.settled()

    def refuse_all(self) -> None:
        """Refuse messages from now on: the engine is being closed."""
        self._is_closing = True
        for keeper in list(self._keepers.values()):
            if keeper.running is not None:
                keeper.running.refuse_all()

    async def stop(self, chain_ids: Collection[str], grace_s: float = GRACE_S) -> None:
        """Stop the endpoints of some chains, together; messages in hand have `grace_s` seconds."""
        await self._where_they_run(partial(self._stop, chain_ids, grace_s))

    async def _stop(self, chain_ids: Collection[str], grace_s: float) -> None:
        keepers = [keeper for keeper in list(self._keepers.values()) if keeper.chain_id in chain_ids]
        for keeper in keepers:
            keeper.grace_s = grace_s
            keeper.want(None)
        for keeper in keepers:
            await keeper.settled()
            self._forget(keeper)

    async def _where_they_run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something on the event loop of the endpoints, which may be that of another thread."""
        loop = self._loop
        if loop is None or loop is asyncio.get_running_loop():
            await work()
        elif loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))
        else:  # it is over, and nothing runs on it any more
            self._keepers.clear()

    async def close(self, grace_s: float = GRACE_S) -> None:
        """Stop all endpoints, together. May be awaited again."""
        self._is_closing = True
        await self.stop({keeper.chain_id for keeper in self._keepers.values()}, grace_s)
        for common in list(self._common.values()):
            if hasattr(common, "close"):
                await common.close()

    def _changed(self, chain: Chain) -> None:
        self._sync_where_they_run(chain.id)

    def _sync_where_they_run(self, chain_id: str) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if asyncio._get_running_loop() is loop:
            self._sync(chain_id)
        else:
            loop.call_soon_threadsafe(self._sync, chain_id)

    def _sync(self, chain_id: str) -> None:
        """Have the endpoints run that the present version of a chain has, and no others; those alone for no id."""
        wanted = {} if self._is_closing else self._wanted(chain_id)
        for keeper in [one for one in self._keepers.values() if one.chain_id == chain_id]:
            if keeper.id not in wanted:
                keeper.want(None)
        for endpoint_id, (built, chain) in wanted.items():
            self._keeper(chain_id, endpoint_id).want(built, chain)

    def _wanted(self, chain_id: str) -> dict[str, tuple[BuiltEndpoint, Chain]]:
        if not chain_id:
            return {name: (alone.built, alone.holder) for name, alone in list(self._alone.items())}
        chain = self._engine.chains.get(chain_id)
        if chain is None or chain.stopping:
            return {}
        return {built.definition.id: (built, chain) for built in chain.endpoints}

    def _keeper(self, chain_id: str, endpoint_id: str) -> Keeper:
        key = (chain_id, endpoint_id)
        if key not in self._keepers:
            self._keepers[key] = Keeper(self._engine, chain_id, endpoint_id, self._tell)
        return self._keepers[key]

    def _forget(self, keeper: Keeper) -> None:
        key = (keeper.chain_id, keeper.id)
        if keeper.wanted is None and keeper.running is None and self._keepers.get(key) is keeper:
            del self._keepers[key]

    def _tell(self, keeper: Keeper) -> None:
        """Tell those who listen to the engine how an endpoint is."""
        if keeper.wanted is None:
            self._forget(keeper)
        listeners = self._engine.bus.listeners
        if listeners:
            changed = ConnectionChanged(
                seq=0,
                timestamp=self._engine.clock.time_ms(),
                run_id="",
                chain_id=keeper.chain_id,
                node_id=keeper.id,
                state=keeper.status.state,
                error=keeper.status.error,
            )
            deliver(changed, listeners)

    # Looking

    def find(self, chain_id: str, endpoint_id: str) -> Endpoint[Any, Any] | None:
        """Give the endpoint of a chain, or one alone (without a chain's id), that runs; `None` when none does."""
        keeper = self._keepers.get((chain_id, endpoint_id))
        return None if keeper is None else keeper.running

    def status(self) -> list[EndpointStatus]:
        """Give how each endpoint is, by chain; this starts nothing."""
        found = [(chain.id, built) for chain in self._engine.chains.values() for built in chain.endpoints]
        found += [("", alone.built) for alone in list(self._alone.values())]
        return [self._status_of(chain_id, built) for chain_id, built in found]

    def statuses_of(self, chain: Chain) -> dict[str, ConnectionStatus]:
        """Give how the endpoints of one chain are, by id."""
        found = [self._status_of(chain.id, built) for built in chain.endpoints]
        return {one.id: ConnectionStatus(one.state, one.error) for one in found}

    def _status_of(self, chain_id: str, built: BuiltEndpoint) -> EndpointStatus:
        endpoint = built.definition
        keeper = self._keepers.get((chain_id, endpoint.id))
        status = ConnectionStatus("none") if keeper is None else keeper.status
        component = (keeper and keeper.running) or built.component
        address = self._engine.masker.text(component.address)
        return EndpointStatus(endpoint.id, chain_id, endpoint.type, address, status.state, status.error)

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give the one object of the engine for a key; `make` makes it at the first call.

        For what endpoints have in common, such as a listener by its address. It is kept until `unshare`; when the
        engine is closed, its `async def close` is awaited, if it has one.
        """
        if key not in self._common:
            self._common[key] = make()
        return self._common[key]

    def unshare(self, key: Hashable) -> None:
        """Forget the object of a key: the last endpoint has let go of it."""
        self._common.pop(key, None)

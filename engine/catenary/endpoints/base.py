"""What authors of endpoints write against."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic

from catenary.component import Config, ConfigT, option
from catenary.endpoints.plan import refuse
from catenary.errors import EngineError
from catenary.life.versions import SHUTTING_DOWN
from catenary.shared.component import SharedComponent
from catenary.shared.resource import ConnectionStatus, ResourceT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
    from typing import Self

    from catenary.endpoints.exchange import Exchange
    from catenary.endpoints.router import Router
    from catenary.engine import Engine
    from catenary.jsontext import Json
    from catenary.shared.resource import ConnectionState

BUSY: Final = "the endpoint has as many messages in hand as it takes (maxInFlight); send it again later"


class EndpointConfig(Config):
    """The settings that all endpoints have."""

    max_in_flight: int = option(
        1000,
        ge=0,
        unit="messages",
        help="How many messages it has in hand at a time; more are refused; 0 for no limit.",
    )


class Endpoint(SharedComponent[ConfigT, ResourceT], Generic[ConfigT, ResourceT]):
    """Base of what brings messages in. One instance an endpoint; it is no node, and `run` is never called.

    `__init__` gets the configuration, and must not open anything. Before `start` the engine sets what stands here as
    attributes. Reloads of its chain that do not change its configuration leave it running and replace `routers`.

    Attributes:
        takes_over: True when `start` may be called while one with other settings still runs, which is `instead_of`
            then, and takes over from it: nothing is refused in between. The other one is stopped afterwards; when
            `start` raises, it is stopped first, and `start` is called again.
        trigger_source: What the metadata of its messages say as `_triggerSource`.
        always_waits: True when nobody is kept waiting by it: `handle` comes back when the chain has ended, also with
            `wait` off.
        id: The id of the endpoint.
        chain_id: The chain that it is in; empty when it stands alone.
        engine: The engine.
        routers: The routers by id; replaced as a whole, never changed.
    """

    takes_over: ClassVar[bool] = False
    trigger_source: ClassVar[str] = "endpoint"
    always_waits: ClassVar[bool] = False
    opens_first = False
    brings_in = True
    relations = ()

    id: str = ""
    chain_id: str = ""
    engine: Engine
    instead_of: Self | None = None
    routers: Mapping[str, Router]

    # What authors override

    def id_of(self, params: tuple[Json, ...], path: str) -> str:  # noqa: ARG002 - for those that have it in the id
        """Give the id of a router that has none."""
        return path

    def check_router(self, router: Router) -> Iterable[str]:  # noqa: ARG002 - for those that have something to check
        """Give what is wrong with a router, each as a text; it is told when the chain is loaded."""
        return ()

    def takes(self, router: Router) -> Hashable | None:  # noqa: ARG002 - for those that have something to compare
        """Give what a router takes in that no other router of the endpoint may take in, too; `None` where all may.

        It is asked for routers only in which `check_router` finds nothing; two of the same are told at load.
        """
        return None

    async def start(self) -> None:
        """Take messages in from now on, and come back. What it raises is tried again after a while."""

    async def stop(self) -> None:
        """Take nothing in any more. The engine waits for what is in hand afterwards, for a limited time."""

    def routed(self) -> None:
        """Be told that `routers` were replaced while it runs."""

    @property
    def address(self) -> str:
        """Where it takes messages in, for people to read."""
        return ""

    def next_times(self) -> list[str]:
        """Give when each of `routers` is due next, in their order; empty for endpoints that no clock drives."""
        return []

    # What authors call

    def handle(self, router: Router, exchange: Exchange) -> Coroutine[Any, Any, None]:
        """Take one message to its target, and fill in the answer: `await self.handle(router, exchange)`.

        What goes wrong in the chain is in the answer. More messages than `maxInFlight` are refused with status 503.

        Args:
            router: One out of `routers`.
            exchange: The message; its metadata had better say `_triggerSource`, which is put in otherwise.

        Raises:
            CancelledError: When the calling task is cancelled; the run is over by then.
        """
        if self.in_flight >= self._room:
            return _refused(exchange, SHUTTING_DOWN if self._refusing else BUSY)
        return router.plan.take(exchange)

    def report(self, state: ConnectionState, error: str = "") -> None:
        """Say how the connection is, where that changes while the endpoint runs."""
        if self._on_state is not None:
            self._on_state(ConnectionStatus(state, error))

    def try_again(self) -> None:
        """Have what raised, `start` or `routed`, called again at once: what stood in its way is gone."""
        if self.on_way_free is not None:
            self.on_way_free()

    async def idle(self) -> None:
        """Wait until no message is in hand. Has no time limit: who stops the endpoint has."""
        while self.in_flight:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    # What the engine calls

    in_flight = 0
    _refusing = False
    _on_state: Callable[[ConnectionStatus], None] | None = None
    on_way_free: Callable[[], None] | None = None

    def __init__(self, config: ConfigT) -> None:
        super().__init__(config)
        self.routers = {}
        self._room: float = getattr(config, "max_in_flight", 0) or math.inf
        self._waiting: list[asyncio.Future[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def bind(
        self, engine: Engine, chain_id: str, endpoint_id: str, on_state: Callable[[ConnectionStatus], None]
    ) -> None:
        """Set what an endpoint knows of where it is."""
        self.engine = engine
        self.chain_id = chain_id
        self.id = endpoint_id
        self._on_state = on_state

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done in a task of the endpoint's own, which counts as a message in hand."""
        task = asyncio.get_running_loop().create_task(work)
        self.in_flight += 1
        self._tasks.add(task)
        task.add_done_callback(self._spawned)

    def _spawned(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.in_flight -= 1
        if not self.in_flight:
            self.tell_idle()
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a message of an endpoint failed", "exception": error, "task": task}
            task.get_loop().call_exception_handler(context)

    def tell_idle(self) -> None:
        """Have whoever waits for `idle` look again."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    def refuse_all(self) -> None:
        """Refuse all messages from now on: the engine is being closed."""
        self._refusing = True
        self._room = 0

    async def cancel_all(self) -> None:
        """Cancel what is done behind the back of who sent the messages, and wait until that is over."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def run(self, ctx: Any, msg: Any, /) -> Any:
        """Refuse: an endpoint is no node."""
        del ctx, msg
        raise EngineError("an endpoint is no node", hint="write it under metadata.endpoints")


async def _refused(exchange: Exchange, text: str) -> None:
    refuse(exchange, text)

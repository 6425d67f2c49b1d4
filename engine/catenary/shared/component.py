"""`SharedComponent`: a component with a connection that other nodes may borrow."""

from __future__ import annotations

import asyncio
import inspect
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, cast

from catenary.component import Component, ConfigT
from catenary.errors import ResourceError
from catenary.events import ConnectionChanged, deliver
from catenary.load.decode import extra_of
from catenary.shared.resource import ResourceT, SharedResource

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from catenary.chain import Chain
    from catenary.component import Context
    from catenary.engine import Engine
    from catenary.shared.resource import ConnectionStatus

REFERENCE: Final = "ref://"
"""What the address begins with of a connection that is borrowed."""


class SharedComponent(Component[ConfigT], Generic[ConfigT, ResourceT]):
    """Base of a component that connects to something, or borrows the connection of another node.

    A connection that broke is made again in the background, with waits between the tries that grow from 1 to 30
    seconds; each try also begins the 30 seconds anew in which who uses it gets the error at once.

    One option is made with `option(ref="primary")`: the address. Given as `ref://ID`, the connection is that of the
    node `ID` of the same chain, else of the engine's shared resource `ID`. The owner opens and closes it; who borrows
    does neither. `connect`, `disconnect` and `check` may be `def` or `async def`.

    Attributes:
        lends: The class of the connection. What is borrowed must be an instance of it.
        borrows: Another class that what it refers to must lend, where it works with that and lends its own all the
            same; `None` where it hands on what it borrows.
        host_names: What may stand behind `ref://` for something of the host program.
    """

    lends: ClassVar[type] = object
    borrows: ClassVar[type | None] = None
    host_names: ClassVar[frozenset[str]] = frozenset()
    opens_first = True
    shared: SharedResource[ResourceT]
    """The connection of this node; nobody uses it when the node borrows."""

    def connect(self, ctx: Context) -> ResourceT | Awaitable[ResourceT]:
        """Make the connection. What it raises is given again for 30 seconds without another try."""
        raise NotImplementedError(f"{type(self).__name__} has no connect()")

    def disconnect(self, resource: ResourceT) -> Awaitable[None] | None:
        """Close the connection."""

    def check(self, resource: ResourceT) -> Awaitable[None] | None:
        """Raise when the connection is broken. Called when somebody asks for it, and by the health loop."""

    async def broke(self, ctx: Context, resource: ResourceT, error: Exception) -> None:
        """Tell that a connection turned out broken while it was used, a borrowed one too.

        It is given up, the next use makes another one, and until then it is tried again in the background. Nothing
        happens when another one has taken its place already.
        """
        await self.lender(ctx.chain).shared.drop(error, resource=resource)

    # Using a connection

    def connection(self, ctx: Context) -> AbstractAsyncContextManager[ResourceT]:
        """Give the connection, this node's own or a borrowed one: `async with self.connection(ctx) as db:`.

        Raises:
            ResourceError: When there is nothing by the name that is referred to, it cannot be shared, or it is
                another kind of connection; and, on entering, what connecting raised.
        """
        return self.lender(ctx.chain).shared.use()

    def connection_now(self, ctx: Context) -> AbstractContextManager[ResourceT]:
        """Give the connection in a `def run`: `with self.connection_now(ctx) as db:`. Raises: as `connection`."""
        return self.lender(ctx.chain).shared.use_now()

    @cached_property
    def reference(self) -> str | None:
        """The id of the node or shared resource whose connection this node borrows; `None` when it has its own."""
        for name, field in type(self.config).model_fields.items():
            if extra_of(field, "ref") == "primary":
                address: Any = getattr(self.config, name)
                address = getattr(address, "source", address)
                if isinstance(address, str) and address.strip().startswith(REFERENCE):
                    return address.strip()[len(REFERENCE) :]
        return None

    def lender(self, chain: Chain) -> SharedComponent[Any, ResourceT]:
        """Give the component whose connection is used: this one, or the one that it refers to, however far.

        Raises:
            ResourceError: As for `connection`.
        """
        found: SharedComponent[Any, Any] = self
        passed: list[SharedComponent[Any, Any]] = []
        while (name := found.reference) is not None and (found is self or found.borrows is None):
            passed.append(found)
            named, chain = _named(name, chain)
            if problem := misfit(name, type(named), self):
                raise problem
            found = cast("SharedComponent[Any, Any]", named)
            if found in passed:
                names = [str(one.reference) for one in passed[passed.index(found) :]]
                circle = " -> ".join([names[-1], *names])
                raise ResourceError(f"references lead in a circle: {circle}", hint="give one of them an address")
        return found

    # Life

    def open(self, ctx: Context) -> None:
        """Get ready; connect when the engine connects at load. Who overrides it calls it too."""
        engine = ctx.chain.engine
        self.shared = SharedResource(
            partial(self.connect, ctx),
            self.disconnect,
            self.check,
            engine.clock,
            blocking=self.blocking,
            told=partial(_publish, engine, ctx.chain_id, ctx.node_id),
            mask=engine.masker.text,
        )
        if not inspect.iscoroutinefunction(self.disconnect):
            self.close = cast("Any", self._close_now)  # what needs no loop to be closed is closed without one
        if self.reference is not None:
            _look_in_chain(self, ctx.chain)
        elif engine.connects_at_load and not self.brings_in:  # an endpoint that cannot connect is tried again
            engine.shared.connect_at_load(self.shared, is_async=inspect.iscoroutinefunction(self.connect))

    async def close(self) -> None:
        """Close the connection; with a plain `def disconnect`, a plain `def` stands in for it."""
        if hasattr(self, "shared"):
            await self.shared.close()

    def _close_now(self) -> None:
        self.shared.close_now()


def _publish(engine: Engine, chain_id: str, node_id: str, status: ConnectionStatus) -> None:
    """Tell those who listen to the engine how a connection is."""
    listeners = engine.bus.listeners
    if listeners:
        changed = ConnectionChanged(
            seq=0,
            timestamp=engine.clock.time_ms(),
            run_id="",
            chain_id=chain_id,
            node_id=node_id,
            state=status.state,
            error=status.error,
        )
        deliver(changed, listeners)


def misfit(name: str, found: type[Component[Any]], borrower: SharedComponent[Any, Any]) -> ResourceError | None:
    """Give why a component cannot borrow from what a name stands for; `None` when it can."""
    lends: type | None = getattr(found, "lends", None)
    if lends is None:
        return ResourceError(f"not SharedNode id={name}", hint="the node has no connection that others could use")
    wanted = borrower.borrows or borrower.lends
    if issubclass(lends, wanted):
        return None
    return ResourceError(
        f"node resource id={name} is incompatible",
        hint=f"it is a {_kind(found)}, and {_kind(type(borrower))} needs {wanted.__name__}",
    )


def _kind(component: type[Component[Any]]) -> str:
    return component.info.type if component.info else component.__name__


def _named(name: str, chain: Chain) -> tuple[Component[Any], Chain]:
    """Find what a reference names: a node of the chain that can be shared, else a shared resource of the engine.

    Returns:
        It, and the chain that it is in; when there is only a node that cannot be shared, that.
    """
    step = chain.compiled.by_id.get(name)
    component = step.component if step is not None else None
    if isinstance(component, SharedComponent):
        return cast("SharedComponent[Any, Any]", component), chain
    endpoint = chain.engine.endpoint_named(name, chain.id)
    if endpoint is not None:
        return endpoint, chain
    found = chain.engine.shared.find(name)
    if found is not None:
        return found
    if component is not None:
        return component, chain
    known = ", ".join(chain.engine.shared.ids()) or "none"
    raise ResourceError(
        f"node resource not found id={name}",
        hint=f"it is neither a node of this chain nor a shared resource of the engine, which are: {known}",
    )


def _look_in_chain(component: SharedComponent[Any, Any], chain: Chain) -> None:
    """Refuse at load what cannot work: a circle, or another kind; what is not there may be loaded later."""
    try:
        component.lender(chain)
    except ResourceError as error:
        if not str(error).startswith("node resource not found"):
            raise


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Give the event loop of this thread, if one runs."""
    return asyncio._get_running_loop()

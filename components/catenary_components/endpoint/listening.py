"""Listeners: servers that the endpoints of an engine share by their address."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, cast

from catenary import ResourceError
from catenary.patience import pause, within
from catenary_components.endpoint.routing import LINGER_S, RouteTable
from catenary_components.endpoint.serving.limits import Limits

if TYPE_CHECKING:
    from catenary.engine import Engine
    from catenary.http.inprocess import AsgiApp, AsgiEvent, AsgiReceive, AsgiSend
    from catenary.jsontext import Json
    from catenary_components.endpoint.address import Address
    from catenary_components.endpoint.serving import HttpServer, Tls

HOST_SERVER: Final = "server"
"""`ref://server` stands for the server of the host program."""
_BORROW_S: Final = 3.0
_CLOSE_S: Final = 10.0
_KEY: Final = "catenary_components.endpoint.listening"


class Listener:
    """A server on one address, for HTTP and WebSockets.

    Args:
        address: Where it listens.
        tls: For https; http if absent.
        limits: What clients may do.
        app: Answers what no route is for; 404 if absent.

    Attributes:
        routes: What it answers; may be changed at any time.
    """

    def __init__(
        self, address: Address, *, tls: Tls | None = None, limits: Limits | None = None, app: AsgiApp | None = None
    ) -> None:
        self.routes = RouteTable(app)
        self.address = address
        self.tls = tls
        self._limits = limits or Limits()
        self._server: HttpServer | None = None

    async def open(self) -> None:
        """Listen. Raises: ResourceError: when the address is taken, or the certificate cannot be used."""
        from catenary_components.endpoint.address import Address
        from catenary_components.endpoint.serving import HttpServer

        server = HttpServer(self.routes, limits=self._limits)
        port = await server.open(self.address.host, self.address.port, self.tls)
        self.address = Address(self.address.host, port)
        self._server = server

    async def close(self, grace_s: float = 10.0) -> None:
        """Stop listening, finish what is being answered, close. May be awaited again.

        Args:
            grace_s: Seconds after which whatever is still open is cut off.
        """
        if self._server is not None:
            await self._server.close(grace_s)

    def limit(self, limits: Limits) -> None:
        """Let clients do from now on what these limits say."""
        self._limits = limits
        if self._server is not None:
            self._server.limits = limits

    @property
    def limits(self) -> Limits:
        """What clients may do."""
        return self._limits

    @property
    def url(self) -> str:
        """The address as clients write it, such as `http://127.0.0.1:6333`."""
        return f"{'https' if self.tls else 'http'}://{self.address}"

    def openapi(self) -> dict[str, dict[str, Json]]:
        """Give the `paths` of an OpenAPI document of its routes."""
        return self.routes.openapi()


@dataclass(slots=True)
class _Place:
    """One address of an engine: the listener there, and who uses it, with the limits that each wants."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    listener: Listener | None = None
    users: dict[object, Limits | None] = field(default_factory=dict[object, "Limits | None"])

    def apply_limits(self) -> None:
        """Let clients do whatever one of the users lets them do."""
        wanted = [limits for limits in self.users.values() if limits is not None]
        if self.listener is not None and wanted:
            self.listener.limit(reduce(Limits.widest, wanted))

    async def close(self, grace_s: float) -> None:
        """Close the listener."""
        listener, self.listener = self.listener, None
        if listener is not None:
            await listener.close(grace_s)


@dataclass(frozen=True, slots=True)
class _Loan:
    """What an endpoint lets others borrow."""

    user: object
    table: RouteTable
    listener: Listener | None


class Listeners:
    """The listeners of an engine by address.

    Attributes:
        host: The routes on the server of the host program.
        has_host: True once the host program has asked for them.
    """

    def __init__(self) -> None:
        self.host = RouteTable()
        self.has_host = False
        self._lent: dict[tuple[str, str], _Loan] = {}
        self._news = asyncio.Event()
        self._places: dict[Any, _Place] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __iter__(self) -> Any:
        return iter([place.listener for place in self._places.values() if place.listener is not None])

    async def acquire(self, user: object, address: Address, tls: Tls | None, limits: Limits) -> Listener:
        """Give the listener on an address; the first user opens it.

        Raises:
            ResourceError: As `Listener.open`; and when it is there with another certificate.
        """
        key = user if address.port == 0 else address
        place = self._places.setdefault(key, _Place())
        async with place.turn:
            if place.listener is not None and place.listener.tls != tls:
                if place.users:
                    raise ResourceError(
                        f"{address} is listened on with another certificate",
                        hint="give all endpoints of an address the same certFile and certKeyFile",
                    )
                await place.close(0)
            if place.listener is None:
                listener = Listener(address, tls=tls, limits=limits)
                await listener.open()
                place.listener = listener
            place.users[user] = limits
            place.apply_limits()
            return place.listener

    def lend(self, user: object, name: tuple[str, str], table: RouteTable, listener: Listener | None) -> None:
        """Let others borrow what an endpoint uses, by the ids of its chain and its own."""
        self._lent[name] = _Loan(user, table, listener)
        news, self._news = self._news, asyncio.Event()
        news.set()

    def take_back(self, user: object, name: tuple[str, str]) -> None:
        """Let nobody else borrow it by this name, unless that is another one's by now."""
        loan = self._lent.get(name)
        if loan is not None and loan.user is user:
            del self._lent[name]

    async def borrow(self, user: object, *names: tuple[str, str]) -> tuple[RouteTable, Listener | None]:
        """Give what an endpoint uses, by the first name that is there; waits a while for one.

        Returns:
            Its routes, and its listener; `None` for the server of the host program.

        Raises:
            ResourceError: When none comes.
        """
        try:
            async with within(_BORROW_S):
                while not (found := [self._lent[name] for name in names if name in self._lent]):
                    await self._news.wait()
        except TimeoutError:
            raise ResourceError(
                f"node resource not found id={names[0][1]}",
                hint="ref:// names another endpoint of the chain, or `server`; is that one running?",
            ) from None
        loan = found[0]
        for place in self._places.values():
            if place.listener is not None and place.listener is loan.listener:
                place.users[user] = None
        return loan.table, loan.listener

    async def release(self, user: object, listener: Listener, *, lingers: bool) -> None:
        """Give a listener back; it closes when nobody uses it.

        Args:
            user: Who has it.
            listener: What it has.
            lingers: True to let it be there for a moment, for an endpoint that is only started anew.
        """
        place = next((place for place in self._places.values() if user in place.users), None)
        if place is None:
            return
        async with place.turn:
            del place.users[user]
            if place.users:
                place.apply_limits()
            elif lingers:
                closing = asyncio.get_running_loop().create_task(self._close_later(place, listener))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            else:
                await self._close(place, float("inf"))

    async def close(self) -> None:
        """Close what is still there for a moment: the engine is being closed."""
        for place in list(self._places.values()):
            async with place.turn:
                if not place.users:
                    await self._close(place, _CLOSE_S)

    async def _close_later(self, place: _Place, listener: Listener) -> None:
        await pause(LINGER_S)
        async with place.turn:
            if place.listener is listener and not place.users:
                await self._close(place, _CLOSE_S)

    async def _close(self, place: _Place, grace_s: float) -> None:
        try:
            await place.close(grace_s)
        finally:
            if not place.users:
                self._places = {key: other for key, other in self._places.items() if other is not place}


def listeners_of(engine: Engine) -> Listeners:
    """Give the listeners of an engine."""
    return cast("Listeners", cast("Any", engine).endpoints.shared(_KEY, Listeners))


def endpoint_app(engine: Engine, fallback: AsgiApp | None = None) -> AsgiApp:
    """Give the ASGI application of all endpoints with `server: ref://server`, to mount in a program of your own.

    An ASGI server may run it by itself, too; then the fallback, if there is one, is told of the server's life.

    Args:
        engine: The engine, which the program enters with `async with engine`.
        fallback: Answers what no endpoint is for; 404 if absent.
    """
    listeners = listeners_of(engine)
    listeners.has_host = True
    if fallback is not None:
        listeners.host.fallback = fallback
    table = listeners.host

    async def app(scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] != "lifespan":
            await table(scope, receive, send)
        elif fallback is not None:
            await fallback(scope, receive, send)
        else:
            await _live(receive, send)

    return app


async def _live(receive: AsgiReceive, send: AsgiSend) -> None:
    """Answer a server that starts and stops: nothing has to be done for that."""
    for _ in range(2):
        event = await receive()
        await send({"type": event["type"] + ".complete"})

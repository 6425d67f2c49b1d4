"""`endpoint/ws`: take messages in by WebSockets, answer on them, and send to those who are connected."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from catenary.component import Context, Example, option, register
from catenary_components._pushing import WsPeers
from catenary_components.endpoint.listening import Listener
from catenary_components.endpoint.paths import Path
from catenary_components.endpoint.routing import WEBSOCKET, Route
from catenary_components.endpoint.served import ServerConfig, ServerEndpoint, server_option
from catenary_components.endpoint.session_key import SessionKey  # noqa: TC001 - read by pydantic
from catenary_components.endpoint.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from catenary.endpoints import Router
    from catenary_components.endpoint.serving import Limits
    from catenary_components.endpoint.ws_session import WsSession

_LISTENER_IDLE_S = 60.0
_RELEASE_S = 1.0


class WsConfig(ServerConfig):
    """Settings of one `ws` endpoint."""

    server: str = server_option(":6334")
    idle_timeout: float = option(
        0.0,
        ge=0,
        unit="seconds",
        help="How long a connection is kept on which no message goes either way. 0 is no limit.",
        group="limits",
    )
    allow_cors: bool = option(True, help="Let pages of other servers connect from a browser.", group="access")
    allowed_origins: list[str] = option(
        [],
        help="Where the pages come from that may connect, such as `https://shop.example`; all, if `allowCors` is on "
        "and this is empty.",
        group="access",
    )
    api_keys: list[str] = option(
        [],
        help="Who connects must send one of these, as `Authorization: Bearer KEY` or `X-API-Key: KEY`; pages, which "
        "cannot send headers, as the subprotocol `catenary.key.KEY`, beside another one.",
        secret=True,
        group="access",
    )
    session_key: list[SessionKey] = option(
        [],
        help="The key under which a connection is sent to: templates that are tried on each message until one gives "
        "something, with the functions `hex(s)` and `reFind(pattern, s)`. The remote address if empty.",
        examples=["${metadata.deviceId}", ["${msg.id}", '${reFind("id=([0-9]+)", data)}']],
        group="sessions",
    )
    session_ttl: float = option(
        1800.0,
        ge=0,
        unit="seconds",
        help="How long after its last sign of life, a message or the answer to a ping, a connection is sent to. 0 is "
        "for ever.",
        group="sessions",
    )
    subprotocols: list[str] = option(
        [], help="The subprotocols that it speaks; the first one is chosen that the client asks for."
    )
    ordered: bool = option(
        True,
        help="Take the messages of a connection one after the other. Off, each is begun at once, and answers may "
        "overtake one another.",
    )
    queue_size: int = option(
        64,
        ge=1,
        unit="messages",
        help="How many messages of a connection wait or are in hand; the client has to wait beyond it.",
        group="limits",
    )
    max_message_bytes: int = option(
        16 * 1024 * 1024, ge=0, unit="bytes", help="The longest message; 0 is no limit.", group="limits"
    )
    heartbeat: float = option(
        30.0,
        ge=0,
        unit="seconds",
        help="How often a ping is sent; a client that has not answered by the next one is cut off. 0 is never.",
        group="limits",
    )
    on_disconnect: Literal["detach", "cancel"] = option(
        "detach",
        help="What becomes of the messages of a client that has gone: their runs go on, or they are cancelled.",
    )

    @property
    def limits(self) -> Limits:
        """What clients may do before they are connected."""
        from dataclasses import replace

        return replace(super().limits, idle_timeout_s=_LISTENER_IDLE_S)


class WsSessions(Sessions[Any], WsPeers):
    """The clients of one endpoint."""


class WsLent(Listener, WsPeers):
    """What the endpoint lends: its listener to other endpoints, its clients to `ws` nodes."""


@register("endpoint/ws", category="endpoint", since="0.1", aliases=("endpoint/websocket",))
class WsEndpoint(ServerEndpoint[WsConfig]):
    """Take messages in by WebSockets, answer on them, and send to those who are connected.

    Each router has a path, which may have variables as those of `http`. Every message of a client is one message of
    the chain: JSON for a text, BINARY for bytes. Its type is the address as it was sent, query included; the metadata
    have the variables, the query, and `messageType`: `1` for a text, `2` for bytes. Every end of the chain is an
    answer of its own, and so is each piece by `Stream`: what the processors of `to` make of it goes to the same
    client, as bytes if the message is BINARY, else as a text. `responseToBody` sends the data, or the text of an error.

    The messages of a connection are taken one after the other, each when the run of the one before is over, whether
    `wait` is on or off; connections do not wait for each other. A `ws` node with `server: ref://ID` sends to the
    clients of the endpoint `ID`.

    Endpoints with the same address share one server, with `http` endpoints, too. It listens on the loopback address
    unless it is told otherwise, and a wider one needs `apiKeys` or `anonymous`.
    """

    always_waits: ClassVar[bool] = True
    lends = WsLent
    borrows = Listener
    examples = (
        Example(
            "an endpoint whose clients are known by a variable of its path; needs a chain around it",
            config={"server": "127.0.0.1:6334", "sessionKey": "${metadata.deviceId}", "heartbeat": 15},
            runs=False,
        ),
    )

    def __init__(self, config: WsConfig) -> None:
        super().__init__(config)
        self.sessions = WsSessions(config.session_ttl)
        self.is_stopping = False

    def check_router(self, router: Router) -> Iterable[str]:
        """Tell of a path that no client can ask for."""
        try:
            Path.read(router.path)
        except ValueError as error:
            yield str(error)

    def takes(self, router: Router) -> Hashable:
        """Give the path, whatever its variables are called."""
        return Path.read(router.path).shape

    def routes(self) -> list[Route]:
        """Give the routes for the routers that there are."""
        from catenary_components.endpoint.ws_session import Door

        where = f"chain {self.chain_id!r}" if self.chain_id else "no chain"
        return [
            Route(
                WEBSOCKET,
                router.path,
                Door(self, router).take,
                name=f"router {router.id!r} of endpoint {self.id!r} in {where}",
            )
            for router in self.routers.values()
        ]

    @property
    def address(self) -> str:
        """The address, with the port that was taken."""
        return super().address.replace("http", "ws", 1) if self._listener is not None else super().address

    def connect(self, ctx: Context) -> Any:
        """Give the clients, to nodes that send to them."""
        del ctx
        return self.sessions

    def routed(self) -> None:
        """Answer by other routers from now on; who is connected to one that is gone is told to go."""
        super().routed()
        for session in self._own_sessions():
            if session.router_id not in self.routers:
                self.spawn(session.drain())

    def _own_sessions(self) -> list[WsSession]:
        """Give who is connected to this one; the others are those of one that took over, or was taken over from."""
        return [session for session in self.sessions if session.is_of(self)]

    async def start(self) -> None:
        """Put the routes on the listener."""
        self.is_stopping = False
        if self.instead_of is not None:  # who is connected to that is sent to until it has said goodbye
            self.sessions = self.instead_of.sessions
            self.sessions.ttl_s = self.config.session_ttl
        await super().start()

    async def stop(self) -> None:
        """Take nobody in any more, finish what is in hand, and say goodbye to all clients."""
        self.is_stopping = True
        if self._table is not None and not self.engine.is_closing:
            self._table.remove(self)
        try:
            await asyncio.gather(*[session.drain() for session in self._own_sessions()])
        except asyncio.CancelledError:
            for session in self._own_sessions():
                session.abort()
            with suppress(TimeoutError):
                async with asyncio.timeout(_RELEASE_S):
                    await super().stop()
            raise
        await super().stop()

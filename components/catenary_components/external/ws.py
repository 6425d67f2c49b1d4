"""`ws`: send messages by a WebSocket, to a server or to the clients of an endpoint."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, Literal

from pydantic import field_validator

from catenary import SUCCESS, Message, Template
from catenary.component import Config, Context, Emission, Example, option, register
from catenary.errors import ResourceError
from catenary.http import HttpOptions
from catenary.shared import REFERENCE, SharedComponent
from catenary_components._pushing import WsPeers
from catenary_components.external.dialling import DialOptions, ServerAddress, ServerLine, dial

if TYPE_CHECKING:
    from catenary.jsontext import Json

_CONNECT_S: Final = 45.0
_ALL: Final = "*"
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class WsConfig(Config):
    """Settings of one `ws` node."""

    server: str = option(
        help="The address of the server, or `ref://ID` for the connection of another `ws` node or the clients of a "
        "`ws` endpoint.",
        ref="primary",
        examples=["wss://example.com/feed", "ref://devices"],
    )
    target: Template = option(
        "",
        help="Which of the clients of an endpoint: a session key; `*` or nothing for all. A template that gives "
        "nothing is an error.",
        examples=["${metadata.deviceId}"],
    )
    headers: dict[str, str] = option({}, help="More headers of the handshake.", ref="shared")
    subprotocol: str = option("", help="The subprotocol that is asked for.", ref="shared")
    connect_timeout: float = option(
        0.0, ge=0, unit="seconds", help="Longest time until the connection is made; 0 is 45 seconds.", ref="shared"
    )
    write_timeout: float = option(
        10.0,
        ge=0,
        unit="seconds",
        help="Longest time in which the server takes nothing of what is sent; 0 is no limit.",
        ref="shared",
    )
    insecure_skip_verify: bool = option(False, help="Accept any certificate of the server.", ref="shared")
    message_type: Literal["text", "binary"] = option(
        "text", help="How the data is sent; that of a BINARY message is always sent as bytes."
    )
    heartbeat_interval: float = option(
        60.0,
        ge=0,
        unit="seconds",
        help="How often a ping is sent; a connection that breaks is made again in the background. With 0 there is no "
        "ping, and the next message connects again.",
        ref="shared",
    )

    @field_validator("server")
    @classmethod
    def _is_address(cls, server: str) -> str:
        if not server.strip().startswith(REFERENCE):
            ServerAddress.read(server)
        return server.strip()

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _NAME.fullmatch(name.strip()) or _CONTROL.search(value):
                raise ValueError(f"{name!r} is no header: it has a character that none can have")
        return headers


@register("ws", category="external", since="0.1")
class Ws(SharedComponent[WsConfig, WsPeers]):
    """Send the data of messages by a WebSocket; nothing is added to it, and nothing is read.

    A server is connected to by the first message. What it sends is thrown away; where that is wanted, it is the `ws`
    endpoint that takes messages in. `Success` goes on with the message as it was. No connection, or one that breaks
    while something is sent, is `Failure`; after a failed connect the same error is given for 30 seconds without
    another try.

    With `server: ref://ID`, `ID` being a `ws` endpoint, the data goes to its connected clients: to those whose
    session key is `target`, or to all of them. One who gets it is enough for `Success`; that nobody does is a
    `Failure`. Several clients with the same key all get it.
    """

    lends = WsPeers
    examples = (
        Example(
            "a reading goes to a server; needs the server",
            config={"server": "ws://127.0.0.1:8080/feed", "headers": {"Authorization": "Bearer ${global.token}"}},
            inputs=[{"temperature": 41}],
            leaves_by=["Success"],
            runs=False,
        ),
        Example(
            "a message goes to one client of an endpoint; needs the endpoint",
            config={"server": "ref://devices", "target": "${metadata.deviceId}"},
            inputs=[{"command": "restart"}],
            leaves_by=["Success"],
            runs=False,
        ),
    )

    def needs(self) -> dict[str, tuple[str, ...]]:
        """Give the package that connects to servers, unless messages go to the clients of an endpoint."""
        return {} if self.config.server.startswith(REFERENCE) else {"catenary[server]": ("websockets",)}

    def open(self, ctx: Context) -> None:
        """Get ready; the first message connects."""
        if not self.config.server.startswith(REFERENCE):
            self._address = ServerAddress.read(self.config.server)
            ctx.chain.engine.masker.add(self._address.password)
        super().open(ctx)

    def preview(self, ctx: object, msg: Message) -> dict[str, Json]:
        """Give what is sent, and to whom."""
        data = self._data(msg)
        shown = data if isinstance(data, str) else data.hex()
        return {"target": self._target(msg, ctx), "data": shown, "isBinary": isinstance(data, bytes)}

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Send the data."""
        target = self._target(msg, ctx)
        shared = self.lender(ctx.chain).shared
        async with shared.use() as peers:
            if not isinstance(peers, ServerLine) or peers.is_open:
                await self._push(ctx, peers, target, msg)
                return SUCCESS
        # It was closed before anything was sent on it, so that another one may be made for the same message.
        await shared.drop(resource=peers)
        async with shared.use() as peers:
            await self._push(ctx, peers, target, msg)
        return SUCCESS

    async def _push(self, ctx: Context, peers: WsPeers, target: str, msg: Message) -> None:
        try:
            await peers.push(target, self._data(msg))
        except ResourceError as error:
            if isinstance(peers, ServerLine):
                await self._give_up(ctx, peers, error)
            raise

    def _data(self, msg: Message) -> str | bytes:
        data = msg.data
        if msg.data_type == "BINARY" or self.config.message_type == "binary":
            return data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
        return data if isinstance(data, str) else data.decode("utf-8", "replace")

    def _target(self, msg: Message, ctx: object) -> str:
        """Give the target. Raises: ResourceError: when a template gives nothing, which must not be all of them."""
        source = str(self.config.target.source or "").strip()
        if source in {"", _ALL}:
            return _ALL
        target = self.config.target.render(msg, ctx).strip()
        if not target:
            raise ResourceError(f"target {source!r} gives nothing", hint="write `*` to send to all clients")
        return target

    # The connection of the node's own

    async def connect(self, ctx: Context) -> WsPeers:
        """Call the server."""
        line = await dial(self._address, self._dial_options(ctx), ctx.http.guard)
        line.reading = asyncio.get_running_loop().create_task(self._read(ctx, line))
        return line

    async def disconnect(self, resource: WsPeers) -> None:
        """Say goodbye to the server."""
        if isinstance(resource, ServerLine):
            await resource.close()

    async def check(self, resource: WsPeers) -> None:
        """Send a ping and wait for the answer."""
        if isinstance(resource, ServerLine):
            await resource.check()

    def _dial_options(self, ctx: Context) -> DialOptions:
        config = self.config
        return DialOptions(
            headers=config.headers,
            subprotocol=config.subprotocol.strip(),
            connect_timeout_s=config.connect_timeout or _CONNECT_S,
            write_timeout_s=config.write_timeout,
            heartbeat_s=config.heartbeat_interval,
            tls=lambda: ctx.http.context_for(HttpOptions(verify=not config.insecure_skip_verify)),
        )

    async def _read(self, ctx: Context, line: ServerLine) -> None:
        """Read until the connection is over, and have another one made."""
        error = await line.until_closed()
        await self._give_up(ctx, line, error)

    async def _give_up(self, ctx: Context, line: WsPeers, error: ResourceError) -> None:
        """Give up a connection that is broken; one with a heartbeat is made again at once."""
        owner = self.lender(ctx.chain)
        has_heartbeat = isinstance(owner, Ws) and owner.config.heartbeat_interval > 0
        await owner.shared.drop(error if has_heartbeat else None, resource=line)

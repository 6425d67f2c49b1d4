"""A WebSocket to a server: called through the engine's guard, kept, and used from any event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from catenary.errors import ConnectFailed, EngineError, Refused, ResourceError, TooSlow
from catenary_components._pushing import WsPeers, while_taken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from websockets.asyncio.client import ClientConnection

    from catenary.http import Guard

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_CLOSE_S = 2.0


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is.

    Args:
        url: The whole address.
        host: Its host.
        port: Its port, that of the scheme if none is written.
        is_tls: True for `wss`.
    """

    url: str = field(repr=False)
    host: str = ""
    port: int = 0
    is_tls: bool = False

    @classmethod
    def read(cls, text: str) -> ServerAddress:
        """Read an address. Raises: ValueError: when it is none; the text quotes nothing that may be a password."""
        url = text.strip()
        if any(character <= " " or character == "\x7f" for character in url):
            raise ValueError("the address has a blank or a control character in it")
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        if scheme not in {"ws", "wss"}:
            raise ValueError("the address must begin with ws:// or wss://, or be ref://ID")
        if not parts.hostname:
            raise ValueError("the address names no host")
        try:
            parts.hostname.encode("idna")
        except UnicodeError:
            raise ValueError(
                "the address names a host that cannot be: a part of its name is empty or too long"
            ) from None
        if parts.fragment:
            raise ValueError("the address must have no fragment, which is what stands behind '#'")
        is_tls = scheme == "wss"
        try:
            port = (443 if is_tls else 80) if parts.port is None else parts.port
        except ValueError:
            port = 0
        if not port:
            raise ValueError("the address names a port that does not exist")
        return cls(url, parts.hostname, port, is_tls)

    @property
    def password(self) -> str:
        """The password in the address; empty when there is none."""
        return urlsplit(self.url).password or ""

    @property
    def place(self) -> str:
        """Host and port, and nothing else: the rest may hold secrets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialOptions:
    """How a server is called.

    Args:
        headers: More headers of the handshake.
        subprotocol: What is asked for; nothing if empty.
        connect_timeout_s: Seconds until the handshake must be over.
        write_timeout_s: Seconds in which the server must take what was sent; 0 is no limit.
        heartbeat_s: How often a ping is sent; 0 is never.
        tls: How certificates are checked.
    """

    headers: Mapping[str, str]
    subprotocol: str
    connect_timeout_s: float
    write_timeout_s: float
    heartbeat_s: float
    tls: Callable[[], ssl.SSLContext]


class ServerLine(WsPeers):
    """A connection with a server. What the server sends is read and thrown away, so that pings are answered.

    Attributes:
        loop: The event loop that it belongs to.
        reading: The task that reads, once there is one; closing waits for it.
    """

    reading: asyncio.Task[None] | None = None

    def __init__(self, connection: ClientConnection, address: ServerAddress, write_timeout_s: float) -> None:
        self.loop = asyncio.get_running_loop()
        self._connection = connection
        self._address = address
        self._write_timeout_s = write_timeout_s

    @property
    def is_open(self) -> bool:
        """True while something can be sent."""
        from websockets.protocol import State

        return self._connection.state is State.OPEN and not self.loop.is_closed()

    async def push(self, target: str, data: str | bytes) -> None:
        """Send a text or bytes; there is only one peer. Raises: ResourceError: when it cannot be sent."""
        del target
        if self.loop is asyncio.get_running_loop():
            await self._push(data)
        elif self.loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._push(data), self.loop))
        else:
            raise self._broken("its event loop is over")

    async def _push(self, data: str | bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            async with while_taken(self._connection.transport, self._write_timeout_s):
                if isinstance(data, str):  # half of a pair of surrogates would end the connection
                    await self._connection.send(data.encode("utf-8", "replace"), text=True)
                else:
                    await self._connection.send(data)
        except TimeoutError as error:
            self._connection.transport.abort()
            limit = f"{self._write_timeout_s:g} s"
            raise TooSlow(f"{self._address.place} took nothing within {limit}", retryable=True) from error
        except (ConnectionClosed, OSError) as error:
            raise self._broken(_closed_text(error)) from error

    async def until_closed(self) -> ResourceError:
        """Read until the connection is over. Returns: why it is."""
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                async for _ in self._connection.recv_streaming():
                    pass
        except (ConnectionClosed, OSError) as error:
            return self._broken(_closed_text(error))

    async def check(self) -> None:
        """Ask the server whether it is there. Raises: ResourceError: when the connection is over."""
        if not self.is_open:
            raise self._broken("it was closed")
        if self.loop is asyncio.get_running_loop():
            await self._ping()
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._ping(), self.loop))

    async def _ping(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await (await self._connection.ping())
        except (ConnectionClosed, OSError) as error:
            raise self._broken(_closed_text(error)) from error

    async def close(self) -> None:
        """Say goodbye and close."""
        if self.loop is asyncio.get_running_loop():
            await self._close()
        elif self.loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._close(), self.loop))

    async def _close(self) -> None:
        await self._connection.close()
        if self.reading is not None and self.reading is not asyncio.current_task():
            await asyncio.wait([self.reading])

    def _broken(self, reason: str) -> ConnectFailed:
        return ConnectFailed(f"{self._address.place} broke off the connection: {reason}", retryable=True)


async def dial(address: ServerAddress, options: DialOptions, guard: Guard) -> ServerLine:
    """Call a server.

    Raises:
        ConnectFailed: No connection, or it is no WebSocket.
        TooSlow: It took too long.
        Refused: The host is not allowed, or the server says no.
    """
    guard.check_host(address.host, address.port)
    try:
        async with asyncio.timeout(options.connect_timeout_s):
            connection = await _shake_hands(address, options, await _socket_to(address, guard))
    except (TimeoutError, OSError) as error:
        raise _failure(error, address.place, options) from error
    return ServerLine(connection, address, options.write_timeout_s)


async def _socket_to(address: ServerAddress, guard: Guard) -> socket.socket:
    """Connect with the first address of the host that answers; each is checked before."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, peer in found:
        guard.check_address(str(peer[0]), host=address.host, port=address.port)
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        try:
            await loop.sock_connect(made, peer)
        except OSError as error:
            made.close()
            failure = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise failure


async def _shake_hands(address: ServerAddress, options: DialOptions, made: socket.socket) -> ClientConnection:
    connect, exceptions = _library()
    heartbeat_s = options.heartbeat_s or None
    extra: dict[str, Any] = {"ssl": options.tls()} if address.is_tls else {}
    try:
        return await connect(
            address.url,
            sock=made,
            additional_headers=dict(options.headers),
            subprotocols=[options.subprotocol] if options.subprotocol else None,
            user_agent_header="catenary",
            proxy=None,
            compression=None,
            open_timeout=None,
            close_timeout=_CLOSE_S,
            ping_interval=heartbeat_s,
            ping_timeout=heartbeat_s,
            max_size=_MAX_MESSAGE_BYTES,
            **extra,
        )
    except exceptions.InvalidStatus as error:
        status = error.response.status_code
        retryable = status in {408, 425, 429} or status >= 500
        raise Refused(f"{address.place} refused the connection: status {status}", retryable=retryable) from error
    except exceptions.InvalidURI as error:
        raise Refused(f"the address of {address.place} cannot be read") from error
    except exceptions.WebSocketException as error:
        raise ConnectFailed(f"{address.place} does not speak WebSocket: {error}", retryable=True) from error
    except OSError:  # a certificate that is not valid is a ValueError, too
        raise
    except ValueError as error:  # what the library says of it may have the address, which may hold secrets
        raise Refused(f"{address.place} redirects to another address, which is not followed") from error
    except BaseException:
        made.close()
        raise


def _library() -> tuple[Any, Any]:
    try:
        from websockets import exceptions
        from websockets.asyncio.client import connect
    except ImportError as error:
        raise EngineError(
            "the node ws needs the package websockets, which is not installed",
            hint="install it with: pip install 'catenary[server]'",
        ) from error
    return connect, exceptions


def _failure(error: OSError, place: str, options: DialOptions) -> ResourceError:
    match error:
        case TimeoutError():
            return TooSlow(f"no connection to {place} within {options.connect_timeout_s:g} s", retryable=True)
        case ssl.SSLCertVerificationError():
            reason = error.verify_message or error.reason or "it is not valid"
            hint = "have the system trust the authority that signed it (SSL_CERT_FILE), or set insecureSkipVerify"
            return ConnectFailed(f"the certificate of {place} is not trusted: {reason}", hint=hint)
        case ssl.SSLError():
            return ConnectFailed(f"no TLS connection to {place}: {error.reason or error}", retryable=True)
        case socket.gaierror():
            return ConnectFailed(f"no connection to {place}: no such host", retryable=True)
        case ConnectionRefusedError():
            return ConnectFailed(f"no connection to {place}: nothing listens there", retryable=True)
        case _:
            return ConnectFailed(f"no connection to {place}: {error.strerror or error}", retryable=True)


def _closed_text(error: Exception) -> str:
    """Say why a connection is over, by what the server said or by what happened."""
    received = getattr(error, "rcvd", None)
    if received is not None:
        return f"{received.code} {received.reason}".strip()
    return "it was lost" if not isinstance(error, OSError) else error.strerror or type(error).__name__

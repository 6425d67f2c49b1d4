"""What endpoints on a listener have in common: where it listens, what clients may do, and who may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from pydantic import field_validator, model_validator

from catenary import ResourceError
from catenary.component import option
from catenary.endpoints import Endpoint, EndpointConfig
from catenary.shared import REFERENCE
from catenary_components.endpoint.address import Address
from catenary_components.endpoint.listening import HOST_SERVER, Listener, listeners_of
from catenary_components.endpoint.routing import RouteTakenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from catenary_components.endpoint.listening import Listeners
    from catenary_components.endpoint.routing import Route, RouteTable
    from catenary_components.endpoint.serving import Limits, Tls

_UNGUARDED: Final = "other machines can connect to {}; give it apiKeys, or `anonymous: true` to let everybody call"


def server_option(default: str) -> str:
    """Give the option `server`; endpoints differ in its default."""
    return option(
        default,
        help="Where it listens: `host:port`, or `:port` on the loopback address; `ref://server` for the server of the "
        "host program, `ref://ID` for that of another endpoint of the chain.",
        ref="primary",
        examples=["127.0.0.1:8080", "ref://server"],
    )


class ServerConfig(EndpointConfig):
    """The settings of endpoints that listen on an address."""

    server: str = server_option(":6333")
    cert_file: str = option("", help="The PEM file of the certificate, for https.", ref="shared", group="tls")
    cert_key_file: str = option(
        "", help="The PEM file of the key, when it is not with the certificate.", ref="shared", group="tls"
    )
    read_timeout: float = option(
        10.0,
        ge=0,
        unit="seconds",
        help="Longest time for a whole request to come; a long body has a second more for each 8 KiB. 0 is no limit.",
        ref="shared",
        group="limits",
    )
    write_timeout: float = option(
        10.0,
        ge=0,
        unit="seconds",
        help="Longest time in which the client takes nothing of the answer. 0 is no limit.",
        ref="shared",
        group="limits",
    )
    idle_timeout: float = option(
        60.0,
        ge=0,
        unit="seconds",
        help="How long a connection is kept without a request. 0 is no limit.",
        ref="shared",
        group="limits",
    )
    disable_keepalive: bool = option(
        False, help="Close each connection after one answer.", ref="shared", group="limits"
    )
    allowed_origins: list[str] = option(
        [],
        help="Where the pages come from that may call, such as `https://shop.example`; all, if `allowCors` is on and "
        "this is empty.",
        group="access",
    )
    api_keys: list[str] = option(
        [],
        help="Who calls must send one of these, as `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
        secret=True,
        group="access",
    )
    anonymous: bool = option(
        False,
        help="Let everybody call without a key, although other machines can connect.",
        group="access",
    )

    @field_validator("server")
    @classmethod
    def _is_address(cls, server: str) -> str:
        if not server.strip().startswith(REFERENCE):
            Address.read(server)
        return server.strip()

    @field_validator("api_keys")
    @classmethod
    def _are_keys(cls, keys: list[str]) -> list[str]:
        if any(not key.strip() for key in keys):
            raise ValueError("a key is empty, which anybody could send")
        return keys

    @model_validator(mode="after")
    def _is_guarded(self) -> Self:
        """Refuse to let other machines in without saying who may call."""
        if self.own_address is not None and not self.may_be_at(self.own_address):
            raise ValueError("is open to all: " + _UNGUARDED.format(self.server))
        return self

    def may_be_at(self, address: Address) -> bool:
        """Tell whether it is said who may call, where other machines can connect."""
        return address.is_loopback or bool(self.api_keys) or self.anonymous

    @property
    def own_address(self) -> Address | None:
        """Where it listens by itself; `None` when it uses the server of another."""
        return None if self.server.startswith(REFERENCE) else Address.read(self.server)

    @property
    def tls(self) -> Tls | None:
        """The certificate."""
        from catenary_components.endpoint.serving import Tls

        return Tls(self.cert_file, self.cert_key_file) if self.cert_file else None

    @property
    def limits(self) -> Limits:
        """What clients may do."""
        from catenary_components.endpoint.serving import Limits

        return Limits(
            read_timeout_s=self.read_timeout,
            write_timeout_s=self.write_timeout,
            idle_timeout_s=self.idle_timeout,
            keep_alive=not self.disable_keepalive,
        )


ServerConfigT = TypeVar("ServerConfigT", bound=ServerConfig)


class ServerEndpoint(Endpoint[ServerConfigT, Listener], Generic[ServerConfigT]):
    """Base of the endpoints that put routes on a listener: they differ in what they answer."""

    def needs(self) -> Mapping[str, Sequence[str]]:
        """Give the packages that a listener is made with, unless another one has it."""
        return {} if self.config.own_address is None else {"catenary[server]": ("httptools", "websockets")}

    takes_over = True
    lends = Listener
    host_names = frozenset({HOST_SERVER})
    _listener: Listener | None = None
    _table: RouteTable | None = None

    def routes(self) -> list[Route]:
        """Give the routes for the routers that there are."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        """The address, with the port that was taken."""
        if self._listener is not None:
            return self._listener.url
        return self.config.server

    @property
    def listener(self) -> Listener | None:
        """The listener that it uses while it runs; `None` for the server of the host program."""
        return self._listener

    def routed(self) -> None:
        """Answer by other routes from now on."""
        if self._table is not None:
            self._put_on(self._table)

    async def start(self) -> None:
        """Put the routes on the listener, which the first endpoint of an address opens."""
        if any("${" in key for key in self.config.api_keys):
            raise ResourceError(
                "one of its apiKeys is a placeholder without a value, so who reads the chain would have a key",
                hint="set the property or the variable; `catenary check` says which one it is",
            )
        listeners = listeners_of(self.engine)
        try:
            table = self._table = await self._find_table(listeners)
            self._put_on(table, self.instead_of)
        except BaseException:
            await self._let_go(listeners)
            raise
        listeners.lend(self, (self.chain_id, self.id), table, self._listener)

    async def stop(self) -> None:
        """Take the routes off; the last endpoint of an address closes the listener."""
        listeners = listeners_of(self.engine)
        listeners.take_back(self, (self.chain_id, self.id))
        await self._let_go(listeners)

    def _put_on(self, table: RouteTable, instead_of: object = None) -> None:
        try:
            table.replace(self, self.routes(), instead_of)
        except RouteTakenError:
            table.when_freed(self.try_again)
            raise

    async def _find_table(self, listeners: Listeners) -> RouteTable:
        config = self.config
        if config.own_address is not None:
            self._listener = await listeners.acquire(self, config.own_address, config.tls, config.limits)
            return self._listener.routes
        if config.server == REFERENCE + HOST_SERVER:
            return self._host_table(listeners)
        name = config.server.removeprefix(REFERENCE)
        table, self._listener = await listeners.borrow(self, (self.chain_id, name), ("", name))
        if self._listener is not None and not config.may_be_at(self._listener.address):
            raise ResourceError(_UNGUARDED.format(self._listener.address))
        return table

    @staticmethod
    def _host_table(listeners: Listeners) -> RouteTable:
        if not listeners.has_host:
            raise ResourceError(
                "the program has no server for `ref://server`",
                hint="run it with `catenary serve`, mount `endpoint_app(engine)`, or give the endpoint an address",
            )
        return listeners.host

    async def _let_go(self, listeners: Listeners) -> None:
        listener, table = self._listener, self._table
        self._listener = self._table = None
        if listener is not None:
            # When the engine is closed, the last one finishes what comes in meanwhile, and then takes its routes off.
            lingers = not self.engine.is_closing
            if lingers and table is not None:
                table.remove(self)
            await listeners.release(self, listener, lingers=lingers)
        if table is not None:
            table.remove(self)

"""How one HTTP client behaves."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from catenary.errors import ConfigError

_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Settings of one `HttpClient`. `None` for a time or a count means that there is no limit.

    Args:
        connect_timeout_s: Longest time to get a connection, TLS included.
        read_timeout_s: Longest silence: to the first byte of the answer, and between two pieces of it.
        total_timeout_s: Longest time for the whole call, redirects and the body of the answer included.
        max_connections: Connections open at once; further calls wait for a free one.
        max_response_bytes: Largest answer, after decompression.
        verify: False accepts any certificate.
        ca_file: A PEM file of certificates to trust in place of the usual ones.
        proxy: Address of a proxy, `http://`, `https://` or `socks5://`, with or without `user:password@`.
        use_system_proxy: True takes the proxy from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
        follow_redirects: True follows up to `max_redirects` redirects.
        max_redirects: See `follow_redirects`.
        is_taped: True for calls that a cassette records or plays, where one is set: see `HttpClients.record`.
        redirect_headers: Names of headers that a redirect to another scheme, host or port takes along. All others stay
            behind, but those that say what is wanted and sent, such as `Accept` and `Content-Type`.

    Raises:
        ConfigError: When `proxy` is no address of a proxy.
    """

    connect_timeout_s: float | None = 10.0
    read_timeout_s: float | None = 60.0
    total_timeout_s: float | None = None
    max_connections: int | None = 100
    max_response_bytes: int | None = 64 * 1024 * 1024
    verify: bool = True
    ca_file: str = ""
    proxy: str = ""
    use_system_proxy: bool = False
    follow_redirects: bool = False
    max_redirects: int = 20
    redirect_headers: tuple[str, ...] = ()
    is_taped: bool = False

    def __post_init__(self) -> None:
        if self.proxy and urlsplit(self.proxy).scheme.lower() not in _PROXY_SCHEMES:
            raise ConfigError(
                "the address of the proxy starts with none of http://, https://, socks5://",
                field="proxy",
                hint="write it as scheme://host:port",
            )


def proxy_address(scheme: str, host: str, port: int, *, user: str = "", password: str = "") -> str:
    """Put the address of a proxy together; user and password may hold any characters."""
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    shown_host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{login}{shown_host}" + (f":{port}" if port else "")

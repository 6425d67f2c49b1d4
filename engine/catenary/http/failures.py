"""Failures of the HTTP library, said as failures of ours."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import httpx

from catenary.errors import ConnectFailed, Refused, ResourceError, TooSlow
from catenary.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary.http.options import HttpOptions


@lru_cache(maxsize=256)  # nodes call few addresses many times, and reading one costs a twentieth of a small call
def checked_url(address: str) -> httpx.URL:
    """Give an address as a URL.

    Raises:
        Refused: When it is none, or has a line break or another control character in it.
    """
    address = address.strip()
    if any(character < " " or character == "\x7f" for character in address):
        raise Refused("the address of the request has a line break or another control character in it")
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError) as error:
        # What the library says may quote the part of the address that is a password.
        raise Refused(
            "the address of the request cannot be read: its host, its port or a character in it is wrong",
            hint="write it as http://host:port/path",
        ) from error
    if url.scheme not in ("http", "https", "mock"):
        raise Refused(
            f"the address of the request begins with {url.scheme + ':' if url.scheme else 'no scheme'}; "
            "it must begin with http:// or https://"
        )
    if not url.host:
        raise Refused("the address of the request names no host")
    if url.port is not None and not 0 < url.port < 65536:
        raise Refused(f"the address of the request names the port {url.port}, which does not exist")
    return url


def place_of(url: httpx.URL) -> str:
    """Give `host:port` of an address, and nothing else: the rest may hold secrets."""
    if url.scheme == "mock":
        return f"mock://{url.host}"
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}:{url.port or (443 if url.scheme == 'https' else 80)}"


@contextmanager
def translated(url: httpx.URL, options: HttpOptions) -> Generator[None]:
    """Raise `ConnectFailed`, `TooSlow` or `Refused` in place of what the HTTP library raises."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ssl.SSLError) as error:
        request = getattr(error, "_request", None)  # after redirects it is not the one we made
        raise _failure(error, place_of(request.url if request is not None else url), options) from error


def _failure(error: Exception, place: str, options: HttpOptions) -> ResourceError:
    match error:
        case httpx.TimeoutException():
            return TooSlow(_slow_text(error, place, options), retryable=True)
        case httpx.ProxyError():
            return ConnectFailed(f"the proxy did not let a connection to {place} through: {error}", retryable=True)
        case httpx.TooManyRedirects():
            return Refused(f"{place} redirects more than {options.max_redirects} times")
        case httpx.ConnectError():
            return _connect_failure(error, place)
        case httpx.DecodingError():
            return Refused(f"the answer of {place} is not compressed the way it says")
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | httpx.InvalidURL():
            return Refused(f"the request to {place} cannot be sent: {error}")
        case _:
            reason = reason_of(error)
            return ConnectFailed(f"{place} broke off the connection: {reason}", retryable=True)


def _slow_text(error: httpx.TimeoutException, place: str, options: HttpOptions) -> str:
    match error:
        case httpx.ConnectTimeout():
            return f"no connection to {place} within {options.connect_timeout_s:g} s"
        case httpx.PoolTimeout():
            return f"no free connection to {place}: all {options.max_connections} are in use"
        case httpx.WriteTimeout():
            return f"{place} did not take the request within {options.read_timeout_s:g} s"
        case _:
            return f"{place} did not answer within {options.read_timeout_s:g} s"


def _connect_failure(error: httpx.ConnectError, place: str) -> ConnectFailed:
    cause = _root_cause(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        reason = cause.verify_message or cause.reason or "it is not valid"
        return ConnectFailed(
            f"the certificate of {place} is not trusted: {reason}",
            hint="give the authority that signed it as ca_file (SSL_CERT_FILE), or switch the check off knowingly",
        )
    if isinstance(cause, ssl.SSLError):
        return ConnectFailed(f"no TLS connection to {place}: {cause.reason or cause}", retryable=True)
    if isinstance(cause, socket.gaierror):
        return ConnectFailed(f"no connection to {place}: no such host", retryable=True)
    if isinstance(cause, ConnectionRefusedError):
        return ConnectFailed(f"no connection to {place}: nothing listens there", retryable=True)
    reason = getattr(cause, "strerror", None) or reason_of(error)
    return ConnectFailed(f"no connection to {place}: {reason}", retryable=True)


def _root_cause(error: BaseException) -> BaseException:
    """Give the error at the bottom, of several that happened at once the first."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        group = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
        error = group[0] if group else error.__cause__ or error.__context__ or error
    return error

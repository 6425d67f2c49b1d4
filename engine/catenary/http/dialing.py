"""Connecting to a host by whichever of its addresses answers first.

The event loop can do so by itself, but loses the connection, which then stays open, when the call is cancelled in the
moment in which it has come about.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Attempt = asyncio.Task[tuple[asyncio.Transport, Any]]

ProtocolT = TypeVar("ProtocolT", bound=asyncio.Protocol)

_STAGGER_S: Final = 0.25  # RFC 8305: until the next address of a host is tried beside the first


async def dial(
    make: Callable[[], ProtocolT], host: str, port: int, *, local_address: tuple[str, int] | None = None
) -> ProtocolT:
    """Connect to a host: to the next of its addresses when one fails, or does not answer for a quarter of a second.

    Nothing stays open when this is cancelled. How long it may take is for the caller to say.

    Args:
        make: Makes the protocol of a connection.
        host: A name or an address.
        port: Where it listens.
        local_address: Where the connection begins, for machines with more than one address.

    Raises:
        OSError: When no address lets anybody in, or there is none.
    """
    addresses = await _addresses_of(host, port)
    if len(addresses) == 1:
        return (await _try(make, addresses[0], port, local_address))[1]
    loop = asyncio.get_running_loop()
    attempts: list[Attempt] = []
    winner: Attempt | None = None
    try:
        for address in addresses:
            attempts.append(loop.create_task(_try(make, address, port, local_address)))
            winner = await _first(attempts, _STAGGER_S)
            if winner is not None:
                break
        if winner is None:
            winner = await _first(attempts, None)
        if winner is None:
            raise _failure_of(attempts)
        return winner.result()[1]
    finally:
        for attempt in attempts:
            if attempt is not winner:
                _give_up(attempt)


async def _addresses_of(host: str, port: int) -> list[str]:
    """Give the addresses of a host, those of one family after those of the other in turn."""
    with suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    families: dict[int, list[str]] = {}
    for family, _, _, _, place in found:
        scope = f"%{place[3]}" if len(place) == 4 and place[3] else ""
        families.setdefault(family, []).append(f"{place[0]}{scope}")
    return [address for address in chain.from_iterable(zip_longest(*families.values())) if address is not None]


async def _try(
    make: Callable[[], ProtocolT], address: str, port: int, local_address: tuple[str, int] | None
) -> tuple[asyncio.Transport, ProtocolT]:
    return await asyncio.get_running_loop().create_connection(make, address, port, local_addr=local_address)


async def _first(attempts: Sequence[Attempt], within_s: float | None) -> Attempt | None:
    """Wait for an attempt that succeeds, so long at most; `None` when there is none, or all have failed."""
    loop = asyncio.get_running_loop()
    until = None if within_s is None else loop.time() + within_s
    while True:
        for attempt in attempts:
            if attempt.done() and attempt.exception() is None:
                return attempt
        open_ones = [attempt for attempt in attempts if not attempt.done()]
        left = None if until is None else until - loop.time()
        if not open_ones or (left is not None and left <= 0):
            return None
        await asyncio.wait(open_ones, timeout=left, return_when=asyncio.FIRST_COMPLETED)


def _failure_of(attempts: Sequence[Attempt]) -> BaseException:
    failures = [failure for attempt in attempts if (failure := attempt.exception()) is not None]
    if not failures:
        return OSError("the host has no address")
    if len({str(failure) for failure in failures}) == 1 or len({type(failure) for failure in failures}) == 1:
        return failures[0]
    return OSError("; ".join(map(str, failures)))


def _give_up(attempt: Attempt) -> None:
    """Have nothing stay open of an attempt, however far it has come."""
    attempt.cancel()
    attempt.add_done_callback(_close)


def _close(attempt: Attempt) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result()[0].abort()

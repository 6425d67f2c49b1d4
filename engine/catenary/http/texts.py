"""Texts behind web addresses, for the `include` of templates: fetched by threads of their own, and kept a while."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final

from catenary.http.client import HttpClients
from catenary.http.options import HttpOptions

if TYPE_CHECKING:
    from catenary.http.guard import Guard

_log = logging.getLogger(__name__)

TIMEOUT_S: Final = 10.0
"""Longest time that a caller waits for an address."""

FRESH_S: Final = 30.0
"""How long a text is given out again without being asked for."""

_USABLE_S: Final = 2 * FRESH_S  # until then the text at hand is given, while a thread asks for a new one
_MAX_BYTES: Final = 2**20
_MAX_KEPT: Final = 1_000
_MAX_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class _Kept:
    text: str
    since: float  # monotonic


class WebTexts:
    """Gives the text behind an address. Safe to use from many threads.

    The first caller waits, at most 10 seconds, and with it the thread it runs in; for 30 seconds more the text is
    given out at once, and for another 30 seconds while a thread asks for it anew. An address that is used all the time
    so makes nobody wait but the first one. Trouble of any kind gives empty text and a line in the log.

    Args:
        guard: Says which addresses may be called.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._kept: dict[str, _Kept] = {}
        self._asked: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def __call__(self, address: str) -> str:
        """Give the text; empty when it cannot be had."""
        kept = self._kept.get(address)
        age = monotonic() - kept.since if kept else _USABLE_S
        if kept and age < FRESH_S:
            return kept.text
        done = self._ask(address)
        if kept and age < _USABLE_S:
            return kept.text
        if done is None or not done.wait(TIMEOUT_S + 1.0):
            _log.warning("an address was not included: too many are being asked", extra={"host": _host(address)})
            return ""
        known = self._kept.get(address)
        return known.text if known else ""

    def _ask(self, address: str) -> threading.Event | None:
        """Begin to fetch an address, if nobody does; give what tells when it is done, `None` when it cannot be."""
        with self._lock:
            asked = self._asked.get(address)
            if asked is not None:
                return asked
            if len(self._asked) >= _MAX_THREADS:
                return None
            done = self._asked[address] = threading.Event()
        threading.Thread(target=self._fetch, args=(address, done), name="catenary-include", daemon=True).start()
        return done

    def _fetch(self, address: str, done: threading.Event) -> None:
        try:
            text = asyncio.run(_get(address, self._guard))
        except Exception as error:
            _log.warning("an address was not included", extra={"host": _host(address), "reason": str(error)})
            text = ""
        with self._lock:
            if len(self._kept) >= _MAX_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[address] = _Kept(text, monotonic())
            self._asked.pop(address, None)
        done.set()


async def _get(address: str, guard: Guard) -> str:
    clients = HttpClients()
    clients.guard = guard
    try:
        async with asyncio.timeout(TIMEOUT_S):
            answer = await clients.client(HttpOptions(max_response_bytes=_MAX_BYTES, follow_redirects=True)).request(
                "GET", address
            )
            if answer.status != 200:
                raise ValueError(f"{answer.place} answered {answer.status}")
            return answer.text
    finally:
        await clients.close()


def _host(address: str) -> str:
    """Give the host of an address: what follows it may be secret."""
    return address.partition("://")[2].partition("/")[0].rpartition("@")[2]

"""Which pages of other servers may call an endpoint, and what a browser is told about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.http.inprocess import AsgiEvent

_PREFLIGHT_S = b"600"
_VARY = (b"vary", b"Origin")


@dataclass(frozen=True, slots=True)
class Cors:
    """Which pages of other servers may call.

    Args:
        origins: Where they come from, such as `https://shop.example`; empty or `*` for all.
    """

    origins: frozenset[str] = frozenset()

    def headers(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Give what an answer says to the browser; nothing for a request that comes from no page of another server."""
        origin = _value(headers, b"origin")
        if not origin:
            return []
        if not self.origins or "*" in self.origins:
            return [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"*")]
        if origin.decode("latin-1") not in self.origins:
            return [_VARY]
        return [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", b"*"), _VARY]

    def allows(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Tell whether the page that a request comes from may call."""
        return self.headers(headers)[:1] not in ([], [_VARY])

    def preflight(self, headers: Iterable[tuple[bytes, bytes]], *, is_kept: bool = True) -> list[tuple[bytes, bytes]]:
        """Answer the question that a browser asks first: which method and headers it may send.

        Args:
            headers: Those of the question.
            is_kept: False when the browser is to ask again the next time.
        """
        pairs = list(headers)
        allowed = self.headers(pairs)
        method = _value(pairs, b"access-control-request-method")
        if not method or not self.allows(pairs):
            return allowed
        answer = [allowed[0], (b"access-control-allow-methods", method)]
        if is_kept:
            answer.append((b"access-control-max-age", _PREFLIGHT_S))
        names = _value(pairs, b"access-control-request-headers")
        if names:
            answer.append((b"access-control-allow-headers", names))
        return answer + [pair for pair in allowed if pair[0] == b"vary"]


def asks_first(scope: AsgiEvent) -> bool:
    """Tell whether a request is the question that a browser asks before it calls for a page of another server."""
    return scope["method"] == "OPTIONS" and bool(_value(scope["headers"], b"access-control-request-method"))


def refusal_headers(scope: AsgiEvent, rules: Iterable[Cors]) -> list[tuple[bytes, bytes]]:
    """Give what the refusal of a request says to the browser, so that the page sees it for what it is.

    Args:
        scope: The request; the browser may go on when it only asks first, as it is the call that is refused.
        rules: The first of them that lets the page call counts.
    """
    headers = scope["headers"]
    known = list(rules)
    cors = next((one for one in known if one.allows(headers)), known[0] if known else None)
    if cors is None:
        return []
    return cors.preflight(headers, is_kept=False) if asks_first(scope) else cors.headers(headers)


def _value(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> bytes:
    return next((value for name, value in headers if name == wanted), b"")

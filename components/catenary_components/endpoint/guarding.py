"""Keys that callers of an endpoint must send."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class KeyCheck:
    """Lets those call who send one of some keys.

    Args:
        keys: The keys; none of them is empty.
    """

    challenge = ((b"www-authenticate", b"Bearer"),)

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = [key.strip().encode() for key in keys]

    def allows(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Tell whether a request has a key, as `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
        given = b""
        for name, value in headers:
            if name == b"x-api-key":
                given = value.strip()
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                given = value[7:].strip()
        # All are compared, each in the same time, so that the time tells nothing of a key.
        return any(hmac.compare_digest(given, key) for key in self._keys)

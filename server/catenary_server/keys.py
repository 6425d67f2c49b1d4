"""API keys: reading them, and looking whether a request has one."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Final

from catenary.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

VARIABLE: Final = "CATENARY_API_KEYS"
"""The environment variable that has keys, with blanks or commas between them."""

SHORTEST: Final = 16
"""How many characters a key has at least."""

_HOW: Final = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"


class Keys:
    """The keys that clients may have. Only their digests are kept.

    Args:
        keys: The keys.

    Raises:
        ConfigError: When a key is too short, or has characters that no header can have.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = tuple(_digest(_checked(key)) for key in dict.fromkeys(keys))

    def __bool__(self) -> bool:
        """True when there are keys, and so one is needed."""
        return bool(self._digests)

    def __len__(self) -> int:
        return len(self._digests)

    def __repr__(self) -> str:
        return f"Keys({len(self)})"

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Tell whether headers have a key, as `Authorization: Bearer KEY` or `X-API-Key: KEY`; in constant time."""
        if not self._digests:
            return True
        given = _digest(_given(headers))
        found = [hmac.compare_digest(given, known) for known in self._digests]  # all of them, whichever fits
        return any(found)


def read_keys(options: Iterable[str], files: Iterable[Path], environ: Mapping[str, str] = os.environ) -> Keys:
    """Give the keys of options, of files (one a line; lines that begin with `#` do not count) and the environment.

    Raises:
        ConfigError: When a file cannot be read or has no key, or a key is none.
    """
    found = [*options, *environ.get(VARIABLE, "").replace(",", " ").split()]
    for path in files:
        try:
            lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the keys in {path} cannot be read: {error}", hint="one key a line") from None
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys:
            raise ConfigError(f"there is no key in {path}", hint=f"one key a line; {_HOW}")
        found += keys
    return Keys(found)


def _checked(key: str) -> str:
    if len(key) < SHORTEST:
        raise ConfigError(f"an API key of {len(key)} characters is too short", hint=f"take {SHORTEST} or more; {_HOW}")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("an API key has characters that no header can have", hint=_HOW)
    return key


def _given(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()

"""Where a server listens: `host:port`, as chains write it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/\[\]]*)):(?P<port>[0-9]{1,5})|(?P<bare>[0-9]{1,5})"
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens.

    Args:
        host: An address or a name of this machine.
        port: 0 for any that is free.
    """

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        """Read `host:port`, `[host]:port` for IPv6, or `:port`, which is one of the loopback address.

        Raises:
            ValueError: When it is none of these.
        """
        found = _ADDRESS.fullmatch(text.strip())
        port = int(found["port"] or found["bare"]) if found else -1
        if found is None or port > 65535:
            raise ValueError(f"must be an address such as '127.0.0.1:6333' or ':6333', not {text!r}")
        return cls(found["v6"] or found["host"] or LOOPBACK, port)

    @property
    def is_loopback(self) -> bool:
        """True when only programs of this machine can connect."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

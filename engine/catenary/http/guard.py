"""Which hosts may be called: an optional allow-list, and addresses that are refused always."""

from __future__ import annotations

import ipaddress
import re
import socket
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias

from catenary.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# Link-local networks, and where clouds keep the metadata service that gives out credentials.
_REFUSED_NETWORKS: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::/32",
        "fd20:ce::254/128",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
    )
)
_REFUSED_NAMES: Final = frozenset(
    {"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"}
)
_MOST_REMEMBERED: Final = 1_000
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_NUMBERS: Final = re.compile(r"(0x[0-9a-f]+|\d+)(\.(0x[0-9a-f]+|\d+)){0,3}", re.ASCII)


class Guard:
    """Says no to hosts that are not allowed.

    Names are checked, and the address that a connection really got before anything is sent on it. Through a proxy only
    names are: there it is the proxy that looks them up.

    Args:
        allowed_hosts: When given, only these hosts are called. A pattern is a name (`api.example.com`,
            `*.example.com`), an address or a network (`10.0.0.0/8`), each with or without `:port`.
        allow_link_local: True also allows link-local addresses and the metadata services of clouds. Without it they
            are refused even when `allowed_hosts` names them.
    """

    def __init__(self, *, allowed_hosts: Iterable[str] = (), allow_link_local: bool = False) -> None:
        self.allowed_hosts = tuple(pattern.strip().lower() for pattern in allowed_hosts)
        self.allow_link_local = allow_link_local
        self._allowed: set[tuple[str, int]] = set()  # hosts that were looked at

    def check_host(self, host: str, port: int) -> None:
        """Check the host of an address, before anything is connected.

        Raises:
            Refused: When the host is not allowed.
        """
        if (host, port) in self._allowed:
            return
        name = host.strip("[]").rstrip(".").lower()
        if self.allowed_hosts and not any(_matches(pattern, name, port) for pattern in self.allowed_hosts):
            raise Refused(
                f"{_place(name, port)} is not one of the allowed hosts",
                hint="add it to the allowed hosts of the engine's HTTP clients",
            )
        if not self.allow_link_local and name in _REFUSED_NAMES:
            raise _refusal(name, name, port)
        self.check_address(name, host=name, port=port)
        if len(self._allowed) < _MOST_REMEMBERED:
            self._allowed.add((host, port))

    def check_address(self, address: str, *, host: str, port: int) -> None:
        """Check the address that a host turned out to have; a name passes.

        Raises:
            Refused: When the address is link-local or belongs to a metadata service.
        """
        if self.allow_link_local:
            return
        parsed = _parse(address)
        if parsed is not None and any(parsed in network for network in _REFUSED_NETWORKS):
            raise _refusal(address if ":" in address else str(parsed), host, port)


def _refusal(address: str, host: str, port: int) -> Refused:
    meaning = f" ({address})" if address != host else ""
    return Refused(
        f"{_place(host, port)}{meaning} is a link-local or metadata address, which is refused",
        hint="such addresses give out credentials of the machine; allow_link_local=True allows them",
    )


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _parse(address: str) -> _Address | None:
    """Give the address a text stands for; one that wraps an IPv4 address gives that."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return _short_form(address)
    if isinstance(parsed, ipaddress.IPv4Address):
        return parsed
    if parsed in _NAT64:
        return ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    return parsed.ipv4_mapped or parsed.sixtofour or parsed


def _short_form(host: str) -> _Address | None:
    """Give the address that `2130706433`, `0x7f000001` and `127.1` stand for where a system looks them up."""
    if not _NUMBERS.fullmatch(host):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _matches(pattern: str, host: str, port: int) -> bool:
    wanted, wanted_port = _split_port(pattern)
    if wanted_port and wanted_port != str(port):
        return False
    address = _parse(host)
    if address is None:
        return fnmatchcase(host, wanted)
    try:
        return address in ipaddress.ip_network(wanted, strict=False)
    except ValueError:
        return fnmatchcase(host, wanted)


def _split_port(pattern: str) -> tuple[str, str]:
    """Split `host:port`; an IPv6 address carries its port as `[::1]:80`."""
    if pattern.startswith("["):
        host, _, port = pattern[1:].partition("]")
        return host, port.removeprefix(":")
    if pattern.count(":") == 1:
        host, _, port = pattern.partition(":")
        return host, port
    return pattern, ""

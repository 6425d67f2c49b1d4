"""Chains as a service: `catenary serve`, and its API as an ASGI application for programs that mount it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.lazy_names import lazy_getattr

if TYPE_CHECKING:
    from catenary_server.app import ServerApp, create_app
    from catenary_server.keys import Keys
    from catenary_server.service import ServiceSettings

__all__ = ["Keys", "ServerApp", "ServiceSettings", "create_app"]

__getattr__ = lazy_getattr(
    __name__, {"ServerApp": "app", "create_app": "app", "Keys": "keys", "ServiceSettings": "service"}
)

"""Endpoints: what brings messages in. `endpoint_app(engine)` is what a program of your own mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.lazy_names import lazy_getattr

if TYPE_CHECKING:
    from catenary_components.endpoint.listening import Listener, endpoint_app
    from catenary_components.endpoint.routing import Route, RouteTable

__all__ = ["Listener", "Route", "RouteTable", "endpoint_app"]

__getattr__ = lazy_getattr(
    __name__, {"Listener": "listening", "endpoint_app": "listening", "Route": "routing", "RouteTable": "routing"}
)

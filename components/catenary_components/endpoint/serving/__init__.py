"""The HTTP server of endpoints and of `catenary serve`."""

from __future__ import annotations

from catenary_components.endpoint.serving.limits import Limits
from catenary_components.endpoint.serving.server import HttpServer, Tls

__all__ = ["HttpServer", "Limits", "Tls"]

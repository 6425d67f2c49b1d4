"""Connections that several nodes use: who owns one, how others borrow it by `ref://id`, and the engine's own."""

from __future__ import annotations

from catenary.shared.component import REFERENCE, SharedComponent
from catenary.shared.health import Health
from catenary.shared.pool import SharedResources
from catenary.shared.resource import ConnectionStatus, SharedResource

__all__ = ["REFERENCE", "ConnectionStatus", "Health", "SharedComponent", "SharedResource", "SharedResources"]

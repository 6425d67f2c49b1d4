"""Endpoints: what brings messages into chains, and takes the answers out."""

from __future__ import annotations

from catenary.endpoints.base import Endpoint, EndpointConfig
from catenary.endpoints.exchange import Answer, Exchange, Headers
from catenary.endpoints.processors import Processors
from catenary.endpoints.router import Processor, Router, Target

__all__ = ["Answer", "Endpoint", "EndpointConfig", "Exchange", "Headers", "Processor", "Processors", "Router", "Target"]

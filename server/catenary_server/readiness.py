"""Whether the server can do its work: its own state, the shared resources, and the endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from catenary.component import info_of
from catenary.errors import ResourceError
from catenary.remote_cache import awaited_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.endpoints.pool import EndpointStatus
    from catenary.engine import Engine
    from catenary_server.service import Service

_BAD: Final = frozenset({"reconnecting", "disconnected"})
_NOT_ENTERED: Final = (
    "the endpoints are not started, as the engine is not entered: put `async with engine` into the lifespan of the"
    " program that mounts this, for that of what is mounted is not run"
)


def shared_rows(engine: Engine) -> list[dict[str, Any]]:
    """Give how each shared resource is; this connects nothing."""
    return [
        {
            "id": name,
            "type": info_of(type(engine.shared.get(name))).type,
            "state": status.state,
            "error": status.error,
        }
        for name, status in engine.shared.statuses().items()
    ]


def endpoint_rows(engine: Engine) -> list[dict[str, Any]]:
    """Give how each endpoint is, and what it takes in."""
    return [
        {
            "id": one.id,
            "chain": one.chain_id,
            "type": one.type,
            "address": one.address,
            "state": one.state,
            "error": one.error,
            "routes": routes_of(engine, one.chain_id, one.id),
            "next": _next_times(engine, one),
        }
        for one in engine.endpoints.status()
    ]


def _next_times(engine: Engine, status: EndpointStatus) -> list[str]:
    """Give when each route of an endpoint is due next; empty when no clock drives it, or it does not run."""
    running = engine.endpoints.find(status.chain_id, status.id)
    return [] if running is None else running.next_times()


def routes_of(engine: Engine, chain_id: str, endpoint_id: str) -> list[str]:
    """Give what an endpoint takes in, as it is written: `POST /orders`, or the times of a schedule."""
    chain = engine.chains.get(chain_id)
    endpoints = () if chain is None else chain.definition.endpoints
    if not chain_id:
        endpoints = (engine.endpoints.get(endpoint_id),)
    routers = [router for one in endpoints if one.id == endpoint_id for router in one.routers]
    return [_route(router) for router in routers]


def _route(router: Mapping[str, Any]) -> str:
    params, source = router.get("params"), router.get("from")
    first = next(iter(cast("list[Any]", params)), "") if isinstance(params, list) else params
    path = str(cast("dict[str, Any]", source).get("path", "")) if isinstance(source, dict) else ""
    if isinstance(first, str) and first.isalpha() and path.startswith("/"):
        return f"{first.upper()} {path}"
    return path


async def _cache_problems(engine: Engine) -> list[str]:
    """Ask a cache that is outside of the process. Returns: what is wrong with it; nothing for one in memory."""
    cache = awaited_of(engine.cache)
    if cache is None:
        return []
    try:
        await cache.has("")
    except ResourceError as error:
        return [f"the cache: {error}"]
    return []


async def readiness(service: Service) -> dict[str, Any]:
    """Give whether the server is ready, and what keeps it from being so."""
    engine = service.engine
    endpoints = endpoint_rows(engine)
    problems = [
        *([_NOT_ENTERED] if endpoints and engine.endpoints.waits_for_engine and service.state == "ready" else ()),
        *await _cache_problems(engine),
        *engine.shared.health().problems,
        *(
            f"{row['id']}: {row['state']}: {row['error']}"
            for row in endpoints
            if not row["chain"] and row["state"] in _BAD
        ),
    ]
    status = "not ready" if service.state == "ready" and problems else service.state
    return {
        "status": status,
        "ready": status == "ready",
        "problems": problems,
        "chains": len(engine.chains),
        "broken": len(service.report.problems) if service.report else 0,
        "shared": shared_rows(engine),
        "endpoints": endpoints,
    }

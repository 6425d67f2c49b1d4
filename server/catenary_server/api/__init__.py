"""The operations of the API, a module a resource; each module has them in `OPERATIONS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catenary_server.operation import Operation


def operations() -> tuple[Operation, ...]:
    """Give all operations, in the order in which the document has them."""
    from catenary_server.api import chains, components, connections, health, live_runs, run, runs

    modules = (run, runs, live_runs, chains, components, connections, health)
    return tuple(operation for module in modules for operation in module.OPERATIONS)

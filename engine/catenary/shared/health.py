"""How all connections of an engine are, for those who ask whether it is ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import ResourceError
from catenary.shared.component import SharedComponent
from catenary.shared.resource import ConnectionStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.chain import Chain
    from catenary.jsontext import Json


@dataclass(frozen=True, slots=True)
class Health:
    """How the connections of an engine are.

    Attributes:
        shared: Those of its shared resources, by id.
        chains: Those that the nodes of its chains use, own and borrowed ones, by chain and node; chains without any
            are left out.
    """

    shared: Mapping[str, ConnectionStatus]
    chains: Mapping[str, Mapping[str, ConnectionStatus]]

    @property
    def ok(self) -> bool:
        """True when no connection is broken; one that was never asked for is not."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """What is broken, one line each: `db: reconnecting: the server is gone`."""
        all_of_them = dict(self.shared)
        for chain_id, statuses in self.chains.items():
            all_of_them.update({f"{chain_id}/{node_id}": status for node_id, status in statuses.items()})
        broken = ((name, one) for name, one in all_of_them.items() if one.state not in {"none", "connected"})
        return [f"{name}: {one.state}{one.error and ': '}{one.error}" for name, one in broken]

    def to_dict(self) -> dict[str, Json]:
        """Give it as JSON: `{"ok", "shared": {id: {"state", "error"}}, "chains": {id: {node: {...}}}}`."""
        chains: dict[str, Json] = {name: _written(statuses) for name, statuses in self.chains.items()}
        return {"ok": self.ok, "shared": _written(self.shared), "chains": chains}


def _written(statuses: Mapping[str, ConnectionStatus]) -> dict[str, Json]:
    return {name: {"state": one.state, "error": one.error} for name, one in statuses.items()}


def statuses_of(chain: Chain) -> dict[str, ConnectionStatus]:
    """Give how the connections are that the nodes of a chain use, and its endpoints, by id; this connects nothing.

    A reference that leads nowhere is `disconnected`, with the reason.
    """
    statuses: dict[str, ConnectionStatus] = {}
    for instance in chain.instances:
        component: Any = instance.component
        if isinstance(component, SharedComponent):
            statuses[instance.node_id] = _status_of(cast("SharedComponent[Any, Any]", component), chain)
    return statuses | chain.engine.endpoints.statuses_of(chain) if chain.endpoints else statuses


def _status_of(component: SharedComponent[Any, Any], chain: Chain) -> ConnectionStatus:
    try:
        return component.lender(chain).shared.status
    except ResourceError as error:
        return ConnectionStatus("disconnected", str(error))

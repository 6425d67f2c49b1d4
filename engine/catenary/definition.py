"""A chain as it is written: typed models of the chain language, without any component behind them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from catenary.durations import duration_s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and after which waits, a node that failed is run again.

    Args:
        max_retries: Runs after the first one; 0 is none.
        delay_s: Seconds before the first retry.
        max_delay_s: The longest wait, in seconds.
        backoff: By what each wait is longer than the one before.
        jitter: The part of a wait, 0 to 1, up to which a random time is added to it.
    """

    max_retries: int
    delay_s: float = 1.0
    max_delay_s: float = 30.0
    backoff: float = 2.0
    jitter: float = 0.1

    def wait_s(self, retry: int, chance: float = 0.0) -> float:
        """Give the seconds to wait before retry number `retry` (from 1); `chance` is a random number, 0 to 1."""
        try:
            wait = min(self.delay_s * self.backoff ** (retry - 1), self.max_delay_s)
        except OverflowError:
            wait = self.max_delay_s
        return wait * (1 + self.jitter * chance)

    @classmethod
    def read(cls, value: Json) -> Retry | None:
        """Read a node's `retry`: a number of retries, or `{maxRetries, delay, maxDelay, backoff, jitter}`.

        Returns:
            The policy, or `None` when nothing is retried.

        Raises:
            ValueError: When it is neither, or a part of it is out of range; the text names the part.
        """
        if value is None:
            return None
        if not isinstance(value, dict):
            count = _whole(value)
            return cls(count) if count else None
        written = cast("dict[str, Json]", value)
        parts: dict[str, Json] = {key.lower(): part for key, part in written.items() if part is not None}
        policy = cls(
            max_retries=_whole(parts.pop("maxretries", 3), "maxRetries"),
            delay_s=_duration(parts.pop("delay", 1), "delay"),
            max_delay_s=_duration(parts.pop("maxdelay", 30), "maxDelay"),
            backoff=_number(parts.pop("backoff", 2), "backoff", least=1, most=100),
            jitter=_number(parts.pop("jitter", 0.1), "jitter", least=0, most=1),
        )
        if parts:
            known = "maxRetries, delay, maxDelay, backoff, jitter"
            raise ValueError(f"{next(iter(parts))!r} is not one of {known}")
        return policy if policy.max_retries else None


def _duration(value: Json, name: str) -> float:
    try:
        return duration_s(value)
    except ValueError as error:
        raise ValueError(f"{name!r} {error}") from None


def _whole(value: Json, name: str = "") -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what = f"{name!r} must" if name else "must"
        raise ValueError(f"{what} be a whole number from 0, not {value!r}")
    return value


def _number(value: Json, name: str, *, least: float, most: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name!r} must be a number from {least:g} to {most:g}, not {value!r}")
    return float(value)


def _nothing() -> dict[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class NodeDefinition:
    """One node of a chain, as written.

    Args:
        id: Unique in the chain.
        type: The component's type name or one of its aliases.
        name: For display.
        debug_mode: Whether the node reports what goes in and out.
        configuration: The component's settings; placeholders are not resolved. Not to be changed.
        additional_info: Editor data such as `description`, `layoutX`, `layoutY`.
        timeout: As written; `timeout_s` reads it.
        retry: As written; `retry_policy` reads it.
        templates: `strict` or `lenient`: what a part of a template that fails does; empty: the chain decides.
        extra: Keys that the chain language does not know; kept for writing back.
    """

    id: str
    type: str
    name: str = ""
    debug_mode: bool = False
    configuration: Mapping[str, Json] = field(default_factory=_nothing)
    additional_info: Mapping[str, Json] = field(default_factory=_nothing)
    timeout: Json = None
    retry: Json = None
    templates: str = ""
    extra: Mapping[str, Json] = field(default_factory=_nothing)

    @property
    def timeout_s(self) -> float | None:
        """The seconds one visit may take; `None` for no limit, which 0 means too. Raises: ValueError."""
        return None if self.timeout is None else duration_s(self.timeout) or None

    @property
    def retry_policy(self) -> Retry | None:
        """How the node is retried; `None` when it is not. Raises: ValueError."""
        return Retry.read(self.retry)

    def to_dict(self) -> dict[str, Json]:
        """Give the node as it is written in a chain."""
        written: dict[str, Json] = {
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "debugMode": self.debug_mode,
            "configuration": self.configuration,
        }
        if self.additional_info:
            written["additionalInfo"] = self.additional_info
        if self.timeout is not None:
            written["timeout"] = self.timeout
        if self.retry is not None:
            written["retry"] = self.retry
        if self.templates:
            written["templates"] = self.templates
        return copy.deepcopy({**written, **self.extra})


@dataclass(frozen=True, slots=True)
class Connection:
    """What follows a node: messages that leave `from_id` by the relation `type` go to `to_id`.

    In `ChainDefinition.rule_chain_connections`, `to_id` is the id of a chain.
    """

    from_id: str
    to_id: str
    type: str = ""
    label: str = ""
    extra: Mapping[str, Json] = field(default_factory=_nothing)

    def to_dict(self) -> dict[str, Json]:
        """Give the connection as it is written in a chain."""
        written: dict[str, Json] = {"fromId": self.from_id, "toId": self.to_id, "type": self.type}
        if self.label:
            written["label"] = self.label
        return copy.deepcopy({**written, **self.extra})


@dataclass(frozen=True, slots=True)
class EndpointDefinition:
    """What brings messages into a chain: a node's keys, names of `processors`, and `routers` as written."""

    id: str
    type: str
    name: str = ""
    debug_mode: bool = False
    configuration: Mapping[str, Json] = field(default_factory=_nothing)
    additional_info: Mapping[str, Json] = field(default_factory=_nothing)
    processors: tuple[str, ...] = ()
    routers: tuple[Mapping[str, Json], ...] = ()
    extra: Mapping[str, Json] = field(default_factory=_nothing)

    def to_dict(self) -> dict[str, Json]:
        """Give the endpoint as it is written in a chain."""
        written: dict[str, Json] = {
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "debugMode": self.debug_mode,
            "configuration": self.configuration,
            "routers": list(self.routers),
        }
        if self.processors:
            written["processors"] = list(self.processors)
        if self.additional_info:
            written["additionalInfo"] = self.additional_info
        return copy.deepcopy({**written, **self.extra})


@dataclass(frozen=True, slots=True)
class ChainDefinition:
    """A whole chain, as written.

    Args:
        id: The chain's own name; the host may give another.
        root: `None` when it is not said; `is_root` is what counts then.
        disabled: A disabled chain cannot be loaded.
        configuration: `vars`, `secrets` and the chain's settings (`load.chain_settings` reads them).
        first_node_index: Index into `nodes` of the node that messages enter by.
        extra: Unknown keys of `ruleChain`; `metadata_extra` and `document_extra` are those around it.
    """

    id: str = ""
    name: str = ""
    root: bool | None = None
    debug_mode: bool = False
    disabled: bool = False
    configuration: Mapping[str, Json] = field(default_factory=_nothing)
    additional_info: Mapping[str, Json] = field(default_factory=_nothing)
    first_node_index: int = 0
    nodes: tuple[NodeDefinition, ...] = ()
    connections: tuple[Connection, ...] = ()
    endpoints: tuple[EndpointDefinition, ...] = ()
    rule_chain_connections: tuple[Connection, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=_nothing)
    metadata_extra: Mapping[str, Json] = field(default_factory=_nothing)
    document_extra: Mapping[str, Json] = field(default_factory=_nothing)

    @property
    def is_root(self) -> bool:
        """Whether the chain may have endpoints: what `root` says, else whether it has any."""
        return bool(self.endpoints) if self.root is None else self.root

    def with_chain_nodes(self) -> ChainDefinition:
        """Give the chain with each of `rule_chain_connections` as a connection to a `flow` node that passes ends on.

        Such a node has the id `chain:<chain id>`, with `'` behind it when a node has that already. What was written
        stays in `rule_chain_connections`.
        """
        taken = {node.id for node in self.nodes}
        chains: dict[str, str] = {}  # chain id -> node id
        for connection in self.rule_chain_connections:
            if connection.to_id and connection.to_id not in chains:
                node_id = f"chain:{connection.to_id}"
                while node_id in taken:
                    node_id += "'"
                taken.add(node_id)
                chains[connection.to_id] = node_id
        nodes = [
            NodeDefinition(node_id, "flow", configuration={"targetId": chain, "extend": True})
            for chain, node_id in chains.items()
        ]
        connections = [
            Connection(connection.from_id, chains[connection.to_id], connection.type, connection.label)
            for connection in self.rule_chain_connections
            if connection.to_id in chains
        ]
        return replace(self, nodes=(*self.nodes, *nodes), connections=(*self.connections, *connections))

    @property
    def first_node(self) -> NodeDefinition | None:
        """The node that messages enter by; `None` when `first_node_index` is outside `nodes`."""
        index = self.first_node_index
        return self.nodes[index] if 0 <= index < len(self.nodes) else None

    def to_dict(self) -> dict[str, Json]:
        """Give the chain as it is written: camelCase keys, unknown keys kept, placeholders not resolved."""
        head: dict[str, Json] = {"id": self.id, "name": self.name}
        if self.root is not None:
            head["root"] = self.root
        head |= {"debugMode": self.debug_mode, "disabled": self.disabled}
        if self.configuration:
            head["configuration"] = self.configuration
        if self.additional_info:
            head["additionalInfo"] = self.additional_info
        body: dict[str, Json] = {
            "firstNodeIndex": self.first_node_index,
            "nodes": [node.to_dict() for node in self.nodes],
            "connections": [connection.to_dict() for connection in self.connections],
        }
        if self.endpoints:
            body["endpoints"] = [endpoint.to_dict() for endpoint in self.endpoints]
        if self.rule_chain_connections:
            body["ruleChainConnections"] = [connection.to_dict() for connection in self.rule_chain_connections]
        return {
            "ruleChain": copy.deepcopy({**head, **self.extra}),
            "metadata": {**body, **copy.deepcopy(dict(self.metadata_extra))},
            **copy.deepcopy(dict(self.document_extra)),
        }

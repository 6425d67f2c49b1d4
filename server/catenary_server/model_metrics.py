"""What `/metrics` says of the services that agents ask: retries, and how each fares where there is more than one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Metric

    from catenary import Engine

_STATES: Final = {"closed": 0, "half_open": 1, "open": 2}


def model_metrics(engine: Engine) -> Iterator[Metric]:
    """Give the state of each circuit, and how often its service was called and could not answer."""
    labels = ["chain", "node", "endpoint", "model"]
    state = GaugeMetricFamily(
        "catenary_model_circuit_state", "0 closed, 1 tried again, 2 open: the service is left alone.", labels=labels
    )
    calls = CounterMetricFamily("catenary_model_calls", "Calls of models, retries counted once.", labels=labels)
    failures = CounterMetricFamily("catenary_model_failures", "Calls that a service could not answer.", labels=labels)
    for chain, node, endpoint in _endpoints(engine):
        place = [chain, node, endpoint.endpoint, endpoint.model]
        state.add_metric(place, _STATES[endpoint.state])
        calls.add_metric(place, endpoint.calls)
        failures.add_metric(place, endpoint.failures)
    retries = CounterMetricFamily(
        "catenary_model_retries", "Calls that were made again, by what went wrong.", labels=["chain", "node", "kind"]
    )
    for chain, node, agent in _agents(engine):
        for kind, count in sorted(getattr(agent, "model_retries", {}).items()):
            retries.add_metric([chain, node, kind], count)
    yield from (state, calls, failures, retries)


def _endpoints(engine: Engine) -> Iterator[tuple[str, str, Any]]:
    for chain, node, agent in _agents(engine):
        for endpoint in getattr(agent, "endpoints", ()):
            yield chain, node, endpoint


def _agents(engine: Engine) -> Iterator[tuple[str, str, Any]]:
    for chain in list(engine.chains.values()):
        for step in chain.compiled.steps:
            if step.node.type == "ai/agent":
                yield chain.id, step.node_id, step.component

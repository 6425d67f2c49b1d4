"""`/metrics`: what the engine and the server count, in the text format of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from catenary.errors import EngineError
from catenary_server.model_metrics import model_metrics
from catenary_server.readiness import endpoint_rows, shared_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client import Metric

    from catenary.aspects.histogram import Histogram
    from catenary_server.service import Service

_FIRST: Final = 7
"""The first bucket that is told of ends after 0.128 ms, each next one after four times as long."""
_LAST: Final = 27
_US: Final = 1_000_000


def exposition(service: Service, accept: str) -> tuple[bytes, str]:
    """Give all metrics, in the form that a client accepts, and its content type."""
    registry = CollectorRegistry()
    registry.register(ServiceCollector(service))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    encode, media = choose_encoder(accept)
    return encode(registry), media


class ServiceCollector(Collector):
    """Reads what the engine and the server have counted."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Give the metrics as they are at this moment."""
        yield from self._server()
        yield from self._requests()
        yield from model_metrics(self._service.engine)
        try:
            chains = self._service.engine.metrics_by_chain()
        except EngineError:
            return  # nothing is counted of chains
        yield from _chains(chains)
        yield from _nodes(chains)

    def _server(self) -> Iterator[Metric]:
        from catenary import __version__

        service = self._service
        build = GaugeMetricFamily("catenary_build_info", "The version of catenary.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield _gauge("catenary_ready", "1 while messages are welcome.", float(service.state == "ready"))
        yield _gauge("catenary_chains", "Chains in service.", len(service.engine.chains))
        broken = len(service.report.problems) if service.report else 0
        yield _gauge("catenary_broken_files", "Files of the folder with errors.", broken)
        yield _gauge("catenary_client_runs", "Runs under way that clients of the API have started.", len(service.runs))
        if service.engine.history is not None:
            dropped = CounterMetricFamily("catenary_history_dropped", "Records of runs that were lost.")
            dropped.add_metric([], service.engine.history.dropped)
            yield dropped
        yield _up("catenary_shared_up", "1 while a shared resource is connected.", shared_rows(service.engine), ["id"])
        rows, names = endpoint_rows(service.engine), ["chain", "id"]
        yield _up("catenary_endpoint_up", "1 while an endpoint takes messages in.", rows, names)

    def _requests(self) -> Iterator[Metric]:
        traffic = self._service.traffic
        labels = ["method", "route"]
        answered = CounterMetricFamily(
            "catenary_http_requests", "Requests that were answered.", labels=[*labels, "status"]
        )
        for (method, route, status), count in list(traffic.answered.items()):
            answered.add_metric([method, route, str(status)], count)
        yield answered
        took = HistogramMetricFamily("catenary_http_request_seconds", "How long requests took.", labels=labels)
        for (method, route), latency in list(traffic.latency.items()):
            took.add_metric([method, route], *_buckets(latency))
        yield took
        yield _gauge("catenary_http_requests_in_flight", "Requests under way.", traffic.under_way)
        refused = CounterMetricFamily("catenary_http_refused", "Requests without a key that is known.")
        refused.add_metric([], traffic.refused)
        yield refused


def _chains(chains: Mapping[str, Any]) -> Iterator[Metric]:
    labels = ["chain"]
    messages = CounterMetricFamily(
        "catenary_chain_messages", "Messages by what came of them.", labels=["chain", "status"]
    )
    ends = CounterMetricFamily("catenary_chain_ends", "Ends of branches.", labels=["chain", "result"])
    current = GaugeMetricFamily("catenary_chain_messages_in_flight", "Messages under way.", labels=labels)
    took = HistogramMetricFamily("catenary_chain_message_seconds", "How long messages took.", labels=labels)
    for name, counts in chains.items():
        for status, count in counts.statuses.items():
            messages.add_metric([name, status], count)
        ends.add_metric([name, "success"], counts.success)
        ends.add_metric([name, "failed"], counts.failed)
        current.add_metric([name], counts.current)
        took.add_metric([name], *_buckets(counts.latency))
    yield from (messages, ends, current, took)


def _nodes(chains: Mapping[str, Any]) -> Iterator[Metric]:
    labels = ["chain", "node"]
    visits = CounterMetricFamily("catenary_node_visits", "Visits of nodes that began.", labels=labels)
    failed = CounterMetricFamily("catenary_node_failures", "Visits that ended as Failure.", labels=labels)
    current = GaugeMetricFamily("catenary_node_visits_in_flight", "Visits under way.", labels=labels)
    took = HistogramMetricFamily("catenary_node_visit_seconds", "How long visits took.", labels=labels)
    for chain, counts in chains.items():
        for node, visited in list(counts.nodes.items()):
            place = [chain, node]
            over = visited.latency.count
            visits.add_metric(place, visited.entered)
            failed.add_metric(place, visited.failed)
            current.add_metric(place, visited.entered - over)
            took.add_metric(place, *_buckets(visited.latency))
    yield from (visits, failed, current, took)


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family


def _up(name: str, text: str, rows: list[dict[str, Any]], labels: list[str]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for row in rows:
        family.add_metric([row[label] for label in labels], float(row["state"] == "connected"))
    return family


def _buckets(latency: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Give the buckets of a histogram as Prometheus has them, each with all that is below its end, and the sum."""
    counts, total = latency.read()
    ends = range(_FIRST, _LAST + 1, 2)
    below = [(f"{2.0**end / _US:g}", float(sum(counts[: end + 1]))) for end in ends]
    return [*below, ("+Inf", float(sum(counts)))], total

"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, eq=False)
class _FixedMetrics(Collector):
    metrics: tuple[Metric, ...]

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; called by the library."""
        return iter(self.metrics)


def exposition(metrics: Iterable[Metric]) -> bytes:
    """Return metrics as text.

    The default registry is not used: it adds the CPU time of this process, which changes with
    each upload.
    """
    registry = CollectorRegistry()
    registry.register(_FixedMetrics(tuple(metrics)))
    return generate_latest(registry)


def gauge(name: str, help: str, value: float) -> Metric:
    """Return a metric with a single current value."""
    return GaugeMetricFamily(name, help, value=value)


def by_kind(
    family: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    help: str,
    numbers: Mapping[str, int],
) -> Metric:
    """Return a metric with a number for each kind."""
    metric = family(name, help, labels=["kind"])
    for kind, number in sorted(numbers.items()):
        metric.add_metric([kind], number)
    return metric

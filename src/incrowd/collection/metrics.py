"""What Prometheus reads of a service: its own numbers, and none that the library counts itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, eq=False)
class _Given(Collector):
    metrics: tuple[Metric, ...]

    def collect(self) -> Iterator[Metric]:
        """As the library asks for them."""
        return iter(self.metrics)


def exposition(metrics: Iterable[Metric]) -> bytes:
    """Metrics in the text format of Prometheus.

    Not of its default registry, which adds the processor time of this process: that changes with
    each upload.
    """
    registry = CollectorRegistry()
    registry.register(_Given(tuple(metrics)))
    return generate_latest(registry)


def gauge(name: str, help: str, value: float) -> Metric:
    """A number as it is now."""
    return GaugeMetricFamily(name, help, value=value)

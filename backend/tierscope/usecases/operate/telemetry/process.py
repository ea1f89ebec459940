"""The metrics of one API process: its own counters, and beside them what the database holds."""

from collections.abc import Iterator

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

import tierscope
from tierscope.usecases.ingest.by_node import IngestByNode


class IngestQueue(Collector):
    """What waits to be stored, and the version that runs."""

    def __init__(self, ingest: IngestByNode) -> None:
        self._ingest = ingest

    def collect(self) -> Iterator[Metric]:
        """The queue at this moment."""
        yield GaugeMetricFamily(
            "tierscope_ingest_queue_batches", "Batches that wait for a commit.", value=self._ingest.waiting
        )
        yield GaugeMetricFamily(
            "tierscope_ingest_queue_bytes", "Inflated bytes of those.", value=self._ingest.waiting_bytes
        )
        yield InfoMetricFamily("tierscope_build", "The release that runs.", value={"version": tierscope.__version__})


def make_registry() -> CollectorRegistry:
    """A registry with what Python and the kernel say of this process."""
    # A second series for each counter, which nobody asks for.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def render(registry: CollectorRegistry) -> bytes:
    """All metrics of a registry in Prometheus's text format 0.0.4."""
    return generate_latest(registry)

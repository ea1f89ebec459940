"""Sends what `/metrics` tells of the database, and `/metrics/fleet`, to a collector of OpenTelemetry.

The collectors of those two answers are asked here as well: there is one list of metrics. What one API process counts of
itself (requests, its queue) is not sent: workers do not know it, and scrapes of each process have it.
"""

from collections.abc import Iterator
from itertools import chain

from prometheus_client.metrics_core import Metric

from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.operate.telemetry.collector import InventoryCollector
from tierscope.usecases.operate.telemetry.collector_calls import OtlpCollector
from tierscope.usecases.operate.telemetry.fleet import FleetCollector
from tierscope.wire.otlp_export import export_request


class MetricsPush(ContextUseCase):
    """Reads all metrics, and sends them in one request."""

    def run(self) -> int:
        """Sends them once; returns how many data points.

        Raises:
            OutgoingFailed: the collector did not take them.
            TierscopeError: the database does not answer.
        """
        settings = self._context.settings
        request, points = export_request(self._metrics(), self._context.clock(), settings.otlp.resource())
        OtlpCollector(settings).send_metrics(request)
        return points

    def _metrics(self) -> Iterator[Metric]:
        context = self._context
        inventory = InventoryCollector(context.database, context.clock)
        return chain(inventory.collect(), FleetCollector(context, limit=context.settings.fleet_metrics_limit).collect())

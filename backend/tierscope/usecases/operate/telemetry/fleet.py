"""The fleet's tiering figures as Prometheus metrics, one series per host or service and figure.

A figure that is not there has no sample: absent is not zero. How many hosts and services are told is bounded, and what
is left out is said.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tierscope.domain.base.figures import Figure
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.host_summaries import HostSummary
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.fleet.service_summaries import ServiceSummary
from tierscope.usecases.fleet.services import ServiceReads

PAGE = 500

HOST_FIGURES: Mapping[str, tuple[str, Callable[[HostSummary], Figure]]] = {
    "memory_bytes": ("Memory of all nodes.", lambda host: host.memory_bytes),
    "promoted_pages_per_second": (
        "Pages moved to a faster tier, over the newest minutes.",
        lambda host: host.promotion_pages_per_s,
    ),
    "demoted_pages_per_second": (
        "Pages moved to a slower tier, over the newest minutes.",
        lambda host: host.demotion_pages_per_s,
    ),
    "memory_pressure_some_ratio": (
        "Share of time in which some task waited for memory, over the newest minutes.",
        lambda host: host.psi_memory_some_ratio,
    ),
}
SERVICE_FIGURES: Mapping[str, tuple[str, Callable[[ServiceSummary], Figure]]] = {
    "resident_bytes": ("Resident memory where heat is measured.", lambda service: service.resident_bytes),
    "anonymous_ratio": ("Share of anonymous pages.", lambda service: service.anon_ratio),
    "hot_ratio": ("Share of memory that is hot.", lambda service: service.hot_ratio),
    "warm_ratio": ("Share of memory that is warm.", lambda service: service.warm_ratio),
    "cold_ratio": ("Share of memory that is cold.", lambda service: service.cold_ratio),
    "promoted_pages_per_second": (
        "Pages moved to a faster tier on the service's hosts, all their services together.",
        lambda service: service.promotion_pages_per_s,
    ),
    "demoted_pages_per_second": (
        "Pages moved to a slower tier on the service's hosts, all their services together.",
        lambda service: service.demotion_pages_per_s,
    ),
    "memory_pressure_some_ratio": (
        "Share of time in which some task waited for memory, of the service's hosts.",
        lambda service: service.psi_memory_some_ratio,
    ),
}


class FleetCollector(Collector):
    """Figures of up to `limit` hosts and as many services, by name."""

    def __init__(self, context: ReadContext, *, limit: int) -> None:
        self._context = context
        self._limit = limit

    def collect(self) -> Iterator[Metric]:
        """All figures of one look.

        Raises:
            TierscopeError: the database does not answer.
        """
        hosts, more_hosts = self._hosts()
        services, more_services = self._services()
        yield from _of_hosts(hosts)
        yield from _of_services(services)
        cut = GaugeMetricFamily(
            "tierscope_fleet_metrics_truncated",
            "1 where there are more of a kind than these metrics tell.",
            labels=["kind"],
        )
        cut.add_metric(["host"], float(more_hosts))
        cut.add_metric(["service"], float(more_services))
        yield cut

    def _hosts(self) -> tuple[list[HostSummary], bool]:
        reads = HostReads(self._context)
        found: list[HostSummary] = []
        cursor: str | None = None
        while len(found) < self._limit:
            limit = min(PAGE, self._limit - len(found))
            page = reads.list(limit=limit, cursor=cursor, state=None, service=None, origin=None, labels=())
            found.extend(page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found, cursor is not None

    def _services(self) -> tuple[list[ServiceSummary], bool]:
        reads = ServiceReads(self._context)
        found: list[ServiceSummary] = []
        cursor: str | None = None
        while len(found) < self._limit:
            page = reads.list(limit=min(PAGE, self._limit - len(found)), cursor=cursor, origin=None, host=None)
            found.extend(page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found, cursor is not None


def _of_hosts(hosts: Sequence[HostSummary]) -> Iterator[Metric]:
    names = ["host_id", "host", "origin"]
    info = GaugeMetricFamily(
        "tierscope_host_info",
        "1 for each host, with its state and the verdict on its tier moves.",
        labels=[*names, "state", "verdict", "kernel"],
    )
    findings = GaugeMetricFamily("tierscope_host_findings", "Findings that hold now.", labels=names)
    for host in hosts:
        info.add_metric([host.id, host.name, host.origin, host.state, host.verdict, host.kernel or ""], 1)
        findings.add_metric([host.id, host.name, host.origin], len(host.findings))
    yield from (info, findings)
    for name, (help_text, figure_of) in HOST_FIGURES.items():
        family = GaugeMetricFamily(f"tierscope_host_{name}", help_text, labels=names)
        for host in hosts:
            value = figure_of(host).value
            if value is not None:
                family.add_metric([host.id, host.name, host.origin], value)
        yield family


def _of_services(services: Sequence[ServiceSummary]) -> Iterator[Metric]:
    names = ["service_id", "namespace", "service", "origin"]
    info = GaugeMetricFamily(
        "tierscope_service_info", "1 for each service, with the verdict on its hosts.", labels=[*names, "verdict"]
    )
    hosts = GaugeMetricFamily("tierscope_service_hosts", "Hosts of the service.", labels=names)
    heated = GaugeMetricFamily("tierscope_service_heat_hosts", "Hosts on which its heat is measured.", labels=names)
    for service in services:
        labels = _labels(service)
        info.add_metric([*labels, service.verdict], 1)
        hosts.add_metric(labels, service.n_hosts)
        heated.add_metric(labels, service.n_hosts_with_heat)
    yield from (info, hosts, heated)
    for name, (help_text, figure_of) in SERVICE_FIGURES.items():
        family = GaugeMetricFamily(f"tierscope_service_{name}", help_text, labels=names)
        for service in services:
            value = figure_of(service).value
            if value is not None:
                family.add_metric(_labels(service), value)
        yield family


def _labels(service: ServiceSummary) -> list[str]:
    return [service.id, service.namespace, service.name, service.origin]

"""Heat of services on each of their hosts: bytes by class, page kind and tier."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.heat.classes import CLASSES, USUAL_RULE, classify
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.promql.evaluate import Demand
from tierscope.domain.promql.matching import meets, name_fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import NAME, Floats, Labels, Series, make_labels
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.subjects import all_services, hosts_by_id, hosts_of_service
from tierscope.storage.promql.heat import HeatGroup, list_heat_groups
from tierscope.usecases.heat.reads import choose_method, choose_weighed
from tierscope.usecases.heat.sources import DAILY_FROM, read_heat
from tierscope.usecases.promql.sources import (
    MetricHelp,
    Span,
    check_series,
    host_labels,
    lookback_ms,
    may_meet,
    service_labels,
)

METRIC = "tierscope_service_heat_bytes"
LISTED = timedelta(days=1)
"""How much of a stretch tells which series there are."""
_HELP = "Memory of a service on a host by class (hot, warm, cold, unknown), page kind and tier: mean of each interval."


class ServiceHeat:
    """Heat as the heat page shows it: by the method with most intervals and the usual rule."""

    @property
    def metrics(self) -> dict[str, MetricHelp]:
        """Its metric by name."""
        return {METRIC: MetricHelp("gauge", _HELP, "bytes")}

    def select(
        self, session: ReadSession, matchers: Sequence[Matcher], demand: Demand, *, now: datetime
    ) -> list[Series]:
        """The series that meet all conditions, with their samples.

        Raises:
            TooMuch: they are too many.
        """
        start, end = from_us(demand.first_ms * 1000), min(from_us(demand.last_ms * 1000), now)
        back = timedelta(days=2) if end - start > DAILY_FROM - timedelta(days=1) else timedelta(hours=2)
        return self._read(session, matchers, Span(start - back, end), now=now)

    def find(self, session: ReadSession, matchers: Sequence[Matcher], span: Span, *, now: datetime) -> list[Labels]:
        """Labels of the series that meet all conditions; of a long stretch the newest day tells."""
        end = min(span.end, now)
        start = max(span.start, end - LISTED)
        if not name_fits(METRIC, matchers) or start >= end:
            return []
        services = {one.id: one for one in all_services(session) if may_meet(service_labels(one), matchers)}
        groups = list_heat_groups(session, list(services), start, end)
        hosts = {host.id: host for host in hosts_by_id(session, sorted({one.host_id for one in groups}))}
        methods = _chosen(groups)
        found: set[Labels] = set()
        for one in groups:
            if one.method != methods[one.service_id] or one.host_id not in hosts:
                continue
            known = {NAME: METRIC} | service_labels(services[one.service_id]) | host_labels(hosts[one.host_id])
            known |= {"kind": one.kind, "tier": one.tier, "method": one.method.family}
            found.update(make_labels(known | {"class": name}) for name in CLASSES)
        return [labels for labels in sorted(found) if meets(labels, matchers)]

    def _read(self, session: ReadSession, matchers: Sequence[Matcher], span: Span, *, now: datetime) -> list[Series]:
        if not name_fits(METRIC, matchers) or span.start >= span.end:
            return []
        found: list[Series] = []
        for service in all_services(session):
            if not may_meet(service_labels(service), matchers):
                continue
            hosts = {
                host.id: host
                for host in hosts_of_service(session, service.id)
                if may_meet(service_labels(service) | host_labels(host), matchers)
            }
            if not hosts:
                continue
            by_method = read_heat(session, service.id, list(hosts), Window(span.start, span.end), now=now)
            method = choose_method(by_method, None)
            if method is None:
                continue
            for host_id, part in by_method[method].items():
                labels = {NAME: METRIC} | service_labels(service) | host_labels(hosts[host_id])
                labels |= {"method": method.family}
                found += [one for one in _series(labels, part) if meets(one.labels, matchers)]
            check_series(len(found))
        return found


def _chosen(groups: Sequence[HeatGroup]) -> dict[int, Method]:
    """The method with most intervals of each service, over its hosts."""
    most: dict[tuple[int, Method, int], int] = {}
    for one in groups:
        key = (one.service_id, one.method, one.host_id)
        most[key] = max(most.get(key, 0), one.n_intervals)
    weights: dict[int, dict[Method, int]] = {}
    for (service_id, method, _), n in most.items():
        by_method = weights.setdefault(service_id, {})
        by_method[method] = by_method.get(method, 0) + n
    chosen = {service_id: choose_weighed(by_method) for service_id, by_method in weights.items()}
    return {service_id: method for service_id, method in chosen.items() if method is not None}


def _series(labels: dict[str, str], part: HeatSeries) -> list[Series]:
    """The series of one service on one host: means over the intervals of each bucket."""
    classes = classify(part.folded, USUAL_RULE).value / np.maximum(part.n_intervals, 1)[:, None, None]
    times_ms = part.ends_us // 1000
    sums: dict[tuple[str, str], Floats] = {}
    for place, key in enumerate(zip(part.kinds, part.tiers, strict=True)):
        sums[key] = sums.get(key, 0.0) + classes[:, place, :]
    interval_ms = part.method.interval_ns / 1e6 * float(part.n_intervals.max())
    stands_ms = lookback_ms(interval_ms)
    return [
        Series(make_labels(labels | {"class": name, "kind": kind, "tier": tier}), times_ms, values[:, at], stands_ms)
        for (kind, tier), values in sums.items()
        for at, name in enumerate(CLASSES)
    ]

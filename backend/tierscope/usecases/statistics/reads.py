"""Reads of fleet statistics: quantiles of peer hosts, outliers, change points, services that behave alike."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest
from tierscope.domain.base.copying import copied
from tierscope.domain.base.figures import Window, absent
from tierscope.domain.statistics import SMALL_GROUP, match_events, outliers, persisting, shrink, sketches
from tierscope.domain.statistics.host_metrics import HostMetric, find_host_metric
from tierscope.domain.statistics.outliers import LIMIT, WINDOWS
from tierscope.storage.base.subjects import hosts_by_id
from tierscope.storage.fleet.events import list_events
from tierscope.storage.fleet.services import ServiceRow, list_services
from tierscope.storage.statistics.rows import (
    ChangeRow,
    DriftRow,
    GroupRow,
    SketchRow,
    read_changes,
    read_drifts,
    read_groups,
    read_sketches,
)
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.base.windows import parse_instant, parse_window
from tierscope.usecases.statistics.lookalikes import find_lookalikes
from tierscope.usecases.statistics.network import PeerNetworks
from tierscope.usecases.statistics.views import (
    Change,
    FleetDrift,
    FleetStatistics,
    Group,
    GroupKey,
    GroupMetric,
    HostDrift,
    Lookalikes,
    MatchedEvent,
    Outlier,
    Quantiles,
    Shrunk,
)

DEFAULT_WINDOW = timedelta(days=1)
HOURLY_UP_TO = timedelta(hours=36)
"""Longer windows read whole days, and hours since the last of those."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NEAR = timedelta(minutes=15)
DRIFT_AGE = timedelta(hours=3)
"""An hour that ended longer before a moment says nothing of it."""
MAX_OUTLIERS, MAX_CHANGES, MAX_EVENTS = 200, 200, 1000
RANKS = (0.1, 0.5, 0.9, 0.99)
DEFINITION = "fleet.quantiles/1"
DRIFT = "fleet.drift/1"
NOTES = (
    "Values are means of one host over one hour; percentiles are those of all host-hours, never averages.",
    "Outliers are beyond 3.5 robust standard deviations of at least eight peer hosts, three hours in a row.",
)


class FleetStatisticsReads:
    """Reads of fleet statistics."""

    def __init__(self, context: ReadContext, networks: PeerNetworks | None = None) -> None:
        self._context = context
        self._networks = networks or PeerNetworks()

    def statistics(
        self, *, service: str | None, metric: str | None, from_: str | None, to: str | None
    ) -> FleetStatistics:
        """Groups, outliers and changes of a window.

        Raises:
            NotFound: there is no such service.
            BadRequest: no such metric, or the window is not understood.
        """
        window = parse_window(from_, to, now=self._context.clock(), default=DEFAULT_WINDOW)
        if metric is not None and find_host_metric(metric) is None:
            raise BadRequest(f"there is no metric {metric[:80]!r}")
        with self._context.database.read() as session:
            if service is not None:
                require_service(session, service)
            groups = {group.id: group for group in read_groups(session, service)}
            services = {row.id: row for row in list_services(session, origin=None, host=None, after=None, limit=None)}
            rows = _read_rows(session, window, None if service is None else list(groups))
            shown = {row.group_id: groups[row.group_id] for row in rows if row.group_id in groups}
            confounders = self._networks.warnings(session, shown, window)
            outliers = _outliers(session, rows, groups, services, metric, confounders)
            found = read_changes(session, window.start, window.end, service=service, metric=metric, limit=MAX_CHANGES)
            changes = _with_events(session, found, window)
        views = _groups(rows, groups, services, metric, confounders)
        reason = "No hour of the window has been counted yet: a worker does it some minutes after each hour."
        newest = max((row.ts + timedelta(hours=row.hours) for row in rows), default=None)
        return FleetStatistics(
            window=window,
            newest_hour=None if newest is None else newest.timestamp(),
            groups=views,
            outliers=outliers,
            changes=changes,
            missing=None if views else absent(DEFINITION, "count", "not_enough_data", reason, window=window),
            notes=NOTES,
        )

    def drift(self, *, at: str | None) -> FleetDrift:
        """How far each host is from its peers, in the newest hour that had ended at a moment; by default now.

        Raises:
            BadRequest: the moment is not understood.
        """
        now = self._context.clock()
        moment = now if at is None else parse_instant(at, now=now)
        with self._context.database.read() as session:
            rows = read_drifts(session, moment - HOUR - DRIFT_AGE, moment - HOUR)
        hosts = tuple(view for row in rows if (view := _drift(row)) is not None)
        window = Window(rows[0].hour, rows[0].hour + HOUR) if rows else None
        reason = "No hour was counted in which a host had seven peers: of its service, hardware, kernel and agent."
        missing = None if hosts else absent(DRIFT, "count", "not_enough_data", reason)
        return FleetDrift(window, LIMIT, hosts, missing)

    def lookalikes(self, service_id: str) -> Lookalikes:
        """Services that behave like this one.

        Raises:
            NotFound: there is no such service.
        """
        with self._context.database.read() as session:
            require_service(session, service_id)
            return find_lookalikes(session, service_id, now=self._context.clock())


def _drift(row: DriftRow) -> HostDrift | None:
    metric = find_host_metric(row.metric)
    if metric is None:
        return None
    return copied(HostDrift, row, metric=metric.key, label=metric.label, unit=metric.unit)


def _read_rows(session: ReadSession, window: Window, groups: Sequence[int] | None) -> list[SketchRow]:
    """Hours of a short window; of a long one whole days, and the hours that no day holds yet."""
    if window.end - window.start <= HOURLY_UP_TO:
        return read_sketches(session, window.start, window.end, 1, groups)
    days = read_sketches(session, window.start, window.end - DAY, 24, groups)
    covered = days[-1].ts + DAY if days else window.start
    return days + read_sketches(session, max(covered, window.end - HOURLY_UP_TO), window.end, 1, groups)


def _groups(
    rows: Sequence[SketchRow],
    groups: Mapping[int, GroupRow],
    services: Mapping[int, ServiceRow],
    only: str | None,
    confounders: Mapping[int, tuple[str, ...]],
) -> tuple[Group, ...]:
    bodies = _collect(rows, only)
    newest = {row.group_id: row.n_hosts for row in rows}
    parents = {group.service_id: group.id for group in groups.values() if group.key is None}
    views = []
    for group_id, metrics in bodies.items():
        group = groups.get(group_id)
        if group is None or group.key is None or group.service_id not in services:
            continue
        parent_id, n_hosts = parents.get(group.service_id, -1), newest[group_id]
        borrows = n_hosts < min(SMALL_GROUP, newest.get(parent_id, 0))
        parent = bodies.get(parent_id, {}) if borrows else {}
        found = [
            _metric(metric, _merge(parts), _merge(parent.get(key, ())), n_hosts)
            for key, parts in metrics.items()
            if (metric := find_host_metric(key)) is not None
        ]
        key = _key(group, services[group.service_id])
        views.append(Group(key, n_hosts, tuple(found), confounders.get(group_id, ())))
    return tuple(sorted(views, key=lambda view: (view.key.service, -view.n_hosts, str(view.key))))


def _collect(rows: Sequence[SketchRow], only: str | None) -> dict[int, dict[str, list[bytes]]]:
    """Stored quantiles by group and metric."""
    parts: dict[int, dict[str, list[bytes]]] = {}
    for row in rows:
        mine = parts.setdefault(row.group_id, {})
        for key, body in zip(row.metrics, row.bodies, strict=True):
            if only in (None, key):
                mine.setdefault(key, []).append(body)
    return parts


def _merge(bodies: Sequence[bytes]) -> sketches.Quantiles:
    return sketches.Quantiles.merge_all([sketches.Quantiles.from_bytes(body) for body in bodies])


def _metric(metric: HostMetric, quantiles: sketches.Quantiles, parent: sketches.Quantiles, n_hosts: int) -> GroupMetric:
    p10, p50, p90, p99 = quantiles.at_all(RANKS) or (0.0,) * len(RANKS)
    shrunk = None
    above = parent.at(0.5)
    if above is not None:
        shrunk = Shrunk(shrink(n_hosts, p50, above), p50, above, n_hosts / (n_hosts + 5))
    return GroupMetric(
        metric.key,
        metric.label,
        metric.unit,
        quantiles.n,
        Quantiles(p10, p50, p90, p99),
        "raw" if quantiles.is_exact else "sketch",
        shrunk,
    )


def _outliers(
    session: ReadSession,
    rows: Sequence[SketchRow],
    groups: Mapping[int, GroupRow],
    services: Mapping[int, ServiceRow],
    only: str | None,
    confounders: Mapping[int, tuple[str, ...]],
) -> tuple[Outlier, ...]:
    """Hosts flagged in the newest three hours of their group, which follow each other."""
    hourly: dict[int, list[SketchRow]] = {}
    for row in rows:
        if row.hours == 1:
            hourly.setdefault(row.group_id, []).append(row)
    found: list[tuple[GroupRow, str, outliers.Outlier]] = []
    for group_id, mine in hourly.items():
        newest, group = mine[-WINDOWS:], groups.get(group_id)
        if group is None or group.key is None or group.service_id not in services:
            continue
        if len(newest) < WINDOWS or newest[-1].ts - newest[0].ts != (WINDOWS - 1) * HOUR:
            continue
        for key in newest[-1].outliers:
            if only in (None, key):
                flagged = [
                    [outliers.Outlier(str(item[0]), *item[1:]) for item in row.outliers.get(key, ())] for row in newest
                ]
                found += [(group, key, outlier) for outlier in persisting(flagged)]
    found = sorted(found, key=lambda item: -abs(item[2].score))[:MAX_OUTLIERS]
    hosts = {host.id: host for host in hosts_by_id(session, [int(outlier.host) for _, _, outlier in found])}
    views = []
    for group, key, outlier in found:
        host, metric = hosts.get(int(outlier.host)), find_host_metric(key)
        if host is not None and metric is not None:
            views.append(
                copied(
                    Outlier,
                    outlier,
                    host_id=host.public_id,
                    host=host.name,
                    metric=key,
                    label=metric.label,
                    unit=metric.unit,
                    windows=WINDOWS,
                    group=_key(group, services[group.service_id]),
                    confounders=confounders.get(group.id, ()),
                )
            )
    return tuple(views)


def _with_events(session: ReadSession, found: Sequence[ChangeRow], window: Window) -> tuple[Change, ...]:
    """Changes with the events near them: those of the service, of a host, or of the whole fleet."""
    if not found:
        return ()
    events = list_events(
        session,
        start=window.start - NEAR,
        end=window.end + NEAR,
        service=None,
        host=None,
        before=None,
        limit=MAX_EVENTS,
    )
    views = []
    for change in found:
        metric = find_host_metric(change.metric)
        near = {str(event.id): event for event in events if event.service_id in (None, change.service_id)}
        times = [(event.at.timestamp(), key) for key, event in near.items()]
        at = change.at.timestamp()
        matched = [near[key] for key in match_events(at, times)]
        views.append(
            copied(
                Change,
                change,
                at=at,
                subject=change.service,
                label=change.metric if metric is None else metric.label,
                unit="" if metric is None else metric.unit,
                direction="rise" if change.direction == "rise" else "fall",
                found_by="pelt" if change.found_by == "pelt" else "cusum",
                matched=tuple(
                    MatchedEvent(str(event.id), event.at.timestamp(), event.kind, event.text) for event in matched
                ),
            )
        )
    return tuple(views)


def _key(group: GroupRow, service: ServiceRow) -> GroupKey:
    assert group.key is not None
    key = group.key
    return GroupKey(
        service_id=service.public_id,
        service=f"{service.namespace}/{service.name}",
        sku=key.sku or None,
        ratio=key.ratio or None,
        kernel=key.kernel or None,
        agent_version=key.agent_version or None,
    )

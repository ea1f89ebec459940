"""Makes the daily points of services and host groups, and the forecasts that lists show. One process at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.clock import Clock
from tierscope.core.database import Database, ReadSession
from tierscope.domain.base.buckets import day_of
from tierscope.domain.capacity.days import HOURS, SETTLED, CapacityDay, group_day, service_day
from tierscope.domain.capacity.need import Advised
from tierscope.domain.fleet.hosts_away import NONE_AWAY, HostsAway
from tierscope.storage.base.retention import kept
from tierscope.storage.capacity.rows import (
    ForecastRow,
    GroupRow,
    Kind,
    StoredDay,
    days_lacking,
    days_made,
    first_hour,
    read_advised,
    read_days,
    read_forecasts,
    replace_day,
    store_forecasts,
    store_groups,
    subjects_with_days,
    try_lock,
)
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.capacity.forecasts import HORIZON_DAYS, make_body
from tierscope.usecases.capacity.history import SPAN, make_history, read_events
from tierscope.usecases.capacity.hours import DAY, Fleet, join_heat, read_day, read_fleet, read_heat_hours
from tierscope.usecases.capacity.subjects import group_hosts
from tierscope.usecases.capacity.views import Metric

KEPT = kept("metrics_1h_days")
"""Points of older days cannot be made any more."""
AT_ONCE = 10
"""Days made in one run, and as many more as small fleets take no longer for; the next run goes on."""
HOST_DAYS_AT_ONCE = 2000
AGAIN = timedelta(minutes=30)
FORECASTS_AT_ONCE = 100
METRICS: tuple[Metric, ...] = ("resident", "hot", "dram_need")


@dataclass(frozen=True, slots=True)
class Updated:
    """What one run made."""

    days: int = 0
    forecasts: int = 0


class UpdateCapacity:
    """Keeps daily points and forecasts up to date. Running it again changes nothing."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self) -> Updated:
        """Make what is due. Returns at once where another process is at it."""
        now = self._clock()
        with self._database.write() as lock:
            if not try_lock(lock):
                return Updated()
            days, left = self._days(now)
            # While days are being caught up on, every run would bring new points to all forecasts.
            return Updated(days, 0 if left else self._forecasts(now))

    def _days(self, now: datetime) -> tuple[int, int]:
        """Makes days that were never gone through, or before all their data had come, the newest first.

        Days that lack hosts of a node are made again once it answers.

        Returns how many got points, and how many are left.
        """
        today = day_of(now)
        with self._database.read() as session:
            first = first_hour(session, today - KEPT)
            if first is None:
                return 0, 0
            made = days_made(session, today - KEPT, today + DAY)
            lacking = days_lacking(session)
            fleet = read_fleet(session)
            # After the hosts, whose tables keep nodes from coming and going until the session ends.
            away = read_hosts_away(session)
        start = day_of(first)
        days = [start + n * DAY for n in range((today - start) // DAY, -1, -1)]
        complete = {day: made[day] for day in made if set(lacking.get(day, NONE_AWAY).nodes) <= set(away.nodes)}
        due = [day for day in days if _is_due(day, complete.get(day), now)]
        done = 0
        at_once = max(AT_ONCE, HOST_DAYS_AT_ONCE // max(len(fleet.hosts), 1))
        for day in due[:at_once]:
            with self._database.read() as session:
                points, groups = make_points(session, fleet, day)
                lacks = _either(away, read_hosts_away(session))
            with self._database.write() as transaction:
                replace_day(transaction, day, points, made_at=now, away=lacks)
                store_groups(transaction, groups, now)
            done += bool(points)
        return done, max(len(due) - at_once, 0)

    def _forecasts(self, now: datetime) -> int:
        """Forecasts of subjects that have newer points than their forecast."""
        today = day_of(now)
        done = 0
        kinds: tuple[Kind, ...] = ("service", "host_group")
        for kind in kinds:
            with self._database.read() as session:
                newest = subjects_with_days(session, kind, today - SPAN, today)
                advised = read_advised(session) if kind == "service" else {}
            for metric in METRICS:
                with self._database.read() as session:
                    stored = read_forecasts(session, kind, metric)
                due = [
                    subject for subject, at in newest.items() if subject not in stored or stored[subject].made_at < at
                ]
                rows = []
                for subject in due[: FORECASTS_AT_ONCE - done]:
                    with self._database.read() as session:
                        rows.append(_forecast(session, kind, subject, metric, advised.get(subject), now))
                with self._database.write() as transaction:
                    store_forecasts(transaction, rows)
                done += len(rows)
        return done


def make_points(
    session: ReadSession, fleet: Fleet, day: datetime
) -> tuple[dict[tuple[Kind, str], CapacityDay], Sequence[GroupRow]]:
    """The points of all services and host groups of one day, and the groups that have any."""
    hours = read_day(session, fleet, day)
    points: dict[tuple[Kind, str], CapacityDay] = {}
    heats = []
    for service in fleet.services:
        heat = read_heat_hours(session, service.id, day)
        if heat is not None:
            heats.append(heat)
        hosts = [fleet.hosts[host] for host in service.hosts]
        there = [(service.id, host.id) for host in hosts]
        held = _stack([hours.resident[key] for key in there if key in hours.resident])
        cores = _stack([hours.cores[key] for key in there if key in hours.cores])
        known = hours.of_hosts(hosts)
        cache = _stack([hours.cache(*key) for key in there if key in hours.resident])
        measured = None if heat is None else heat[0]
        point = service_day(held, hours.source.get(service.id), known, measured, cores, cache)
        if point is not None:
            points["service", service.public_id] = point
    groups = []
    on_hosts = hours.resident_by_host()
    for group in group_hosts(list(fleet.hosts.values())):
        wanted = frozenset(host.id for host in group.hosts)
        held = _stack([on_hosts[host.id] for host in group.hosts if host.id in on_hosts])
        point = group_day(hours.of_hosts(group.hosts), join_heat(heats, wanted), held)
        if point is not None:
            points["host_group", group.row.subject] = point
            groups.append(group.row)
    return points, groups


def _forecast(
    session: ReadSession, kind: Kind, subject: str, metric: Metric, advised: Advised | None, now: datetime
) -> ForecastRow:
    today = day_of(now)
    stored: list[StoredDay] = read_days(session, kind, subject, today - SPAN, today)
    lacking = days_lacking(session)
    events = read_events(session, kind, subject, today - SPAN, now)
    history = make_history(stored, metric, advised, events, today=today.date(), lacking=lacking)
    body = make_body(history, stored, metric, HORIZON_DAYS)
    return ForecastRow(kind, subject, metric, stored[-1].ts, now, body)


def _is_due(day: datetime, made_at: datetime | None, now: datetime) -> bool:
    """A day is made again as it goes on, and a last time once late data had its time."""
    final = day + DAY + SETTLED
    return made_at is None or (made_at < final and (now >= final or made_at < now - AGAIN))


def _either(first: HostsAway, then: HostsAway) -> HostsAway:
    """What points lack that are made of hosts read first and of their hours read then."""
    return then if first.nodes == then.nodes else HostsAway(tuple(sorted({*first.nodes, *then.nodes})), None, None)


def _stack(rows: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    return np.stack(rows) if rows else np.zeros((0, HOURS))

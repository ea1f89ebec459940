"""Makes the statistics: sketches of finished hours and days, changes of level, features. One process at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from tierscope.core.clock import Clock
from tierscope.core.database import Database, ReadSession, WriteTransaction
from tierscope.domain.base.buckets import day_of, hour_of
from tierscope.domain.base.jobs import LATE
from tierscope.domain.fleet.peer_hosts import told_key
from tierscope.domain.statistics import Change, Quantiles, level_changes
from tierscope.storage.base.subjects import service_members
from tierscope.storage.fleet.hosts import list_labelled
from tierscope.storage.fleet.services import service_names
from tierscope.storage.statistics.fleet_means import SLOT_S, SLOTS
from tierscope.storage.statistics.rows import (
    SketchRow,
    ensure_groups,
    forget_drifts,
    fresh_features,
    made_at,
    read_groups,
    read_medians,
    read_sketches,
    replace_changes,
    replace_sketches,
    store_features,
    try_lock,
)
from tierscope.usecases.fleet.known_inventories import NEWEST
from tierscope.usecases.statistics.features import read_service_features
from tierscope.usecases.statistics.hour import HOUR, Members, read_hour, sketch_hour
from tierscope.usecases.statistics.machines import KnownMachines

DAY = timedelta(days=1)
GRACE = timedelta(minutes=10)
"""After an hour's end, for late data and for the worker to sum it up."""
CATCH_UP = timedelta(days=1)
DRIFTS_KEPT = LATE
"""As long as views of a moment know the verdicts of hosts."""
AT_ONCE = 6
"""Hours made in one run; the next run goes on."""
CHANGE_SPAN = timedelta(days=3)
CHANGE_HISTORY = timedelta(days=28)
"""What says which differences are usual, and which course the week takes."""
FEATURES_EVERY = timedelta(hours=6)
SERVICES_AT_ONCE = 50
_GROUPS_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Updated:
    """What one run made."""

    hours: int = 0
    days: int = 0
    changes: int = 0
    features: int = 0


class UpdateFleetStatistics:
    """Keeps fleet statistics up to date. Running it again changes nothing."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self) -> Updated:
        """Make what is due. Returns at once where another process is at it."""
        now = self._clock()
        hours = self._hours(now)
        days = self._days(now)
        changes = self._changes(now) if hours else 0
        features = self._features(now)
        return Updated(hours, days, changes, features)

    @contextmanager
    def _alone(self) -> Iterator[WriteTransaction | None]:
        """A transaction, or None where another process holds the lock."""
        with self._database.write() as transaction:
            yield transaction if try_lock(transaction) else None

    def _hours(self, now: datetime) -> int:
        """Finished hours of the last day that are missing, the newest first; those without data are tried again."""
        newest = hour_of(now - GRACE) - HOUR
        with self._database.read() as session:
            made = made_at(session, newest - CATCH_UP, newest + HOUR, 1)
            members = read_members(session)
        due = [newest - n * HOUR for n in range(int(CATCH_UP / HOUR) + 1)]
        done = 0
        for start in due:
            if start in made or done == AT_ONCE:
                continue
            with self._database.read() as session:
                hour = read_hour(session, start, members)
            if hour.is_empty:
                continue
            rows = sketch_hour(hour, members, start)
            with self._alone() as transaction:
                if transaction is None:
                    return done
                ids = ensure_groups(transaction, list(rows))
                replace_sketches(
                    transaction, start, 1, [replace(row, group_id=ids[group]) for group, row in rows.items()]
                )
                old = newest - DRIFTS_KEPT
                forget_drifts(transaction, old - CATCH_UP, old)
            done += 1
        return done

    def _days(self, now: datetime) -> int:
        """Whole days from their hours, once all of those had their time."""
        last = day_of(now - GRACE - HOUR) - DAY
        with self._database.read() as session:
            made = made_at(session, last - 2 * DAY, last + DAY, 24)
        done = 0
        for start in (last - n * DAY for n in range(2, -1, -1)):
            if start in made:
                continue
            with self._alone() as transaction:
                if transaction is None:
                    return done
                hours = read_sketches(transaction, start, start + DAY, 1)
                replace_sketches(transaction, start, 24, merge_hours(hours, start))
            done += bool(hours)
        return done

    def _changes(self, now: datetime) -> int:
        """Changes of level of every service's metrics in the last three days, by what four weeks say is usual."""
        end = hour_of(now)
        start, known_from = end - CHANGE_SPAN, end - CHANGE_HISTORY
        with self._database.read() as session:
            services = {group.id: group.service_id for group in read_groups(session, None) if group.key is None}
        count = 0
        ids = list(services)
        for place in range(0, len(ids), _GROUPS_AT_ONCE):
            with self._database.read() as session:
                rows = read_medians(session, known_from, end, ids[place : place + _GROUPS_AT_ONCE])
            found = find_changes_of(rows, known_from, end)
            with self._alone() as transaction:
                if transaction is None:
                    return count
                for group_id in ids[place : place + _GROUPS_AT_ONCE]:
                    replace_changes(transaction, services[group_id], (start, end), found.get(group_id, {}), now)
            count += sum(len(changes) for metrics in found.values() for changes in metrics.values())
        return count

    def _features(self, now: datetime) -> int:
        """Features of some services that have none, or old ones; the next run goes on."""
        with self._database.read() as session:
            fresh = fresh_features(session, now - FEATURES_EVERY)
            members = read_members(session)
            due = [service for service in members.hosts if service not in fresh][:SERVICES_AT_ONCE]
            some = replace(members, hosts={service: members.hosts[service] for service in due})
            found = read_service_features(session, some, now=now)
        with self._alone() as transaction:
            if transaction is None:
                return 0
            store_features(transaction, now, found)
        return len(found)


def read_members(session: ReadSession, machines: KnownMachines | None = None) -> Members:
    """Hosts of each service and their keys. Retired and revoked hosts are left out.

    Args:
        session: of the fleet.
        machines: what the process knows of inventories; without it all of them are read.
    """
    [said] = (machines or KnownMachines()).at(session, NEWEST)
    keys = {
        host.id: told_key(said[host.id].like if host.id in said else None, host.labels, host.agent_version)
        for host in list_labelled(session)
    }
    hosts: dict[int, list[int]] = {}
    for service_id, host_id in service_members(session):
        if host_id in keys:
            hosts.setdefault(service_id, []).append(host_id)
    return Members(hosts, keys, service_names(session))


def merge_hours(hours: Sequence[SketchRow], start: datetime) -> list[SketchRow]:
    """One row per group from its hours: values are merged, outliers stay with their hours."""
    groups: dict[int, list[SketchRow]] = {}
    for row in hours:
        groups.setdefault(row.group_id, []).append(row)
    merged = []
    for group_id, rows in groups.items():
        bodies: dict[str, list[Quantiles]] = {}
        for row in rows:
            for metric, body in zip(row.metrics, row.bodies, strict=True):
                bodies.setdefault(metric, []).append(Quantiles.from_bytes(body))
        packed = tuple(Quantiles.merge_all(parts).to_bytes() for parts in bodies.values())
        n_hosts = max(row.n_hosts for row in rows)
        merged.append(SketchRow(group_id, start, 24, n_hosts, tuple(bodies), packed, (), {}))
    return merged


def find_changes_of(
    rows: Sequence[tuple[int, datetime, list[str], list[float]]], start: datetime, end: datetime
) -> dict[int, dict[str, list[tuple[datetime, Change]]]]:
    """Changes by group and metric, from medians of ten minutes."""
    first, slots = int(start.timestamp()), int((end - start).total_seconds()) // SLOT_S
    times = first + SLOT_S * np.arange(1, slots + 1, dtype=np.float64)
    series: dict[int, dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
    for group_id, at, metrics, medians in rows:
        place = (int(at.timestamp()) - first) // SLOT_S
        for i, metric in enumerate(metrics):
            line = series.setdefault(group_id, {}).setdefault(metric, np.full(slots, np.nan))
            line[place : place + SLOTS] = medians[i * SLOTS : (i + 1) * SLOTS]
    found: dict[int, dict[str, list[tuple[datetime, Change]]]] = {}
    for group_id, lines in series.items():
        for metric, line in lines.items():
            changes = level_changes(times, line)
            if changes:
                found.setdefault(group_id, {})[metric] = [
                    (datetime.fromtimestamp(change.at_s, tz=UTC), change) for change in changes
                ]
    return found

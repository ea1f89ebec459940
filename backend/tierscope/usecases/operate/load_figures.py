"""What a load costs a service: the lag of its roll-ups while it lasts, and the bytes that it stores."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.domain.base.buckets import DAY_US
from tierscope.domain.base.jobs import COUNTERS, METRICS_1D_PACK, METRICS_PACK, due_table
from tierscope.storage.base.dirty_buckets import backlog
from tierscope.storage.base.live_rows import PACKED_TABLES
from tierscope.storage.fleet.sending import longest_held_seconds
from tierscope.storage.operate.load_figures import local_backend, newest_enrolment, newest_ledger_ends, table_bytes
from tierscope.storage.tables import BLOCK_KINDS, TIME_TABLES

_OF_HOSTS = (
    "counters_live",
    "heat_live",
    "gaps",
    "quality_1h",
    "tier_moves",
    "rule_inputs",
    "metrics_10m",
    "counters_packed",
    "heat",
    "metrics_10m_days",
    "metrics_1h",
    "metrics_1h_days",
    "heat_1h",
    "rule_days",
    "tier_move_days",
    "gap_days",
    "metrics_1d",
    "metrics_1d_months",
    "heat_1d",
)
_DAYS = {entry.name: entry.keep_days for entry in TIME_TABLES}
_DAYS |= {entry.table.name: entry.keep_days + entry.chunk_days for entry in PACKED_TABLES}
_PACKED_AFTER = {"metrics_10m": METRICS_PACK, "metrics_1h": METRICS_PACK, "metrics_1d": METRICS_1D_PACK}
_DAYS |= {name: (job.width_us / DAY_US) + job.wait / timedelta(days=1) for name, job in _PACKED_AFTER.items()}
_DAYS |= {kind.name: _DAYS[kind.name] - _DAYS[kind.rows] for kind in BLOCK_KINDS if kind.rows}
KEPT_DAYS = {name: _DAYS[name] for name in _OF_HOSTS}
"""Tables that grow with each host, and for how many days they hold what: blocks have the days that rows left."""
FLEETS = (1_000, 10_000, 100_000, 1_000_000)
BUSY_RATIO = 0.6
"""How busy cores may be kept."""
SPARE_RATIO = 1.5
"""Disk for dead rows, the log and the day that is being dropped, over that of rows."""
MOST_LAG_S = 60.0
"""A service holds a load while new samples wait for less."""
MOST_CLOSING_S = 600.0
"""And while closed buckets of ten minutes are worked off before the next ones are due."""
_RECENTLY = timedelta(minutes=5)
MINUTES_OF_DAY = 1440


@dataclass(frozen=True, slots=True)
class Lag:
    """At one moment.

    `open_due_s`: since when the longest waiting mark of new samples is due. `oldest_due_s`: the same of all marks, with
    those of closed buckets, which become due at once. `behind_s`: by how much the ledger of the host that is furthest
    behind ends before its newest sample.
    """

    pending: int
    open_due_s: float
    oldest_due_s: float
    behind_s: float


class LoadFigures:
    """Reads them from a service's database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def newest_enrolment(self) -> datetime | None:
        """When the newest host enrolled; None where there is none."""
        with self._database.read() as session:
            return newest_enrolment(session)

    def lag(self, enrolled_after: datetime | None = None) -> Lag:
        """The lag now; of hosts that enrolled after a moment and of what is made of all hosts, where one is given."""
        now = self._clock()
        with self._database.read() as session:
            held = timedelta(seconds=longest_held_seconds(session))
            waiting = backlog(session, now=now, due=due_table(now, held), enrolled_after=enrolled_after)
            newest_due = {COUNTERS.kind: COUNTERS.due_before(now)}
            newest = backlog(session, now=now, due=newest_due, enrolled_after=enrolled_after)
            ends = newest_ledger_ends(session, now - _RECENTLY, enrolled_after)
        behind = max(((sample - row).total_seconds() for sample, row in ends), default=0.0)
        return Lag(waiting.pending, _since(newest.oldest_at, now), _since(waiting.oldest_at, now), max(behind, 0.0))

    def sizes(self) -> dict[str, int]:
        """Bytes by table."""
        with self._database.read() as session:
            return table_bytes(session, list(KEPT_DAYS))

    def local_backend(self) -> int | None:
        """A process of the database's server, where it runs on this machine."""
        with self._database.read() as session:
            return local_backend(session)


def _since(moment: datetime | None, now: datetime) -> float:
    return 0.0 if moment is None else max((now - moment).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a service held a load: nothing given up, new samples worked within a minute, buckets closed in time."""

    held: bool
    reasons: tuple[str, ...]
    """Why not."""


def judge(fleet: Mapping[str, Any], lag: Mapping[str, Any], *, expected_minutes: int) -> Verdict:
    """The verdict on a load from its generator's report and the lag that was seen."""
    reasons = []
    if fleet["errors"]:
        reasons.append(f"{fleet['errors']} batches were given up: {fleet['first_error']}")
    if fleet["host_minutes"] < expected_minutes:
        reasons.append(f"{fleet['host_minutes']} of {expected_minutes} minutes of hosts were taken")
    late = fleet["lag_s"]["max"] if fleet["lag_s"] else 0.0
    if late >= MOST_LAG_S:
        reasons.append(f"a batch was sent {late:.0f} s after it was due")
    if "open_due_s" not in lag:
        reasons.append("the lag of roll-ups was not seen")
    else:
        if lag["open_due_s"]["max"] >= MOST_LAG_S:
            reasons.append(f"a sample waited {lag['open_due_s']['max']:.0f} s for its row of the ledger")
        if lag["oldest_due_s"]["max"] >= MOST_CLOSING_S:
            reasons.append(f"a closed bucket waited {lag['oldest_due_s']['max']:.0f} s")
    if lag["settled_after_s"] is None:
        reasons.append("work was left long after the last batch")
    return Verdict(not reasons, tuple(reasons))


def per_host_day(before: Mapping[str, int], after: Mapping[str, int], *, host_minutes: float) -> dict[str, float]:
    """Bytes that each table grew by, for a host's day at the pace of the load."""
    days = host_minutes / MINUTES_OF_DAY
    return (
        {} if days <= 0 else {name: (after[name] - before.get(name, 0)) / days for name in KEPT_DAYS if name in after}
    )


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a fleet takes: cores by stage, disk. `extrapolated`: it is larger than the load that was measured."""

    hosts: int
    cores: dict[str, float]
    disk_bytes: float
    extrapolated: bool


def size_fleets(
    measured_hosts: int, cpu_ms_per_batch: Mapping[str, float], stored: Mapping[str, float]
) -> list[Sizing]:
    """Sizes of `FLEETS` by docs/operating/sizing.md, from the costs of one batch and the bytes of one host-day."""
    host_bytes = SPARE_RATIO * sum(size * KEPT_DAYS[name] for name, size in stored.items())
    return [
        Sizing(
            hosts,
            {name: hosts * cost / 60_000 / BUSY_RATIO for name, cost in cpu_ms_per_batch.items()},
            hosts * host_bytes,
            extrapolated=hosts > measured_hosts,
        )
        for hosts in FLEETS
    ]

"""What arrived of each host by the hour, as the page on data quality counts it (storage/tables/time.py, quality_1h).

Hours are those in which intervals end; what was sent again or left out counts in the hour of arrival. Recordings have
times of their own, so nothing is expected of their hosts and nothing is counted.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import LiteralString

import numpy as np

from tierscope.core.database import WriteTransaction
from tierscope.domain.base.buckets import HOUR_US
from tierscope.domain.operate.data_quality import LATE_SECONDS, minute_of
from tierscope.storage.ingest.incoming import Incoming
from tierscope.storage.ingest.rows import Tally

_COUNTS: tuple[LiteralString, ...] = ("minutes", "late", "corrected", "too_late", "set_aside", "duplicates")
_STATES: tuple[LiteralString, ...] = ("skew_seconds", "dropped_batches", "counters_dropped", "services_dropped")
_TYPES: dict[LiteralString, LiteralString] = {"minutes": "bigint", "skew_seconds": "double precision"} | dict.fromkeys(
    _STATES[1:], "bigint"
)


@dataclass(slots=True)
class _Hour:
    """One row. Counts add up, `minutes` are joined, of states the largest counts."""

    minutes: int = 0
    late: int = 0
    corrected: int = 0
    too_late: int = 0
    set_aside: int = 0
    duplicates: int = 0
    skew_seconds: float | None = None
    dropped_batches: int | None = None
    counters_dropped: int | None = None
    services_dropped: int | None = None


class Arrivals:
    """Collects the hours of a group."""

    def __init__(self) -> None:
        self._hours: dict[tuple[int, int], _Hour] = defaultdict(_Hour)

    def add_duplicate(self, item: Incoming) -> None:
        """A batch that was stored before."""
        if item.batch.origin != "import":
            self._arrival_hour(item).duplicates += 1

    def add(self, item: Incoming, tally: Tally, *, held_seconds: int) -> None:
        """A batch that is stored now, of a host that holds samples back for so long by its plan."""
        if item.batch.origin == "import":
            return
        arrival_us = item.clocks.arrival_ns // 1000
        late_before_us = arrival_us - (LATE_SECONDS + held_seconds) * 10**6
        for end_us in np.concatenate(tally.ends_us).tolist() if tally.ends_us else ():
            hour_us, minute = minute_of(end_us)
            hour = self._hours[item.host.id, hour_us]
            hour.minutes |= 1 << minute
            # A simulated fleet loads its past at once: that says nothing of arrival.
            hour.late += end_us < late_before_us and item.batch.origin == "live"
        now = self._arrival_hour(item)
        now.corrected += tally.corrected
        now.too_late += tally.too_late
        now.set_aside += tally.set_aside
        skew_ns = item.clocks.skew_ns
        if skew_ns is not None:
            now.skew_seconds = max(now.skew_seconds or 0.0, abs(skew_ns) / 1e9)
        report = item.batch.self_report
        if report is not None:
            for name in _STATES[1:]:
                setattr(now, name, max(getattr(now, name) or 0, getattr(report, name)))

    def write(self, transaction: WriteTransaction) -> None:
        """Sends everything in one statement. The caller holds the hosts' locks, so that no two groups cross."""
        if not self._hours:
            return
        keys = sorted(self._hours)
        values: dict[str, list[object]] = {"host": [host for host, _ in keys], "hour": [hour for _, hour in keys]}
        for name in (*_COUNTS, *_STATES):
            values[name] = [getattr(self._hours[key], name) for key in keys]
        transaction.ask(_UPSERT, values)

    def _arrival_hour(self, item: Incoming) -> _Hour:
        arrival_us = item.clocks.arrival_ns // 1000
        return self._hours[item.host.id, arrival_us - arrival_us % HOUR_US]


def _upsert() -> LiteralString:
    names = (*_COUNTS, *_STATES)
    arrays = ", ".join(f"%({name})s::{_TYPES.get(name, 'int')}[]" for name in names)
    changes = ["minutes = q.minutes | excluded.minutes"]
    changes += [f"{name} = q.{name} + excluded.{name}" for name in _COUNTS[1:]]
    changes += [f"{name} = greatest(q.{name}, excluded.{name})" for name in _STATES]
    return (
        f"INSERT INTO quality_1h AS q (host_id, ts, {', '.join(names)})"  # noqa: S608 - names of our own
        f" SELECT h, to_timestamp(t / 1000000), {', '.join(names)}"
        f" FROM unnest(%(host)s::bigint[], %(hour)s::bigint[], {arrays})"
        f" AS rows (h, t, {', '.join(names)}) ORDER BY h, t"
        f" ON CONFLICT (host_id, ts) DO UPDATE SET {', '.join(changes)}"
    )


_UPSERT = _upsert()

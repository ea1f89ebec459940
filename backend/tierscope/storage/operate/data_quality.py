"""What arrived of each host, summed over a window, and what explains that something did not."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import hour_of
from tierscope.domain.base.figures import Origin
from tierscope.storage.fleet.reporting import HELD


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    expected: int
    received: int
    missing: int
    late: int
    corrected: int
    too_late: int
    set_aside: int
    duplicates: int
    dropped: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRow(_Sums):
    """A host's sums over a window. `start` and `end` bound what is expected of it; None: nothing is."""

    number: int
    host_id: str
    name: str
    origin: Origin
    step_seconds: int
    held_seconds: int
    start: datetime
    end: datetime
    counters_dropped: int | None
    services_dropped: int | None
    skew_seconds: float | None
    clock_skew_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSums(_Sums):
    """Sums over all hosts, and how many hosts they are of; `dropped` None where no agent reported."""

    hosts: int
    gapless: int
    skewed: int


@dataclass(frozen=True, slots=True)
class HourRow:
    """An hour of a host."""

    ts: datetime
    minutes: int
    dropped_batches: int | None


@dataclass(frozen=True, slots=True)
class Reasons:
    """What may explain gaps of one host."""

    boots: tuple[datetime, ...]
    streams: tuple[datetime, ...]
    missing_batches: int
    paused_since: datetime | None
    findings: tuple[tuple[str, str], ...]
    """(id, cause) of the service's own findings on limits that were reached."""


_WHOLE_HOUR = (1 << 60) - 1
_PER_HOST = f"""
WITH hours AS (
  SELECT host_id, ts, late, corrected, too_late, set_aside, duplicates, skew_seconds, dropped_batches, counters_dropped,
    services_dropped, CASE ts WHEN :first_hour THEN minutes & :first_mask ELSE minutes END
      & CASE ts WHEN :last_hour THEN :last_mask ELSE -1 END AS minutes
  FROM quality_1h WHERE ts >= :first_hour AND ts <= :last_hour
), sums AS (
  SELECT host_id,
    sum(CASE minutes WHEN {_WHOLE_HOUR} THEN 60 ELSE bit_count(CAST(minutes AS bit(64))) END) AS received,
    min(ts) FILTER (WHERE minutes <> 0) AS first_hour, sum(late) AS late, sum(corrected) AS corrected,
    sum(too_late) AS too_late, sum(set_aside) AS set_aside, sum(duplicates) AS duplicates,
    max(skew_seconds) AS skew_seconds, min(dropped_batches) AS least_dropped, max(dropped_batches) AS most_dropped,
    max(counters_dropped) AS counters_dropped, max(services_dropped) AS services_dropped
  FROM hours GROUP BY host_id
), spans AS (
  SELECT h.id, h.public_id, h.name, h.origin, h.clock_skew_seconds, s.*,
    greatest(coalesce(h.interval_seconds, :step), 60) AS step_seconds, h.held_seconds,
    greatest(CAST(:start AS timestamptz), date_trunc('minute', least(
      greatest(h.enrolled_at, :since) + interval '3 minutes',
      CASE WHEN s.first_hour < greatest(h.enrolled_at, :since) + interval '3 minutes' THEN (
        SELECT ts + make_interval(mins => CAST(round(ln(CAST(minutes & -minutes AS float8)) / ln(2.0)) AS int))
        FROM quality_1h q WHERE q.host_id = h.id AND q.ts = s.first_hour) END))) AS began,
    least(CAST(:end AS timestamptz), date_trunc('minute', CAST(:settled AS timestamptz) - {HELD}),
      CASE WHEN h.retired_at IS NULL THEN :end ELSE h.last_end_at END) AS ended,
    CASE WHEN s.least_dropped < s.most_dropped THEN (SELECT sum(CASE WHEN before IS NULL THEN 0
        WHEN now >= before THEN now - before ELSE now END)
      FROM (SELECT dropped_batches AS now, lag(dropped_batches) OVER (ORDER BY ts) AS before FROM quality_1h q
        WHERE q.host_id = h.id AND q.ts >= :first_hour AND q.ts <= :last_hour AND dropped_batches IS NOT NULL) AS d)
      ELSE s.most_dropped - s.least_dropped END AS dropped
  FROM hosts h LEFT JOIN sums s ON s.host_id = h.id WHERE h.revoked_at IS NULL AND h.origin <> 'import'
    AND (h.enrolled_at < :end OR :end >= :settled OR s.host_id IS NOT NULL)
), per_host AS MATERIALIZED (
  SELECT id AS number, public_id AS host_id, name, origin, step_seconds, held_seconds, began AS start,
    greatest(began, ended) AS end,
    greatest(0, floor(extract(epoch FROM ended - began) / step_seconds))::bigint AS expected,
    coalesce(received, 0)::bigint AS received,
    greatest(0, floor(extract(epoch FROM ended - began) / step_seconds) - coalesce(received, 0))::bigint AS missing,
    coalesce(late, 0)::bigint AS late, coalesce(corrected, 0)::bigint AS corrected,
    coalesce(too_late, 0)::bigint AS too_late, coalesce(set_aside, 0)::bigint AS set_aside,
    coalesce(duplicates, 0)::bigint AS duplicates, dropped::bigint AS dropped, counters_dropped, services_dropped,
    skew_seconds, clock_skew_seconds
  FROM spans
), fleet AS (
  SELECT count(*) AS hosts, count(*) FILTER (WHERE missing = 0) AS gapless,
    count(*) FILTER (WHERE abs(clock_skew_seconds) > :skew) AS skewed,
    coalesce(sum(expected), 0)::bigint AS expected, coalesce(sum(received), 0)::bigint AS received,
    coalesce(sum(missing), 0)::bigint AS missing, coalesce(sum(late), 0)::bigint AS late,
    coalesce(sum(corrected), 0)::bigint AS corrected, coalesce(sum(too_late), 0)::bigint AS too_late,
    coalesce(sum(set_aside), 0)::bigint AS set_aside, coalesce(sum(duplicates), 0)::bigint AS duplicates,
    sum(dropped)::bigint AS dropped
  FROM per_host
)
"""  # noqa: S608 - a constant
_PAGE = """
SELECT (SELECT row_to_json(fleet) FROM fleet) AS fleet, page.* FROM (SELECT 1) AS one
LEFT JOIN (SELECT * FROM per_host {beyond} ORDER BY missing DESC, number LIMIT :limit) AS page ON true
ORDER BY missing DESC, number
"""
"""One pass over the hours: the fleet's sums stand beside every host of the page, or alone."""


@dataclass(frozen=True, slots=True)
class QualityWindow:
    """A window of whole minutes; `since`: nothing was counted before. `step_seconds` of hosts that say none.

    `settled`: what ended before then has come, from hosts that hold nothing back.
    """

    start: datetime
    end: datetime
    settled: datetime
    since: datetime
    step_seconds: int

    def values(self) -> dict[str, Any]:
        """As the statements take it: first and last hour with masks of the minutes that count in them."""
        first = hour_of(self.start)
        last_minute = self.end - timedelta(minutes=1)
        last = hour_of(last_minute)
        return {
            "start": self.start,
            "end": self.end,
            "settled": self.settled,
            "since": self.since,
            "step": self.step_seconds,
            "first_hour": first,
            "first_mask": ((1 << 60) - 1) & ~((1 << self.start.minute) - 1),
            "last_hour": last,
            "last_mask": (1 << (last_minute.minute + 1)) - 1,
        }


def read_quality(
    session: ReadSession,
    window: QualityWindow,
    *,
    skew_limit_seconds: float,
    after: tuple[int, int] | None,
    limit: int,
) -> tuple[FleetSums, list[QualityRow]]:
    """Sums over all hosts, and a page of them, those that miss most first; `after` is (missing, number) of the last."""
    beyond = "" if after is None else "WHERE (missing, -number) < (:missing, -:number)"
    values = window.values() | {"limit": limit, "skew": skew_limit_seconds}
    if after is not None:
        values |= {"missing": after[0], "number": after[1]}
    found = session.execute(text(_PER_HOST + _PAGE.format(beyond=beyond)), values).mappings().all()
    rows = [{name: value for name, value in row.items() if name != "fleet"} for row in found]
    return FleetSums(**found[0]["fleet"]), [QualityRow(**row) for row in rows if row["number"] is not None]


def counted_since(session: ReadSession) -> datetime:
    """When this installation began to count what arrives."""
    statement = text("SELECT CAST(value AS timestamptz) FROM installation WHERE key = 'quality_since'")
    found: datetime = session.execute(statement).scalar_one()
    return found


def read_hours(session: ReadSession, hosts: Sequence[int], window: QualityWindow) -> dict[int, list[HourRow]]:
    """The hours of some hosts in a window, oldest first."""
    statement = text(
        "SELECT host_id, ts, minutes, dropped_batches FROM quality_1h WHERE host_id = ANY(:hosts)"
        " AND ts >= :first_hour AND ts <= :last_hour ORDER BY host_id, ts"
    )
    values = {name: value for name, value in window.values().items() if name in ("first_hour", "last_hour")}
    found: dict[int, list[HourRow]] = defaultdict(list)
    for row in session.execute(statement, values | {"hosts": list(hosts)}):
        found[row.host_id].append(HourRow(row.ts, row.minutes, row.dropped_batches))
    return found


def read_reasons(session: ReadSession, hosts: Sequence[int], window: QualityWindow) -> dict[int, Reasons]:
    """What the store knows that may explain gaps of some hosts."""
    statement = text(
        "SELECT h.id,"
        " ARRAY(SELECT first_seen_at FROM boots WHERE host_id = h.id AND first_seen_at >= :start"
        "   AND id > (SELECT min(id) FROM boots WHERE host_id = h.id) ORDER BY 1) AS boots,"
        " ARRAY(SELECT created_at FROM streams WHERE host_id = h.id AND created_at >= :start"
        "   AND created_at > (SELECT min(created_at) FROM streams WHERE host_id = h.id) ORDER BY 1) AS streams,"
        " coalesce((SELECT sum(upper(part) - lower(part)) FROM streams s, unnest(s.gaps) AS part"
        "   WHERE s.host_id = h.id), 0) AS missing,"
        " (SELECT min(since) FROM pauses p WHERE p.scope = 'all' AND coalesce(p.host_id, h.id) = h.id) AS paused,"
        " ARRAY(SELECT ARRAY[finding_id, cause] FROM findings f WHERE f.host_id = h.id AND f.source = 'service'"
        "   AND f.finding_id IN ('service-limit', 'layout-limit') AND coalesce(f.until, now()) >= :start) AS findings"
        " FROM hosts h WHERE h.id = ANY(:hosts)"
    )
    found = {}
    for row in session.execute(statement, {"hosts": list(hosts), "start": window.start}):
        found[row.id] = Reasons(
            boots=tuple(row.boots),
            streams=tuple(row.streams),
            missing_batches=int(row.missing),
            paused_since=row.paused,
            findings=tuple((name, cause) for name, cause in row.findings),
        )
    return found

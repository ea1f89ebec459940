"""Samples of Prometheus as stored: bodies per target and hour, as they came and packed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.buckets import HOUR_US, MINUTE_US, bucket_start
from tierscope.domain.base.jobs import SAMPLES, SAMPLES_PACK
from tierscope.storage.base import copy
from tierscope.storage.base.binary import to_us

HOUR_MS = HOUR_US // 1000
_COLUMNS = ("target_id", "ts", "hour", "first_ms", "last_ms", "n", "body")


@dataclass(frozen=True, slots=True)
class NewBody:
    """A packed body of one target and hour. Times in milliseconds since 1970; `hour_ms` is the hour's start."""

    target_id: int
    hour_ms: int
    first_ms: int
    last_ms: int
    n: int
    body: bytes


def append_bodies(
    transaction: WriteTransaction, bodies: Sequence[NewBody], *, arrival_us: int, packs: Iterable[tuple[int, int]]
) -> None:
    """Store bodies as they came, and mark the minutes that they touch and the hours of `packs` (target, hour)."""
    rows = [
        copy.row(
            [
                copy.int8(body.target_id),
                copy.instant(arrival_us * 1000),
                copy.instant(body.hour_ms * 1_000_000),
                copy.int8(body.first_ms),
                copy.int8(body.last_ms),
                copy.int4(body.n),
                copy.blob(body.body),
            ]
        )
        for body in bodies
    ]
    copy.copy_rows(transaction, "samples_live", _COLUMNS, rows)
    marks = {
        (SAMPLES.kind, body.target_id, minute)
        for body in bodies
        for minute in range(
            bucket_start(body.first_ms * 1000, MINUTE_US), bucket_start(body.last_ms * 1000, MINUTE_US) + 1, MINUTE_US
        )
    }
    marks |= {(SAMPLES_PACK.kind, target, hour_ms * 1000) for target, hour_ms in packs}
    rows = [
        copy.row([copy.text(kind), copy.int8(subject), copy.int8(0), copy.instant(bucket * 1000)])
        for kind, subject, bucket in sorted(marks)
    ]
    copy.copy_rows(transaction, "marks", ("kind", "subject_id", "service_id", "bucket"), rows)


def read_bodies(session: ReadSession, target_ids: Sequence[int], start: datetime, end: datetime) -> list[bytes]:
    """Bodies that may hold samples of (start, end]: packed ones first, then those that came, in order of arrival."""
    values = {
        "targets": list(target_ids),
        "start": start,
        "end": end,
        "hour": timedelta(hours=1),
        "first": to_us(start) // 1000,
        "last": to_us(end) // 1000,
    }
    packed = text(
        "SELECT body FROM samples_packed WHERE target_id = ANY(:targets) AND ts > CAST(:start AS timestamptz) - :hour"
        " AND ts < :end AND last_ms > :first AND first_ms <= :last ORDER BY ts"
    )
    live = text(
        "SELECT body FROM samples_live WHERE target_id = ANY(:targets) AND hour > CAST(:start AS timestamptz) - :hour"
        " AND hour < :end AND last_ms > :first AND first_ms <= :last ORDER BY ts"
    )
    return [bytes(row.body) for statement in (packed, live) for row in session.execute(statement, values)]


def count_samples(session: ReadSession, target_ids: Sequence[int], start: datetime, end: datetime) -> int:
    """How many samples the bodies of (start, end] hold, of all series of these targets."""
    values = {"targets": list(target_ids), "start": start, "end": end, "hour": timedelta(hours=1)}
    statement = text(
        "SELECT coalesce((SELECT sum(n) FROM samples_packed WHERE target_id = ANY(:targets)"
        " AND ts > CAST(:start AS timestamptz) - :hour AND ts < :end), 0)"
        " + coalesce((SELECT sum(n) FROM samples_live WHERE target_id = ANY(:targets)"
        " AND hour > CAST(:start AS timestamptz) - :hour AND hour < :end), 0)"
    )
    return int(session.execute(statement, values).scalar_one())


def replace_packed(transaction: WriteTransaction, target_id: int, hour: datetime, packed: NewBody) -> None:
    """Store a packed hour in place of what was there."""
    statement = text("DELETE FROM samples_packed WHERE target_id = :target AND ts = :hour")
    transaction.execute(statement, {"target": target_id, "hour": hour})
    row = copy.row(
        [
            copy.int8(target_id),
            copy.instant(to_us(hour) * 1000),
            copy.int8(packed.first_ms),
            copy.int8(packed.last_ms),
            copy.int4(packed.n),
            copy.blob(packed.body),
        ]
    )
    columns = ("target_id", "ts", "first_ms", "last_ms", "n", "body")
    copy.copy_rows(transaction, "samples_packed", columns, [row])


def newest_arrival(session: ReadSession, target_ids: Sequence[int], start: datetime, end: datetime) -> datetime | None:
    """When the newest body of hours in [start, end] came."""
    statement = text(
        "SELECT max(ts) FROM samples_live WHERE target_id = ANY(:targets)"
        " AND hour > CAST(:start AS timestamptz) - interval '1 hour' AND hour < :end"
    )
    found: datetime | None = session.execute(
        statement, {"targets": list(target_ids), "start": start, "end": end}
    ).scalar_one()
    return found

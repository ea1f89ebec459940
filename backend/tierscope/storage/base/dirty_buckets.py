"""Marks: the list of work to do. Appended with the data, deleted with the rebuilt bucket, in one transaction each.

A worker claims keys: it takes an advisory lock per (kind, subject, service) for its transaction, deletes all marks of
those keys that it can see, and only then reads the data. Data that commits later comes with marks of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import select, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.jobs import OF_ONE_HOST
from tierscope.storage.tables import marks


@dataclass(frozen=True, slots=True)
class Claim:
    """All due buckets of one subject, in order."""

    kind: str
    subject_id: int
    service_id: int
    buckets: tuple[datetime, ...]
    now: datetime | None = field(default=None, compare=False)
    """When it was claimed, where who claimed it says."""
    held: timedelta = field(default=timedelta(), compare=False)
    """The longest that a host held samples back then."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is waiting: since when the longest waiting mark has been due, and the oldest bucket."""

    pending: int
    oldest_at: datetime | None
    first_bucket: datetime | None


def due_subjects(session: ReadSession, kind: str, *, before: datetime, limit: int) -> list[tuple[int, int]]:
    """Return (subject, service) pairs with marks of `kind` for buckets before `before`, longest waiting first."""
    statement = text(
        "SELECT subject_id, service_id FROM marks WHERE kind = :kind AND bucket < :before"
        " GROUP BY subject_id, service_id ORDER BY min(id) LIMIT :limit"
    )
    rows = session.execute(statement, {"kind": kind, "before": before, "limit": limit})
    return [(row.subject_id, row.service_id) for row in rows]


def barely_due(session: ReadSession, kind: str, *, before: datetime, most: int, limit: int) -> dict[int, list[int]]:
    """Return subjects by service with marks of `kind` for no more than `most` buckets before `before`."""
    statement = text(
        "SELECT service_id, subject_id FROM marks WHERE kind = :kind AND bucket < :before"
        " GROUP BY service_id, subject_id HAVING count(DISTINCT bucket) <= :most ORDER BY min(id) LIMIT :limit"
    )
    found: dict[int, list[int]] = {}
    values = {"kind": kind, "before": before, "most": most, "limit": limit}
    for row in session.execute(statement, values):
        found.setdefault(row.service_id, []).append(row.subject_id)
    return found


def due_kinds(session: ReadSession, before: Mapping[str, datetime]) -> set[str]:
    """Return the kinds that have a mark for a bucket before their time in `before`; one look for all of them."""
    statement = text(
        "SELECT asked.kind FROM unnest(CAST(:kinds AS text[]), CAST(:times AS timestamptz[])) AS asked(kind, before)"
        " WHERE EXISTS (SELECT FROM marks WHERE marks.kind = asked.kind AND marks.bucket < asked.before)"
    )
    return set(session.execute(statement, {"kinds": list(before), "times": list(before.values())}).scalars())


def waiting_buckets(session: ReadSession, kinds: Sequence[str]) -> list[tuple[str, int, datetime]]:
    """Kind, subject and bucket of all marks of some kinds, due or not."""
    statement = text("SELECT DISTINCT kind, subject_id, bucket FROM marks WHERE kind = ANY(:kinds) ORDER BY 1, 2, 3")
    return [(row.kind, row.subject_id, row.bucket) for row in session.execute(statement, {"kinds": list(kinds)})]


def claim(
    transaction: WriteTransaction,
    kind: str,
    subject_id: int,
    service_id: int,
    *,
    before: datetime,
    limit: int,
    now: datetime | None = None,
    held: timedelta = timedelta(),
) -> Claim | None:
    """Lock the subject, delete its oldest `limit` due buckets' marks and return them; None where another has it."""
    lock = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:key, 7))")
    if not transaction.execute(lock, {"key": f"{kind}:{subject_id}:{service_id}"}).scalar_one():
        return None
    statement = text(
        "DELETE FROM marks WHERE kind = :kind AND subject_id = :subject AND service_id = :service AND bucket IN ("
        " SELECT DISTINCT bucket FROM marks WHERE kind = :kind AND subject_id = :subject AND service_id = :service"
        "  AND bucket < :before ORDER BY bucket LIMIT :limit) RETURNING bucket"
    )
    values = {"kind": kind, "subject": subject_id, "service": service_id, "before": before, "limit": limit}
    buckets = sorted(set(transaction.execute(statement, values).scalars()))
    return Claim(kind, subject_id, service_id, tuple(buckets), now, held) if buckets else None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A subject with marks of a kind, and for how long the oldest of them has waited."""

    subject_id: int
    seconds: float


def waiting_subjects(
    session: ReadSession, kind: str, *, since: datetime, before: datetime, limit: int
) -> list[Waiting]:
    """Subjects with marks of `kind` for buckets in [since, before), longest waiting first."""
    statement = text(
        "SELECT subject_id, extract(epoch FROM now() - min(created_at))::float8 AS seconds FROM marks"
        " WHERE kind = :kind AND service_id = 0 AND bucket >= :since AND bucket < :before"
        " GROUP BY subject_id ORDER BY min(id) LIMIT :limit"
    )
    values = {"kind": kind, "since": since, "before": before, "limit": limit}
    return [Waiting(row.subject_id, row.seconds) for row in session.execute(statement, values)]


def claim_subjects(
    transaction: WriteTransaction,
    kind: str,
    subject_ids: Sequence[int],
    *,
    before: datetime,
    since: datetime | None = None,
    service_id: int = 0,
) -> dict[int, tuple[datetime, ...]]:
    """Claim the marks in [since, before) of those subjects that no other worker holds, as `claim` does of one.

    Never waits. The buckets by subject.
    """
    lock = text(
        "SELECT s FROM unnest(CAST(:subjects AS bigint[])) AS s"
        " WHERE pg_try_advisory_xact_lock(hashtextextended(:kind || '\\:' || s || '\\:' || :service, 7))"
    )
    asked = {"kind": kind, "subjects": list(subject_ids), "service": str(service_id)}
    held = list(transaction.execute(lock, asked).scalars())
    if not held:
        return {}
    statement = text(
        "DELETE FROM marks WHERE kind = :kind AND service_id = :service AND subject_id = ANY(:subjects)"
        " AND bucket >= coalesce(CAST(:since AS timestamptz), '-infinity') AND bucket < :before"
        " RETURNING subject_id, bucket"
    )
    values = {"kind": kind, "service": service_id, "subjects": held, "since": since, "before": before}
    found: dict[int, set[datetime]] = {}
    for row in transaction.execute(statement, values):
        found.setdefault(row.subject_id, set()).add(row.bucket)
    return {subject: tuple(sorted(buckets)) for subject, buckets in sorted(found.items())}


def append_all(transaction: WriteTransaction, kind: str, wanted: Iterable[tuple[int, datetime]]) -> None:
    """Append marks of (subject, bucket) without looking whether some wait already."""
    rows = sorted(set(wanted))
    if not rows:
        return
    statement = text(
        "INSERT INTO marks (kind, subject_id, service_id, bucket) SELECT :kind, s, 0, b"
        " FROM unnest(CAST(:subjects AS bigint[]), CAST(:buckets AS timestamptz[])) AS w (s, b)"
    )
    values = {"kind": kind, "subjects": [subject for subject, _ in rows], "buckets": [bucket for _, bucket in rows]}
    transaction.execute(statement, values)


def append(
    transaction: WriteTransaction, kind: str, subject_id: int, service_id: int, buckets: Iterable[datetime]
) -> None:
    """Append marks for buckets of one subject, except those that wait already."""
    append_missing(transaction, kind, ((subject_id, bucket) for bucket in buckets), service_id)


def append_missing(
    transaction: WriteTransaction, kind: str, wanted: Iterable[tuple[int, datetime]], service_id: int = 0
) -> None:
    """Append marks of (subject, bucket), except those that wait already.

    A mark that another transaction is deleting does not count as waiting: that worker may have read before this
    change. One that waits is locked until this transaction ends, so that whoever deletes it reads what is new here.
    """
    rows = sorted(set(wanted))
    if not rows:
        return
    statement = text(
        "INSERT INTO marks (kind, subject_id, service_id, bucket) SELECT :kind, s, :service, b"
        " FROM unnest(CAST(:subjects AS bigint[]), CAST(:buckets AS timestamptz[])) AS w (s, b)"
        " WHERE NOT EXISTS (SELECT FROM marks m WHERE m.kind = :kind AND m.subject_id = w.s"
        " AND m.service_id = :service AND m.bucket = w.b FOR KEY SHARE SKIP LOCKED)"
    )
    subjects, buckets = [subject for subject, _ in rows], [bucket for _, bucket in rows]
    values = {"kind": kind, "service": service_id, "subjects": subjects, "buckets": buckets}
    transaction.execute(statement, values)


def pending_buckets(
    session: ReadSession, kinds: Sequence[str], subject_ids: Sequence[int], service_id: int = 0
) -> set[tuple[int, datetime]]:
    """Return (subject, bucket) of all marks of these kinds that wait for these subjects."""
    statement = select(marks.c.subject_id, marks.c.bucket).where(
        marks.c.kind.in_(kinds), marks.c.subject_id.in_(subject_ids), marks.c.service_id == service_id
    )
    return {(row.subject_id, row.bucket) for row in session.execute(statement)}


def count_waiting(
    session: ReadSession, kind: str, *, since: datetime, before: datetime, most: int
) -> dict[datetime, int] | None:
    """How many subjects have marks of `kind`, by bucket in [since, before) with any; None for more than `most`."""
    statement = text(
        "SELECT bucket, count(DISTINCT subject_id) AS waiting, count(*) AS marks FROM (SELECT bucket, subject_id"
        " FROM marks WHERE kind = :kind AND bucket >= :since AND bucket < :before LIMIT :limit) AS m GROUP BY bucket"
    )
    values = {"kind": kind, "since": since, "before": before, "limit": most + 1}
    rows = session.execute(statement, values).all()
    return None if sum(row.marks for row in rows) > most else {row.bucket: row.waiting for row in rows}


def backlog(
    session: ReadSession, *, now: datetime, due: Mapping[str, datetime], enrolled_after: datetime | None = None
) -> Backlog:
    """Count marks whose buckets are due: by kind, those that start before the moment that `due` names.

    A mark that was made while its bucket was open waits only from when the bucket became due. Of work on one
    host's rows, that of hosts that enrolled after a moment alone, where one is given.
    """
    statement = text(
        "SELECT count(*), min(greatest(m.created_at, m.bucket + (CAST(:now AS timestamptz) - d.moment))), min(m.bucket)"
        " FROM marks m"
        " JOIN unnest(CAST(:kinds AS text[]), CAST(:moments AS timestamptz[])) AS d (kind, moment)"
        " ON d.kind = m.kind AND m.bucket < d.moment"
        " LEFT JOIN hosts h ON m.kind = ANY(:of_hosts) AND h.id = m.subject_id"
        " WHERE h.id IS NULL OR h.enrolled_at > CAST(:after AS timestamptz)"
    )
    kept = OF_ONE_HOST if enrolled_after is not None else []
    values = {"now": now, "kinds": list(due), "moments": list(due.values()), "of_hosts": kept, "after": enrolled_after}
    count, oldest, first = session.execute(statement, values).one()
    return Backlog(int(count), oldest, first)

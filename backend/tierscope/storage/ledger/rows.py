"""The ledger as stored: one row per host (and service) and interval."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.ledger import COLUMN_KEYS, COLUMNS, Ledger, Plan
from tierscope.storage.base import copy
from tierscope.storage.base.binary import MISSING, Columns, copy_columns

_COLUMNS = ("host_id", "service_id", "ts", "dt_seconds", *COLUMN_KEYS, "trust_id", "cause")
_SELECT = (
    "host_id, service_id, ts, coalesce(dt_seconds, 0), coalesce(cause, 0::smallint),"
    f" array_replace(ARRAY[{', '.join(COLUMN_KEYS)}]::bigint[], NULL, ({MISSING + 1} - 1)::bigint)"
)
"""The columns as one array: a field of its own for each would cost a Python object per cell."""


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """Rows of one host and service."""

    host_id: int
    service_id: int
    ledger: Ledger


def replace_ledger(
    transaction: WriteTransaction,
    host_id: int,
    service_id: int,
    spans: Sequence[tuple[datetime, datetime]],
    ledger: Ledger,
    plan: Plan,
) -> None:
    """Store rows in place of what was there in the (start, end] spans."""
    statement = text(
        "DELETE FROM tier_moves WHERE host_id = :host AND service_id = :service AND ts > :start AND ts <= :end"
    )
    for start, end in spans:
        transaction.execute(statement, {"host": host_id, "service": service_id, "start": start, "end": end})
    append_ledgers(transaction, [(host_id, service_id, ledger, plan)])


def append_ledgers(transaction: WriteTransaction, parts: Sequence[tuple[int, int, Ledger, Plan]]) -> None:
    """Store rows of hosts and services where there are none, in one COPY."""
    trusts: dict[int, bytes] = {}
    rows = []
    for host_id, service_id, ledger, plan in parts:
        trust = trusts.get(id(plan))
        if trust is None:
            trust = trusts[id(plan)] = copy.int8(_ensure_trust(transaction, plan))
        rows += _encode(host_id, service_id, ledger, trust)
    copy.copy_rows(transaction, "tier_moves", _COLUMNS, rows)


def _encode(host_id: int, service_id: int, ledger: Ledger, trust: bytes) -> list[bytes]:
    head = len(_COLUMNS).to_bytes(2, "big") + copy.int8(host_id) + copy.int8(service_id)
    rows = []
    for i, at_us in enumerate(np.rint(ledger.times_s * 1e6).astype(np.int64).tolist()):
        cells = [
            copy.int8(value) if present else copy.NULL
            for value, present in zip(ledger.values[i].tolist(), ledger.present[i].tolist(), strict=True)
        ]
        cause = int(ledger.cause[i])
        body = [copy.instant(at_us * 1000), copy.float8(float(ledger.dt_seconds[i])), *cells, trust]
        rows.append(b"".join([head, *body, copy.int2(cause) if cause else copy.NULL]))
    return rows


def holds_ledger(
    session: ReadSession, host_id: int, service_id: int, span: tuple[datetime, datetime], ledger: Ledger, plan: Plan
) -> bool:
    """Whether exactly these rows are what is stored in the (start, end] span."""
    stored = read_ledger(session, [host_id], service_id, *span)
    if not stored or len(stored[0].ledger.times_s) != len(ledger.times_s):
        return not stored and not len(ledger.times_s)
    found = stored[0].ledger
    same = (
        np.array_equal(np.rint(found.times_s * 1e6), np.rint(ledger.times_s * 1e6))
        and np.array_equal(found.dt_seconds, ledger.dt_seconds)
        and np.array_equal(found.values, ledger.values)
        and np.array_equal(found.present, ledger.present)
        and np.array_equal(found.cause, ledger.cause)
    )
    if not same:
        return False
    statement = text(
        "SELECT count(*) FROM tier_moves m LEFT JOIN ledger_trusts t ON t.id = m.trust_id WHERE m.host_id = :host"
        " AND m.service_id = :service AND m.ts > :start AND m.ts <= :end AND t.digest IS DISTINCT FROM :digest"
    )
    values = {"host": host_id, "service": service_id, "start": span[0], "end": span[1], "digest": _digest(plan)[0]}
    return int(session.execute(statement, values).scalar_one()) == 0


def describe_trust(plan: Plan) -> dict[str, object]:
    """What is stored beside the numbers: dialect and variant, and per column its counters and trust where not exact."""
    columns = {
        column.column.key: {"t": column.trust, "c": list(column.counters)}
        for column in plan.columns
        if column.trust != "not_supported"
    }
    return {"dialect": plan.dialect, "variant": plan.variant, "columns": columns}


def _ensure_trust(transaction: WriteTransaction, plan: Plan) -> int:
    """The id of a plan's description, stored if it is new."""
    digest, body = _digest(plan)
    find = text("SELECT id FROM ledger_trusts WHERE digest = :digest")
    known = transaction.execute(find, {"digest": digest}).scalar_one_or_none()
    if known is None:
        store = text(
            "INSERT INTO ledger_trusts (digest, body) VALUES (:digest, CAST(:body AS jsonb))"
            " ON CONFLICT (digest) DO NOTHING"
        )
        transaction.execute(store, {"digest": digest, "body": body})
        known = transaction.execute(find, {"digest": digest}).scalar_one()
    return int(known)


def _digest(plan: Plan) -> tuple[bytes, str]:
    body = json.dumps(describe_trust(plan), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).digest(), body


def read_ledger(
    session: ReadSession, host_ids: Sequence[int], service_id: int, start: datetime, end: datetime
) -> list[StoredLedger]:
    """All rows of (start, end] by host."""
    ids = ", ".join(str(int(host)) for host in host_ids) or "NULL"
    query = (
        f"SELECT {_SELECT} FROM tier_moves WHERE host_id IN ({ids}) AND service_id = {int(service_id)}"  # noqa: S608
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, ts"
    )
    return _collect(copy_columns(session, query))


def read_newest(
    session: ReadSession, host_ids: Sequence[int], *, rows: int, since: datetime, service_id: int = 0
) -> list[StoredLedger]:
    """The newest `rows` rows of each host, or of a service's own cgroups on it, after `since`, in order of time."""
    ids = ", ".join(f"({int(host)}::bigint)" for host in host_ids)
    if not ids:
        return []
    query = (
        f"SELECT t.* FROM (VALUES {ids}) AS h (id) CROSS JOIN LATERAL (SELECT {_SELECT} FROM tier_moves"  # noqa: S608
        f" WHERE host_id = h.id AND service_id = {int(service_id)} AND ts > '{since.isoformat()}'"
        f" ORDER BY ts DESC LIMIT {int(rows)}) AS t ORDER BY 1, 3"
    )
    return _collect(copy_columns(session, query))


def _collect(found: Columns | None) -> list[StoredLedger]:
    """Ledgers by host and service, from rows in that order and in order of time."""
    if found is None:
        return []
    subjects = np.stack((found.ints(0), found.ints(1)), axis=1)
    times, seconds, cause = found.times_us(2), found.floats(3), found.ints(4).astype(np.int8)
    raw = found.int8_arrays(5)
    present = raw != MISSING
    values = np.where(present, raw, 0)
    starts = np.flatnonzero(np.concatenate(([True], (subjects[1:] != subjects[:-1]).any(axis=1))))
    out = []
    for start, end in zip(starts, [*starts[1:], len(times)], strict=True):
        # Of rows with one time the last one counts.
        kept = start + np.flatnonzero(np.concatenate((times[start + 1 : end] != times[start : end - 1], [True])))
        ledger = Ledger(times[kept] / 1e6, seconds[kept], values[kept], present[kept], cause[kept])
        out.append(StoredLedger(int(subjects[start, 0]), int(subjects[start, 1]), ledger))
    return out


@dataclass(frozen=True, slots=True)
class Flow:
    """Sums over a window, per host or bucket. None where no row had the column."""

    host_id: int
    bucket_us: int
    seconds: float
    sums: dict[str, int | None]


def sum_flows(
    session: ReadSession,
    keys: Sequence[str],
    start: datetime,
    end: datetime,
    *,
    service_id: int = 0,
    host_ids: Sequence[int] | None = None,
    width_us: int | None = None,
    by_host: bool = True,
) -> list[Flow]:
    """Sum columns over (start, end] per host and, with a width, per bucket; one statement for all hosts."""
    flows = {column.key for column in COLUMNS if not column.gauge}
    picked = [key for key in keys if key in flows]
    sums = ", ".join(f"sum({key})::bigint" for key in picked)
    host = "host_id" if by_host else "0::bigint"
    bucket = "0::bigint"
    if width_us:
        bucket = f"((extract(epoch FROM ts) * 1000000)::bigint - 1) / {int(width_us)} * {int(width_us)}"
    some = " AND host_id = ANY(:hosts)" if host_ids is not None else ""
    statement = text(
        f"SELECT {host}, {bucket}, sum(dt_seconds), {sums} FROM tier_moves"  # noqa: S608 - column names of our own
        f" WHERE service_id = :service AND ts > :start AND ts <= :end{some} GROUP BY 1, 2 ORDER BY 1, 2"
    )
    values: dict[str, object] = {"service": service_id, "start": start, "end": end}
    if host_ids is not None:
        values["hosts"] = list(host_ids)
    return [
        Flow(int(row[0]), int(row[1]), float(row[2] or 0.0), dict(zip(picked, row[3:], strict=True)))
        for row in session.execute(statement, values)
    ]


def first_after(session: ReadSession, host_id: int, at: datetime) -> tuple[datetime, float] | None:
    """The first stored host row within a day after `at`: its time and how long its difference spans, in seconds."""
    statement = text(
        "SELECT ts, dt_seconds FROM tier_moves WHERE host_id = :host AND service_id = 0 AND ts > :at"
        " AND ts <= CAST(:at AS timestamptz) + interval '1 day' ORDER BY ts LIMIT 1"
    )
    row = session.execute(statement, {"host": host_id, "at": at}).one_or_none()
    return None if row is None else (row.ts, float(row.dt_seconds))


def recorded_seconds(session: ReadSession, host_ids: Sequence[int]) -> dict[int, float]:
    """From the first to the last sample of a host that is stored or in its ledger, whatever window is asked for."""
    statement = text(
        "SELECT h.id, extract(epoch FROM greatest("
        "(SELECT max(ts) FROM counters_live WHERE host_id = h.id),"
        " (SELECT max(ts) FROM tier_moves WHERE host_id = h.id AND service_id = 0))"
        " - least((SELECT min(ts) FROM counters_live WHERE host_id = h.id),"
        " (SELECT ts - dt_seconds * interval '1 second' FROM tier_moves WHERE host_id = h.id AND service_id = 0"
        " ORDER BY ts LIMIT 1)))::float8 AS seconds"
        " FROM unnest(CAST(:hosts AS bigint[])) AS h (id)"
    )
    return {row.id: row.seconds or 0.0 for row in session.execute(statement, {"hosts": list(host_ids)})}

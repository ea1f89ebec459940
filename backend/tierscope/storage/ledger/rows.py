"""The ledger as stored: one row per host (and service) and interval."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.ledger import COLUMNS, Ledger, Plan
from tierscope.domain.ledger.columns import ABSENT
from tierscope.storage.base.binary import copy_columns, from_us
from tierscope.storage.base.numbering import copy_rows, numbering
from tierscope.storage.ledger.days import (
    MOVES_ARRAYS,
    Moves,
    copy_moves,
    may_be_packed,
    moves_of,
    newest_packed,
    packed_spans,
    read_moves,
    select_moves,
    unpack_days,
)
from tierscope.storage.ledger.sums import sum_moves
from tierscope.storage.tables import ledger_trusts


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
    unpack_days(transaction, host_id, spans)
    statement = text(
        "DELETE FROM tier_moves WHERE host_id = :host AND service_id = :service AND ts > :start AND ts <= :end"
    )
    for start, end in spans:
        transaction.execute(statement, {"host": host_id, "service": service_id, "start": start, "end": end})
    append_ledgers(transaction, [(host_id, service_id, ledger, plan)])


def append_ledgers(transaction: WriteTransaction, parts: Sequence[tuple[int, int, Ledger, Plan]]) -> None:
    """Store rows of hosts and services where there are none, in one COPY."""
    trusts: dict[int, int] = {}
    moves = []
    for host_id, service_id, ledger, plan in parts:
        if id(plan) not in trusts:
            trusts[id(plan)] = _ensure_trust(transaction, plan)
        moves.append(_moves(host_id, service_id, ledger, trusts[id(plan)]))
    copy_moves(transaction, moves)


def _moves(host_id: int, service_id: int, ledger: Ledger, trust_id: int) -> Moves:
    times_us = np.rint(ledger.times_s * 1e6).astype(np.int64)
    causes, trusts = ledger.cause.astype(np.int64), np.full(len(ledger), trust_id)
    return Moves(host_id, service_id, times_us, ledger.dt_seconds, causes, trusts, ledger.values, ledger.present)


class HeldLedgers:
    """What is stored of hosts (service 0) and of services on them in a (start, end] span."""

    def __init__(
        self,
        transaction: WriteTransaction,
        host_ids: Sequence[int],
        service_ids: Sequence[int],
        span: tuple[datetime, datetime],
    ) -> None:
        self._transaction = transaction
        found = read_moves(transaction, host_ids, service_ids, *span)
        self._moves = {(moves.host_id, moves.service_id): _last_counts(moves) for moves in found}
        self._trusts: dict[int, tuple[Plan, int]] = {}

    def holds(self, host_id: int, service_id: int, ledger: Ledger, plan: Plan) -> bool:
        """Whether exactly these rows are stored of a host, or of a service on it."""
        held = self._moves.get((host_id, service_id))
        if held is None:
            return not len(ledger)
        if id(plan) not in self._trusts:
            find = text("SELECT id FROM ledger_trusts WHERE digest = :digest")
            known = self._transaction.execute(find, {"digest": _digest(plan)[0]}).scalar_one_or_none()
            if known is None:
                return False
            self._trusts[id(plan)] = plan, known
        wanted = _moves(host_id, service_id, ledger, self._trusts[id(plan)][1])
        return all(np.array_equal(getattr(held, name), getattr(wanted, name)) for name in MOVES_ARRAYS)


def describe_trust(plan: Plan) -> dict[str, object]:
    """What is stored beside the numbers: dialect, variant, counters and trust by column, and why columns are unsent."""
    columns = {
        column.column.key: {"t": column.trust, "c": list(column.counters)}
        for column in plan.columns
        if column.trust not in ABSENT
    }
    unsent = {column.column.key: column.note for column in plan.columns if column.trust == "not_collected"}
    told: dict[str, object] = {"dialect": plan.dialect, "variant": plan.variant, "columns": columns}
    return told | {"unsent": unsent} if unsent else told


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
        with numbering(transaction) as giving:
            giving.execute(store, {"digest": digest, "body": body})
            known = giving.execute(find, {"digest": digest}).scalar_one()
            copy_rows(giving, transaction, ledger_trusts, [known])
    return int(known)


def _digest(plan: Plan) -> tuple[bytes, str]:
    body = json.dumps(describe_trust(plan), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).digest(), body


def read_ledger(
    session: ReadSession, host_ids: Sequence[int], service_id: int, start: datetime, end: datetime
) -> list[StoredLedger]:
    """All rows of (start, end] by host."""
    return [_ledger_of(part) for part in read_moves(session, host_ids, service_id, start, end)]


def read_newest(
    session: ReadSession, subjects: Sequence[tuple[int, int]], *, rows: int, since: datetime
) -> list[StoredLedger]:
    """The newest `rows` rows after `since` of each host and service, in order of time.

    `subjects`: host and service, whose own cgroups on it are meant; 0 for the whole host.
    """
    pairs = ", ".join(f"({int(host)}::bigint, {int(service)}::bigint)" for host, service in subjects)
    if not pairs:
        return []
    query = (
        f"SELECT t.* FROM (VALUES {pairs}) AS s (host, service) CROSS JOIN LATERAL (SELECT {select_moves()}"  # noqa: S608
        f" FROM tier_moves WHERE host_id = s.host AND service_id = s.service AND ts > '{since.isoformat()}'"
        f" ORDER BY ts DESC LIMIT {int(rows)}) AS t ORDER BY 1, 2, 3"
    )
    found = {(part.host_id, part.service_id): part for part in moves_of(copy_columns(session, query))}
    if may_be_packed(since):
        few: dict[int, list[int]] = {}
        for host, service in subjects:
            part = found.get((host, service))
            if part is None or len(part.times_us) < rows or may_be_packed(from_us(part.times_us[0])):
                few.setdefault(service, []).append(host)
        for service, hosts in few.items():
            _add_packed(session, found, hosts, service, rows=rows, since=since)
    return [_ledger_of(found[subject]) for subject in sorted(found)]


def _add_packed(
    session: ReadSession,
    found: dict[tuple[int, int], Moves],
    host_ids: Sequence[int],
    service_id: int,
    *,
    rows: int,
    since: datetime,
) -> None:
    """The newest rows of a service on hosts once more, with those of packed days."""
    until = utc_now() + timedelta(days=1)
    for day, hosts in newest_packed(session, host_ids, service_id, since, rows).items():
        # Rows may be older than packed days: history that was imported, before it is packed.
        held = [found[host, service_id] for host in hosts if (host, service_id) in found]
        start = max(min([day, *(from_us(int(part.times_us[0]) - 1) for part in held)]), since)
        for part in read_moves(session, hosts, service_id, start, until):
            found[part.host_id, service_id] = part.rows(slice(-rows, None))


def _ledger_of(moves: Moves) -> StoredLedger:
    kept = _last_counts(moves)
    ledger = Ledger(kept.times_us / 1e6, kept.seconds, kept.values, kept.present, kept.causes.astype(np.int8))
    return StoredLedger(moves.host_id, moves.service_id, ledger)


def _last_counts(moves: Moves) -> Moves:
    """Of rows with one time the last one counts."""
    times = moves.times_us
    last = np.concatenate((times[1:] != times[:-1], [True]))
    return moves if last.all() else moves.rows(last)


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
    """Sum columns over (start, end] per host and, with a width, per bucket."""
    flows = {column.key for column in COLUMNS if not column.gauge}
    picked = [key for key in keys if key in flows]
    found = sum_moves(
        session, picked, start, end, service_id=service_id, host_ids=host_ids, width_us=width_us, by_host=by_host
    )
    groups = zip(found.host_ids.tolist(), found.buckets_us.tolist(), found.seconds.tolist(), strict=True)
    cells = zip(found.sums.tolist(), found.counts.tolist(), strict=True)
    return [
        Flow(
            host,
            bucket,
            seconds,
            {key: total if n else None for key, total, n in zip(picked, sums, counts, strict=True)},
        )
        for (host, bucket, seconds), (sums, counts) in zip(groups, cells, strict=True)
    ]


def first_after(session: ReadSession, host_ids: Sequence[int], at: datetime) -> dict[int, tuple[datetime, float]]:
    """The first stored row of each whole host within a day after `at`: its time and how many seconds it spans."""
    if may_be_packed(at):
        moves = read_moves(session, host_ids, 0, at, at + timedelta(days=1), [])
        return {part.host_id: (from_us(part.times_us[0]), float(part.seconds[0])) for part in moves}
    statement = text(
        "SELECT h.id, s.ts, s.dt_seconds FROM unnest(CAST(:hosts AS bigint[])) AS h (id) CROSS JOIN LATERAL"
        " (SELECT ts, dt_seconds FROM tier_moves WHERE host_id = h.id AND service_id = 0 AND ts > :at"
        " AND ts <= CAST(:at AS timestamptz) + interval '1 day' ORDER BY ts LIMIT 1) AS s"
    )
    rows = session.execute(statement, {"hosts": list(host_ids), "at": at})
    return {row.id: (row.ts, float(row.dt_seconds)) for row in rows}


def recorded_seconds(session: ReadSession, host_ids: Sequence[int]) -> dict[int, float]:
    """From the first to the last sample of a host that is stored or in its ledger, whatever window is asked for."""
    statement = text(
        "SELECT h.id, extract(epoch FROM least((SELECT min(ts) FROM counters_live WHERE host_id = h.id),"
        " (SELECT ts - dt_seconds * interval '1 second' FROM tier_moves WHERE host_id = h.id AND service_id = 0"
        " ORDER BY ts LIMIT 1)))::float8 AS first_s,"
        " extract(epoch FROM greatest((SELECT max(ts) FROM counters_live WHERE host_id = h.id),"
        " (SELECT max(ts) FROM tier_moves WHERE host_id = h.id AND service_id = 0)))::float8 AS last_s"
        " FROM unnest(CAST(:hosts AS bigint[])) AS h (id)"
    )
    packed = packed_spans(session, host_ids)
    found = {}
    for row in session.execute(statement, {"hosts": list(host_ids)}):
        spans = [packed[row.id]] if row.id in packed else []
        if row.first_s is not None:
            spans.append((row.first_s, row.last_s))
        found[row.id] = max(last for _, last in spans) - min(first for first, _ in spans) if spans else 0.0
    return found

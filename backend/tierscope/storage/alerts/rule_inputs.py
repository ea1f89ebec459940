"""Minutes that rules judge, as stored: rows of the last days, and packed days of the last weeks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.alerts.frame import PairIds, Rows
from tierscope.domain.base.blocks import pack_floats, unpack_floats
from tierscope.domain.base.buckets import day_of
from tierscope.storage.base import copy
from tierscope.storage.base.binary import copy_out, from_us
from tierscope.storage.base.blocks import (
    Block,
    Days,
    ensure_days,
    read_parts,
    replace_blocks,
    start_seconds,
    stored_layouts,
)
from tierscope.storage.base.retention import kept
from tierscope.storage.counters.schemas import ensure_layout, read_layouts
from tierscope.storage.tables import rule_days, rule_inputs

_COLUMNS = ("host_id", "service_id", "ts", "layout_id", "dt_seconds", "lag_seconds", "vals")
_SPAN = ("extract(epoch FROM ts)", "dt_seconds", "lag_seconds")
_HEADS = 3
"""Parts of a packed day before those of the names: ends, lengths, lags."""
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class InputRows:
    """n intervals of several hosts under one layout. `values` [n, names]."""

    host_ids: Ints
    service_ids: Ints
    ends_s: Floats
    seconds: Floats
    lags_s: Floats
    names: tuple[str, ...]
    values: Floats


def append_inputs(transaction: WriteTransaction, rows: InputRows) -> None:
    """Store intervals. What is stored already is never changed: the caller leaves out what is there."""
    if not len(rows.host_ids):
        return
    first_s = float(rows.ends_s.min())
    if first_s < (utc_now() - kept("rule_inputs")).timestamp():
        days = [day_of(from_us(round(end * 1e6))) for end in (first_s, float(rows.ends_s.max()))]
        ensure_days(transaction, rule_inputs, *days)
    layout = copy.int8(ensure_layout(transaction, rows.names))
    fields = len(_COLUMNS).to_bytes(2, "big")
    out = []
    for place in range(len(rows.host_ids)):
        at_us = round(float(rows.ends_s[place]) * 1e6)
        head = [copy.int8(int(rows.host_ids[place])), copy.int8(int(rows.service_ids[place]))]
        head += [copy.instant(at_us * 1000), layout]
        head += [copy.float8(float(rows.seconds[place])), copy.float8(float(rows.lags_s[place]))]
        out.append(b"".join([fields, *head, copy.float8_array(rows.values[place])]))
    copy.copy_rows(transaction, "rule_inputs", _COLUMNS, out)


def newest_forecast(session: ReadSession, since: datetime) -> datetime | None:
    """The end of the newest minute after `since` for which forecasts are recorded: rows without a host."""
    found: datetime | None = session.execute(
        text("SELECT max(ts) FROM rule_inputs WHERE host_id = 0 AND ts > :since"), {"since": since}
    ).scalar_one()
    return found


def stored_spans(
    session: ReadSession, host_ids: Sequence[int], service_ids: Sequence[int], start: datetime, end: datetime
) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """(start, end] in seconds of the stored intervals that touch a span, by host and service (0 = the whole host)."""
    statement = text(
        "SELECT host_id, service_id, extract(epoch FROM ts)::float8 AS end_s, dt_seconds FROM rule_inputs"
        " WHERE host_id = ANY(:hosts) AND service_id = ANY(:services)"
        " AND ts > :start AND ts - make_interval(secs => dt_seconds) < :end"
        " AND ts <= CAST(:end AS timestamptz) + interval '1 day'"
    )
    found: dict[tuple[int, int], set[tuple[float, float]]] = {}
    values = {"hosts": list(host_ids), "services": list(service_ids), "start": start, "end": end}
    for row in session.execute(statement, values):
        found.setdefault((row.host_id, row.service_id), set()).add((row.end_s - row.dt_seconds, row.end_s))
    if start < utc_now() - kept("rule_inputs"):
        days = Days(day_of(start), end + timedelta(days=1), host_ids, "any")
        for layout_id in stored_layouts(session, rule_days, days):
            for block in read_parts(session, rule_days, days, layout_id, [0, 1]):
                ends_s, seconds = (unpack_floats(part, block.n)[0] for part in block.parts)
                touch = (ends_s > start.timestamp()) & (ends_s - seconds < end.timestamp())
                spans = found.setdefault((block.host_id, block.service_id), set())
                spans.update(zip((ends_s - seconds)[touch].tolist(), ends_s[touch].tolist(), strict=True))
    return {subject: sorted(spans, key=lambda span: span[1]) for subject, spans in found.items()}


def read_inputs(
    session: ReadSession,
    start: datetime,
    end: datetime,
    names: Iterable[str],
    *,
    pairs: PairIds | None = None,
    host_ids: Sequence[int] | None = None,
) -> list[Rows]:
    """Stored rows of (start, end] with those of `names` that they have, of whole hosts or of services on hosts.

    Subjects are hosts or, with `pairs`, its numbers of services on hosts.
    """
    wanted = set(names)
    where = [f"ts > '{start.isoformat()}'", f"ts <= '{end.isoformat()}'"]
    where.append("service_id = 0" if pairs is None else "service_id > 0")
    if host_ids is not None:
        where.append(f"host_id IN ({', '.join(str(int(host)) for host in host_ids) or 'NULL'})")
    condition = " AND ".join(where)
    found = session.execute(text(f"SELECT DISTINCT layout_id FROM rule_inputs WHERE {condition}"))  # noqa: S608
    layouts = read_layouts(session, [int(layout) for layout in found.scalars()])
    parts = []
    for layout_id, held in sorted(layouts.items()):
        places = [place for place, name in enumerate(held) if name in wanted]
        columns = ["host_id", "service_id", *_SPAN, *(f"vals[{place + 1}]" for place in places)]
        rest = f"FROM rule_inputs WHERE layout_id = {int(layout_id)} AND {condition}"
        table = _read_floats(session, columns, rest)
        hosts, owners = table[0].astype(np.int64), table[1].astype(np.int64)
        parts.append(
            Rows(
                hosts if pairs is None else pairs.of(owners, hosts),
                table[2],
                table[3],
                table[4],
                tuple(held[place] for place in places),
                np.ascontiguousarray(table[5:].T),
            )
        )
    return parts


def _read_floats(session: ReadSession, columns: Sequence[str], rest: str) -> Floats:
    """Columns of float8 without nulls [columns, rows]. The server joins each column, so that one row is sent."""
    joined = ", ".join(
        f"coalesce(string_agg(float8send(({column})::float8), ''::bytea), ''::bytea)" for column in columns
    )
    row = next(copy_out(session, f"SELECT {joined} {rest}"))
    return np.stack([np.frombuffer(field or b"", ">f8").astype(np.float64) for field in row])


def _read_day(session: ReadSession, host_id: int, day: datetime, end: datetime) -> dict[tuple[int, int], InputRows]:
    """All stored rows of a host's day (start, end], by service and layout, in order of time."""
    found = session.execute(
        text(
            "SELECT DISTINCT service_id, layout_id FROM rule_inputs WHERE host_id = :host AND ts > :day AND ts <= :end"
        ),
        {"host": host_id, "day": day, "end": end},
    ).all()
    layouts = read_layouts(session, {row.layout_id for row in found})
    days = {}
    for service_id, layout_id in found:
        names = layouts[layout_id]
        rest = (
            f"FROM (SELECT * FROM rule_inputs WHERE host_id = {int(host_id)} AND service_id = {int(service_id)}"  # noqa: S608
            f" AND layout_id = {int(layout_id)} AND ts > '{day.isoformat()}' AND ts <= '{end.isoformat()}'"
            " ORDER BY ts) AS r"
        )
        table = _read_floats(session, [*_SPAN, *(f"vals[{place + 1}]" for place in range(len(names)))], rest)
        subject = np.full(table.shape[1], host_id), np.full(table.shape[1], service_id)
        days[service_id, layout_id] = InputRows(
            *subject, table[0], table[1], table[2], names, np.ascontiguousarray(table[_HEADS:].T)
        )
    return days


def pack_days(transaction: WriteTransaction, host_id: int, days: Sequence[datetime]) -> None:
    """Pack closed days: what is packed already, and the rows that came since."""
    for day in days:
        end = day + timedelta(days=1)
        parts = unpack_days(read_packed_days(transaction, day, end, None, host_ids=[host_id], services=None))
        for key, rows in _read_day(transaction, host_id, day, end).items():
            parts[key] = _join_rows(parts[key], rows) if key in parts else rows
        packed = [(service_id, rows) for (service_id, _), rows in sorted(parts.items())]
        replace_packed_day(transaction, host_id, day, packed)


def replace_packed_day(
    transaction: WriteTransaction, host_id: int, day: datetime, parts: Iterable[tuple[int, InputRows]]
) -> None:
    """Store a host's day, packed, in place of what was there; `parts` are (service, rows)."""
    blocks = []
    for service_id, rows in parts:
        columns = [rows.ends_s, rows.seconds, rows.lags_s, *rows.values.T]
        packed = tuple(pack_floats(column[None]) for column in columns)
        layout = ensure_layout(transaction, rows.names)
        blocks.append(Block(host_id, service_id, start_seconds(day), layout, len(rows.ends_s), packed))
    replace_blocks(transaction, rule_days, host_id, [day], blocks)


@dataclass(frozen=True, slots=True)
class PackedDay:
    """A packed day of one subject: ends, lengths, lags and then the picked names, still packed."""

    block: Block
    names: tuple[str, ...]


def unpack_day(day: PackedDay) -> tuple[Floats, Floats, Floats, list[Floats]]:
    """Ends in seconds, lengths, lags, and the values of each name; not to be written to."""
    ends_s, seconds, lags_s, *values = (unpack_floats(part, day.block.n)[0] for part in day.block.parts)
    return ends_s, seconds, lags_s, values


def read_packed_days(
    session: ReadSession,
    first_day: datetime,
    end: datetime,
    names: Iterable[str] | None,
    *,
    services: bool | None = False,
    host_ids: Sequence[int],
) -> list[PackedDay]:
    """Packed days from `first_day` on that begin before `end`: the server sends the parts of `names` alone.

    `names` None = all; `services` None = of hosts and of services on them.
    """
    wanted = None if names is None else set(names)
    days = Days(first_day, end, host_ids, "any" if services is None else "each" if services else 0)
    layouts = read_layouts(session, stored_layouts(session, rule_days, days))
    found = []
    for layout_id, held in sorted(layouts.items()):
        places = [place for place, name in enumerate(held) if wanted is None or name in wanted]
        picked = tuple(held[place] for place in places)
        at = [*range(_HEADS), *(_HEADS + place for place in places)]
        found += [PackedDay(block, picked) for block in read_parts(session, rule_days, days, layout_id, at)]
    return found


def unpack_days(days: Iterable[PackedDay]) -> dict[tuple[int, int], InputRows]:
    """The rows of packed days of one host and day, by service and layout."""
    found = {}
    for day in days:
        block = day.block
        ends_s, seconds, lags_s, values = unpack_day(day)
        subject = np.full(block.n, block.host_id), np.full(block.n, block.service_id)
        matrix = np.stack(values, axis=1) if values else np.zeros((block.n, 0))
        found[block.service_id, block.layout_id] = InputRows(*subject, ends_s, seconds, lags_s, day.names, matrix)
    return found


def _join_rows(one: InputRows, other: InputRows) -> InputRows:
    """Rows of one subject and layout in order of time, each end once; those of `one` win."""
    new = ~np.isin(other.ends_s, one.ends_s)
    order = np.argsort(np.concatenate([one.ends_s, other.ends_s[new]]), kind="stable")
    parts = {
        name: np.concatenate([getattr(one, name), getattr(other, name)[new]])[order]
        for name in ("host_ids", "service_ids", "ends_s", "seconds", "lags_s", "values")
    }
    return InputRows(names=one.names, **parts)

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
from tierscope.storage.base.blocks import Block, Contents, Days, Packing, ensure_days, read_blocks
from tierscope.storage.base.layouts import ensure_layout, read_layouts
from tierscope.storage.base.retention import kept
from tierscope.storage.tables.time import rule_days

_COLUMNS = ("host_id", "service_id", "ts", "layout_id", "dt_seconds", "lag_seconds", "vals")
_SPAN = ("extract(epoch FROM ts)", "dt_seconds", "lag_seconds")
_DAY = timedelta(days=1)
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
        ensure_days(transaction, "rule_inputs", *days)
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
        for block in read_blocks(session, rule_days, days, ()):
            ends_s, seconds, *_ = unpack_day(block)
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


def _take(transaction: WriteTransaction, host_id: int, day: datetime) -> list[InputRows]:
    """By service and layout, in order of time. They stay for a while: what is evaluated now reads rows."""
    where = f"host_id = {int(host_id)} AND ts > '{day.isoformat()}' AND ts <= '{(day + _DAY).isoformat()}'"
    query = f"SELECT DISTINCT service_id, layout_id FROM rule_inputs WHERE {where} ORDER BY 1, 2"  # noqa: S608
    found = transaction.execute(text(query)).all()
    layouts = read_layouts(transaction, {layout_id for _, layout_id in found})
    days = []
    for service_id, layout_id in found:
        names = layouts[layout_id]
        rest = (
            f"FROM (SELECT * FROM rule_inputs WHERE {where} AND service_id = {int(service_id)}"  # noqa: S608
            f" AND layout_id = {int(layout_id)} ORDER BY ts) AS r"
        )
        columns = [*_SPAN, *(f"vals[{place + 1}]" for place in range(len(names)))]
        days.append(_rows_of(host_id, service_id, names, list(_read_floats(transaction, columns, rest))))
    return days


def _rows_of(host_id: int, service_id: int, names: tuple[str, ...], columns: Sequence[Floats]) -> InputRows:
    """Rows of one subject: ends, lengths, lags, then a column for each name."""
    ends_s, seconds, lags_s, *values = columns
    n = len(ends_s)
    matrix = np.stack(values, axis=1) if values else np.zeros((n, 0))
    return InputRows(np.full(n, host_id), np.full(n, service_id), ends_s, seconds, lags_s, names, matrix)


def _join(packed: Sequence[InputRows], rows: Sequence[InputRows]) -> Iterable[InputRows]:
    """By service and names, in order of time, each end once; what is packed was judged by, and stays."""
    parts = {(int(part.service_ids[0]), part.names): part for part in packed}
    for part in rows:
        key = int(part.service_ids[0]), part.names
        parts[key] = _join_rows(parts[key], part) if key in parts else part
    return [part for _, part in sorted(parts.items(), key=lambda one: one[0])]


def _join_rows(one: InputRows, other: InputRows) -> InputRows:
    """Rows of one subject and layout in order of time, each end once; those of `one` win."""
    new = ~np.isin(other.ends_s, one.ends_s)
    order = np.argsort(np.concatenate([one.ends_s, other.ends_s[new]]), kind="stable")
    parts = {
        name: np.concatenate([getattr(one, name), getattr(other, name)[new]])[order]
        for name in ("host_ids", "service_ids", "ends_s", "seconds", "lags_s", "values")
    }
    return InputRows(names=one.names, **parts)


def _pack(rows: InputRows) -> Contents:
    columns = [rows.ends_s, rows.seconds, rows.lags_s, *rows.values.T]
    parts = tuple(pack_floats(column[None]) for column in columns)
    return int(rows.service_ids[0]), len(rows.ends_s), rows.names, parts


def unpack_day(block: Block) -> list[Floats]:
    """Ends in seconds, lengths, lags, and the values of each name; not to be written to."""
    return [unpack_floats(part, block.n)[0] for part in block.parts]


def unpack_rows(block: Block) -> InputRows:
    """The rows of a packed day."""
    return _rows_of(block.host_id, block.service_id, block.names, unpack_day(block))


RULES = Packing(rule_days, _take, _join, _pack, unpack_rows)

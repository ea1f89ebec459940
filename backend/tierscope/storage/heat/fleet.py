"""Heat of many services at once: the newest of each, and a sample per bucket of a window. One statement each."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import SECOND_US
from tierscope.domain.heat.rows import HeatRow, HeatSeries, Method, fold_rows
from tierscope.storage.base.binary import copy_out, parse_int
from tierscope.storage.base.live_rows import live_from
from tierscope.storage.heat.rows import LIVE_COLUMNS, ROLLUP_COLUMNS, live_row, read_last_packed, rollup_series

Found = dict[int, list[HeatSeries]]
"""By service, one series per host and method, or several stretches of it."""


def read_newest_hours(session: ReadSession, *, since: datetime, hours: int = 2, service_ids: Sequence[int]) -> Found:
    """The newest hourly sums after `since` of each of these services on each host."""
    query = (
        f"SELECT hs.service_id, h.* FROM host_services hs CROSS JOIN LATERAL (SELECT {ROLLUP_COLUMNS}"  # noqa: S608
        " FROM heat_1h WHERE host_id = hs.host_id AND service_id = hs.service_id"
        f" AND ts > '{since.isoformat()}' ORDER BY ts DESC LIMIT {int(hours)}) AS h{_only(service_ids)}"
    )
    return _rollups(session, query)


def read_hours(session: ReadSession, start: datetime, end: datetime) -> Found:
    """Hourly sums of all services whose hour starts in [start, end)."""
    query = (
        f"SELECT service_id, {ROLLUP_COLUMNS} FROM heat_1h"  # noqa: S608 - times and names of our own
        f" WHERE ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}' ORDER BY service_id, host_id, ts"
    )
    return _rollups(session, query)


def read_newest_intervals(
    session: ReadSession, *, since: datetime, rows: int = 10, service_ids: Sequence[int]
) -> Found:
    """The newest live intervals after `since` of each of these services on each host.

    Rows stay live until their hour is summed up, so that nothing is newer than these and the hours.
    """
    query = (
        f"SELECT hs.service_id, h.* FROM host_services hs CROSS JOIN LATERAL (SELECT {LIVE_COLUMNS}"  # noqa: S608
        " FROM heat_live WHERE host_id = hs.host_id AND service_id = hs.service_id"
        f" AND ts > '{since.isoformat()}' ORDER BY ts DESC LIMIT {int(rows)}) AS h{_only(service_ids)}"
    )
    return _intervals(session, query)


def read_samples(session: ReadSession, start: datetime, end: datetime, every: timedelta) -> Found:
    """The last interval in each stretch of length `every`, of all services on all hosts in (start, end]."""
    width_us = max(int(every.total_seconds()), 1) * SECOND_US
    edge = live_from(session, "heat_live")
    newest: dict[tuple[int, int, int], dict[Method, HeatRow]] = {}
    packed = [] if edge is None or start >= edge else read_last_packed(session, start, min(end, edge), every)
    # Live rows come last: of one time and method they count.
    for service_id, host_id, row in (*packed, *_last_live(session, start, end, every)):
        rows = newest.setdefault((service_id, host_id, -(-row.end_us // width_us)), {})
        known = next((other.end_us for other in rows.values()), row.end_us)
        if row.end_us > known:
            rows.clear()
        if row.end_us >= known:
            rows[row.method] = row
    grouped: dict[tuple[int, int], list[HeatRow]] = {}
    for service_id, host_id, place in sorted(newest):
        grouped.setdefault((service_id, host_id), []).extend(newest[service_id, host_id, place].values())
    return _folded(grouped)


def _last_live(
    session: ReadSession, start: datetime, end: datetime, every: timedelta
) -> Iterator[tuple[int, int, HeatRow]]:
    width = max(int(every.total_seconds()), 1)
    first, last = start.isoformat(), end.isoformat()
    columns = ", ".join(f"h.{name.strip()}" for name in LIVE_COLUMNS.split(","))
    query = (
        f"SELECT h.service_id, {columns} FROM (SELECT host_id, service_id, max(ts) AS ts FROM heat_live"  # noqa: S608
        f" WHERE ts > '{first}' AND ts <= '{last}'"
        f" GROUP BY host_id, service_id, ceil(extract(epoch FROM ts) / {width})) AS k"
        " JOIN heat_live h ON h.host_id = k.host_id AND h.service_id = k.service_id AND h.ts = k.ts"
        f" AND h.ts > '{first}' AND h.ts <= '{last}'"
    )
    for row in copy_out(session, query):
        yield parse_int(row[0]) or 0, parse_int(row[1]) or 0, live_row(row[1:])


def _only(service_ids: Sequence[int]) -> str:
    return f" WHERE hs.service_id IN ({', '.join(str(int(one)) for one in service_ids) or 'NULL'})"


def _rollups(session: ReadSession, query: str) -> Found:
    found: Found = {}
    for row in copy_out(session, query):
        found.setdefault(parse_int(row[0]) or 0, []).append(rollup_series(row[1:], 3_600_000_000))
    return found


def _intervals(session: ReadSession, query: str) -> Found:
    grouped: dict[tuple[int, int], list[HeatRow]] = {}
    for row in copy_out(session, query):
        key = (parse_int(row[0]) or 0, parse_int(row[1]) or 0)
        grouped.setdefault(key, []).append(live_row(row[1:]))
    return _folded(grouped)


def _folded(grouped: Mapping[tuple[int, int], Sequence[HeatRow]]) -> Found:
    found: Found = {}
    for (service_id, host_id), rows in grouped.items():
        found.setdefault(service_id, []).extend(_fold(host_id, rows))
    return found


def _fold(host_id: int, rows: Sequence[HeatRow]) -> list[HeatSeries]:
    parts = (
        fold_rows(host_id, [row for row in rows if row.method == method]) for method in {row.method for row in rows}
    )
    return [part for part in parts if part is not None]

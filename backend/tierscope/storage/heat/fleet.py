"""Heat of many services at once: the newest of each, and a sample per bucket of a window. One statement each."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import SECOND_US
from tierscope.domain.heat.rows import HeatRow, HeatSeries, Method, fold_rows
from tierscope.storage.base.binary import copy_out, from_us, parse_int, parse_us
from tierscope.storage.base.live_rows import live_from
from tierscope.storage.heat.rows import LIVE_COLUMNS, ROLLUP_COLUMNS, live_row, read_last_packed, rollup_series

Found = dict[int, list[HeatSeries]]
"""By service, one series per host and method, or several stretches of it."""
Pair = tuple[int, int]
"""Numbers of a service and of a host that it runs on."""
_NEWEST = timedelta(hours=1)
_GROWTH = 8
"""Newest rows are first asked of the last hour: ten of them where an interval is six minutes or less."""


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
    session: ReadSession, *, since: datetime, until: datetime, rows: int = 10, service_ids: Sequence[int]
) -> Found:
    """The newest `rows` live intervals in (since, until] of each of these services on each host; the last have no end.

    Rows stay live until their hour is summed up, so that nothing is newer than these and the hours. Other servers send
    all rows of a stretch of time, however few are kept: older stretches are asked for pairs that lack rows alone.
    """
    grouped: dict[Pair, list[HeatRow]] = {}
    pairs: Sequence[Pair] = _pairs(session, service_ids)
    for start, end in _stretches(since, until):
        if not pairs:
            break
        for pair, row in _newest_live(session, pairs, start, end, rows):
            grouped.setdefault(pair, []).append(row)
        pairs = [pair for pair in pairs if len(grouped.get(pair, ())) < rows]
    return _folded({pair: found[:rows] for pair, found in grouped.items()})


def _pairs(session: ReadSession, service_ids: Sequence[int]) -> list[Pair]:
    query = f"SELECT hs.service_id, hs.host_id FROM host_services hs{_only(service_ids)}"  # noqa: S608 - integers
    return [_pair(row) for row in copy_out(session, query)]


def _pair(row: Sequence[bytes | None]) -> Pair:
    return parse_int(row[0]) or 0, parse_int(row[1]) or 0


def _stretches(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime | None]]:
    """The newest stretch, open to rows of fast clocks, then older ones, each longer than the one before."""
    end, length = None, _NEWEST
    start = until
    while start > since:
        start = max(start - length, since)
        yield start, end
        end, length = start, length * _GROWTH


def _newest_live(
    session: ReadSession, pairs: Sequence[Pair], start: datetime, end: datetime | None, rows: int
) -> Iterator[tuple[Pair, HeatRow]]:
    services, hosts = (",".join(str(pair[place]) for pair in pairs) for place in (0, 1))
    before = "" if end is None else f" AND ts <= '{end.isoformat()}'"
    query = (
        f"SELECT hs.service_id, h.* FROM unnest('{{{services}}}'::bigint[], '{{{hosts}}}'::bigint[])"  # noqa: S608
        f" AS hs(service_id, host_id) CROSS JOIN LATERAL (SELECT {LIVE_COLUMNS}"
        " FROM heat_live WHERE host_id = hs.host_id AND service_id = hs.service_id"
        f" AND ts > '{start.isoformat()}'{before} ORDER BY ts DESC LIMIT {int(rows)}) AS h"
    )
    for row in copy_out(session, query):
        yield _pair(row), live_row(row[1:])


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
    grouped: dict[Pair, list[HeatRow]] = {}
    for service_id, host_id, place in sorted(newest):
        grouped.setdefault((service_id, host_id), []).extend(newest[service_id, host_id, place].values())
    return _folded(grouped)


def _last_live(
    session: ReadSession, start: datetime, end: datetime, every: timedelta
) -> Iterator[tuple[int, int, HeatRow]]:
    width = max(int(every.total_seconds()), 1)
    inside = f"ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}'"
    wanted = {
        (*_pair(row), parse_us(row[2]))
        for row in copy_out(
            session,
            f"SELECT service_id, host_id, max(ts) FROM heat_live WHERE {inside}"  # noqa: S608 - times of our own
            f" GROUP BY service_id, host_id, ceil(extract(epoch FROM ts) / {width})",
        )
    }
    if not wanted:
        return
    # A join would have other servers send all rows of the window; hosts sample at few different times.
    times = ", ".join(f"'{from_us(at_us).isoformat()}'" for at_us in sorted({at_us for *_, at_us in wanted}))
    query = (
        f"SELECT service_id, {LIVE_COLUMNS} FROM heat_live WHERE {inside}"  # noqa: S608 - times of our own
        f" AND ts = ANY(ARRAY[{times}]::timestamptz[]) ORDER BY host_id, service_id, ts"
    )
    for row in copy_out(session, query):
        if (*_pair(row), parse_us(row[2])) in wanted:
            yield *_pair(row), live_row(row[1:])


def _only(service_ids: Sequence[int]) -> str:
    return f" WHERE hs.service_id IN ({', '.join(str(int(one)) for one in service_ids) or 'NULL'})"


def _rollups(session: ReadSession, query: str) -> Found:
    found: Found = {}
    for row in copy_out(session, query):
        found.setdefault(parse_int(row[0]) or 0, []).append(rollup_series(row[1:], 3_600_000_000))
    return found


def _folded(grouped: Mapping[Pair, Sequence[HeatRow]]) -> Found:
    found: Found = {}
    for (service_id, host_id), rows in grouped.items():
        found.setdefault(service_id, []).extend(_fold(host_id, rows))
    return found


def _fold(host_id: int, rows: Sequence[HeatRow]) -> list[HeatSeries]:
    parts = (
        fold_rows(host_id, [row for row in rows if row.method == method]) for method in {row.method for row in rows}
    )
    return [part for part in parts if part is not None]

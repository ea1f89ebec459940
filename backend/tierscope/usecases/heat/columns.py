"""Heat of a service for one request: from its hosts' series while they are few, else from the columns of all of them.

Columns are kept in memory between requests: they change only when the worker rebuilds an hour. A bucket that is kept
for one window is not read again for another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import floor_to
from tierscope.domain.base.figures import Window
from tierscope.domain.heat.column_joins import join_columns, take_buckets
from tierscope.domain.heat.column_series import series_of_hosts
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.columns import HeatColumns, unpack_columns
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.heat.source import HeatSource, SeriesSource
from tierscope.storage.base.binary import to_us
from tierscope.storage.heat.services import WIDTH_US, Bucket, ServiceTable, list_buckets, read_bodies
from tierscope.usecases.heat.sources import DAILY_FROM, DAY, HOUR, plan_intervals, read_heat

MAX_SERIES_ROWS = 2_000
"""Hourly or daily sums of single hosts that one request reads."""
MAX_KEPT_BYTES = 384 << 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request needs: `counts` for the frequency scheme, `whole` where it is about all hosts of the service."""

    window: Window
    now: datetime
    counts: bool
    whole: bool


def read_sources(
    session: ReadSession, service_id: int, host_ids: Sequence[int], asked: Asked
) -> dict[Method, HeatSource]:
    """The heat of a window by method."""
    columns = find_columns(session, service_id, host_ids, asked) if asked.whole else {}
    if columns:
        return dict(columns)
    found = read_heat(session, service_id, host_ids, asked.window, now=asked.now)
    return {method: SeriesSource(tuple(hosts.values())) for method, hosts in found.items()}


def read_host_sources(
    session: ReadSession, service_id: int, host_ids: Sequence[int], window: Window, *, now: datetime
) -> dict[Method, SeriesSource | ColumnSource]:
    """The heat of these hosts of a service by method: of many from the columns, without their counts by frequency.

    Columns end with the last hour that was stored: all buckets of their series are as wide.
    """
    columns = find_columns(session, service_id, host_ids, Asked(window, now, counts=False, whole=True))
    if columns:
        picked = ((method, source.of_hosts(host_ids)) for method, source in columns.items())
        return {method: source for method, source in picked if source is not None}
    found = read_heat(session, service_id, host_ids, window, now=now)
    return {method: SeriesSource(tuple(hosts.values())) for method, hosts in found.items()}


def read_host_heat(
    session: ReadSession, service_id: int, host_ids: Sequence[int], window: Window, *, now: datetime
) -> dict[Method, dict[int, HeatSeries]]:
    """The same as series of single hosts: for what is computed host by host."""
    found = read_host_sources(session, service_id, host_ids, window, now=now)
    return {method: _series(source) for method, source in found.items()}


def _series(source: SeriesSource | ColumnSource) -> dict[int, HeatSeries]:
    if isinstance(source, SeriesSource):
        return {part.host_id: part for part in source.series}
    return series_of_hosts(source.columns, source.host_ids)


def find_columns(
    session: ReadSession, service_id: int, host_ids: Sequence[int], asked: Asked
) -> dict[Method, ColumnSource]:
    """The columns of a window by method; none where its hosts are so few that their own rows are read."""
    if plan_intervals(session, service_id, host_ids, asked.window, now=asked.now).enough:
        return {}
    span = asked.window.end - asked.window.start
    table: ServiceTable = "service_heat_1d" if span > DAILY_FROM else "service_heat_1h"
    width = DAY if span > DAILY_FROM else HOUR
    if len(host_ids) * (span / width) <= MAX_SERIES_ROWS:
        return {}
    buckets = list_buckets(session, table, service_id, floor_to(asked.window.start, width), asked.window.end)
    return read_columns(session, table, service_id, buckets, counts=asked.counts)


def read_columns(
    session: ReadSession,
    table: ServiceTable,
    service_id: int,
    buckets: Sequence[Bucket],
    *,
    counts: bool,
    newest: bool = False,
) -> dict[Method, ColumnSource]:
    """The columns of these buckets by method, reloaded where the worker has stored any of them since.

    The `newest` ones, which every list needs, are kept apart: a week of one large service does not push them out.
    """
    kept = _newest if newest else _kept
    by_method: dict[Method, list[Bucket]] = {}
    for bucket in buckets:
        by_method.setdefault(bucket.method, []).append(bucket)
    found = {}
    for method, some in by_method.items():
        line = (str(session.connection.engine.url), table, service_id, method, counts)
        version = tuple((bucket.start, bucket.built_at) for bucket in some)
        source = kept.get(line, version)
        if source is None:
            columns = _assemble(session, table, service_id, some, line, kept)
            if columns is None:
                continue
            source = ColumnSource(columns)
            kept.put(line, version, source, generation=session.generation)
        found[method] = source
    return found


def _assemble(
    session: ReadSession,
    table: ServiceTable,
    service_id: int,
    buckets: Sequence[Bucket],
    line: "_Line",
    kept: "_Sources",
) -> HeatColumns | None:
    """Columns of buckets of one method: of those that are kept for another window from memory, the rest is read."""
    wanted = [(bucket.start, bucket.built_at) for bucket in buckets]
    known, version = kept.nearest(line, wanted)
    place = {} if known is None else {bucket: at for at, bucket in enumerate(version)}
    missing = [bucket for bucket in buckets if (bucket.start, bucket.built_at) not in place]
    method, counts = buckets[0].method, line[-1]
    packs = {pack.end_us: pack for pack in read_bodies(session, table, service_id, missing, with_counts=counts)}
    parts = []
    for is_kept, run in groupby(buckets, lambda bucket: (bucket.start, bucket.built_at) in place):
        if is_kept and known is not None:
            parts.append(take_buckets(known, [place[bucket.start, bucket.built_at] for bucket in run]))
            continue
        ends = (to_us(bucket.start) + WIDTH_US[table] for bucket in run)
        some = [packs[end_us] for end_us in ends if end_us in packs]
        if some:
            parts.append(unpack_columns(some, method))
    return join_columns(parts) if parts else None


_Line = tuple[str, ServiceTable, int, Method, bool]
"""Database, table, service, method, and whether counts by frequency are in it."""
_Version = tuple[tuple[datetime, datetime], ...]
"""Start of each bucket, and when it was built."""


class _Sources:
    """Sources by what they are of, each with the version that it was made from."""

    def __init__(self, most_bytes: int) -> None:
        self._kept: StoredCache[tuple[_Line, datetime], tuple[_Version, ColumnSource]] = StoredCache(
            most_bytes, size_of=lambda found: found[1].columns.n_bytes
        )

    def get(self, line: _Line, version: _Version) -> ColumnSource | None:
        """The source of this version, None where another one or none is kept."""
        known = self._kept.get((line, version[0][0]))
        return None if known is None or known[0] != version else known[1]

    def nearest(self, line: _Line, wanted: Sequence[tuple[datetime, datetime]]) -> tuple[HeatColumns | None, _Version]:
        """The columns with most of the wanted buckets, and what they hold; None without any."""
        some = [found for (other, _), found in self._kept.items() if other == line]
        best: tuple[_Version, ColumnSource] | None = max(
            some, key=lambda found: len(set(found[0]).intersection(wanted)), default=None
        )
        if best is None or set(best[0]).isdisjoint(wanted):
            return None, ()
        return best[1].columns, best[0]

    def put(self, line: _Line, version: _Version, source: ColumnSource, *, generation: int) -> None:
        """Keep a source, unless it alone is too large."""
        self._kept.put((line, version[0][0]), (version, source), generation=generation)


_kept, _newest = _Sources(MAX_KEPT_BYTES), _Sources(MAX_KEPT_BYTES)

"""Heat of a service for one request: from its hosts' series while they are few, else from the columns of all of them.

Columns are kept in memory between requests: they change only when the worker stores an hour anew.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.figures import Window
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.columns import unpack_columns
from tierscope.domain.heat.rows import Method
from tierscope.domain.heat.source import HeatSource, SeriesSource
from tierscope.storage.service_heat import Bucket, ServiceTable, list_buckets, read_bodies
from tierscope.usecases.heat_sources import DAILY_FROM, DAY, HOUR, floor_to, plan_intervals, read_heat

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
    if asked.whole and not plan_intervals(session, service_id, host_ids, asked.window, now=asked.now).enough:
        span = asked.window.end - asked.window.start
        table: ServiceTable = "service_heat_1d" if span > DAILY_FROM else "service_heat_1h"
        width = DAY if span > DAILY_FROM else HOUR
        if len(host_ids) * (span / width) > MAX_SERIES_ROWS:
            first = floor_to(asked.window.start, width)
            buckets = list_buckets(session, table, service_id, first, asked.window.end)
            if buckets:
                return dict(read_columns(session, table, service_id, buckets, counts=asked.counts))
    found = read_heat(session, service_id, host_ids, asked.window, now=asked.now)
    return {method: SeriesSource(tuple(hosts.values())) for method, hosts in found.items()}


def read_columns(
    session: ReadSession, table: ServiceTable, service_id: int, buckets: Sequence[Bucket], *, counts: bool
) -> dict[Method, ColumnSource]:
    """The columns of these buckets by method, read anew where the worker has stored any of them since."""
    by_method: dict[Method, list[Bucket]] = {}
    for bucket in buckets:
        by_method.setdefault(bucket.method, []).append(bucket)
    found = {}
    for method, some in by_method.items():
        place = (str(session.connection.engine.url), table, service_id, method, some[0].start, some[-1].start, counts)
        version = tuple((bucket.start, bucket.built_at) for bucket in some)
        source = _kept.get(place, version)
        if source is None:
            packs = read_bodies(session, table, service_id, some, with_counts=counts)
            if not packs:
                continue
            source = ColumnSource(unpack_columns(packs, method))
            _kept.put(place, version, source)
        found[method] = source
    return found


class _Kept:
    """Sources by what they are of; the ones that were not used for longest leave first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._found: OrderedDict[object, tuple[object, ColumnSource]] = OrderedDict()

    def get(self, place: object, version: object) -> ColumnSource | None:
        """The source of this version, None where another one or none is kept."""
        with self._lock:
            known = self._found.get(place)
            if known is None or known[0] != version:
                return None
            self._found.move_to_end(place)
            return known[1]

    def put(self, place: object, version: object, source: ColumnSource) -> None:
        """Keep a source, unless it alone is too large."""
        with self._lock:
            self._found[place] = (version, source)
            self._found.move_to_end(place)
            while self._found and sum(kept.columns.n_bytes for _, kept in self._found.values()) > self._most_bytes:
                self._found.popitem(last=False)


_kept = _Kept(MAX_KEPT_BYTES)

"""Which series are stored where: the index of this process, and the database behind it."""

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tierscope.core import generations
from tierscope.core.database import Database
from tierscope.core.settings import RemoteWriteSettings
from tierscope.domain.ingest.prometheus.counters import sender_of
from tierscope.domain.ingest.prometheus.targets import find_target
from tierscope.storage.ingest import OutdatedError
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.series import (
    INDEX_KEPT,
    FoundSeries,
    NewSeries,
    count_series,
    digest_labels,
    find_series,
    hold_targets,
    note_histograms,
    note_seen,
    store_series,
)

if TYPE_CHECKING:
    from tierscope.storage.ingest.sample_core import SeriesIndex, WriteRequest

KNOWN_SERIES_MAX = 4_000_000
HISTOGRAMS_NOTED = timedelta(hours=1)
"""How old the time of a series' histograms may grow before it is noted again."""
_HISTOGRAMS_MAX = 200_000
_COUNT_SECONDS = 600.0
_SERIES_AT_ONCE = 4096
"""New series that are named and stored together: a request may bring many times as many, each some 2 kB meanwhile."""


@dataclass(frozen=True, slots=True)
class KnownSeries:
    """The index of this process, of one generation of the database (core/generations.py)."""

    index: "SeriesIndex"
    generation: int
    made_at: float
    """By the monotonic clock."""
    histograms: dict[int, datetime] = field(default_factory=dict)
    """When it was noted of stored series that they bring native histograms."""


class SampleRegistry:
    """Ids of series, looked up once and remembered. Series are stored before samples name them."""

    def __init__(self, database: Database, settings: RemoteWriteSettings) -> None:
        self._database = database
        self._settings = settings
        self._lock = threading.Lock()
        self._known: KnownSeries | None = None
        self._room = 0
        self._counted_at: float | None = None

    @property
    def known(self) -> KnownSeries:
        """What this process knows; made at first use, since the compiled core is needed for it.

        Raises:
            ConfigurationError: the compiled core is not installed.
        """
        with self._lock:
            count, now = generations.current(), time.monotonic()
            if (
                self._known is None
                or self._known.generation != count
                # So that it is noted which series still come.
                or now - self._known.made_at > INDEX_KEPT.total_seconds()
            ):
                self._known = KnownSeries(load_core().SeriesIndex(secrets.randbits(64), KNOWN_SERIES_MAX), count, now)
                self._counted_at = None
            return self._known

    def resolve(self, request: "WriteRequest", known: KnownSeries) -> None:
        """Finds or stores the new series of a request that `known` read. Those beyond the limit are left out.

        Raises:
            OutdatedError: what is found is of another generation; read the request again.
        """
        unknown = request.unknown()
        if not unknown:
            return
        ids: list[tuple[int, int] | None] = []
        for start in range(0, len(unknown), _SERIES_AT_ONCE):
            named = [self._name(labels) for labels in unknown[start : start + _SERIES_AT_ONCE]]
            found = self._find_or_store(named, known.generation)
            stored = [found.get(series.digest) for series in named]
            ids += [None if one is None else (one.id, one.target_id) for one in stored]
        request.resolve(known.index, ids)

    def note_histograms(self, series: Sequence[int], known: KnownSeries, now: datetime) -> None:
        """Notes that native histograms of these series come, so that it can be told that they are not kept.

        Raises:
            OutdatedError: the series are of another generation; read the request again.
        """
        with self._lock:
            if len(known.histograms) > _HISTOGRAMS_MAX:
                known.histograms.clear()
            due = now - HISTOGRAMS_NOTED
            unnoted = [one for one in series if known.histograms.get(one, due) <= due]
        if unnoted:
            with self._database.write() as transaction:
                _require(hold_targets(transaction), known.generation)
                note_histograms(transaction, unnoted, now)
            with self._lock:
                known.histograms.update(dict.fromkeys(unnoted, now))

    def _name(self, labels: Sequence[tuple[str, str]]) -> NewSeries:
        named = dict(labels)
        target = find_target(
            named,
            host_label=self._settings.host_label,
            cluster_label=self._settings.cluster_label,
            sender=sender_of(named),
        )
        return NewSeries(labels, target, digest_labels(labels))

    def _find_or_store(self, named: Sequence[NewSeries], generation: int) -> dict[bytes, FoundSeries]:
        digests = {series.digest: series for series in named}
        with self._database.read() as session:
            _require(session.generation, generation)
            found = find_series(session, list(digests.values()))
        unnoted = [one.id for one in found.values() if not one.noted_lately]
        if unnoted:
            with self._database.write() as transaction:
                _require(hold_targets(transaction), generation)
                note_seen(transaction, unnoted)
        missing = [series for digest, series in digests.items() if digest not in found]
        if missing:
            with self._lock:
                admitted = missing[: max(self._count_room(), 0)]
                self._room -= len(admitted)
            if admitted:
                with self._database.write() as transaction:
                    _require(hold_targets(transaction), generation)
                    found |= store_series(transaction, admitted)
        return found

    def _count_room(self) -> int:
        now = time.monotonic()
        if self._counted_at is None or now - self._counted_at > _COUNT_SECONDS:
            with self._database.read() as session:
                self._room = self._settings.series - count_series(session)
            self._counted_at = now
        return self._room


def _require(present: int, generation: int) -> None:
    if present != generation:
        raise OutdatedError

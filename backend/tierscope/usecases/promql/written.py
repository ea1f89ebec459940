"""Series that came by remote write, under their own names and labels."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.promql.evaluate import Demand
from tierscope.domain.promql.matching import name_fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import LOOKBACK_MS, NAME, Labels, Series, TooMuch, make_labels
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.retention import kept
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.samples import count_samples, read_bodies
from tierscope.storage.ingest.series import StoredSeries, label_names, label_values, match_series
from tierscope.usecases.promql.sources import SERIES_MAX, check_samples, check_series

DECODED_MAX = 100_000_000
"""Samples in the bodies that one selector unpacks: those of all series of its targets."""
AHEAD = timedelta(hours=1)
"""How far in the future samples are looked for: clocks of senders differ."""
_PART = timedelta(hours=6)


class WrittenSeries:
    """Samples as they came, of all metrics but those in `own`, which have a source of their own."""

    def __init__(self, own: Sequence[str]) -> None:
        self._own = own

    def select(
        self, session: ReadSession, matchers: Sequence[Matcher], demand: Demand, *, now: datetime
    ) -> list[Series]:
        """The series that meet all conditions, with their samples and the marks of their ends.

        Raises:
            TooMuch: they are too many, or their samples are.
        """
        found = self._match(session, matchers)
        by_target: dict[int, list[StoredSeries]] = {}
        for one in found:
            by_target.setdefault(one.target_id, []).append(one)
        start = max(from_us((demand.first_ms - LOOKBACK_MS - 1) * 1000), now - kept("samples_packed"))
        end = min(from_us(demand.last_ms * 1000), now + AHEAD)
        if start >= end:
            return []
        n_decoded = count_samples(session, list(by_target), start, end) if by_target else 0
        if n_decoded > DECODED_MAX:
            raise TooMuch(
                f"the targets of this selector sent {n_decoded:,} samples in that time, more than {DECODED_MAX:,}; ask"
                " for less time or fewer targets"
            )
        series: list[Series] = []
        n_samples = 0
        for target, some in by_target.items():
            series += _read(session, target, some, start, end)
            n_samples += sum(len(one.times_ms) for one in series[-len(some) :])
            check_samples(n_samples, "the selector means")
        return _joined(series)

    def find(self, session: ReadSession, matchers: Sequence[Matcher]) -> list[Labels]:
        """Labels of the series that meet all conditions, whenever they had samples.

        Raises:
            TooMuch: they are too many.
        """
        return list(dict.fromkeys(make_labels(dict(one.labels)) for one in self._match(session, matchers)))

    def names(self, session: ReadSession, matchers: Sequence[Matcher]) -> list[str]:
        """Names of labels of the series that meet all conditions."""
        return label_names(session, self._conditions(matchers))

    def values(self, session: ReadSession, label: str, matchers: Sequence[Matcher]) -> list[str]:
        """Values of a label of the series that meet all conditions."""
        return label_values(session, label, self._conditions(matchers))

    def _match(self, session: ReadSession, matchers: Sequence[Matcher]) -> list[StoredSeries]:
        found = match_series(session, self._conditions(matchers), after=0, limit=SERIES_MAX + 1)
        check_series(len(found))
        return found

    def _conditions(self, matchers: Sequence[Matcher]) -> list[tuple[str, str, str]]:
        asked: list[tuple[str, str, str]] = [(one.label, one.operator, one.value) for one in matchers]
        return asked + [(NAME, "!=", name) for name in self._own if name_fits(name, matchers)]


def _read(
    session: ReadSession, target: int, some: Sequence[StoredSeries], start: datetime, end: datetime
) -> list[Series]:
    """The samples of (start, end] of series of one target, unpacked a few hours at a time."""
    wanted = np.array(sorted(one.id for one in some), np.int64)
    parts = []
    first = start
    while first < end:
        last = min(first + _PART, end)
        bodies = read_bodies(session, [target], first, last)
        if bodies:
            span_ms = (round(first.timestamp() * 1000), round(last.timestamp() * 1000))
            parts.append(load_core().read_bodies(bodies, wanted, *span_ms))
        first = last
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    ids, times_ms, values = (np.concatenate(column) for column in zip(none, *parts, strict=True))
    order = np.lexsort((times_ms, ids))
    ids, times_ms, values = ids[order], times_ms[order], values[order]
    found = []
    for one in some:
        within = slice(*np.searchsorted(ids, (one.id, one.id + 1)).tolist())
        found.append(Series(make_labels(dict(one.labels)), times_ms[within], values[within]))
    return found


def _joined(series: Sequence[Series]) -> list[Series]:
    """Series of the same labels as one: those that were stored under one target, and then under another."""
    by_labels: dict[Labels, list[Series]] = {}
    for one in series:
        by_labels.setdefault(one.labels, []).append(one)
    found = []
    for labels, parts in by_labels.items():
        if len(parts) == 1:
            found.append(parts[0])
            continue
        times_ms, first = np.unique(np.concatenate([part.times_ms for part in parts]), return_index=True)
        found.append(Series(labels, times_ms, np.concatenate([part.values for part in parts])[first]))
    return found

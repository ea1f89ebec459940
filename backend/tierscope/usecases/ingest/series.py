"""Reads of what Prometheus sent: which series there are, and their samples as they came."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest, TooLarge
from tierscope.domain.base.pages import Page
from tierscope.domain.base.patterns import BadPattern
from tierscope.domain.ingest.prometheus.selector import parse_selector
from tierscope.domain.ingest.prometheus.stale import STALE_BITS
from tierscope.storage.base.binary import from_us, to_us
from tierscope.storage.ingest.sample_core import load_core
from tierscope.storage.ingest.samples import read_bodies
from tierscope.storage.ingest.series import StoredSeries, match_series
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.usecases.base.windows import parse_window

SPAN_MAX = timedelta(days=7)
SERIES_MAX = 500
SAMPLES_MAX = 500_000


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample of a series: `value` as it came, be it infinite or no number. Markers of ended series are left out."""

    series: StoredSeries
    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class SampleSeries:
    """A series by its labels."""

    id: str
    labels: dict[str, str]
    first_seen_at: datetime


class Series(ContextUseCase):
    """Series and samples."""

    def find(self, match: str, *, cursor: str | None, limit: int) -> Page[SampleSeries]:
        """The series that a selector means, in order of id.

        Raises:
            BadRequest: the selector is none, or the cursor not of this list.
        """
        after = 0 if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._context.database.read() as session:
            found = _match(session, match, after=after, limit=limit + 1)
        more = len(found) > limit
        shown = (SampleSeries(str(one.id), dict(one.labels), one.first_seen_at) for one in found[:limit])
        return Page(tuple(shown), encode_cursor(found[limit - 1].id) if more else None)

    def samples(self, match: str, *, from_: str | None, to: str | None) -> list[SampleRow]:
        """The samples of (start, end] of all series that a selector means, by series and time.

        Raises:
            BadRequest: the selector is none, or the window is empty.
            TooLarge: it means too many series, days or samples.
        """
        window = parse_window(from_, to, now=self._context.clock())
        start, end = window.start, window.end
        if end - start > SPAN_MAX:
            raise TooLarge(
                f"a window has at most {SPAN_MAX.days} days", next_step="Ask for several windows, one after the other."
            )
        with self._context.database.read() as session:
            found = _match(session, match, after=0, limit=SERIES_MAX + 1)
            if len(found) > SERIES_MAX:
                raise TooLarge(f"the selector means more than {SERIES_MAX} series", next_step="Add a condition.")
            by_target: dict[int, list[StoredSeries]] = {}
            for series in found:
                by_target.setdefault(series.target_id, []).append(series)
            rows: list[SampleRow] = []
            for target, group in by_target.items():
                rows += _read(session, target, {series.id: series for series in group}, start, end)
                if len(rows) > SAMPLES_MAX:
                    raise TooLarge(
                        f"the window holds more than {SAMPLES_MAX} samples",
                        next_step="Ask for less time or fewer series.",
                    )
        return rows


def _match(session: ReadSession, match: str, *, after: int, limit: int) -> list[StoredSeries]:
    try:
        conditions = parse_selector(match)
        parts = [(condition.label, condition.operator, condition.value) for condition in conditions]
        return match_series(session, parts, after=after, limit=limit)
    except BadPattern as error:
        raise BadRequest(f"match: {error}", next_step=error.next_step) from error
    except ValueError as error:
        raise BadRequest(f"match: {error}", next_step='Write it as `name{label="value"}`.') from error


def _read(
    session: ReadSession, target: int, series: Mapping[int, StoredSeries], start: datetime, end: datetime
) -> list[SampleRow]:
    bodies = read_bodies(session, [target], start, end)
    if not bodies:
        return []
    wanted = np.array(sorted(series), np.int64)
    ids, times_ms, values = load_core().read_bodies(bodies, wanted, to_us(start) // 1000, to_us(end) // 1000)
    stale = values.view(np.uint64) == STALE_BITS
    cells = zip(ids[~stale].tolist(), times_ms[~stale].tolist(), values[~stale].tolist(), strict=True)
    return [SampleRow(series[ident], from_us(at_ms * 1000), value) for ident, at_ms, value in cells]


def shown_value(value: float) -> float | str:
    """A value for JSON, which has no infinities: Prometheus' own words for them."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")

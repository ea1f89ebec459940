"""What the heat of a service says for its ratio: memory needed, hot and untouched."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.heat import classify, estimate_median, make_rule
from tierscope.domain.heat.column_series import series_of_hosts
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.heat.source import SeriesSource
from tierscope.storage.base.subjects import SubjectHost
from tierscope.usecases.curve.sources import spread_hosts
from tierscope.usecases.heat.columns import read_host_sources
from tierscope.usecases.heat.figures import gather_evidence, no_evidence
from tierscope.usecases.heat.reads import choose_source
from tierscope.usecases.ratio.answers import RatioLeadingFigures

Floats = npt.NDArray[np.float64]

PEAK_QUANTILE = 0.95
UNTOUCHED_QUANTILE = 0.05
LONG_IDLE_INTERVALS = 64
RULE = make_rule("recency")
_HOT = 0
_REQUIRED, _HOT_BYTES, _OBSERVED = "ratio.required_bytes/1", "ratio.hot_bytes/1", "ratio.observed_ratio/1"
MAX_HOSTS = 200
"""Hosts that one answer reads a week of."""
_NO_TIERS = "A page trace does not tell in which tier pages lie."
_NOTHING = "No heat was measured for this service in the window."


@dataclass(frozen=True, slots=True)
class HeatFacts:
    """Heat of a service for ratio advice. `required` and `hot` are bytes of one host, the median one."""

    host_ids: tuple[int, ...]
    required: Figure
    hot: Figure
    untouched: Figure
    observed: Figure
    leading: RatioLeadingFigures


def read_heat_facts(
    session: ReadSession, service_id: int, hosts: Sequence[SubjectHost], window: Window, *, now: datetime
) -> HeatFacts:
    """Read the heat of the window by the method with most of it; of large services, that of hosts evenly spread."""
    taken = spread_hosts([host.id for host in hosts], MAX_HOSTS)
    found = read_host_sources(session, service_id, taken, window, now=now)
    method = choose_source(found, None)
    warnings = () if len(taken) == len(hosts) else (f"of {len(taken)} of {len(hosts)} hosts, evenly spread",)
    return weigh_heat(None if method is None else found[method], method, window, warnings)


def weigh_heat(
    source: SeriesSource | ColumnSource | None, method: Method | None, window: Window, warnings: tuple[str, ...] = ()
) -> HeatFacts:
    """Facts from the heat of hosts by one method; `warnings` are added to each."""
    evidence = gather_evidence(source, method, RULE, window, None)
    evidence = replace(evidence, warnings=(*evidence.warnings, *warnings))
    leading = RatioLeadingFigures(*evidence.misplaced(None if source is None else source.misplaced(RULE)))
    if source is None or method is None:
        nothing = [absent(f"ratio.{name}/1", unit, "not_collected", _NOTHING, window=window) for name, unit in _ABSENT]
        return HeatFacts((), nothing[0], nothing[1], nothing[2], nothing[3], leading)
    hosts = source.observed(window.start.timestamp(), window.end.timestamp())
    observed = sum(host.coverage for host in hosts) / len(hosts)
    peaks = _find_peaks(source)
    base = Figure(
        _REQUIRED,
        "ok",
        0.0,
        "bytes",
        method=method.family,
        window=evidence.window,
        n_hosts=len(hosts),
        n_intervals=sum(host.n_intervals for host in hosts),
        coverage=observed,
        grade=evidence.grade,
        warnings=evidence.warnings,
        grounding="S hot within 2 minutes; A 95th percentile",
    )
    return HeatFacts(
        host_ids=tuple(source.host_ids),
        required=_over_hosts(base, _REQUIRED, peaks.required),
        hot=_over_hosts(base, _HOT_BYTES, peaks.hot),
        untouched=_untouched(base, peaks.untouched),
        observed=_ratio(base, _OBSERVED, observed),
        leading=leading,
    )


def heat_of_trace(required_bytes: float, hot_bytes: float, *, n_intervals: int, window: Window) -> HeatFacts:
    """Facts from every page of one host's trace, which tells neither tiers nor what is idle for an hour."""
    base = Figure(
        _REQUIRED,
        "ok",
        required_bytes,
        "bytes",
        method="trace",
        window=window,
        n_hosts=1,
        n_intervals=n_intervals,
        coverage=1.0,
        grade="early",
        grounding="S hot within 2 intervals; A 95th percentile",
    )
    return HeatFacts(
        host_ids=(),
        required=base,
        hot=replace(base, definition=_HOT_BYTES, value=hot_bytes),
        untouched=_untouched(base, ()),
        observed=_ratio(base, _OBSERVED, 1.0),
        leading=RatioLeadingFigures(*no_evidence(window, _NO_TIERS).misplaced(None)),
    )


@dataclass(frozen=True, slots=True)
class _Peaks:
    """Of each host: 95th percentiles of resident and hot bytes, and what is untouched at the peak (long runs alone)."""

    required: tuple[float, ...]
    hot: tuple[float, ...]
    untouched: tuple[float, ...]


def _find_peaks(source: SeriesSource | ColumnSource) -> _Peaks:
    """What does not depend on where exactly the window ends; of columns it is found once."""
    if isinstance(source, SeriesSource):
        return _peaks_of(source.series)
    columns = source.columns
    return source.remember("ratio", lambda: _peaks_of(list(series_of_hosts(columns, source.host_ids).values())))


def _peaks_of(series: Sequence[HeatSeries]) -> _Peaks:
    long = [part for part in series if part.history >= LONG_IDLE_INTERVALS]
    return _Peaks(
        tuple(_peak(_resident(part)) for part in series),
        tuple(_peak(_hot(part)) for part in series),
        tuple(_idle_share(part) for part in long),
    )


_ABSENT = (
    ("required_bytes", "bytes"),
    ("hot_bytes", "bytes"),
    ("untouched_ratio", "ratio"),
    ("observed_ratio", "ratio"),
)


def _resident(series: HeatSeries) -> Floats:
    """Mean resident bytes by bucket [t]."""
    resident = series.folded.resident.sum(axis=1)
    return np.asarray(resident / np.maximum(series.n_intervals, 1), np.float64)


def _hot(series: HeatSeries) -> Floats:
    """Mean bytes that were active within 2 intervals, by bucket [t]."""
    hot = classify(series.folded.sum(axis=1), RULE).value[:, _HOT]
    return np.asarray(hot / np.maximum(series.n_intervals, 1), np.float64)


def _peak(values: Floats) -> float:
    return float(np.quantile(values, PEAK_QUANTILE))


def _over_hosts(base: Figure, definition: str, values: Sequence[float]) -> Figure:
    """The median host's value with its interval over hosts."""
    middle = estimate_median(values)
    interval = (
        None if middle.lo is None or middle.hi is None else Interval(middle.lo, middle.hi, middle.level, "confidence")
    )
    return replace(base, definition=definition, value=middle.value, interval=interval)


def _idle_share(series: HeatSeries) -> float:
    """Share of a host's memory that nothing touches for an hour, in the hour when it is smallest."""
    idle = series.folded.age[..., -1].sum(axis=1) + series.folded.never[..., -1].sum(axis=1)
    resident = series.folded.resident.sum(axis=1)
    known = resident > 0
    return 1.0 - float(np.max((resident - idle)[known] / resident[known])) if known.any() else 0.0


def _untouched(base: Figure, shares: Sequence[float]) -> Figure:
    """Share of memory that nothing touches for an hour even at the peak: of the host where it is among the least."""
    definition = "ratio.untouched_ratio/1"
    if not shares:
        reason = f"Needs {LONG_IDLE_INTERVALS} valid intervals in a row."
        return absent(definition, "ratio", "not_enough_data", reason, window=base.window, method=base.method)
    return _ratio(base, definition, max(float(np.quantile(shares, UNTOUCHED_QUANTILE)), 0.0))


def _ratio(base: Figure, definition: str, value: float) -> Figure:
    return replace(base, definition=definition, value=value, unit="ratio")

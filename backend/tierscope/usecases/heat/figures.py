"""Figures of heat with their evidence: grade, coverage, intervals and the kind of nothing where there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tierscope.domain.base.figures import Figure, Grade, Interval, Window, absent
from tierscope.domain.base.words import bytes_text, percent_text
from tierscope.domain.heat import Enough, Misplaced, Rule, judge_enough
from tierscope.domain.heat.aggregate import LEVEL
from tierscope.domain.heat.classes import HeatClass
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.domain.heat.source import Measured, Observed, SeriesSource
from tierscope.domain.heat.summary import ServiceShare

GROUNDING = "S method of the source paper; A thresholds of warm and cold"
_PAGE_NOTE = "Ages come from activity per interval; shorter idle times cannot be told apart."
_VMA_NOTE = (
    "Mappings are observed as a whole: within one, the same pages are taken to be active each time; bounds show how "
    "far that can be off."
)
_SAMPLED_NOTE = (
    "Samples miss pages with few accesses: what is said to be hot was seen, and the interval reaches to what may have "
    "been missed."
)
_PANEL_NOTE = (
    "Scaled up from a random sample of {pages} pages: the intervals hold its error (Wilson, by page kind and tier)."
)
_VMA = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What all figures of one answer share."""

    method: str | None
    window: Window
    n_hosts: int
    n_intervals: int
    coverage: float | None
    grade: Grade | None
    warnings: tuple[str, ...]
    nothing: str | None
    notes: tuple[str, ...]
    n_samples: int | None = None
    short: bool = False
    """Whether memory was watched for less than the classes need: what nothing was seen of yet is not 0."""

    def bytes(
        self, definition: str, value: float, lo: float | None, hi: float | None, *, sampled: bool = False
    ) -> Figure:
        """Bytes, the mean over the window summed over hosts, with hard bounds where they differ.

        `sampled`: the bounds hold the error of a random sample of pages.
        """
        if self.nothing is not None:
            return self._absent(definition, "bytes")
        if self._unseen(value, lo, hi):
            return self._too_early(definition, "bytes", bytes_text(hi or 0.0))
        bounds = None if lo is None or hi is None or lo == hi else _bounds(float(lo), float(hi), sampled=sampled)
        return self.figure(definition, "bytes", float(value), bounds)

    def share(self, definition: str, share: ServiceShare | None, *, always_bounds: bool = False) -> Figure:
        """A share of resident bytes: hard bounds for one host, an interval over hosts for more."""
        if self.nothing is not None:
            return self._absent(definition, "ratio")
        if share is None:
            reason = "No resident memory of this kind in the window."
            return absent(definition, "ratio", "not_enough_data", reason, window=self.window, method=self.method)
        estimate = share.estimate
        if self._unseen(estimate.value, share.lo, share.hi):
            return self._too_early(definition, "ratio", percent_text(share.hi))
        interval: Interval | None = None
        if always_bounds or estimate.lo is None or estimate.hi is None:
            if share.lo != share.hi:
                lo, hi = min(share.lo, estimate.value), max(share.hi, estimate.value)
                interval = _bounds(lo, hi, sampled=share.sampled)
        else:
            interval = Interval(estimate.lo, estimate.hi, estimate.level, "confidence")
        return self.figure(definition, "ratio", estimate.value, interval)

    def resident(self, value: float) -> Figure:
        """Resident bytes, the mean over the window summed over hosts."""
        return self.bytes("heat.resident_bytes/1", value, None, None)

    def class_share(self, heat_class: HeatClass, share: ServiceShare | None) -> Figure:
        """The share of a class on the median host."""
        return self.share(f"heat.{heat_class}_ratio/1", share)

    def weighted_share(self, heat_class: HeatClass, share: ServiceShare | None) -> Figure:
        """The share of a class in all bytes together, in which each host weighs by its memory."""
        return self.share(f"heat.{heat_class}_weighted_ratio/1", share)

    def _unseen(self, value: float, lo: float | None, hi: float | None) -> bool:
        """Whether a 0 only says that no page was watched for long enough to be anything else."""
        return self.short and value == 0 and lo is not None and hi is not None and lo <= 0 < hi

    def _too_early(self, definition: str, unit: str, most: str) -> Figure:
        reason = f"At most {most}: {'; '.join(self.warnings)}."
        return absent(definition, unit, "not_enough_data", reason, window=self.window, method=self.method)

    def misplaced(self, found: tuple[Misplaced, Misplaced] | None) -> tuple[Figure, Figure]:
        """(hot outside DRAM, cold in DRAM); not collected where the tier of the pages is unknown."""
        hot, cold = (None, None) if found is None else found
        return (
            self._placed("heat.hot_outside_dram_bytes/1", hot),
            self._placed("heat.cold_in_dram_bytes/1", cold),
        )

    def _placed(self, definition: str, found: Misplaced | None) -> Figure:
        if self.nothing is not None:
            return self._absent(definition, "bytes")
        if found is None:
            reason = "The collector did not say in which tier the pages are."
            return absent(definition, "bytes", "not_collected", reason, window=self.window, method=self.method)
        if self._unseen(found.value, found.lo, found.hi):
            return self._too_early(definition, "bytes", bytes_text(found.hi))
        bounds = None if found.lo == found.hi else _bounds(found.lo, found.hi, sampled=found.sampled)
        figure = self.figure(definition, "bytes", found.value, bounds)
        if found.unplaced_share <= 0:
            return figure
        note = f"the tier of {found.unplaced_share:.0%} of the bytes is unknown: they are in the upper bound alone"
        return self.figure(definition, "bytes", found.value, bounds, (*self.warnings, note))

    def _absent(self, definition: str, unit: str) -> Figure:
        return absent(definition, unit, "not_collected", self.nothing or "", window=self.window, method=self.method)

    def figure(
        self,
        definition: str,
        unit: str,
        value: float,
        interval: Interval | None,
        warnings: tuple[str, ...] | None = None,
        *,
        grounding: str = GROUNDING,
    ) -> Figure:
        """A number with this evidence; `warnings` in place of the shared ones."""
        return Figure(
            definition,
            "ok",
            value,
            unit,
            method=self.method,
            window=self.window,
            interval=interval,
            n_hosts=self.n_hosts,
            n_intervals=self.n_intervals,
            n_samples=self.n_samples,
            coverage=self.coverage,
            grade=self.grade,
            grounding=grounding,
            warnings=self.warnings if warnings is None else warnings,
        )


def _bounds(lo: float, hi: float, *, sampled: bool) -> Interval:
    """Hard bounds; with the error of a sample in them they hold at its confidence."""
    return Interval(lo, hi, LEVEL, "confidence") if sampled else Interval(lo, hi, None, "bounds")


def gather_evidence(
    measured: Measured | Sequence[HeatSeries] | None,
    method: Method | None,
    rule: Rule,
    window: Window,
    wanted: str | None,
) -> Evidence:
    """Judge what was measured. A claim that the data does not support yet is graded `early`, with what is missing."""
    family = None if method is None else method.family
    source = SeriesSource(tuple(measured)) if isinstance(measured, Sequence) else measured
    observed = [] if source is None else source.observed(window.start.timestamp(), window.end.timestamp())
    if source is None or not observed:
        what = "No heat" if wanted is None else f"No heat by {wanted}"
        nothing = f"{what} was measured for this service in the window."
        return no_evidence(window, nothing, family)
    coverage = sum(host.coverage for host in observed) / len(observed)
    enough = _judge(observed, coverage, rule)
    notes = [_VMA_NOTE if method is not None and method.granularity == _VMA else _PAGE_NOTE]
    if method is not None and method.is_sampler:
        notes.append(_SAMPLED_NOTE)
    pages = source.sampled_pages()
    if pages is not None:
        notes.append(_PANEL_NOTE.format(pages=round(pages)))
    if rule.snapped:
        notes.append(rule.snapped)
    return Evidence(
        method=family,
        window=seen_window(window, observed),
        n_hosts=len(observed),
        n_intervals=sum(host.n_intervals for host in observed),
        coverage=coverage,
        grade=enough.grade or "early",
        warnings=enough.warnings,
        nothing=None,
        notes=tuple(notes),
        short=enough.grade is None,
    )


def seen_window(window: Window, observed: Sequence[Observed]) -> Window:
    """The part of a window in which any of these hosts was observed."""
    return window.seen_from(datetime.fromtimestamp(min(host.since_s for host in observed), UTC))


def no_evidence(window: Window, reason: str, method: str | None = None) -> Evidence:
    """The evidence of figures that nobody measured, and why."""
    return Evidence(method, window, 0, 0, None, None, (), reason, ())


def host_evidence(host: Observed, whole: Evidence, rule: Rule) -> Evidence:
    """The evidence of one host's figures in the answer that `whole` stands behind."""
    enough = _judge([host], host.coverage, rule)
    return replace(
        whole,
        window=seen_window(whole.window, [host]),
        n_hosts=1,
        n_intervals=host.n_intervals,
        coverage=host.coverage,
        grade=enough.grade or "early",
        warnings=enough.warnings,
        nothing=None,
        short=enough.grade is None,
    )


def _judge(observed: Sequence[Observed], coverage: float, rule: Rule) -> Enough:
    return judge_enough(
        n_hosts=len(observed),
        n_intervals=max(host.n_intervals for host in observed),
        coverage=coverage,
        history=max(host.history for host in observed),
        needed_history=rule.history,
    )

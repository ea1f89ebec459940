"""The answer on served accesses: curves, figures at the ratios that are sold, and access density by page kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, Window, absent, gaps_to_none
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.curve.bands import ServedBand
from tierscope.domain.curve.density import Bounded, Densities, densities
from tierscope.domain.curve.trace_samples import MIN_PAGES
from tierscope.domain.heat import judge_enough
from tierscope.domain.heat.aggregate import COVERAGE_GOOD
from tierscope.domain.heat.rows import KINDS, PAGE_KINDS
from tierscope.domain.ratio import RATIOS
from tierscope.usecases.curve.lru import LruCurve
from tierscope.usecases.curve.pages import NoCurve, PagesOfHosts
from tierscope.usecases.heat.figures import Evidence

Floats = npt.NDArray[np.float64]
CurveName = Literal["top_density", "lru_interval"]
Estimator = Literal["cross_fitted", "in_sample_exact", "aet"]
Measure = Literal["accesses", "page_intervals"]

SERVED, DENSITY, LOG2 = "curve.served_ratio/1", "curve.density/1", "curve.log2_density_anon_file/1"
GROUNDING = "L hash-selected pages, cross-fitting, Good-Turing; A best static placement"
TOP_LABEL = "Best static placement"
LRU_LABEL = "LRU, by reuse gaps"
ACTIVE_NOT_ACCESSES = (
    "The back end tells active pages from idle ones and counts no accesses: shares are of active intervals of pages, "
    "in which a page touched once counts as much as a busy one."
)
LOADS_ONLY = "Of hardware samples the curve counts loads: loads and stores are two populations, never added."
LRU_NOTE = (
    "The LRU curve counts touches of pages per interval, not accesses. It has bounds and no value where an LRU holds "
    "less than is touched in one interval, or keeps memory longer than any gap that was watched."
)


@dataclass(frozen=True, slots=True)
class ServedCurve:
    """Share served at each share of DRAM; null where it is not known."""

    name: CurveName
    label: str
    estimator: Annotated[
        Estimator, Described("Ranked on other intervals than scored; exact for a whole trace; average eviction time.")
    ]
    measure: Annotated[Measure, Described("Of accesses, or of active intervals of pages where none are counted.")]
    dram_ratios: Annotated[tuple[float, ...], Described("DRAM as a share of the resident bytes.")]
    served: tuple[float | None, ...]
    lo: tuple[float | None, ...]
    hi: tuple[float | None, ...]
    level: Annotated[float | None, Described("Of the band; null where the curve is exact or one host has no band.")]


@dataclass(frozen=True, slots=True)
class ServedAtRatio:
    """Share of accesses that DRAM serves at a ratio that is sold."""

    ratio: Annotated[str, Described("DRAM:CXL, such as `4:1`.")]
    dram_ratio: float
    served: Figure


@dataclass(frozen=True, slots=True)
class KindDensity:
    """One page kind: its shares, and accesses per byte beside the mean of all memory."""

    kind: PageKind
    bytes_ratio: Figure
    accesses_ratio: Figure
    density: Figure


def gather(pages: PagesOfHosts, window: Window) -> Evidence:
    """What all figures of one answer share."""
    samples = pages.samples
    enough = judge_enough(
        n_hosts=len(pages.hosts),
        n_intervals=pages.n_intervals,
        coverage=samples.coverage,
        history=pages.n_intervals,
        needed_history=1,
    )
    grade, warnings = enough.grade or "early", enough.warnings
    covered = pages.traffic_coverage
    if covered is not None and covered < COVERAGE_GOOD:
        grade = "partial" if grade == "good" else grade
        warnings = (*warnings, f"samples cover {covered:.0%} of the traffic: a lower bound")
    if not samples.counts:
        warnings = (*warnings, "shares of active intervals of pages, not of accesses")
    return Evidence(
        samples.method.family,
        window,
        len(pages.hosts),
        pages.n_intervals,
        samples.coverage,
        grade,
        warnings,
        None,
        (),
        n_samples=pages.n_samples,
    )


def view_top(pages: PagesOfHosts, band: ServedBand, shares: Floats, kept: Floats) -> ServedCurve:
    """The curve at the shares `kept` of all `shares` that were computed."""
    places = np.searchsorted(shares, kept)

    def pick(values: Floats | None) -> tuple[float | None, ...]:
        return (None,) * len(kept) if values is None else gaps_to_none(values[places])

    return ServedCurve(
        name="top_density",
        label=TOP_LABEL,
        estimator="in_sample_exact" if pages.samples.exact else "cross_fitted",
        measure="accesses" if pages.samples.counts else "page_intervals",
        dram_ratios=tuple(kept.tolist()),
        served=pick(band.served),
        lo=pick(band.lo),
        hi=pick(band.hi),
        level=band.level,
    )


def view_lru(found: LruCurve, shares: Floats) -> ServedCurve:
    """The LRU curve."""
    return ServedCurve(
        name="lru_interval",
        label=LRU_LABEL,
        estimator="aet",
        measure="page_intervals",
        dram_ratios=tuple(shares.tolist()),
        served=gaps_to_none(found.served),
        lo=gaps_to_none(found.lo),
        hi=gaps_to_none(found.hi),
        level=found.level,
    )


def view_ratios(evidence: Evidence, band: ServedBand, shares: Floats) -> tuple[ServedAtRatio, ...]:
    """The curve at the ratios that are sold."""
    found = []
    for name, share in RATIOS:
        place = int(np.searchsorted(shares, share))
        interval = None
        if band.lo is not None and band.hi is not None:
            interval = Interval(float(band.lo[place]), float(band.hi[place]), band.level, "confidence")
        figure = evidence.figure(SERVED, "ratio", float(band.served[place]), interval, grounding=GROUNDING)
        found.append(ServedAtRatio(name, share, figure))
    return tuple(found)


def absent_ratios(nothing: NoCurve, window: Window) -> tuple[ServedAtRatio, ...]:
    """The same without a curve."""
    figure = absent(SERVED, "ratio", nothing.status, nothing.reason, window=window)
    return tuple(ServedAtRatio(name, share, figure) for name, share in RATIOS)


def view_densities(pages: PagesOfHosts, evidence: Evidence) -> tuple[tuple[KindDensity, ...], Figure]:
    """Density of each page kind, and log2 of that of anon over that of file."""
    if pages.samples.method.is_sampler and any(host.resident_by_kind is None for host in pages.hosts.values()):
        reason = (
            "Resident bytes by page kind are not known: samplers list only pages that they hit, and heat is missing."
        )
        return (), absent(LOG2, "log2_ratio", "not_enough_data", reason, window=evidence.window)
    found = densities(list(pages.hosts.values()), len(KINDS))
    if found is None:
        return (), absent(LOG2, "log2_ratio", "not_enough_data", "No accesses were counted.", window=evidence.window)
    views = tuple(
        KindDensity(
            PAGE_KINDS[item.kind - 1],
            _figure(evidence, "curve.bytes_ratio/1", "ratio", item.bytes_ratio),
            _figure(evidence, "curve.accesses_ratio/1", "ratio", item.accesses_ratio),
            _figure(evidence, DENSITY, "1", item.density),
        )
        for item in found.kinds
        if item.kind
    )
    return views, _log2(pages, found, evidence)


def _log2(pages: PagesOfHosts, found: Densities, evidence: Evidence) -> Figure:
    anon, file = KINDS.index("anon"), KINDS.index("file")
    for kind, name in ((anon, "anon"), (file, "file")):
        n = sum(int((host.kinds == kind).sum()) for host in pages.hosts.values())
        if n < MIN_PAGES:
            reason = f"{n} sampled pages of {name} memory: {MIN_PAGES} are needed."
            return absent(LOG2, "log2_ratio", "not_enough_data", reason, window=evidence.window)
    index = found.log2_ratio(anon, file)
    if index is None:
        reason = "One of anon and file memory was not accessed at all."
        return absent(LOG2, "log2_ratio", "not_enough_data", reason, window=evidence.window)
    return _figure(evidence, LOG2, "log2_ratio", index)


def _figure(evidence: Evidence, definition: str, unit: str, found: Bounded) -> Figure:
    interval = Interval(found.lo, found.hi, found.level, "confidence")
    return evidence.figure(definition, unit, found.value, interval, grounding=GROUNDING)


def notes_of(pages: PagesOfHosts, band: ServedBand) -> Sequence[str]:
    """What to know of the curve."""
    samples = pages.samples
    notes = list(samples.notes)
    if not samples.counts:
        notes.append(ACTIVE_NOT_ACCESSES)
    if samples.method.is_sampler:
        notes.append(LOADS_ONLY)
    if band.page_draws:
        over = f" and {band.host_draws} of hosts" if band.host_draws else ""
        notes.append(
            f"Band: {band.page_draws} draws of pages on each host{over}. It reaches from the cross-fitted curve, less "
            "traffic on pages without a sample, to the one ranked and scored on the same accesses."
        )
    return notes

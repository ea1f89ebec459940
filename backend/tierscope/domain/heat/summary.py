"""Heat of a window: what single hosts show, and what that says of the service that runs on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.heat.aggregate import (
    Estimate,
    capacity_weighted,
    estimate_median,
    order_statistic_interval,
)
from tierscope.domain.heat.beside import BESIDE_COLUMNS
from tierscope.domain.heat.classes import CLASSES, ClassBytes, Folded, Rule, classify
from tierscope.domain.heat.panel import Margins, find_margins, join_margins, widen
from tierscope.domain.heat.placement import Misplaced, find_misplaced
from tierscope.domain.heat.rows import HeatSeries

Floats = npt.NDArray[np.float64]

_ONE = 1e-3
"""Shares that differ by less are one: columns keep them in 65,535ths."""


@dataclass(frozen=True, slots=True)
class HostShares:
    """Shares of resident bytes of one host: medians over its intervals, with hard bounds. None without memory.

    `sampled`: the bounds hold the error of a random sample of pages, with its confidence. `least` and `most` are the
    bounds without it.
    """

    value: float
    lo: float
    hi: float
    sampled: bool
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class ServiceShare:
    """A share of a service: the median over hosts; with one host its hard bounds, with more an interval over hosts."""

    estimate: Estimate
    lo: float
    hi: float
    n_hosts: int
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class MeanClasses:
    """Bytes of the four classes [4]: means over the window, summed over hosts; bounds as in `HostShares`."""

    value: Floats
    lo: Floats
    hi: Floats
    sampled: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A part of resident memory: bytes [w] by the values of its column, of `of` bytes of which it is known; means."""

    bytes: Floats
    of: float


@dataclass(frozen=True, slots=True)
class ClassParts:
    """Bytes of a part of resident memory that lie in each class [4], order of CLASSES: at least `lo`, at most `hi`."""

    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True)
class HugePages:
    """Hot bytes of huge pages: whole pages, and those of their sub-pages that were seen active; means."""

    hot_bytes: float
    hot_bytes_lower: float


def host_shares(series: HeatSeries, rule: Rule) -> tuple[HostShares, ...] | None:
    """The shares of the classes (order of CLASSES) on one host."""
    whole = series.folded.sum(axis=1)
    classes, seen = classify(whole, rule), whole.resident > 0
    if not seen.any():
        return None
    resident = whole.resident[seen, None].astype(np.float64)
    value, lo, hi = (
        np.median(part[seen] / resident, axis=0).tolist() for part in (classes.value, classes.lo, classes.hi)
    )
    margins, mean = host_margins(series, rule), max(float(mean_resident([series])), 1.0)
    found = []
    for place in range(len(CLASSES)):
        least, most = min(lo[place], value[place]), min(max(hi[place], value[place]), 1.0)
        below, above = (float(np.sqrt(side[:, place].sum())) / mean for side in (margins.below, margins.above))
        ends = (max(least - below, 0.0), min(most + above, 1.0)) if margins.sampled else (least, most)
        found.append(HostShares(value[place], *ends, sampled=margins.sampled, least=least, most=most))
    return tuple(found)


def host_margins(series: HeatSeries, rule: Rule) -> Margins:
    """The sampling errors of one host's groups [g, 4], over the window."""
    folded, n = mean_fold(series)
    classes = classify(folded, rule)
    mean = ClassBytes(classes.value / n, classes.lo / n, classes.hi / n)
    pages = series.beside["sampled_pages"].sum(axis=0) / n
    return find_margins(mean, folded.resident / n, pages)


def share_over_hosts(shares: Sequence[HostShares]) -> ServiceShare | None:
    """The median over hosts with its interval, and the medians of their bounds; None without hosts."""
    names = ("value", "lo", "hi", "least", "most")
    columns = (np.array([getattr(share, name) for share in shares]) for name in names)
    return share_of_columns(*columns, sampled=any(share.sampled for share in shares))


def share_of_columns(
    value: Floats, lo: Floats, hi: Floats, least: Floats, most: Floats, *, sampled: bool
) -> ServiceShare | None:
    """The same of the shares [h] and their bounds, as in `HostShares`; `sampled` where any of them rests on a sample.

    What no host could tell is no less unknown for many hosts: the interval begins with that of what each has at least,
    and ends with that of what each has at most. The error of a sample is in the spread of the hosts already.
    """
    if not len(value):
        return None
    found = estimate_median(value.tolist())
    ends = (found.lo, found.hi)
    if ends[0] is not None and ends[1] is not None:
        rank, _ = order_statistic_interval(len(value))
        below, above = float(np.sort(least)[rank - 1]), float(np.sort(most)[-rank])
        found = replace(
            found,
            lo=min(ends[0], below) if np.max(value - least) > _ONE else ends[0],
            hi=max(ends[1], above) if np.max(most - value) > _ONE else ends[1],
        )
    return ServiceShare(found, float(np.median(lo)), float(np.median(hi)), len(value), sampled)


def weighted_share(classes: MeanClasses, place: int, resident: float) -> ServiceShare | None:
    """The share of a class in all bytes together, so that each host weighs by its memory; None without memory."""
    share = capacity_weighted([float(classes.value[place])], [resident])
    if share is None:
        return None
    lo, hi = float(classes.lo[place]) / resident, min(float(classes.hi[place]) / resident, 1.0)
    return ServiceShare(Estimate(share, None, None, None), lo, hi, 1, classes.sampled)


def mean_fold(series: HeatSeries) -> tuple[Folded, float]:
    """Sums over the window by group [g], and the number of intervals to divide by."""
    return series.folded.sum(axis=0), float(max(int(series.n_intervals.sum()), 1))


def mean_classes(hosts: Sequence[HeatSeries], rule: Rule) -> MeanClasses:
    """Mean bytes of the four classes over the window, summed over hosts and groups."""
    margins = join_margins([host_margins(series, rule) for series in hosts])
    return widen_classes(sum_classes(hosts, rule), margins, mean_resident(hosts))


def sum_classes(hosts: Sequence[HeatSeries], rule: Rule) -> ClassBytes:
    """The same with hard bounds alone."""
    total = ClassBytes(np.zeros(len(CLASSES)), np.zeros(len(CLASSES)), np.zeros(len(CLASSES)))
    for series in hosts:
        folded, n = mean_fold(series)
        part = classify(folded.sum(axis=0), rule)
        total = ClassBytes(total.value + part.value / n, total.lo + part.lo / n, total.hi + part.hi / n)
    return total


def widen_classes(total: ClassBytes, margins: Margins, resident: float) -> MeanClasses:
    """Sums with the sampling error of what they are made of."""
    wide = widen(total, margins, resident) if margins.sampled else total
    return MeanClasses(wide.value, wide.lo, wide.hi, margins.sampled)


def mean_resident(hosts: Sequence[HeatSeries]) -> float:
    """Mean resident bytes over the window, summed over hosts."""
    return float(sum(series.folded.resident.sum() / max(int(series.n_intervals.sum()), 1) for series in hosts))


def mean_ages(hosts: Sequence[HeatSeries]) -> tuple[Floats, Floats]:
    """Mean bytes by age bucket, (active, never active), summed over hosts; [9] each."""
    active, never = np.zeros(9), np.zeros(9)
    for series in hosts:
        folded, n = mean_fold(series)
        active += folded.age.sum(axis=0) / n
        never += folded.never.sum(axis=0) / n
    return active, never


def misplaced(hosts: Sequence[HeatSeries], rule: Rule) -> tuple[Misplaced, Misplaced] | None:
    """(hot outside DRAM, cold in DRAM), mean bytes summed over hosts; None where placement is not known."""
    return find_misplaced(*join_strata(hosts, rule)) if hosts else None


def join_strata(hosts: Sequence[HeatSeries], rule: Rule) -> tuple[ClassBytes, list[str], Margins]:
    """Means of the classes of all groups of all hosts [n, 4], their tiers and their sampling errors."""
    parts: list[ClassBytes] = []
    tiers: list[str] = []
    for series in hosts:
        folded, n = mean_fold(series)
        classes = classify(folded, rule)
        parts.append(ClassBytes(classes.value / n, classes.lo / n, classes.hi / n))
        tiers += series.tiers
    joined = join_classes(parts)
    return joined, tiers, join_margins([host_margins(series, rule) for series in hosts])


def join_classes(parts: Sequence[ClassBytes]) -> ClassBytes:
    """The strata of several hosts after each other."""
    if not parts:
        return ClassBytes(np.zeros((0, 4)), np.zeros((0, 4)), np.zeros((0, 4)))
    return ClassBytes(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.lo for part in parts]),
        np.concatenate([part.hi for part in parts]),
    )


def mean_part(hosts: Sequence[HeatSeries], name: str) -> Part | None:
    """The part of memory that a column of rule `part` tells, summed over hosts; None where no host has it."""
    column = BESIDE_COLUMNS[name]
    total, of = np.zeros(column.width), 0.0
    for series in hosts:
        n = max(int(series.n_intervals.sum()), 1)
        part_bytes, of_bytes = (series.beside[sums] for sums in column.sums)
        total += part_bytes.sum(axis=(0, 1)) / n
        of += float(of_bytes.sum()) / n
    return Part(total, of) if of > 0 else None


def bound_class_parts(part: Floats, resident: Floats, classes: ClassBytes) -> ClassParts:
    """Bounds summed over strata: `part` and `resident` [...] bytes, `classes` [..., 4].

    Which pages of a stratum make up the part is not known. Of a class there is no more in it than the smaller of both,
    and no less than what finds no room outside the class. Where the part is all or nothing, both bounds are one.
    """
    whole = np.minimum(part, resident)[..., None]
    lo = np.maximum(whole - (resident[..., None] - classes.lo), 0.0)
    hi = np.minimum(whole, classes.hi)
    strata = tuple(range(part.ndim))
    return ClassParts(np.minimum(lo, hi).sum(axis=strata), hi.sum(axis=strata))


def mean_class_parts(hosts: Sequence[HeatSeries], name: str, at: int, rule: Rule) -> ClassParts | None:
    """The same of value `at` of a column, means over the window summed over hosts; None where no host has it."""
    if mean_part(hosts, name) is None:
        return None
    found = []
    for series in hosts:
        folded, n = mean_fold(series)
        classes = classify(folded, rule)
        part = series.beside[BESIDE_COLUMNS[name].sums[0]].sum(axis=0).reshape(len(series.groups), -1)[:, at] / n
        mean = ClassBytes(classes.value / n, classes.lo / n, classes.hi / n)
        found.append(bound_class_parts(part, folded.resident / n, mean))
    return ClassParts(*(np.sum([getattr(parts, side) for parts in found], axis=0) for side in ("lo", "hi")))


def mean_huge_pages(hosts: Sequence[HeatSeries]) -> HugePages | None:
    """Hot bytes of huge pages, summed over hosts; None where no huge page with known sub-pages was active."""
    active, subpages = 0.0, 0.0
    for series in hosts:
        n = max(int(series.n_intervals.sum()), 1)
        active += float(series.beside["huge_active_bytes"].sum()) / n
        subpages += float(series.beside["huge_subpage_bytes"].sum()) / n
    return HugePages(active, min(subpages, active)) if active > 0 else None


def mean_sampled_pages(hosts: Sequence[HeatSeries]) -> float | None:
    """Pages that the figures were scaled up from, in a mean interval, summed over hosts; None where all were seen."""
    total = sum(float(series.beside["sampled_pages"].sum()) / max(int(series.n_intervals.sum()), 1) for series in hosts)
    return total if total > 0 else None


def class_series(hosts: Sequence[HeatSeries], rule: Rule, grid: Grid) -> Floats:
    """Mean bytes by bucket and class [b, 4], summed over the hosts that were observed in the bucket; else NaN."""
    total = np.full((len(grid), len(CLASSES)), np.nan)
    for series in hosts:
        classes = classify(series.folded.sum(axis=1), rule).value
        place = grid.place(series.ends_us / 1e6)
        sums = np.zeros((len(grid), len(CLASSES)))
        np.add.at(sums, place, classes)
        n = np.bincount(place, weights=series.n_intervals.astype(np.float64), minlength=len(grid))
        seen = n > 0
        mean = sums[seen] / n[seen, None]
        total[seen] = np.where(np.isfinite(total[seen]), total[seen], 0.0) + mean
    return total


def first_seen_s(series: HeatSeries, start_s: float) -> float:
    """Where the first interval of a window begins that starts at `start_s`, Unix seconds."""
    length_s = series.method.interval_ns / 1e9 * float(series.n_intervals[0])
    return max(float(series.ends_us[0]) / 1e6 - length_s, start_s)


def observed_share(series: HeatSeries, start_s: float, end_s: float) -> float:
    """Observed intervals of those that the host could have had since its first one in the window."""
    interval_s = series.method.interval_ns / 1e9
    possible = max((end_s - first_seen_s(series, start_s)) // interval_s, 1.0)
    return min(1.0, float(series.n_intervals.sum()) / possible)

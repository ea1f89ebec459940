"""From page samples to pages that stand for all memory of a host, and whether there are enough for a curve."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.figures import AbsentStatus
from tierscope.domain.curve.bands import HostPages
from tierscope.domain.curve.page_samples import HostSample
from tierscope.domain.curve.trace_samples import MIN_ACCESSES, MIN_PAGES
from tierscope.domain.heat.aggregate import COVERAGE_PARTIAL
from tierscope.domain.heat.rows import BACKENDS, KINDS, HeatSeries, Method
from tierscope.usecases.curve.sources import CurveSamples

Floats = npt.NDArray[np.float64]

MIN_INTERVALS = 10
NOT_SAMPLED = (
    "No page samples of the service in the window. They need a back end that tells pages apart (abit_walk, idle_page, "
    "damon_pages, pebs, ibs, spe or a page trace) and come once an hour: choose a longer window."
)


@dataclass(frozen=True, slots=True)
class NoCurve:
    """Why there is no curve: which kind of nothing, and what is missing."""

    status: AbsentStatus
    reason: str


@dataclass(frozen=True, slots=True)
class PagesOfHosts:
    """The hosts of a curve with what stands behind them.

    `traffic_coverage`: share of the traffic on pages with samples, the mean over hosts by traffic; None where nothing
    is missed.
    """

    samples: CurveSamples
    hosts: dict[int, HostPages]
    n_pages: int
    n_samples: int
    n_intervals: int
    traffic_coverage: float | None


def scale_hosts(
    samples: CurveSamples, heat: Mapping[int, HeatSeries], *, kind: str | None = None, may_have_gaps: bool = False
) -> PagesOfHosts | NoCurve:
    """Scale the samples of hosts up to their memory, and refuse where they are too few.

    `heat` is that of the same method: resident bytes by kind, where it is known. `may_have_gaps`: the caller widens its
    answer for intervals and traffic that were missed.
    """
    parts = {host: sample if kind is None else sample.pick_kind(kind) for host, sample in samples.hosts.items()}
    parts = {host: part for host, part in parts.items() if part.n_samples}
    hosts = {host: _scale(part, heat.get(host), samples.method, kind) for host, part in parts.items()}
    hosts = {host: pages for host, pages in hosts.items() if pages.weight > 0}
    weights = [pages.weight for pages in hosts.values()]
    unseen = [pages.unseen_ratio for pages in hosts.values()]
    sampler = samples.method.is_sampler
    found = PagesOfHosts(
        samples=samples,
        hosts=hosts,
        n_pages=sum(part.n_pages for part in parts.values()),
        n_samples=sum(part.n_samples for part in parts.values()),
        n_intervals=max((part.n_intervals for part in parts.values()), default=0),
        traffic_coverage=1.0 - float(np.average(unseen, weights=weights)) if hosts and sampler else None,
    )
    lacking = _too_few(found, kind) or (None if may_have_gaps else _too_patchy(found))
    return found if lacking is None else NoCurve("not_enough_data", lacking)


def _too_few(found: PagesOfHosts, kind: str | None) -> str | None:
    """Which of pages, accesses and intervals are too few to say anything; None where there are enough."""
    of = "" if kind is None else f" of {kind} memory"
    if found.n_pages < MIN_PAGES:
        return f"{found.n_pages} sampled pages{of}: {MIN_PAGES} are needed."
    if found.n_samples < MIN_ACCESSES:
        what = "sampled accesses" if found.samples.counts else "active intervals of sampled pages"
        return f"{found.n_samples} {what}{of}: {MIN_ACCESSES} are needed."
    if found.n_intervals < MIN_INTERVALS:
        return f"{found.n_intervals} observed intervals: {MIN_INTERVALS} are needed."
    return None


def _too_patchy(found: PagesOfHosts) -> str | None:
    """What was missed too much of for a curve as measured; None where it was not."""
    if found.samples.coverage < COVERAGE_PARTIAL:
        return f"Only {found.samples.coverage:.0%} of the intervals were observed: {COVERAGE_PARTIAL:.0%} are needed."
    if found.traffic_coverage is not None and found.traffic_coverage < COVERAGE_PARTIAL:
        return (
            f"Samples cover {found.traffic_coverage:.0%} of the traffic: {COVERAGE_PARTIAL:.0%} are needed. "
            "Sample more often, or longer."
        )
    return None


def _scale(sample: HostSample, heat: HeatSeries | None, method: Method, kind: str | None) -> HostPages:
    """One host: counts and bytes times what each page stands for.

    Samplers list pages that they hit: resident memory beyond them is known from heat alone, and has no accesses. Other
    back ends list all pages, so that the sample itself says how the memory is made up; heat sets its page kinds right.
    """
    weights = sample.weights
    resident: Floats | None = None
    if heat is not None:
        known = resident_by_kind(heat)
        if method.is_sampler:
            resident = known if kind is None else np.where(np.arange(len(KINDS)) == KINDS.index(kind), known, 0.0)
        elif BACKENDS[method.backend] != "trace":
            sampled = sample.bytes_by_kind()
            both = (known > 0) & (sampled > 0)
            weights = weights * np.where(both, known / np.where(both, sampled, 1.0), 1.0)[sample.kinds]
    halves = sample.halves * weights[:, None]
    return HostPages(
        halves=halves,
        sizes_bytes=sample.bytes * weights,
        kinds=sample.kinds.astype(np.int64),
        resident_by_kind=resident,
        unseen_ratio=sample.unseen_ratio() if method.is_sampler else 0.0,
        weight=float(halves.sum()) / max(sample.n_intervals, 1),
    )


def resident_by_kind(heat: HeatSeries) -> Floats:
    """Mean resident bytes over the window by number of the kind."""
    mean = heat.folded.resident.sum(axis=0) / max(int(heat.n_intervals.sum()), 1)
    numbers = [KINDS.index(kind) for kind in heat.kinds]
    return np.asarray(np.bincount(numbers, weights=mean, minlength=len(KINDS)), np.float64)

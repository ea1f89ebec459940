"""What a view of heat needs to know of the hosts of a service, however it was read.

Two readings give the same answers: series of single hosts (`SeriesSource`), and the columns that the worker makes of
all hosts of a service (column_source.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.heat.classes import ClassBytes, Rule
from tierscope.domain.heat.panel import Margins
from tierscope.domain.heat.placement import Misplaced
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.heat.summary import (
    ClassParts,
    HostShares,
    HugePages,
    MeanClasses,
    Part,
    ServiceShare,
    class_series,
    first_seen_s,
    host_shares,
    join_strata,
    mean_ages,
    mean_class_parts,
    mean_classes,
    mean_huge_pages,
    mean_part,
    mean_resident,
    mean_sampled_pages,
    misplaced,
    observed_share,
    share_over_hosts,
    sum_classes,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Placed:
    """Classes of strata [n, 4] with hard bounds, a tier label and the sampling error of each."""

    classes: ClassBytes
    tiers: tuple[str, ...]
    margins: Margins


@dataclass(frozen=True, slots=True)
class Observed:
    """How well one host was observed: since when, share of its possible intervals, intervals, longest valid run."""

    host_id: int
    since_s: float
    coverage: float
    n_intervals: int
    history: int


class Measured(Protocol):
    """What evidence is made of."""

    def observed(self, start_s: float, end_s: float) -> list[Observed]:
        """How well each host was observed in a window (Unix seconds)."""

    def sampled_pages(self) -> float | None:
        """Pages that the figures were scaled up from; None where all were seen."""


class HeatSource(Measured, Protocol):
    """Heat of the hosts of one service by one method."""

    @property
    def host_ids(self) -> Sequence[int]:
        """The hosts with heat."""

    @property
    def kinds(self) -> frozenset[str]:
        """Page kinds that any host has."""

    @property
    def sizes(self) -> frozenset[int]:
        """Page sizes that any host has, in bytes; 0 where they were not kept apart."""

    @property
    def longest_bucket(self) -> int:
        """The most intervals that any bucket sums up."""

    @property
    def n_intervals(self) -> int:
        """Intervals of all hosts together."""

    def newest_us(self) -> dict[int, int]:
        """When the newest bucket of each host ended, in microseconds since the epoch."""

    def pick(self, *, kind: str | None = None, size: int | None = None) -> "HeatSource | None":
        """One page kind, or one page size; None where no host has any."""

    def share(self, rule: Rule, place: int) -> ServiceShare | None:
        """The share of a class (order of CLASSES) over hosts; None without memory."""

    def host_share(self, rule: Rule, place: int) -> dict[int, HostShares]:
        """The share of a class on each host; hosts without memory are left out."""

    def host_resident(self) -> dict[int, float]:
        """Mean resident bytes of each host."""

    def classes(self, rule: Rule) -> MeanClasses:
        """Mean bytes of the classes, summed over hosts."""

    def resident(self) -> float:
        """Mean resident bytes, summed over hosts."""

    def ages(self) -> tuple[Floats, Floats]:
        """Mean bytes by age bucket, (active, never active); [9] each."""

    def misplaced(self, rule: Rule) -> tuple[Misplaced, Misplaced] | None:
        """(hot outside DRAM, cold in DRAM); None where placement is not known."""

    def part(self, name: str) -> Part | None:
        """Mean bytes of a column that tells a part of resident memory, summed over hosts; None where no host has it."""

    def class_parts(self, name: str, at: int, rule: Rule) -> ClassParts | None:
        """How much of such a part, of value `at` of its column, lies in each class; None where no host has it."""

    def huge_pages(self) -> HugePages | None:
        """Hot bytes of huge pages; None where their sub-pages are not told apart."""

    def host_bytes(self, rule: Rule, place: int) -> dict[int, tuple[float, float, float]]:
        """Mean bytes of a class on each host, with hard bounds: (value, lo, hi)."""

    def hard_classes(self, rule: Rule) -> ClassBytes:
        """Mean bytes of the classes [4], summed over hosts, with hard bounds alone."""

    def placed(self, rule: Rule) -> Placed:
        """The strata that bytes in the wrong place are found among."""

    def lines(self, rule: Rule, grid: Grid) -> Floats:
        """Mean bytes by bucket and class [b, 4], summed over hosts; NaN without any."""


@dataclass(frozen=True, slots=True)
class SeriesSource:
    """Heat from series of single hosts."""

    series: tuple[HeatSeries, ...]
    _shares: dict[Rule, dict[int, tuple[HostShares, ...]]] = field(default_factory=dict, init=False, compare=False)

    @property
    def host_ids(self) -> Sequence[int]:
        """See `HeatSource`, as for all that follows."""
        return [part.host_id for part in self.series]

    @property
    def kinds(self) -> frozenset[str]:
        """Of any host."""
        return frozenset(kind for part in self.series for kind in part.kinds)

    @property
    def sizes(self) -> frozenset[int]:
        """Of any host."""
        return frozenset(size for part in self.series for size in part.sizes)

    @property
    def longest_bucket(self) -> int:
        """Of any host."""
        return max((int(part.n_intervals.max()) for part in self.series), default=1)

    @property
    def n_intervals(self) -> int:
        """Over hosts."""
        return sum(int(part.n_intervals.sum()) for part in self.series)

    def newest_us(self) -> dict[int, int]:
        """By host."""
        return {part.host_id: int(part.ends_us[-1]) for part in self.series}

    def pick(self, *, kind: str | None = None, size: int | None = None) -> "SeriesSource | None":
        """By kind, by size, or by both."""
        found = tuple(part for part in (_pick(whole, kind, size) for whole in self.series) if part is not None)
        return SeriesSource(found) if found else None

    def observed(self, start_s: float, end_s: float) -> list[Observed]:
        """By host."""
        return [
            Observed(
                part.host_id,
                first_seen_s(part, start_s),
                observed_share(part, start_s, end_s),
                int(part.n_intervals.sum()),
                part.history,
            )
            for part in self.series
        ]

    def share(self, rule: Rule, place: int) -> ServiceShare | None:
        """Over hosts."""
        return share_over_hosts([shares[place] for shares in self._host_shares(rule).values()])

    def host_share(self, rule: Rule, place: int) -> dict[int, HostShares]:
        """By host."""
        return {host_id: shares[place] for host_id, shares in self._host_shares(rule).items()}

    def _host_shares(self, rule: Rule) -> dict[int, tuple[HostShares, ...]]:
        """Of all classes by host, worked out once: a view asks for each class by itself."""
        if rule not in self._shares:
            found = ((part.host_id, host_shares(part, rule)) for part in self.series)
            self._shares[rule] = {host_id: shares for host_id, shares in found if shares is not None}
        return self._shares[rule]

    def host_resident(self) -> dict[int, float]:
        """By host."""
        return {part.host_id: mean_resident([part]) for part in self.series}

    def classes(self, rule: Rule) -> MeanClasses:
        """Over hosts."""
        return mean_classes(self.series, rule)

    def resident(self) -> float:
        """Over hosts."""
        return mean_resident(self.series)

    def ages(self) -> tuple[Floats, Floats]:
        """Over hosts."""
        return mean_ages(self.series)

    def misplaced(self, rule: Rule) -> tuple[Misplaced, Misplaced] | None:
        """Over hosts."""
        return misplaced(self.series, rule)

    def part(self, name: str) -> Part | None:
        """Over hosts."""
        return mean_part(self.series, name)

    def class_parts(self, name: str, at: int, rule: Rule) -> ClassParts | None:
        """Over hosts."""
        return mean_class_parts(self.series, name, at, rule)

    def huge_pages(self) -> HugePages | None:
        """Over hosts."""
        return mean_huge_pages(self.series)

    def sampled_pages(self) -> float | None:
        """Over hosts."""
        return mean_sampled_pages(self.series)

    def host_bytes(self, rule: Rule, place: int) -> dict[int, tuple[float, float, float]]:
        """By host."""
        found = ((part.host_id, sum_classes([part], rule)) for part in self.series)
        return {
            host: (float(classes.value[place]), float(classes.lo[place]), float(classes.hi[place]))
            for host, classes in found
        }

    def hard_classes(self, rule: Rule) -> ClassBytes:
        """Over hosts."""
        return sum_classes(self.series, rule)

    def placed(self, rule: Rule) -> Placed:
        """Over hosts."""
        classes, tiers, margins = join_strata(self.series, rule)
        return Placed(classes, tuple(tiers), margins)

    def lines(self, rule: Rule, grid: Grid) -> Floats:
        """Over hosts."""
        return class_series(self.series, rule, grid)


def _pick(series: HeatSeries, kind: str | None, size: int | None) -> HeatSeries | None:
    chosen = [
        i
        for i, (found_kind, _, found_size) in enumerate(series.groups)
        if kind in (None, found_kind) and size in (None, found_size)
    ]
    return series.take_groups(chosen) if chosen else None

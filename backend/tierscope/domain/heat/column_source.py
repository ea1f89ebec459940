"""Figures of heat from columns: what `SeriesSource` computes host by host, for all hosts of a service at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.heat.beside import BESIDE_COLUMNS, BESIDE_PLACES
from tierscope.domain.heat.classes import CLASSES, ClassBytes, Rule
from tierscope.domain.heat.column_parts import MeanColumns, Parts, mean_columns, median_over_time, parts_over_time
from tierscope.domain.heat.columns import HeatColumns, take_groups, take_hosts
from tierscope.domain.heat.panel import Margins, find_margins
from tierscope.domain.heat.placement import Misplaced, find_misplaced
from tierscope.domain.heat.rows import FULL_HISTORY, FULL_INTERVALS
from tierscope.domain.heat.source import Observed, Placed
from tierscope.domain.heat.summary import (
    ClassParts,
    HostShares,
    HugePages,
    MeanClasses,
    Part,
    ServiceShare,
    bound_class_parts,
    share_of_columns,
    widen_classes,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
T = TypeVar("T")

_SAMPLED = BESIDE_PLACES["sampled_pages"]
_HUGE, _HUGE_SUBPAGES = BESIDE_PLACES["huge_active_bytes"], BESIDE_PLACES["huge_subpage_bytes"]


@dataclass(frozen=True, slots=True)
class _HostColumns:
    """Shares of the hosts that have memory, as in `HostShares`."""

    host_ids: Ints
    value: Floats
    lo: Floats
    hi: Floats
    sampled: npt.NDArray[np.bool_]
    least: Floats
    most: Floats


@dataclass(slots=True)
class ColumnSource:
    """Heat from columns. What was computed once is kept: a source serves many requests."""

    columns: HeatColumns
    _parts: dict[object, "ColumnSource | None"] = field(default_factory=dict)
    _known: dict[object, object] = field(default_factory=dict)

    @property
    def host_ids(self) -> Sequence[int]:
        """See `HeatSource`, as for all that follows."""
        return [int(host) for host in self.columns.host_ids]

    @property
    def kinds(self) -> frozenset[str]:
        """Of any host."""
        return frozenset(kind for kind, _, _ in self.columns.groups)

    @property
    def sizes(self) -> frozenset[int]:
        """Of any host."""
        return frozenset(size for _, _, size in self.columns.groups)

    @property
    def longest_bucket(self) -> int:
        """Of any host."""
        return max(int(self.columns.n_intervals.max(initial=0)), 1)

    @property
    def n_intervals(self) -> int:
        """Over hosts."""
        return self._keep("intervals", lambda: int(self.columns.n_intervals.sum(dtype=np.int64)))

    def newest_us(self) -> dict[int, int]:
        """By host."""
        there = self.columns.n_intervals > 0
        last = len(there) - 1 - there[::-1].argmax(axis=0)
        return dict(zip(self.host_ids, self.columns.ends_us[last].tolist(), strict=True))

    def pick(self, *, kind: str | None = None, size: int | None = None) -> "ColumnSource | None":
        """By kind, by size, or by both."""
        if (kind, size) not in self._parts:
            places = [
                i
                for i, (found_kind, _, found_size) in enumerate(self.columns.groups)
                if kind in (None, found_kind) and size in (None, found_size)
            ]
            if len(places) == len(self.columns.groups):
                # What was computed for all groups serves for a kind or a size that all of them are.
                self._parts[kind, size] = self
            else:
                self._parts[kind, size] = self._of_groups(places) if places else None
        return self._parts[kind, size]

    def _of_groups(self, places: Sequence[int]) -> "ColumnSource":
        """Some of the groups, whose means are those that were found for all of them."""
        part = ColumnSource(take_groups(self.columns, places))
        part._known["means"] = self._means().take(places)
        return part

    def of_hosts(self, host_ids: Sequence[int]) -> "ColumnSource | None":
        """These hosts alone; None where none of them has any heat."""
        key = tuple(sorted(host_ids))
        if key not in self._parts:
            there = np.isin(self.columns.host_ids, np.array(key, np.int64))
            alone = self if there.all() else ColumnSource(take_hosts(self.columns, there)) if there.any() else None
            self._parts[key] = alone
        return self._parts[key]

    def observed(self, start_s: float, end_s: float) -> list[Observed]:
        """By host."""
        interval_s = self.columns.method.interval_ns / 1e9
        n = self.columns.n_intervals.astype(np.int64)
        at = (n > 0).argmax(axis=0)
        counted = n[at, np.arange(n.shape[1])]
        first = np.maximum(self.columns.ends_us[at] / 1e6 - interval_s * counted, start_s)
        possible = np.maximum((end_s - first) // interval_s, 1.0)
        total, longest = n.sum(axis=0), n.max(axis=0)
        share = np.minimum(total / possible, 1.0)
        history = np.where(longest >= FULL_INTERVALS, FULL_HISTORY, longest)
        rows = zip(self.host_ids, first.tolist(), share.tolist(), total.tolist(), history.tolist(), strict=True)
        return [Observed(*row) for row in rows]

    def share(self, rule: Rule, place: int) -> ServiceShare | None:
        """Over hosts."""
        return self._keep(("share", rule, place), lambda: self._share(rule, place))

    def _share(self, rule: Rule, place: int) -> ServiceShare | None:
        found = self._host_columns(rule, place)
        return share_of_columns(
            found.value, found.lo, found.hi, found.least, found.most, sampled=bool(found.sampled.any())
        )

    def host_share(self, rule: Rule, place: int) -> dict[int, HostShares]:
        """By host."""
        return self._keep(("host", rule, place), lambda: self._host_share(rule, place))

    def _host_share(self, rule: Rule, place: int) -> dict[int, HostShares]:
        found = self._host_columns(rule, place)
        columns = (found.value, found.lo, found.hi, found.sampled, found.least, found.most)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {host: HostShares(*row) for host, row in zip(found.host_ids.tolist(), rows, strict=True)}

    def _host_columns(self, rule: Rule, place: int) -> "_HostColumns":
        return self._keep(("hosts", rule, place), lambda: self._find_host_columns(rule, place))

    def _find_host_columns(self, rule: Rule, place: int) -> "_HostColumns":
        parts = self._over_time(rule)
        bytes_, low_bytes, high_bytes = parts.of(place)
        value = median_over_time(bytes_, parts.resident)
        low = value if low_bytes is bytes_ else median_over_time(low_bytes, parts.resident)
        high = value if high_bytes is bytes_ else median_over_time(high_bytes, parts.resident)
        margins = self._margins(rule)
        mean = np.maximum(self._means().resident.sum(axis=0), 1.0)
        below = np.sqrt(margins.below[..., place].sum(axis=0)) / mean
        above = np.sqrt(margins.above[..., place].sum(axis=0)) / mean
        sampled = np.asarray(((margins.below > 0) | (margins.above > 0)).any(axis=(0, 2)))
        least, most = np.minimum(low, value), np.minimum(np.maximum(high, value), 1.0)
        lo = np.where(sampled, np.maximum(least - below, 0.0), least)
        hi = np.minimum(most + np.where(sampled, above, 0.0), 1.0)
        there = np.isfinite(value)
        return _HostColumns(
            self.columns.host_ids[there],
            value[there],
            lo[there],
            hi[there],
            sampled[there],
            least[there],
            most[there],
        )

    def host_resident(self) -> dict[int, float]:
        """By host."""
        means = self._means()
        return self._keep("by host", lambda: dict(zip(self.host_ids, means.resident.sum(axis=0).tolist(), strict=True)))

    def classes(self, rule: Rule) -> MeanClasses:
        """Over hosts."""
        margins = self._margins(rule)
        flat = Margins(margins.below.reshape(-1, len(CLASSES)), margins.above.reshape(-1, len(CLASSES)))
        return widen_classes(self.hard_classes(rule), flat, self.resident())

    def hard_classes(self, rule: Rule) -> ClassBytes:
        """Over hosts."""
        split = self._means().parts(rule, summed=True).split()
        return ClassBytes(*(part.sum(axis=0) for part in (split.value, split.lo, split.hi)))

    def host_bytes(self, rule: Rule, place: int) -> dict[int, tuple[float, float, float]]:
        """By host."""
        found = self._means().parts(rule, summed=True).of(place)
        return dict(zip(self.host_ids, zip(*(part.tolist() for part in found), strict=True), strict=True))

    def resident(self) -> float:
        """Over hosts."""
        return float(self._means().resident.sum())

    def ages(self) -> tuple[Floats, Floats]:
        """Over hosts."""
        means = self._means()
        below, known = means.below.sum(axis=(1, 2)), means.known.sum(axis=(1, 2))
        active = np.diff(below, prepend=0.0)
        never = known - np.append(known[1:], below[-1])
        return np.maximum(active, 0.0), np.maximum(never, 0.0)

    def misplaced(self, rule: Rule) -> tuple[Misplaced, Misplaced] | None:
        """Over hosts."""
        found = self.placed(rule)
        return find_misplaced(found.classes, found.tiers, found.margins)

    def placed(self, rule: Rule) -> Placed:
        """Over hosts."""
        split, margins = self._by_group(rule), self._margins(rule)
        flat = (len(self.columns.groups) * len(self.columns.host_ids), len(CLASSES))
        joined = ClassBytes(*(part.reshape(flat) for part in (split.value, split.lo, split.hi)))
        tiers = tuple(tier for _, tier, _ in self.columns.groups for _ in self.columns.host_ids)
        return Placed(joined, tiers, Margins(margins.below.reshape(flat), margins.above.reshape(flat)))

    def part(self, name: str) -> Part | None:
        """Over hosts."""
        beside, (part_bytes, of_bytes) = self._means().beside, BESIDE_COLUMNS[name].sums
        if beside is None or beside[BESIDE_PLACES[of_bytes]].sum() <= 0:
            return None
        total = beside[BESIDE_PLACES[part_bytes]].sum(axis=(1, 2))
        return Part(total, float(beside[BESIDE_PLACES[of_bytes]].sum()))

    def class_parts(self, name: str, at: int, rule: Rule) -> ClassParts | None:
        """Over hosts."""
        beside, means = self._means().beside, self._means()
        if beside is None or self.part(name) is None:
            return None
        part = beside[BESIDE_PLACES[BESIDE_COLUMNS[name].sums[0]]][at]
        return bound_class_parts(part, means.resident, self._by_group(rule))

    def huge_pages(self) -> HugePages | None:
        """Over hosts."""
        beside = self._means().beside
        active = 0.0 if beside is None else float(beside[_HUGE].sum())
        if beside is None or active <= 0:
            return None
        return HugePages(active, min(float(beside[_HUGE_SUBPAGES].sum()), active))

    def sampled_pages(self) -> float | None:
        """Over hosts."""
        beside = self._means().beside
        total = 0.0 if beside is None else float(beside[_SAMPLED].sum())
        return total if total > 0 else None

    def lines(self, rule: Rule, grid: Grid) -> Floats:
        """Over hosts."""
        place = grid.place(self.columns.ends_us / 1e6)
        first = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1])))
        # The same stretches fall together as long as the steps of the grid are as wide.
        means = self._keep(("lines", rule, first.tobytes()), lambda: self._sum_over_hosts(rule, first))
        out = np.full((len(grid), len(CLASSES)), np.nan)
        seen = np.isfinite(means[:, 0])
        out[place[first][seen]] = means[seen]
        return out

    def _sum_over_hosts(self, rule: Rule, first: Ints) -> Floats:
        """Mean bytes by class [b, 4] in stretches of buckets that begin at `first`; NaN without any host."""
        parts = self._over_time(rule)
        n = self.columns.n_intervals.astype(np.float64)
        weight = np.add.reduceat(n, first, axis=0)
        means = np.empty((len(first), len(CLASSES)))
        for at in range(len(CLASSES)):
            sums = np.add.reduceat(parts.value(at) * n, first, axis=0)
            means[:, at] = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0).sum(axis=1)
        means[~(weight > 0).any(axis=1)] = np.nan
        return means

    def remember(self, key: object, compute: Callable[[], T]) -> T:
        """What `compute` returned for this key before, since columns never change."""
        return self._keep(("remembered", key), compute)

    def _keep(self, key: object, compute: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = compute()
        return cast("T", self._known[key])

    def _means(self) -> MeanColumns:
        return self._keep("means", lambda: mean_columns(self.columns))

    def _by_group(self, rule: Rule) -> ClassBytes:
        """Classes of each group and host [g, h, 4], means over the window."""
        return self._keep(("groups", rule), lambda: self._means().parts(rule, summed=False).split())

    def _margins(self, rule: Rule) -> Margins:
        """Sampling errors by group and host [g, h, 4]."""
        return self._keep(("margins", rule), lambda: self._find_margins(rule))

    def _find_margins(self, rule: Rule) -> Margins:
        means = self._means()
        shape = (*means.resident.shape, len(CLASSES))
        if means.beside is None or not means.beside[_SAMPLED].any():
            return Margins(np.zeros(shape), np.zeros(shape))
        split = self._by_group(rule)
        flat = ClassBytes(*(part.reshape(-1, len(CLASSES)) for part in (split.value, split.lo, split.hi)))
        found = find_margins(flat, means.resident.ravel(), means.beside[_SAMPLED].ravel())
        return Margins(found.below.reshape(shape), found.above.reshape(shape))

    def _over_time(self, rule: Rule) -> Parts:
        """Classes of each bucket and host [t, h] over all groups."""
        return self._keep(("time", rule), lambda: parts_over_time(self.columns, rule))

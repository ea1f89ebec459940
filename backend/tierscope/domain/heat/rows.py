"""Heat as it arrives, one row per interval of a service on a host, and its series by kind, tier and page size."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import get_args

import numpy as np
import numpy.typing as npt

from tierscope.domain._generated.heat_columns import RowColumns
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.heat.beside import Beside, join_beside
from tierscope.domain.heat.classes import Folded
from tierscope.domain.heat.folding import MISSING, WIDTHS, FoldedStrata, Strata, fold_strata

Ints = npt.NDArray[np.int64]
Group = tuple[str, str, int]
"""Page kind, tier and page size in bytes; size 0 where rows were summed before the size was kept."""

BACKENDS = ("", "pebs", "ibs", "spe", "abit_walk", "idle_page", "damon_pages", "damon_regions", "referenced", "trace")
GRANULARITIES = ("", "page", "region", "vma")
PAGE_KINDS: tuple[PageKind, ...] = get_args(PageKind)
KINDS = ("", *PAGE_KINDS)
METHODS = ("", "pebs", "ibs", "spe", "abit", "abit", "damon", "damon", "referenced", "trace")
"""By backend number: the family that figures name. Series of two methods are never joined."""
PREFERENCE = (9, 4, 5, 1, 2, 3, 6, 7, 8)
"""Backends from the most to the least telling, for choosing one where several measured."""
SAMPLERS = frozenset({"pebs", "ibs", "spe"})
"""Backends that sample accesses in hardware: they see part of them, and loads and stores apart."""

FULL_HISTORY, FULL_INTERVALS = 64, 60
"""A bucket of at least an hour of minutes stands for as long a run of intervals as a validity word can hold."""


@dataclass(frozen=True, slots=True)
class Method:
    """What measured: numbers of the contract's enums, and the nominal interval."""

    backend: int
    granularity: int
    interval_ns: int

    @property
    def family(self) -> str:
        """The name that figures carry."""
        return METHODS[self.backend] if self.backend < len(METHODS) else "unknown"

    @property
    def is_sampler(self) -> bool:
        """Whether it samples accesses in hardware."""
        return self.backend < len(BACKENDS) and BACKENDS[self.backend] in SAMPLERS


@dataclass(frozen=True, slots=True)
class HeatRow(RowColumns):
    """One interval. Arrays run over n groups: the columns of the contract, with what the groups are and what measured.

    `period_events`: events per sample, None where nothing is sampled. `duty_ratio`: share of time and cores observed.
    """

    end_us: int
    boottime_ns: int | None
    method: Method
    groups: tuple[str, ...]
    kinds: Ints
    page_sizes: Ints
    tiers: tuple[str, ...]
    period_events: float | None
    duty_ratio: float | None
    bits_per_interval: int = 1


@dataclass(frozen=True, slots=True)
class HeatSeries:
    """Heat of one service on one host by one method: t buckets over g groups of (kind, tier, page size in bytes).

    `ends_us` [t] are ends of intervals, or of buckets of `n_intervals` [t] of them, over which `folded` [t, g] is a
    sum. `history` is the longest run of valid intervals seen.
    """

    host_id: int
    method: Method
    ends_us: Ints
    n_intervals: Ints
    kinds: tuple[str, ...]
    tiers: tuple[str, ...]
    sizes: tuple[int, ...]
    folded: Folded
    beside: Beside
    history: int

    @property
    def groups(self) -> tuple[Group, ...]:
        """Kind, tier and page size of each group."""
        return tuple(zip(self.kinds, self.tiers, self.sizes, strict=True))

    def take_groups(self, chosen: Sequence[int]) -> "HeatSeries":
        """Some of the groups."""
        places = np.array(chosen, np.int64)
        return replace(
            self,
            kinds=tuple(self.kinds[i] for i in chosen),
            tiers=tuple(self.tiers[i] for i in chosen),
            sizes=tuple(self.sizes[i] for i in chosen),
            folded=self.folded.take((slice(None), places)),
            beside=self.beside.take((slice(None), places)),
        )


def fold_rows(host_id: int, rows: Sequence[HeatRow]) -> HeatSeries | None:
    """Fold rows of one method by page kind, tier and page size. Of rows with one end the last wins. None without rows.

    Memory behind a missing interval is filed as unknown.
    """
    rows = sorted({row.end_us: row for row in rows}.values(), key=lambda row: row.end_us)
    if not rows:
        return None
    strata = Strata(
        n_intervals=len(rows),
        interval=np.repeat(np.arange(len(rows)), [len(row.kinds) for row in rows]),
        tiers=[tier for row in rows for tier in row.tiers],
        columns={name: np.concatenate([_column(row, name) for row in rows]) for name in WIDTHS},
        bits_per_interval=max(row.bits_per_interval for row in rows),
    )
    return make_series(host_id, rows[0].method, np.array([row.end_us for row in rows], np.int64), fold_strata(strata))


def make_series(host_id: int, method: Method, ends_us: Ints, found: FoldedStrata) -> HeatSeries:
    """The series of single intervals that end at `ends_us`, ascending."""
    return HeatSeries(
        host_id=host_id,
        method=method,
        ends_us=ends_us,
        n_intervals=np.ones(len(ends_us), np.int64),
        kinds=tuple(KINDS[kind] for kind, _, _ in found.groups),
        tiers=tuple(tier for _, tier, _ in found.groups),
        sizes=tuple(size for _, _, size in found.groups),
        folded=found.folded,
        beside=found.beside,
        history=found.history,
    )


def _column(row: HeatRow, name: str) -> Ints:
    values: Ints | None = getattr(row, name)
    return np.full(len(row.kinds) * WIDTHS[name], MISSING[name], np.int64) if values is None else values


def coarsen(series: HeatSeries, width_us: int) -> HeatSeries:
    """Sum intervals into buckets of `width_us`; ends become bucket ends."""
    starts = (series.ends_us - 1) // width_us
    first = np.flatnonzero(np.concatenate(([True], starts[1:] != starts[:-1])))
    summed = Folded(*(np.add.reduceat(getattr(series.folded, field.name), first, axis=0) for field in fields(Folded)))
    return HeatSeries(
        host_id=series.host_id,
        method=series.method,
        ends_us=(starts[first] + 1) * width_us,
        n_intervals=np.add.reduceat(series.n_intervals, first),
        kinds=series.kinds,
        tiers=series.tiers,
        sizes=series.sizes,
        folded=summed,
        beside=series.beside.add_runs(first),
        history=series.history,
    )


def join_series(parts: Sequence[HeatSeries]) -> HeatSeries | None:
    """Join stretches of one host and method over the union of their groups, in order of time."""
    parts = [part for part in parts if len(part.ends_us)]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    groups = sorted({group for part in parts for group in part.groups})
    place = {group: i for i, group in enumerate(groups)}
    total = sum(len(part.ends_us) for part in parts)
    arrays = {}
    for field in fields(Folded):
        sample = getattr(parts[0].folded, field.name)
        arrays[field.name] = np.zeros((total, len(groups), *sample.shape[2:]), np.int64)
    columns_of = [[place[group] for group in part.groups] for part in parts]
    at = 0
    for part, columns in zip(parts, columns_of, strict=True):
        for name, out in arrays.items():
            out[at : at + len(part.ends_us), columns] = getattr(part.folded, name)
        at += len(part.ends_us)
    ends = np.concatenate([part.ends_us for part in parts])
    order = np.argsort(ends, kind="stable")
    return HeatSeries(
        host_id=parts[0].host_id,
        method=parts[0].method,
        ends_us=ends[order],
        n_intervals=np.concatenate([part.n_intervals for part in parts])[order],
        kinds=tuple(kind for kind, _, _ in groups),
        tiers=tuple(tier for _, tier, _ in groups),
        sizes=tuple(size for _, _, size in groups),
        folded=Folded(**arrays).take(order),
        beside=join_beside([part.beside for part in parts], columns_of, len(groups)).take(order),
        history=max(part.history for part in parts),
    )

"""Through how many pages the memory of a host was seen, where back ends look at a random sample of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.folding import fold_sampled_pages
from tierscope.domain.heat.rows import KINDS, HeatSeries, join_strata

Ints = npt.NDArray[np.int64]

COLUMNS = ("kinds", "page_sizes", "resident_bytes", "sampled_pages")
"""Columns of stored intervals that tell it, beside tiers."""


@dataclass(frozen=True, slots=True)
class SampledRow:
    """One interval of a service on a host, n strata: page kinds, page sizes, tiers, resident bytes, sampled pages.

    `sampled_pages` None where every resident page was looked at.
    """

    kinds: Ints
    page_sizes: Ints
    tiers: tuple[str, ...]
    resident_bytes: Ints
    sampled_pages: Ints | None


@dataclass(frozen=True, slots=True)
class SampledPages:
    """Of one host by g groups of page kind, tier and page size: `pages` [g] summed over `n_intervals`.

    `is_resident` [g]: whether there was memory in any of the intervals.
    """

    n_intervals: int
    kinds: tuple[str, ...]
    pages: Ints
    is_resident: npt.NDArray[np.bool_]

    @classmethod
    def of_series(cls, series: HeatSeries) -> "SampledPages":
        """Of heat that is read anyway."""
        return cls(
            int(series.n_intervals.sum()),
            series.kinds,
            series.beside["sampled_pages"].sum(axis=0),
            np.asarray(series.folded.resident.any(axis=0)),
        )

    @classmethod
    def of_rows(cls, rows: Mapping[int, SampledRow]) -> "SampledPages":
        """Of single intervals by their end, one at least: what `fold_rows` makes of them."""
        some = [rows[end_us] for end_us in sorted(rows)]
        groups, resident, sampled = fold_sampled_pages(join_strata(some, COLUMNS, bits_per_interval=1))
        kinds = tuple(KINDS[kind] for kind, _, _ in groups)
        return cls(len(some), kinds, sampled.sum(axis=0), np.asarray(resident.any(axis=0)))


def count_pages(hosts: Iterable[SampledPages]) -> Mapping[str, float]:
    """Pages of a mean interval through which each kind was seen, summed over hosts; `all` of all kinds together.

    A kind of which any host shows all pages is left out.
    """
    found: dict[str, float] = {}
    whole: set[str] = set()
    for host in hosts:
        pages = host.pages / max(host.n_intervals, 1)
        for kind in set(host.kinds):
            mine = np.array([kind == name for name in host.kinds], bool)
            seen = float(pages[mine].sum())
            if host.is_resident[mine].any() and seen == 0:
                whole |= {kind, "all"}
            found[kind] = found.get(kind, 0.0) + seen
    found["all"] = sum(found.values())
    return {kind: pages for kind, pages in found.items() if kind not in whole}

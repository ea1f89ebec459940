"""Through how many pages the memory of a host was seen, where back ends look at a random sample of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.rows import HeatSeries

Ints = npt.NDArray[np.int64]


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

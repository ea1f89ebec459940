"""Heat of all services of a fleet together: what adds up over them, and what each host has in all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.heat.classes import ClassBytes, Rule
from tierscope.domain.heat.panel import join_margins
from tierscope.domain.heat.placement import Misplaced, find_misplaced
from tierscope.domain.heat.source import HeatSource, Observed
from tierscope.domain.heat.summary import MeanClasses, ServiceShare, join_classes, share_of_columns, widen_classes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JoinedSources:
    """Sources of several services. Methods may differ: figures say so."""

    sources: Sequence[HeatSource]

    def observed(self, start_s: float, end_s: float) -> list[Observed]:
        """Of each service on each host."""
        return [host for source in self.sources for host in source.observed(start_s, end_s)]

    def sampled_pages(self) -> float | None:
        """Of all services; None where all pages were seen."""
        total = sum(source.sampled_pages() or 0.0 for source in self.sources)
        return total if total > 0 else None

    def resident(self) -> float:
        """Mean resident bytes."""
        return sum(source.resident() for source in self.sources)

    def classes(self, rule: Rule) -> MeanClasses:
        """Mean bytes of the classes."""
        parts = [source.hard_classes(rule) for source in self.sources]
        total = ClassBytes(*(np.sum([getattr(part, name) for part in parts], axis=0) for name in ("value", "lo", "hi")))
        margins = join_margins([source.placed(rule).margins for source in self.sources])
        return widen_classes(total, margins, self.resident())

    def misplaced(self, rule: Rule) -> tuple[Misplaced, Misplaced] | None:
        """(hot outside DRAM, cold in DRAM); None where placement is not known."""
        placed = [source.placed(rule) for source in self.sources]
        tiers = [tier for part in placed for tier in part.tiers]
        return find_misplaced(
            join_classes([part.classes for part in placed]), tiers, join_margins([part.margins for part in placed])
        )

    def host_ratios(self, rule: Rule, place: int) -> dict[int, tuple[float, float, float]]:
        """The share of a class in all memory of each host with any, by host, with hard bounds: (value, lo, hi)."""
        parts: dict[int, Floats] = {}
        wholes: dict[int, float] = {}
        for source in self.sources:
            for host, found in source.host_bytes(rule, place).items():
                parts[host] = parts.get(host, np.zeros(3)) + found
            for host, value in source.host_resident().items():
                wholes[host] = wholes.get(host, 0.0) + value
        ratios = {host: parts.get(host, np.zeros(3)) / whole for host, whole in wholes.items() if whole > 0}
        return {host: (float(share[0]), float(share[1]), float(share[2])) for host, share in ratios.items()}

    def host_median(self, rule: Rule, place: int) -> ServiceShare | None:
        """The median over hosts of the share of a class in all memory of a host; None without memory."""
        value, lo, hi = np.array(list(self.host_ratios(rule, place).values())).reshape(-1, 3).T
        return share_of_columns(value, lo, hi, lo, hi, sampled=False)

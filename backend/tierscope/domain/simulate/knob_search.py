"""The best settings of a search, and how flat the optimum is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WITHIN_RATIO = 0.1
"""Settings count as good as the best where they lose at most so much more than it, relatively [A]."""
SMALLEST_LOSS = 0.0005
"""Losses that differ by less than this are the same [A]: a twentieth of a point."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Settings that were tried, with their loss (None where not known) and tier moves in MB/s."""

    number: int
    settings: Mapping[str, float]
    loss: float | None
    tier_move_mb_per_s: float


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best of a search. `spans`: from and to which value each key can go with a loss as good as the best.

    `at_edge`: keys whose best value is the smallest or largest that was tried, though others are worse: better ones may
    lie beyond.
    """

    best: Tried
    n_within: int
    n: int
    spans: Mapping[str, tuple[float, float]]
    at_edge: tuple[str, ...]


def find_optimum(tried: Sequence[Tried], keys: Sequence[str]) -> Optimum | None:
    """The smallest loss; among those as good as it the one with the fewest tier moves. None where no loss is known."""
    known = [item for item in tried if item.loss is not None]
    if not known:
        return None
    least = min(item.loss or 0.0 for item in known)
    limit = max(least * (1.0 + WITHIN_RATIO), least + SMALLEST_LOSS)
    same = [item for item in known if (item.loss or 0.0) <= least + SMALLEST_LOSS]
    best = min(same, key=lambda item: (item.tier_move_mb_per_s, item.loss, item.number))
    within = [item for item in known if (item.loss or 0.0) <= limit]
    spans = {key: _span([item.settings[key] for item in within]) for key in keys}
    at_edge = []
    for key in keys:
        values = {item.settings[key] for item in known}
        if spans[key] != _span(list(values)) and best.settings[key] in _span(list(values)):
            at_edge.append(key)
    return Optimum(best, len(within), len(known), spans, tuple(at_edge))


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)

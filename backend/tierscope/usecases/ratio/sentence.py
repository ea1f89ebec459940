"""The first line of an answer about the ratio, and the sentences that its card carries."""

from collections.abc import Sequence

from tierscope.domain.slowdown import UPPER_LEVEL
from tierscope.usecases.ratio.answers import RatioCandidate

WHOLE_FROM = 10.0
"""Percent that are given without decimals."""


def describe(chosen: RatioCandidate | None, refused: Sequence[str], *, loss_target: float) -> str:
    """One sentence."""
    if refused:
        others = len(refused) - 1
        more = f" {others} more {'reason' if others == 1 else 'reasons'} below." if others else ""
        return f"No ratio is advised yet: {refused[0].rstrip('.')}.{more}"
    target = percent(loss_target)
    if chosen is None:
        return f"All DRAM: no ratio keeps the loss at or below {target} with {UPPER_LEVEL:.0%} confidence."
    return (
        f"{chosen.name} is the smallest DRAM share that keeps the loss at or below {target}:"
        f" {percent(chosen.loss_median.value)} is expected, at most {percent(chosen.loss_upper.value)}"
        f" ({UPPER_LEVEL:.0%}), with {percent(chosen.share_on_slow.value)} of accesses on slow memory."
    )


def percent(ratio: float | None) -> str:
    """A ratio in percent, with two digits that tell."""
    if ratio is None:
        return "an unknown share"
    value = 100.0 * ratio
    return f"{value:.0f} %" if value >= WHOLE_FROM or value == round(value) else f"{value:.2g} %"

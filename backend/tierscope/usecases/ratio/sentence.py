"""The first line of an answer about the ratio, and the words in it that other edges use too."""

from collections.abc import Sequence

from tierscope.domain.ratio import SWEEP, Answer, RatioGrade, Seen
from tierscope.domain.slowdown import UPPER_LEVEL
from tierscope.usecases.ratio.answers import Ratio, RatioCandidate, RatioEnds, RatioPlacement

WHOLE_FROM = 10.0
"""Percent that are given without decimals."""
ALL_DRAM = "all DRAM"
TIERING_OFF = "simulated:first_touch"
"""The placement of hosts that move no page."""
_HOUR_DAYS = 1.0 / 24.0
_UNSEEN = {
    "early": "says nothing of other hours, nights and weekends",
    "provisional": "a week of three hosts is not seen yet",
    "established": "",
}


def describe(
    answer: Answer,
    ends: RatioEnds | None,
    chosen: RatioCandidate | None,
    refused: Sequence[str],
    *,
    loss_target: float,
    least: float | None,
    placement: RatioPlacement | None = None,
) -> str:
    """What to do in a sentence or two. `least`: the smallest share of the sweep that keeps the target; 1 is all DRAM.

    `placement` tells what better placement would allow where none is proven with today's.
    """
    if ends is None:
        return f"No ratio can be given: {refused[0].rstrip('.')}."
    keeps = f"the loss at or below {percent(loss_target)} with {percent(UPPER_LEVEL)} confidence"
    if answer == "ratio" and chosen is not None:
        return (
            f"Use {chosen.name}, the ratio with the least DRAM that keeps the loss at or below {percent(loss_target)}:"
            f" {percent(chosen.loss_median.value)} is expected, at most {percent(chosen.loss_upper.value)}"
            f" ({percent(UPPER_LEVEL)}), with {percent(chosen.share_on_slow.value)} of accesses on slow memory"
            f"{_further(chosen.dram_ratio, least)}."
        )
    safe, likely, plausible = (name or ALL_DRAM for name in (ends.safe, ends.likely, ends.plausible))
    if likely != safe:
        untested = f" {likely} needs a test."
    else:
        untested = "" if safe == plausible else f" {plausible} is not ruled out, but expected to miss it."
    if ends.safe is not None:
        further = _further(ends.safe_dram_ratio, least) or ("; less DRAM does not" if safe == plausible else "")
        return f"Use {safe}: it keeps {keeps}{further}.{untested}"
    if safe == plausible:
        further = _further(ends.safe_dram_ratio, least) or "; less DRAM does not"
        return f"Keep all memory in DRAM: it keeps {keeps}{further}."
    if placement is not None and placement.chosen_beside is not None:
        off = "tiering is off" if placement.source == TIERING_OFF else "today's settings place pages too badly"
        on = "with it on and" if placement.source == TIERING_OFF else "with"
        return (
            f"Not yet: {off}, and no ratio is proven to keep {keeps}; {on} the densest pages in DRAM,"
            f" {placement.chosen_beside} would.{untested}"
        )
    return f"Keep all memory in DRAM: no ratio is proven to keep {keeps}.{untested}"


def entitle(view: Ratio, ends: RatioEnds) -> str:
    """The answer in a few words."""
    if view.chosen is not None:
        return f"Use DRAM:CXL {view.chosen.name}"
    if ends.safe is not None:
        untested = "" if ends.likely in (None, ends.safe) else f"; {ends.likely} needs a test"
        return f"Use DRAM:CXL {ends.safe}{untested}"
    beside = None if view.placement is None else view.placement.chosen_beside
    if beside is not None and view.placement is not None and view.placement.source == TIERING_OFF:
        return f"Switch tiering on first, then test DRAM:CXL {beside}"
    return "Keep all memory in DRAM" + ("" if ends.likely is None else f" until DRAM:CXL {ends.likely} is tested")


def _further(dram_share: float, least: float | None) -> str:
    """What the sweep says below a named ratio; empty where the next smaller share does not keep the target."""
    if least is None or least >= dram_share:
        return ""
    tried = ", the least that was judged" if least <= SWEEP[0] else ""
    return f"; so does DRAM of {percent(least)} of the memory{tried}"


def describe_scope(grade: RatioGrade | None, seen: Seen | None) -> str:
    """What the answer was made from, and what it does not tell."""
    if grade is None or seen is None:
        return ""
    hosts = "1 host" if seen.n_hosts == 1 else f"{seen.n_hosts} hosts"
    lead = f"for this host, {_UNSEEN[grade]}" if grade == "early" and seen.n_hosts == 1 else _UNSEEN[grade]
    return f"{lasting(seen.days)} of page samples from {hosts}{': ' if lead else ''}{lead}"


def lasting(days: float) -> str:
    """A length of time in its usual unit."""
    if days < _HOUR_DAYS:
        return f"{round(days / _HOUR_DAYS * 60)} minutes"
    return f"{days * 24:.0f} hours" if days < 2 else f"{days:.1f} days"  # noqa: PLR2004 - days


def percent(ratio: float | None) -> str:
    """A ratio in percent, with two digits that tell."""
    if ratio is None:
        return "an unknown share"
    value = 100.0 * ratio
    return f"{value:.0f} %" if value >= WHOLE_FROM or value == round(value) else f"{value:.2g} %"

"""Which evidence is the weakest: what the doubt about the loss is made of."""

import math
from dataclasses import replace

from tierscope.domain.ratio import Choice, unseen_sd
from tierscope.domain.slowdown import LATENCY_SD, LEVEL
from tierscope.usecases.ratio.answers import Doubt, RatioUncertainty
from tierscope.usecases.ratio.inputs import Case

_WHY: dict[Doubt, str] = {
    "slowdown": "how much a service loses at a share of accesses on slow memory",
    "latency": "the latency of slow memory, which no host has measured",
    "share_on_slow": "the share of accesses on slow memory, from the draw of pages and hosts",
    "placement": "the placement, which was not replayed: from the densest pages in DRAM to pages placed by chance",
    "hours": "hours of the day that were not seen",
    "days": "days of the week that were not seen",
    "hosts": "hosts that were not seen",
}
"""What each part of the doubt is about."""


def weigh_doubts(case: Case, choice: Choice) -> tuple[RatioUncertainty, ...]:
    """Parts of the variance of ln odds at the likeliest ratio, the greatest first."""
    bounds = case.placement.are_bounds
    share = (choice.likely or choice.candidates[0]).share
    share = replace(share, level=LEVEL) if bounds else share
    belief = case.belief
    # Points of the service are losses at its own latency: there is no doubt about it beside theirs.
    latency = 0.0 if case.rho_measured or case.points or case.asked.device is not None else LATENCY_SD**2
    unseen: dict[Doubt, float] = {
        name: (belief.exponent * sd) ** 2 for name, sd in unseen_sd(case.placement.seen).items()
    }
    rest = (belief.exponent * share.log_sd) ** 2 - math.fsum(unseen.values())
    parts: dict[Doubt, float] = {
        "slowdown": belief.at(math.exp(share.log_centre)).variance - latency,
        "latency": latency,
        "placement" if bounds else "share_on_slow": max(rest, 0.0),
        **unseen,
    }
    total = math.fsum(parts.values())
    found = sorted(parts.items(), key=lambda part: -part[1])
    return tuple(RatioUncertainty(name, value / total, _WHY[name]) for name, value in found if value > 0.0)

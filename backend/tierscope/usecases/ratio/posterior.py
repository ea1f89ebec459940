"""Belief about a service's slowdown from the prior, its hosts' latencies and its owner's measurements; as shown."""

from collections.abc import Sequence

from tierscope.domain.ratio import Placement
from tierscope.domain.slowdown import EXPONENT_SD, PRIOR, REFERENCE_RHO, UPPER_LEVEL, Belief, Point
from tierscope.storage.slowdown.points import SlowdownPointItem
from tierscope.usecases.ratio.answers import RatioAssumption, RatioPoint, RatioPosterior

FORMULA = (
    "o = l / (1 - l); ln o(h) = ln a + b ln h + f(ln h); ln a ~ N(ln 0.25 + ln((rho - 1) / 0.9), 0.92^2);"
    " f: how this service departs from the line, known where it was measured;"
    " upper loss: mean + 1.645 sqrt(variance + (b sd(ln h))^2)"
)
LATENCY_RANGE = (1.5, 2.5)
"""Of rho where it was not measured: good devices are near cross-socket memory, slow ones reach 2.2 and more."""
EXPONENT_RANGE = (1.1, 1.9)
"""One standard deviation of a service's exponent to both sides of the prior's."""
MEASURED_RANGE = 0.15
"""Relative, to both sides of a measured rho: over hosts, load and access pattern."""


def use_points(points: Sequence[SlowdownPointItem]) -> tuple[list[Point], tuple[RatioPoint, ...]]:
    """The usable measurements, and all of them with the reason why not."""
    used, views = [], []
    for item in points:
        point = Point(item.share_on_slow, item.loss, item.loss_standard_error)
        why_not = None
        if item.loss <= 0.0:
            why_not = "a loss of zero or less has no logarithm: it is shown and not used"
        if why_not is None:
            used.append(point)
        views.append(
            RatioPoint(
                id=item.id,
                source=item.source,
                share_on_slow=item.share_on_slow,
                loss=item.loss,
                loss_standard_error=item.loss_standard_error,
                used=why_not is None,
                why_not=why_not,
                measured_at=item.measured_at,
                author=item.author,
                note=item.note,
            )
        )
    return used, tuple(views)


def form_belief(points: Sequence[Point], rho: float, exponent: float = PRIOR.exponent) -> Belief:
    """The belief at a ratio of loaded latencies; other exponents are for asking how much they matter.

    The prior's line turns about the middle of the published shares, so that another exponent keeps its fit there.
    """
    prior = PRIOR.at_latency(rho)
    if exponent != prior.exponent:
        prior = prior.turned(exponent)
    return Belief.of(prior, points)


def view_posterior(belief: Belief, placement: Placement, dram_share: float, rho: float) -> RatioPosterior:
    """The belief at the share that was measured last, else at that of the ratio in question."""
    share = belief.points[0].share_on_cxl if belief.points else placement(dram_share).value
    here = belief.at(share)
    return RatioPosterior(
        mean_ln_a=here.mean_ln_a,
        variance=here.variance,
        exponent=belief.exponent,
        rho=rho,
        at_share=share,
        level=UPPER_LEVEL,
        points_used=len(belief.points),
        formula=FORMULA,
    )


def assume_slowdown(belief: Belief, *, rho: float, rho_measured: bool) -> list[RatioAssumption]:
    """What the belief takes to be so."""
    out = [
        RatioAssumption(
            "prior of the slowdown",
            "a = 0.25, sd of ln a = 0.92",
            "1",
            "S",
            "fitted to 13 published pairs of share and loss (TPP); they scatter, and the interval says so",
        ),
        RatioAssumption(
            "exponent",
            belief.exponent,
            "1",
            "fitted" if belief.fits_exponent else "A",
            "fitted to the measured points"
            if belief.fits_exponent
            else f"of the prior; that of one service scatters by {EXPONENT_SD} about it."
            " Interleaved placement has about 1, and loses more at small shares",
        ),
    ]
    if not rho_measured:
        out.append(
            RatioAssumption(
                "rho",
                rho,
                "ratio",
                "A",
                f"no host has measured both tiers: {REFERENCE_RHO} is what the prior stands for;"
                " run `tierscope-agent bench` on a host that has slow memory",
            )
        )
    return out


def latency_range(rho: float, *, measured: bool) -> tuple[float, float]:
    """Low and high end of rho for the sensitivity of an answer."""
    if not measured:
        return LATENCY_RANGE
    return max(rho * (1.0 - MEASURED_RANGE), 1.01), rho * (1.0 + MEASURED_RANGE)

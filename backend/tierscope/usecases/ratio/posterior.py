"""Belief about a service's slowdown from the prior, its hosts' latencies and its owner's measurements; as shown."""

from collections.abc import Sequence
from datetime import datetime

from tierscope.domain.slowdown import LEVEL_SD, REFERENCE_RHO, UPPER_LEVEL, Belief, Device, Point
from tierscope.storage.slowdown.points import SlowdownPointItem
from tierscope.usecases.ratio.answers import RatioAssumption, RatioPoint, RatioPosterior

FORMULA = (
    "o = l / (1 - l); ln o(h) = ln a + b ln h + f(ln h); b = 1 or 1.5, as likely as each other before any point;"
    f" at h = 0.22 both lines have o = 0.25 * 0.22^1.5 (rho - 1) / 0.9, ln o with sd {LEVEL_SD};"
    " f: how this service departs from its line, known where it was measured;"
    " upper loss: the 95 % quantile of both lines together, with b sd(ln h) added to the error of each"
)
LATENCY_RANGE = (1.5, 2.5)
"""Of rho where it was not measured: good devices are near cross-socket memory, slow ones reach 2.2 and more."""
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


def view_predicted(point: Point, at: datetime) -> RatioPoint:
    """The prediction from memory stalls, beside the owner's measurements."""
    return RatioPoint(
        id=None,
        source="prediction",
        share_on_slow=point.share_on_cxl,
        loss=point.loss,
        loss_standard_error=point.loss_standard_error,
        used=True,
        why_not=None,
        measured_at=at,
        author="tierscope",
        note="with all memory on slow memory, from the cycles in which the hosts' processors wait for memory",
    )


def view_posterior(belief: Belief, likely_share: float, rho: float) -> RatioPosterior:
    """The belief at the share that was measured last, else at that of the likeliest ratio."""
    share = belief.points[0].share_on_cxl if belief.points else likely_share
    here = belief.at(share)
    return RatioPosterior(
        mean_ln_a=here.mean_ln_a,
        variance=here.variance,
        exponent=belief.exponent,
        linear_weight=belief.weights[0],
        rho=rho,
        at_share=share,
        level=UPPER_LEVEL,
        points_used=len(belief.points),
        formula=FORMULA,
    )


def assume_slowdown(belief: Belief, *, rho: float, rho_measured: bool, device: Device | None) -> list[RatioAssumption]:
    """What the belief takes to be so. `device`: the one that was asked about."""
    out = [
        RatioAssumption(
            "prior of the slowdown",
            f"o = 0.25 * 0.22^1.5 at h = 0.22, sd of ln o = {LEVEL_SD}",
            "1",
            "S",
            "fitted to 13 published pairs of share and loss (TPP); widened until the upper loss also holds for services"
            " that lose in proportion to the share, as those of Pond",
        ),
        RatioAssumption(
            "exponent",
            belief.exponent,
            "1",
            "fitted" if len(belief.points) > 1 else "A",
            "mean of 1 (every access costs the same) and 1.5 (the least critical accesses are on slow memory), by how"
            " well each foretells the measured points",
        ),
    ]
    if device is not None:
        out.append(
            RatioAssumption(
                "device",
                device.label,
                "",
                "A",
                f"{device.idle_ns:g} ns ({device.low_ns:g} to {device.high_ns:g}) beside DRAM of"
                f" {device.dram_idle_ns:g} ns: {device.source}",
            )
        )
    if belief.device_sd > 0.0:
        out.append(
            RatioAssumption(
                "latency beyond the prior",
                belief.device_sd,
                "1",
                "A",
                "sd of ln o more: devices of this kind differ, and the published pairs have other latency ratios",
            )
        )
    if not rho_measured and device is None:
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

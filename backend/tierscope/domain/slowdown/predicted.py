"""The loss on slow memory alone, predicted from the cycles in which a service's processors wait for memory."""

import math

from tierscope.domain.slowdown.device import scaling_sd
from tierscope.domain.slowdown.loss import PREDICTION_STANDARD_ERROR, Point, physical_loss
from tierscope.domain.slowdown.posterior import EXPONENTS, LATENCY_SD

STALLS_SD = 0.3
"""Of ln odds: cycles that wait overlap, and not all of them grow with the latency [A]."""


def stalls_on_dram(stall_share: float, share_on_slow: float, rho: float) -> float:
    """The share of cycles that would wait for memory with all accesses in DRAM, from that where some are slow.

    Waiting for each unit of work grows by `h^b (rho - 1)`; of the exponents b the mean.
    """
    if stall_share >= 1.0:
        return stall_share
    grown = sum(1.0 + share_on_slow**exponent * max(rho - 1.0, 0.0) for exponent in EXPONENTS) / len(EXPONENTS)
    waits: float = stall_share / (1.0 - stall_share) / grown
    return waits / (1.0 + waits)


def predict_point(stall_share: float, rho: float, *, rho_measured: bool) -> Point | None:
    """The loss with all accesses on slow memory, as a point like a measured one; None where nothing waits.

    Args:
        stall_share: share of cycles that wait for memory, on DRAM; where some accesses are slow already it is too
            high, and so is the loss, unless these were taken out (`stalls_on_dram`).
        rho: latency of slow memory over that of DRAM.
        rho_measured: whether that was measured; else its doubt is added.
    """
    loss = physical_loss(stall_share, 1.0, rho)
    if loss <= 0.0:
        return None
    slope = loss * (1.0 - loss)
    latency_sd = scaling_sd(rho) if rho_measured else LATENCY_SD
    sd = math.hypot(PREDICTION_STANDARD_ERROR / slope, STALLS_SD, latency_sd)
    return Point(1.0, loss, sd * slope)

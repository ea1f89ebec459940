"""Loss of throughput as a function of the share of memory accesses that CXL serves.

Odds o = l / (1 - l) are the relative extra time of a loss l. The line o = a * h^b with b = 1.5 was fitted to 13
published pairs (TPP): placement leaves the least critical accesses on CXL first. `Belief` is what is believed of one
service: it allows for other exponents and levels than this line's.
"""

import math
from dataclasses import dataclass, replace

import scipy

REFERENCE_RHO = 1.9
"""Ratio of loaded CXL to DRAM latency that the prior stands for [A]."""
MIDDLE_SHARE = 0.22
"""Geometric mean of the shares of accesses on CXL in the published pairs."""
UPPER_LEVEL = 0.95
PREDICTION_STANDARD_ERROR = 0.053
"""Of the loss that core counters predict for slow memory alone: 94 of 100 workloads lie within 10 points (CAMP)."""


def odds_of(loss: float) -> float:
    """Relative extra time of a loss in 0..1 (1 excluded)."""
    if not 0.0 <= loss < 1.0:
        raise ValueError("a loss is at least 0 and below 1")
    return loss / (1.0 - loss)


def loss_of(odds: float) -> float:
    """Loss of relative extra time, which is not negative."""
    if odds < 0.0:
        raise ValueError("odds are not negative")
    return odds / (1.0 + odds)


def physical_loss(stall_share: float, share_on_cxl: float, rho: float) -> float:
    """Loss where every access is as critical as any other: odds = sigma * h * (rho - 1).

    For static interleave of uniform accesses, and for moving a whole page type. `stall_share` is the exposed
    memory-stall share of the run time on DRAM alone, `rho` the ratio of loaded CXL to DRAM latency.
    """
    return loss_of(stall_share * share_on_cxl * max(rho - 1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Point:
    """One measured pair: share of accesses on CXL, loss, and the standard error of the loss."""

    share_on_cxl: float
    loss: float
    loss_standard_error: float

    @property
    def is_usable(self) -> bool:
        """A loss of zero or less is reported, and not used: its odds have no logarithm."""
        return self.loss > 0.0 and self.share_on_cxl > 0.0 and self.loss_standard_error > 0.0

    @property
    def variance(self) -> float:
        """Variance of the logarithm of its odds, by the delta method."""
        return (self.loss_standard_error / (self.loss * (1.0 - self.loss))) ** 2


@dataclass(frozen=True, slots=True)
class Posterior:
    """Belief about the slowdown: ln a is normal; b is fixed."""

    mean_ln_a: float
    variance: float
    exponent: float = 1.5

    def loss_median(self, share_on_cxl: float) -> float:
        """Median loss at this share of accesses on CXL."""
        return loss_of(self._odds(share_on_cxl))

    def loss_upper(self, share_on_cxl: float, level: float = UPPER_LEVEL) -> float:
        """Loss that is not exceeded with this probability."""
        return loss_of(self._odds(share_on_cxl) * math.exp(normal_quantile(level) * math.sqrt(self.variance)))

    def at_latency(self, rho: float) -> "Posterior":
        """The same for another ratio of loaded latencies: extra time is in proportion to rho - 1."""
        if rho <= 1.0:
            raise ValueError("CXL is taken to be slower than DRAM: rho must be above 1")
        return replace(self, mean_ln_a=self.mean_ln_a + math.log((rho - 1.0) / (REFERENCE_RHO - 1.0)))

    def turned(self, exponent: float) -> "Posterior":
        """The same with another exponent, about the middle of the published pairs: it says the same there."""
        shift = (self.exponent - exponent) * math.log(MIDDLE_SHARE)
        return replace(self, mean_ln_a=self.mean_ln_a + shift, exponent=exponent)

    def _odds(self, share_on_cxl: float) -> float:
        if not 0.0 <= share_on_cxl <= 1.0:
            raise ValueError("a share is in 0..1")
        return math.exp(self.mean_ln_a) * math.pow(share_on_cxl, self.exponent)


PRIOR = Posterior(mean_ln_a=math.log(0.25), variance=0.92**2)
"""From the 13 pairs of TPP: mean error 1.1 points, worst 2.4; residual standard deviation of the logarithm 0.92."""


def normal_quantile(level: float) -> float:
    """One-sided quantile of the standard normal distribution."""
    return float(scipy.special.ndtri(level))

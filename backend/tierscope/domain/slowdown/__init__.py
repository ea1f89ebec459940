"""How much slower a service runs: by its share of accesses on slow memory, and by bandwidth."""

from tierscope.domain.slowdown.bandwidth import (
    LoadedLatency,
    Tier,
    balanced_share,
    bandwidth_loss,
    best_share,
    deliverable,
    equal_latency_share,
    gain_bound,
    interleave_weights,
)
from tierscope.domain.slowdown.loss import (
    PREDICTION_STANDARD_ERROR,
    PRIOR,
    REFERENCE_RHO,
    UPPER_LEVEL,
    Point,
    Posterior,
    loss_of,
    odds_of,
    physical_loss,
    updated,
)
from tierscope.domain.slowdown.pooled import LEVEL, pool_shares
from tierscope.domain.slowdown.posterior import EXPONENTS, LATENCY_SD, LEVEL_SD, Belief, ShareOnSlow
from tierscope.domain.slowdown.predicted import predict_point

__all__ = [
    "EXPONENTS",
    "LATENCY_SD",
    "LEVEL",
    "LEVEL_SD",
    "PREDICTION_STANDARD_ERROR",
    "PRIOR",
    "REFERENCE_RHO",
    "UPPER_LEVEL",
    "Belief",
    "LoadedLatency",
    "Point",
    "Posterior",
    "ShareOnSlow",
    "Tier",
    "balanced_share",
    "bandwidth_loss",
    "best_share",
    "deliverable",
    "equal_latency_share",
    "gain_bound",
    "interleave_weights",
    "loss_of",
    "odds_of",
    "physical_loss",
    "pool_shares",
    "predict_point",
    "updated",
]

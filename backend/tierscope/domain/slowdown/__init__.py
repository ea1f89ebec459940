"""How much slower a service runs: by its share of accesses on slow memory, and by bandwidth."""

from tierscope.domain.slowdown.bandwidth import (
    LoadedLatency,
    Tier,
    balanced_share,
    bandwidth_loss,
    deliverable,
    gain_bound,
    interleave_weights,
)
from tierscope.domain.slowdown.device import (
    DRAM_NS,
    SMALLEST_RHO,
    Device,
    DeviceError,
    LoadedBelief,
    believe,
    device_presets,
    read_devices,
    scaling_sd,
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
)
from tierscope.domain.slowdown.pooled import LEVEL, pool_shares
from tierscope.domain.slowdown.posterior import EXPONENTS, LATENCY_SD, LEVEL_SD, Belief, ShareOnSlow
from tierscope.domain.slowdown.predicted import predict_point, stalls_on_dram

__all__ = [
    "DRAM_NS",
    "EXPONENTS",
    "LATENCY_SD",
    "LEVEL",
    "LEVEL_SD",
    "PREDICTION_STANDARD_ERROR",
    "PRIOR",
    "REFERENCE_RHO",
    "SMALLEST_RHO",
    "UPPER_LEVEL",
    "Belief",
    "Device",
    "DeviceError",
    "LoadedBelief",
    "LoadedLatency",
    "Point",
    "Posterior",
    "ShareOnSlow",
    "Tier",
    "balanced_share",
    "bandwidth_loss",
    "believe",
    "deliverable",
    "device_presets",
    "gain_bound",
    "interleave_weights",
    "loss_of",
    "odds_of",
    "physical_loss",
    "pool_shares",
    "predict_point",
    "read_devices",
    "scaling_sd",
    "stalls_on_dram",
]

"""DRAM:CXL ratio advice: slowdown by share of accesses on CXL, bandwidth, the class of a service, and the choice."""

from tierscope.domain.ratio.bandwidth import (
    LoadedLatency,
    Tier,
    balanced_share,
    best_share,
    deliverable,
    equal_latency_share,
    gain_bound,
    interleave_weights,
)
from tierscope.domain.ratio.choice import (
    RATIOS,
    Candidate,
    Choice,
    Evidence,
    ServiceClass,
    choose,
    classify_service,
    refusals,
)
from tierscope.domain.ratio.slowdown import (
    PRIOR,
    Point,
    Posterior,
    loss_of,
    odds_of,
    physical_loss,
    updated,
)

__all__ = [
    "PRIOR",
    "RATIOS",
    "Candidate",
    "Choice",
    "Evidence",
    "LoadedLatency",
    "Point",
    "Posterior",
    "ServiceClass",
    "Tier",
    "balanced_share",
    "best_share",
    "choose",
    "classify_service",
    "deliverable",
    "equal_latency_share",
    "gain_bound",
    "interleave_weights",
    "loss_of",
    "odds_of",
    "physical_loss",
    "refusals",
    "updated",
]

"""DRAM:CXL ratio advice: the class of a service, and the choice."""

from tierscope.domain.ratio.choice import (
    COVERAGE_MIN,
    HEADROOM,
    RATIOS,
    SWEEP,
    Candidate,
    Choice,
    Demand,
    Evidence,
    Placement,
    ServiceClass,
    choose,
    classify_service,
    judge,
    refusals,
)

__all__ = [
    "COVERAGE_MIN",
    "HEADROOM",
    "RATIOS",
    "SWEEP",
    "Candidate",
    "Choice",
    "Demand",
    "Evidence",
    "Placement",
    "ServiceClass",
    "choose",
    "classify_service",
    "judge",
    "refusals",
]

"""DRAM:CXL ratio advice: the class of a service, the choice, and how firm it is."""

from tierscope.domain.ratio.choice import (
    HEADROOM,
    RATIOS,
    STALLS_MAX,
    SWEEP,
    Answer,
    Candidate,
    Choice,
    Constraint,
    Demand,
    Placement,
    ServiceClass,
    choose,
    classify_service,
    judge,
    settle,
)
from tierscope.domain.ratio.grade import RatioGrade, Seen, grade_of, reached_at, total_sd, unseen_sd

__all__ = [
    "HEADROOM",
    "RATIOS",
    "STALLS_MAX",
    "SWEEP",
    "Answer",
    "Candidate",
    "Choice",
    "Constraint",
    "Demand",
    "Placement",
    "RatioGrade",
    "Seen",
    "ServiceClass",
    "choose",
    "classify_service",
    "grade_of",
    "judge",
    "reached_at",
    "settle",
    "total_sd",
    "unseen_sd",
]

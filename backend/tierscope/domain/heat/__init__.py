"""Heat: classes by scheme, their bounds, and what can be said of hosts, services and the fleet."""

from tierscope.domain.base.figures import Grade
from tierscope.domain.heat.aggregate import (
    Enough,
    Estimate,
    capacity_weighted,
    estimate_median,
    judge_enough,
    order_statistic_interval,
)
from tierscope.domain.heat.classes import (
    BUCKETS,
    CLASSES,
    COUNTS,
    EDGES,
    WINDOWS,
    ClassBytes,
    Folded,
    HeatClass,
    Rule,
    Scheme,
    classify,
    describe,
    file_partial,
    make_rule,
    valid_run,
)
from tierscope.domain.heat.placement import Misplaced, find_misplaced

__all__ = [
    "BUCKETS",
    "CLASSES",
    "COUNTS",
    "EDGES",
    "WINDOWS",
    "ClassBytes",
    "Enough",
    "Estimate",
    "Folded",
    "Grade",
    "HeatClass",
    "Misplaced",
    "Rule",
    "Scheme",
    "capacity_weighted",
    "classify",
    "describe",
    "estimate_median",
    "file_partial",
    "find_misplaced",
    "judge_enough",
    "make_rule",
    "order_statistic_interval",
    "valid_run",
]

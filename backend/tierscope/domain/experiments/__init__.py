"""Before/after experiments on groups of hosts: size, parallel trends, effect, verdict."""

from tierscope.domain.experiments.effect import (
    Arm,
    Effect,
    is_positive,
    measure_effect,
    measure_factor,
    no_less_than_nothing,
    on_log_scale,
)
from tierscope.domain.experiments.host_means import Design, HostMeans, HostSeries, host_means, split_before
from tierscope.domain.experiments.power import correlate, detectable_effect, hosts_per_arm, planned_hosts_per_arm
from tierscope.domain.experiments.verdict import (
    MIN_CANARY,
    MIN_CONTROL,
    SIGNIFICANCE,
    Verdict,
    adjust_for_many,
    early_significance,
    judge,
    trends_are_parallel,
    within_margin,
)
from tierscope.domain.statistics.host_metrics import Direction

__all__ = [
    "MIN_CANARY",
    "MIN_CONTROL",
    "SIGNIFICANCE",
    "Arm",
    "Design",
    "Direction",
    "Effect",
    "HostMeans",
    "HostSeries",
    "Verdict",
    "adjust_for_many",
    "correlate",
    "detectable_effect",
    "early_significance",
    "host_means",
    "hosts_per_arm",
    "is_positive",
    "judge",
    "measure_effect",
    "measure_factor",
    "no_less_than_nothing",
    "on_log_scale",
    "planned_hosts_per_arm",
    "split_before",
    "trends_are_parallel",
    "within_margin",
]

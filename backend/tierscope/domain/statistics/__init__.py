"""Statistics over many hosts: mergeable quantiles, outliers, change points, groups of peer hosts."""

from tierscope.domain.statistics.changes import Alarm, Change, find_changes, level_changes, match_events, watch
from tierscope.domain.statistics.groups import SMALL_GROUP, Cluster, cluster_services, shrink, standardise
from tierscope.domain.statistics.outliers import (
    Outlier,
    find_odd,
    find_outliers,
    flag_hosts,
    persisting,
    robust_scores,
    score_hosts,
)
from tierscope.domain.statistics.sketches import Quantiles

__all__ = [
    "SMALL_GROUP",
    "Alarm",
    "Change",
    "Cluster",
    "Outlier",
    "Quantiles",
    "cluster_services",
    "find_changes",
    "find_odd",
    "find_outliers",
    "flag_hosts",
    "level_changes",
    "match_events",
    "persisting",
    "robust_scores",
    "score_hosts",
    "shrink",
    "standardise",
    "watch",
]

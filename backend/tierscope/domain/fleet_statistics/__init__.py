"""Statistics over many hosts: mergeable quantiles, outliers, change points, groups of like hosts."""

from tierscope.domain.fleet_statistics.changes import Alarm, find_changes, match_events, watch
from tierscope.domain.fleet_statistics.groups import Cluster, cluster_services, shrink
from tierscope.domain.fleet_statistics.outliers import Outlier, find_outliers, robust_scores
from tierscope.domain.fleet_statistics.sketches import Quantiles

__all__ = [
    "Alarm",
    "Cluster",
    "Outlier",
    "Quantiles",
    "cluster_services",
    "find_changes",
    "find_outliers",
    "match_events",
    "robust_scores",
    "shrink",
    "watch",
]

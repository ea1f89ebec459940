"""Like services: clusters by behaviour, and small groups that borrow strength from their parent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]

BORROWED = 5.0
SMALL_GROUP = 20
"""Groups of fewer hosts are shown beside what they borrow from their parent."""
MIN_HOSTS = 5
MIN_SILHOUETTE = 0.3
MOST_CLUSTERS = 12


def shrink(n: int, own: float, parent: float) -> float:
    """A small group's value, drawn towards its parent's median: w = n / (n + 5)."""
    weight = n / (n + BORROWED)
    return weight * own + (1 - weight) * parent


@dataclass(frozen=True, slots=True)
class Cluster:
    """Services that behave alike, and how well they stand apart from others (mean silhouette, -1..1)."""

    members: tuple[str, ...]
    silhouette: float


def standardise(features: Floats) -> Floats:
    """Columns that vary [services, features], as standard deviations from their mean."""
    varying = features[:, features.std(axis=0) > 0]
    return np.asarray((varying - varying.mean(axis=0)) / varying.std(axis=0), np.float64)


def cluster_services(
    names: Sequence[str], features: Floats, *, hosts: Sequence[int] | None = None
) -> tuple[Cluster, ...]:
    """Ward clusters of standardised features [services, features], largest first.

    The number of clusters is the one with the best mean silhouette. Clusters of a single service, on fewer than five
    hosts in all (`hosts` by service; one each where not given), or with a silhouette of 0.3 or less, are not shown.
    """
    counts = np.array(hosts if hosts is not None else [1] * len(names), np.int64)
    standard = standardise(features)
    if counts.sum() < 2 * MIN_HOSTS or len(names) <= 2 or standard.shape[1] == 0:  # noqa: PLR2004 - two are no clusters
        return ()
    distances = scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(standard))
    tree = scipy.cluster.hierarchy.linkage(standard, method="ward")
    options = [
        scipy.cluster.hierarchy.fcluster(tree, count, criterion="maxclust")
        for count in range(2, min(MOST_CLUSTERS, len(names) - 1) + 1)
    ]
    scored = [(_silhouettes(distances, labels), labels) for labels in options]
    scores, labels = max(scored, key=lambda pair: float(pair[0].mean()))
    found = []
    for label in np.unique(labels):
        inside = labels == label
        silhouette = float(scores[inside].mean())
        if inside.sum() > 1 and counts[inside].sum() >= MIN_HOSTS and silhouette > MIN_SILHOUETTE:
            members = tuple(name for name, is_inside in zip(names, inside, strict=True) if is_inside)
            found.append(Cluster(members, silhouette))
    return tuple(sorted(found, key=lambda cluster: (-len(cluster.members), cluster.members)))


def _silhouettes(distances: Floats, labels: npt.NDArray[np.int32]) -> Floats:
    """(b - a) / max(a, b) of each point: a its mean distance within the cluster, b to the nearest other one."""
    kinds = np.unique(labels)
    sums = np.stack([distances[:, labels == kind].sum(axis=1) for kind in kinds], axis=1)
    sizes = np.array([(labels == kind).sum() for kind in kinds])
    own = np.searchsorted(kinds, labels)
    rows = np.arange(len(labels))
    alone = sizes[own] == 1
    within = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
    others = sums / sizes
    others[rows, own] = np.inf
    nearest = others.min(axis=1)
    widest = np.maximum(within, nearest)
    return np.asarray(np.where(alone | (widest == 0), 0.0, (nearest - within) / np.where(widest == 0, 1.0, widest)))

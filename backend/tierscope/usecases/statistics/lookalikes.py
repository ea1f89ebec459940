"""Services that behave alike: Ward clusters of their features, where one stands apart."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.domain.fleet.network import WARNED, NetworkSide, compare_sides
from tierscope.domain.statistics import Cluster, cluster_services, standardise
from tierscope.storage.statistics.rows import FeatureRow, read_features
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.statistics.network import read_networks
from tierscope.usecases.statistics.views import Feature, Lookalike, Lookalikes

Floats = npt.NDArray[np.float64]
SINCE = timedelta(days=2)
FEATURES = (
    ("hot_anon_ratio", "Hot share of anon memory", "ratio"),
    ("hot_file_ratio", "Hot share of file memory", "ratio"),
    ("reaccessed_10_ratio", "Re-accessed within 10 intervals", "ratio"),
    ("jaccard_10", "Hot-set Jaccard, 10 intervals", "ratio"),
    ("anon_ratio", "Anon share of memory", "ratio"),
    ("bandwidth_share", "Share of bandwidth on slow memory (h*)", "ratio"),
)
MIN_KNOWN = 0.5
"""Features that fewer of the services have are left out, so that one odd back end does not empty the picture."""
DEFINITION = "fleet.lookalikes/1"
NOTES = (
    "Ward clusters of standardised features; shown with at least five hosts and a silhouette above 0.3.",
    "Features are made every six hours from the newest heat and gaps.",
)


def find_lookalikes(session: ReadSession, service_id: str, *, now: datetime) -> Lookalikes:
    """The cluster of a service among all services that were measured in the last two days."""
    rows = read_features(session, now - SINCE)
    own = next((row for row in rows if row.service_id == service_id), None)
    if own is None:
        return _nothing(service_id, None, "The features of this service were not measured in the last two days.")
    keys = _known_keys(rows, own)
    complete = [row for row in rows if all(row.features.get(key) is not None for key in keys)]
    if not keys or len(complete) <= 2:  # noqa: PLR2004 - two services are no clusters
        return _nothing(service_id, own, f"{len(complete)} services have features in common: too few to compare.")
    matrix = np.array([[float(row.features[key] or 0.0) for key in keys] for row in complete])
    names = [row.service_id for row in complete]
    clusters = cluster_services(names, matrix, hosts=[row.n_hosts for row in complete])
    place, cluster = next(
        ((i, cluster) for i, cluster in enumerate(clusters) if service_id in cluster.members), (0, None)
    )
    if cluster is None:
        return _nothing(service_id, own, None)
    found = _answer(own, complete, standardise(matrix), cluster, place)
    return replace(found, notes=(*_confounders(session, own, found.members, now), *found.notes))


def _confounders(session: ReadSession, own: FeatureRow, members: Sequence[Lookalike], now: datetime) -> list[str]:
    """Warnings where RDMA or SMC-R is on one side of a pair alone, or changed in the time of the features."""
    window = Window(now - SINCE, now)
    side, *others = (
        NetworkSide(name, read_networks(session, require_service_hosts(session, service_id)[1], window))
        for service_id, name in [(own.service_id, own.service), *((one.service_id, one.name) for one in members)]
    )
    found = (compare_sides(side, other) for other in others)
    return list(dict.fromkeys(text for effect, texts in found if effect in WARNED for text in texts))


def _known_keys(rows: Sequence[FeatureRow], own: FeatureRow) -> list[str]:
    """Features that this service has, and most others too."""
    return [
        key
        for key, _, _ in FEATURES
        if own.features.get(key) is not None
        and sum(row.features.get(key) is not None for row in rows) >= MIN_KNOWN * len(rows)
    ]


def _answer(
    own: FeatureRow, complete: Sequence[FeatureRow], standard: Floats, cluster: Cluster, place: int
) -> Lookalikes:
    inside = [i for i, row in enumerate(complete) if row.service_id in cluster.members]
    mine = next(i for i in inside if complete[i].service_id == own.service_id)
    members = sorted(
        (
            Lookalike(
                complete[i].service_id,
                complete[i].service,
                complete[i].n_hosts,
                float(np.linalg.norm(standard[i] - standard[mine])),
            )
            for i in inside
            if i != mine
        ),
        key=lambda member: (member.distance, member.name),
    )
    return Lookalikes(
        service_id=own.service_id,
        cluster=f"cluster-{place + 1}",
        n_hosts=sum(complete[i].n_hosts for i in inside),
        members=tuple(members),
        silhouette=cluster.silhouette,
        features=_features(own, [complete[i] for i in inside]),
        missing=None,
        notes=NOTES,
    )


def _features(own: FeatureRow, inside: Sequence[FeatureRow]) -> tuple[Feature, ...]:
    views = []
    for key, label, unit in FEATURES:
        values = [value for row in inside if (value := row.features.get(key)) is not None]
        median = float(np.median(values)) if values else None
        views.append(Feature(key, label, unit, own.features.get(key), median))
    return tuple(views)


def _nothing(service_id: str, own: FeatureRow | None, reason: str | None) -> Lookalikes:
    """No cluster: with a reason where data is missing, without one where the service simply stands alone."""
    missing: Figure | None = None if reason is None else absent(DEFINITION, "count", "not_enough_data", reason)
    alone = () if reason is not None else ("No cluster that stands apart holds this service.",)
    features = () if own is None else _features(own, ())
    return Lookalikes(service_id, None, None, (), None, features, missing, (*alone, *NOTES))

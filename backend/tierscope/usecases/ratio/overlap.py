"""How much of a service's hot set stays the same over an hour: a placement that takes time needs one that stays."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.heat import estimate_median
from tierscope.domain.sensitivity.stability import jaccard
from tierscope.storage.heat.sums import LAGS, read_overlaps
from tierscope.usecases.heat.sources import LIVE_KEPT

SPAN = timedelta(days=1)
MAX_HOSTS = 32
_DEFINITION = "ratio.hot_set_jaccard/1"
_NONE = "No hot sets were compared: the back end does not tell pages apart, or its history is shorter than the lag."


def no_jaccard(window: Window) -> Figure:
    """Where no hot sets were compared."""
    return absent(_DEFINITION, "ratio", "not_collected", _NONE, window=window)


def read_jaccard(
    session: ReadSession, service_id: int, host_ids: Sequence[int], window: Window, *, now: datetime
) -> Figure:
    """Jaccard of hot bytes at the longest lag that was compared, on the newest day: the median host's median."""
    start = max(window.start, window.end - SPAN, now - LIVE_KEPT)
    overlaps = []
    if start < window.end:
        overlaps = read_overlaps(session, service_id, list(host_ids)[:MAX_HOSTS], start, window.end)
    by_lag: dict[int, dict[int, list[float]]] = {}
    for overlap in overlaps:
        value = jaccard(overlap.intersection_bytes, overlap.union_bytes)
        if value is not None:
            by_lag.setdefault(overlap.lag_intervals, {}).setdefault(overlap.host_id, []).append(value)
    longest = max((lag for lag in LAGS if lag in by_lag), default=None)
    if longest is None:
        return no_jaccard(window)
    hosts = by_lag[longest]
    middle = estimate_median([float(np.median(values)) for values in hosts.values()])
    interval = None
    if middle.lo is not None and middle.hi is not None:
        interval = Interval(middle.lo, middle.hi, middle.level, "confidence")
    return Figure(
        _DEFINITION,
        "ok",
        middle.value,
        "ratio",
        window=Window(start, window.end),
        interval=interval,
        n_hosts=len(hosts),
        n_intervals=sum(len(values) for values in hosts.values()),
        grade="good",
        grounding="A below 0.4 is volatile",
        warnings=(f"hot sets {longest} intervals apart",),
    )

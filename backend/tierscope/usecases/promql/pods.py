"""Which pods run where: 1 for each pod, with the labels by which other series are joined."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.promql.evaluate import Demand
from tierscope.domain.promql.matching import meets, name_fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import LOOKBACK_MS, NAME, Labels, Series, make_labels
from tierscope.storage.base.binary import from_us
from tierscope.storage.promql.pods import PodSpan, list_pod_spans
from tierscope.usecases.promql.sources import MetricHelp, Span, check_series, host_labels, lookback_ms

METRIC = "tierscope_pod_info"
_HELP = "1 for each pod of a Kubernetes cluster that runs on a host, with its owner and the service that it counts to."
_SAMPLES = 1000
"""At most so many samples of a pod stand for the time that it ran in."""


class PodInfo:
    """Pods as the newest inventories list them: one that ended before has no series."""

    @property
    def metrics(self) -> dict[str, MetricHelp]:
        """Its metric by name."""
        return {METRIC: MetricHelp("gauge", _HELP, "")}

    def select(
        self, session: ReadSession, matchers: Sequence[Matcher], demand: Demand, *, now: datetime
    ) -> list[Series]:
        """The series that meet all conditions, with their samples.

        Raises:
            TooMuch: they are too many.
        """
        first_ms, last_ms = demand.first_ms - LOOKBACK_MS, min(demand.last_ms, round(now.timestamp() * 1e3))
        spans = _fitting(session, matchers, Span(from_us(first_ms * 1000), from_us(last_ms * 1000)))
        check_series(len(spans))
        step_ms = max(60_000, (last_ms - first_ms) // _SAMPLES)
        found = []
        for labels, one in spans:
            start_ms = max(round(one.start.timestamp() * 1e3), first_ms + 1)
            end_ms = min(round(one.end.timestamp() * 1e3), last_ms)
            times_ms = np.unique(np.append(np.arange(start_ms, end_ms + 1, step_ms, dtype=np.int64), end_ms))
            found.append(Series(labels, times_ms, np.ones(len(times_ms)), lookback_ms(step_ms)))
        return found

    def find(self, session: ReadSession, matchers: Sequence[Matcher], span: Span) -> list[Labels]:
        """Labels of the series that meet all conditions."""
        return [labels for labels, _ in _fitting(session, matchers, span)]


def _fitting(session: ReadSession, matchers: Sequence[Matcher], span: Span) -> list[tuple[Labels, PodSpan]]:
    if not name_fits(METRIC, matchers) or span.start >= span.end:
        return []
    found = []
    for one in list_pod_spans(session, span.start, span.end):
        labels = make_labels({NAME: METRIC, "origin": one.host.origin} | host_labels(one.host) | one.labels)
        if meets(labels, matchers):
            found.append((labels, one))
    return found

"""Memory of pods by tier, and tier moves of their containers, from the counters of control groups."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Window
from tierscope.domain.counters.packing import Block
from tierscope.domain.counters.pods import MEMORY, MOVES, PodTerm, pod_terms
from tierscope.domain.ledger.machine import read_machine
from tierscope.domain.promql.evaluate import Demand
from tierscope.domain.promql.matching import fits, meets, name_fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import NAME, Labels, Series, TooMuch, make_labels
from tierscope.storage.base.binary import from_us
from tierscope.storage.base.subjects import SubjectHost, newest_inventories
from tierscope.storage.promql.pods import PodSpan, list_pod_spans
from tierscope.usecases.counters.sources import RAW_KEPT, RAW_SPAN, read_samples
from tierscope.usecases.ledger.sources import keys_in
from tierscope.usecases.promql.sources import MetricHelp, Span, check_samples, check_series, host_labels, lookback_ms

BACK = timedelta(minutes=10)
"""How far before the first moment samples are read: what the newest of them says may still hold."""
_HELP = {
    MEMORY: MetricHelp("gauge", "Memory charged to the containers of a pod by tier and kind.", "bytes"),
    MOVES: MetricHelp("counter", "Memory of a container of a pod that the kernel moved, by who moved it.", "bytes"),
}
_OPEN = frozenset({NAME, "tier", "kind", "container_cgroup", "direction", "by"})
"""Labels whose values the counters tell."""


@dataclass(frozen=True, slots=True)
class _HostPods:
    """The series of a host's pods: labels, and the counters that each is made of."""

    host: SubjectHost
    series: dict[Labels, list[PodTerm]]

    @property
    def keys(self) -> list[str]:
        """The counters behind them."""
        return sorted({term.key for terms in self.series.values() for term in terms})


class PodCounters:
    """Figures of pods as the newest inventories list them, as long as single samples are kept."""

    @property
    def metrics(self) -> dict[str, MetricHelp]:
        """Its metrics by name."""
        return _HELP

    def select(
        self, session: ReadSession, matchers: Sequence[Matcher], demand: Demand, *, now: datetime
    ) -> list[Series]:
        """The series that meet all conditions, with their samples.

        Raises:
            TooMuch: they are too many, or the time is too long.
        """
        start = max(from_us(demand.first_ms * 1000) - BACK, now - RAW_KEPT)
        end = min(from_us(demand.last_ms * 1000), now)
        found = _wanted(session, matchers, Span(start, end), now=now)
        if found and end - start > RAW_SPAN + BACK:
            raise TooMuch("figures of pods are answered for at most two days at a time")
        series: list[Series] = []
        n_samples = 0
        for one in found:
            block = read_samples(session, one.host.id, one.keys, Window(start, end))
            n_samples += len(block) * len(one.keys)
            check_samples(n_samples, "figures of pods mean")
            series += _read(one, block)
        return series

    def find(self, session: ReadSession, matchers: Sequence[Matcher], span: Span, *, now: datetime) -> list[Labels]:
        """Labels of the series that meet all conditions; of a long stretch its newest two days tell."""
        end = min(span.end, now)
        start = max(span.start, end - RAW_SPAN, now - RAW_KEPT)
        return [labels for one in _wanted(session, matchers, Span(start, end), now=now) for labels in one.series]


def _wanted(session: ReadSession, matchers: Sequence[Matcher], span: Span, *, now: datetime) -> list[_HostPods]:
    if span.start >= span.end or not any(name_fits(name, matchers) for name in _HELP):
        return []
    pods: dict[int, dict[str, PodSpan]] = defaultdict(dict)
    hosts: dict[int, SubjectHost] = {}
    # Counters may be older than the first inventory that lists their pod.
    for one in list_pod_spans(session, span.start, now):
        known = _own(one)
        if all(fits(known.get(matcher.label, ""), matcher) for matcher in matchers if matcher.label not in _OPEN):
            pods[one.host.id][one.labels["uid"]] = one
            hosts[one.host.id] = one.host
    inventories = newest_inventories(session, list(hosts), span.end)
    found = []
    n_series = 0
    for host in hosts.values():
        body = inventories.get(host.id, {})
        classes = {int(node["id"]): str(node.get("tier_class") or "unknown") for node in body.get("nodes", ())}
        keys = keys_in(session, host, Window(span.start, span.end))
        series: dict[Labels, list[PodTerm]] = defaultdict(list)
        for term in pod_terms(keys, classes, page_bytes=read_machine(body).page_bytes):
            pod = pods[host.id].get(term.uid)
            if pod is not None:
                labels = make_labels({NAME: term.metric} | _own(pod) | dict(term.labels))
                if meets(labels, matchers):
                    series[labels].append(term)
        n_series += len(series)
        check_series(n_series)
        if series:
            found.append(_HostPods(host, dict(series)))
    return found


def _own(pod: PodSpan) -> dict[str, str]:
    return {"origin": pod.host.origin} | host_labels(pod.host) | pod.labels


def _read(wanted: _HostPods, block: Block) -> list[Series]:
    """A sample where any of the counters has one: containers come and go."""
    if not len(block):
        return []
    place = {key: column for column, key in enumerate(block.keys)}
    times_ms = block.times_us // 1000
    stands_ms = lookback_ms(float(np.median(np.diff(times_ms))) if len(times_ms) > 1 else 0.0)
    found = []
    for labels, terms in wanted.series.items():
        there = [term for term in terms if term.key in place]
        columns = [place[term.key] for term in there]
        known = block.present[:, columns].any(axis=1)
        if not known.any():
            continue
        values = block.values[:, columns].astype(np.float64) @ np.array([term.factor for term in there])
        found.append(Series(labels, times_ms[known], np.maximum(values[known], 0.0), stands_ms))
    return found

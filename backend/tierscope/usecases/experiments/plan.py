"""Power before starting: how many hosts an effect needs, and what the peer hosts of a service could find."""

import numpy as np

from tierscope.core.clock import Clock
from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.domain.experiments import (
    Design,
    correlate,
    detectable_effect,
    host_means,
    planned_hosts_per_arm,
    split_before,
)
from tierscope.domain.statistics.host_metrics import HOST_METRICS, HostMetric
from tierscope.storage.base.subjects import SubjectService, hosts_of_service
from tierscope.usecases.experiments.arms import find_candidates
from tierscope.usecases.experiments.views import ExperimentPlan, MetricChoice, PowerPoint
from tierscope.usecases.statistics.host_series import HostSeriesReads, Measured

BASELINE, SPREAD = "experiment.baseline/1", "experiment.spread_ratio/1"
SIZES = (5, 8, 12, 20, 30, 50, 100, 200, 500)
MIN_HOSTS = 4
CHOICES = tuple(MetricChoice(metric.key, metric.label, metric.unit, metric.direction) for metric in HOST_METRICS)


def make_plan(
    session: ReadSession,
    service: SubjectService,
    metric: HostMetric,
    effect_ratio: float,
    window: Window,
    *,
    clock: Clock,
) -> ExperimentPlan:
    """The plan from the hosts of the window before now."""
    hosts = hosts_of_service(session, service.id)
    ids = [host.id for host in hosts]
    measured = HostSeriesReads(session, service, window, clock).read(metric, ids)
    start, end = window.start.timestamp(), window.end.timestamp()
    halves = host_means(measured.series, split_before(measured.series, Design(start, end, end, end)))
    with_data = {host_id for host_id, known in zip(ids, halves.known.tolist(), strict=True) if known}
    now = clock()
    found = find_candidates(session, service.public_id, now=now, span=(now, now), with_data=with_data)
    picks = np.isin(np.array(ids, np.int64), [host.id for host in found.hosts])
    first, second = halves.before[picks], halves.after[picks]
    missing = _missing(len(second), len(hosts), metric, window)
    level = float(second.mean()) if len(second) else 0.0
    sd = float(second.std(ddof=1)) if len(second) >= MIN_HOSTS else 0.0
    correlation = correlate(first, second)
    usable = missing is None and sd > 0 and level != 0
    r, relative = correlation or 0.0, sd / abs(level) if usable else 0.0
    half = len(second) // 2
    return ExperimentPlan(
        service_id=service.public_id,
        metric=metric.key,
        label=metric.label,
        unit=metric.unit,
        direction=metric.direction,
        effect_ratio=effect_ratio,
        window=window,
        baseline=missing or _figure(BASELINE, metric.unit, level, len(second), window, measured),
        spread_ratio=_spread(relative, len(second), window, measured, usable=usable),
        correlation=correlation,
        hosts_per_arm_needed=planned_hosts_per_arm(relative, effect_ratio, correlation=r) if usable else None,
        like_hosts=len(found.hosts),
        detectable_effect_ratio=detectable_effect(relative, half, len(second) - half, correlation=r)
        if usable and half
        else None,
        points=tuple(PowerPoint(n, detectable_effect(relative, n, n, correlation=r)) for n in SIZES) if usable else (),
        excluded=found.excluded,
        choices=CHOICES,
        missing=missing,
        notes=(
            "Power 0.8 at the 5 % level, two-sided, with the value before as a regressor.",
            "Spread and correlation are those of host means in the two halves of the window.",
            *measured.notes,
        ),
    )


def _missing(n: int, of: int, metric: HostMetric, window: Window) -> Figure | None:
    if n >= MIN_HOSTS:
        return None
    reason = f"{n} of {of} hosts can be compared and have {metric.label.lower()} in the window; {MIN_HOSTS} are needed."
    if metric.source == "service":
        reason += " Map it under `[[service_metrics]]` in the agent's configuration."
    return absent(BASELINE, metric.unit, "not_enough_data", reason, window=window)


def _spread(relative: float, n: int, window: Window, measured: Measured, *, usable: bool) -> Figure:
    if not usable:
        reason = "The hosts do not differ, have zero on average, or are too few."
        return absent(SPREAD, "ratio", "not_enough_data", reason, window=window)
    return _figure(SPREAD, "ratio", relative, n, window, measured)


def _figure(definition: str, unit: str, value: float, n: int, window: Window, measured: Measured) -> Figure:
    intervals = int(np.isfinite(measured.series.values).any(axis=0).sum())
    return Figure(
        definition,
        "ok",
        value,
        unit,
        method=measured.method,
        window=window,
        n_hosts=n,
        n_intervals=intervals,
        grade="good",
        warnings=measured.notes,
    )

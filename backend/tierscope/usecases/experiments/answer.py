"""The answer on one experiment from its data: arms, power, trends, effects and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from tierscope.core.clock import Clock
from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.copying import copied
from tierscope.domain.base.figures import Grade, Series, Window, gaps_to_none
from tierscope.domain.experiments import Design, adjust_for_many
from tierscope.domain.experiments.confounders import NetworkConfounder, judge_network
from tierscope.domain.fleet.network import HostNetwork
from tierscope.domain.statistics.host_metrics import HostMetric, find_host_metric
from tierscope.storage.base.subjects import SubjectService
from tierscope.storage.experiments.rows import ArmHost, ExperimentRow, StoredMetric
from tierscope.storage.fleet.hosts import HostFilter, HostRow, list_hosts, read_rdma_devices
from tierscope.usecases.experiments.analysis import Comparison
from tierscope.usecases.experiments.arms import RACK, describe_unlike, like_keys
from tierscope.usecases.experiments.sentences import (
    INTERIM,
    Evidence,
    Judged,
    describe_method,
    effect_figures,
    judge_metric,
    unique,
)
from tierscope.usecases.experiments.views import Arm, ArmName, Experiment, ExperimentMetric, HostRef, State
from tierscope.usecases.statistics.host_series import HostSeriesReads, Measured, bucket_seconds

GOOD_HOSTS = 20


@dataclass(frozen=True, slots=True)
class _Part:
    """One metric with what was measured of it."""

    asked: StoredMetric
    metric: HostMetric
    measured: Measured
    compared: Comparison


def state_of(row: ExperimentRow, now: datetime) -> State:
    """Planned before the change, ended after the end."""
    if row.ended_at is not None or row.planned_end <= now:
        return "ended"
    return "running" if row.change_at <= now else "planned"


def progress_of(row: ExperimentRow, now: datetime) -> float:
    """The share of the time from the change to the planned end that has passed."""
    passed = (min(row.end, now) - row.change_at).total_seconds()
    return min(max(passed / (row.planned_end - row.change_at).total_seconds(), 0.0), 1.0)


def make_answer(
    session: ReadSession, row: ExperimentRow, hosts: Sequence[ArmHost], *, clock: Clock, max_points: int
) -> Experiment:
    """Measure an experiment as it stands."""
    now = clock()
    window = Window(row.before_from, max(min(row.end, now), row.before_from + (row.change_at - row.before_from) / 2))
    ids = {host.id for host in hosts}
    known_hosts = [
        found
        for found in list_hosts(session, wanted=HostFilter(service=row.service_public_id), after=None, limit=None)
        if found.id in ids
    ]
    racks = {found.id: found.labels.get(RACK) for found in known_hosts}
    network = _network(session, row, hosts, window)
    parts = [_measure(session, row, asked, hosts, window, clock, racks, network) for asked in row.metrics]
    grid = make_grid(window, interval_s=float(bucket_seconds(window)), max_points=max_points)
    ended, progress = state_of(row, now) == "ended", progress_of(row, now)
    p_values = {part.asked.metric: part.compared.effect.p_value for part in parts if part.compared.effect is not None}
    adjusted = adjust_for_many(p_values)
    judged = [_judge(part, adjusted, progress=progress, ended=ended) for part in parts]
    first, verdict = parts[0], judged[0]
    known = first.compared.means.known
    return copied(
        Experiment,
        row,
        id=row.public_id,
        service_id=row.service_public_id,
        service_name=f"{row.namespace}/{row.service}",
        state=state_of(row, now),
        frozen=False,
        progress_ratio=progress,
        arms=tuple(_arm(arm, hosts, known.tolist()) for arm in ("canary", "control")),
        power=first.compared.power(first.asked.margin_ratio),
        trends=first.compared.trends,
        metrics=tuple(
            _metric(part, said, adjusted, window, grid, ended=ended) for part, said in zip(parts, judged, strict=True)
        ),
        verdict=verdict.verdict,
        why=verdict.why,
        axis=grid.axis(),
        notes=(*_notes(session, row, parts, hosts, known_hosts, ended=ended), *network.warnings),
    )


def _network(session: ReadSession, row: ExperimentRow, hosts: Sequence[ArmHost], window: Window) -> NetworkConfounder:
    """RDMA and SMC-R of the hosts at the start, else at the change, and at the end."""
    ids = [host.id for host in hosts]
    start, change, end = read_rdma_devices(session, ids, (row.before_from, row.change_at, window.end))
    seen = [HostNetwork(host.name, start.get(host.id, change.get(host.id)), end.get(host.id)) for host in hosts]
    return judge_network(seen, np.array([host.arm == "canary" for host in hosts], bool))


def _measure(
    session: ReadSession,
    row: ExperimentRow,
    asked: StoredMetric,
    hosts: Sequence[ArmHost],
    window: Window,
    clock: Clock,
    racks: Mapping[int, str | None],
    network: NetworkConfounder,
) -> _Part:
    metric = find_host_metric(asked.metric)
    assert metric is not None  # checked when the experiment was made; metrics are never taken away
    service = SubjectService(row.service_id, row.service_public_id, row.namespace, row.service, "live")
    measured = HostSeriesReads(session, service, window, clock).read(metric, [host.id for host in hosts])
    change = row.change_at.timestamp()
    design = Design(row.before_from.timestamp(), change, change + row.settling_seconds, window.end.timestamp())
    canary = np.array([host.arm == "canary" for host in hosts], bool)
    compared = Comparison(
        measured.series,
        canary,
        design,
        drawn=row.seed is not None,
        seed=row.id,
        racks=tuple(racks.get(host.id) for host in hosts),
        covariate=network.covariate,
    )
    return _Part(asked, metric, measured, compared)


def _judge(part: _Part, adjusted: dict[str, float], *, progress: float, ended: bool) -> Judged:
    compared = part.compared
    return judge_metric(
        compared.effect,
        compared.baseline,
        part.asked.margin_ratio,
        part.asked.direction,
        refusal=compared.refusal(),
        p_adjusted=adjusted.get(part.asked.metric),
        progress=progress,
        ended=ended,
    )


def _metric(
    part: _Part, said: Judged, adjusted: dict[str, float], window: Window, grid: Grid, *, ended: bool
) -> ExperimentMetric:
    compared, metric = part.compared, part.metric
    n_hosts = sum(compared.sizes)
    grade: Grade = "early" if not ended or n_hosts < GOOD_HOSTS else "good"
    evidence = Evidence(
        window=window,
        method=part.measured.method,
        n_hosts=n_hosts,
        n_intervals=int(np.isfinite(compared.series.values).any(axis=0).sum()),
        coverage=n_hosts / max(len(compared.canary), 1),
        grade=grade if compared.trends.parallel or not ended else "partial",
        warnings=unique([*part.measured.notes, *(() if ended else (INTERIM,))]),
    )
    effect, own = effect_figures(compared.effect, compared.baseline, metric.unit, evidence, compared.refusal())
    return ExperimentMetric(
        metric=metric.key,
        label=metric.label,
        unit=metric.unit,
        direction=part.asked.direction,
        margin_ratio=part.asked.margin_ratio,
        effect=effect,
        effect_absolute=own,
        p_value=None if compared.effect is None else compared.effect.p_value,
        p_adjusted=adjusted.get(metric.key),
        within_margin=said.within,
        verdict=said.verdict,
        why=said.why,
        series=tuple(_line(arm, part, grid) for arm in ("canary", "control")),
    )


def _line(arm: ArmName, part: _Part, grid: Grid) -> Series:
    """The mean over the hosts of an arm, by bucket of the answer's axis."""
    rows = part.compared.canary if arm == "canary" else ~part.compared.canary
    values = part.compared.series.values[rows]
    place = grid.place(np.minimum(part.compared.series.times_s, float(grid.ends_s[-1])))
    counts, sums = np.zeros(len(grid)), np.zeros(len(grid))
    np.add.at(counts, place, np.isfinite(values).sum(axis=0).astype(np.float64))
    np.add.at(sums, place, np.nansum(values, axis=0))
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return Series(arm, f"{part.metric.label}, {arm}", part.metric.unit, gaps_to_none(mean))


def _arm(arm: ArmName, hosts: Sequence[ArmHost], known: Sequence[bool]) -> Arm:
    refs = tuple(
        HostRef(host.public_id, host.name, has_data)
        for host, has_data in zip(hosts, known, strict=True)
        if host.arm == arm
    )
    return Arm(arm, refs, sum(ref.has_data for ref in refs))


def _notes(
    session: ReadSession,
    row: ExperimentRow,
    parts: Sequence[_Part],
    hosts: Sequence[ArmHost],
    known: Sequence[HostRow],
    *,
    ended: bool,
) -> tuple[str, ...]:
    notes = [] if ended else [INTERIM]
    if row.ended_at is not None and row.ended_at < row.planned_end:
        notes.append("It ended before its time: a verdict then needs stronger evidence (O'Brien-Fleming limit).")
    compared = parts[0].compared
    notes += describe_method(compared.effect, compared.means.hours, drawn=row.seed is not None)
    if len(parts) > 1:
        notes.append(f"P values are adjusted for {len(parts)} metrics (Benjamini-Hochberg); the first metric decides.")
    keys = like_keys(session, known)
    unlike = describe_unlike(keys, {host.id for host in hosts if host.arm == "canary"})
    notes += [] if unlike is None else [unlike]
    return unique([*notes, *(note for part in parts for note in part.measured.notes)])


def freeze(view: Experiment, ended_at: datetime) -> Experiment:
    """The answer as it is kept."""
    return replace(view, frozen=True, state="ended", ended_at=ended_at)

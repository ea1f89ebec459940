"""Reads of sensitivity: how throughput follows the anon and file memory in DRAM, or why that cannot be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Grade, Interval, Origin, Window, absent
from tierscope.domain.sensitivity import estimate as sensitivity
from tierscope.domain.sensitivity.estimate import Kind
from tierscope.domain.sensitivity.estimate import Sensitivity as Elasticities
from tierscope.storage.base.subjects import SubjectService
from tierscope.storage.fleet.events import EventItem, list_events
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service_hosts
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.counters.service_lines import line_grid, read_service_lines, service_scopes
from tierscope.usecases.sensitivity.heat_index import HeatIndex, HeatMix, read_heat_mix, view_heat_index
from tierscope.usecases.sensitivity.kind_residency import is_residency, name_sources, read_residency
from tierscope.usecases.sensitivity.panel import Measure, PanelRows, is_measure, join_panel

Ints = npt.NDArray[np.int64]
KINDS: tuple[Kind, ...] = ("anon", "file")
MAX_HOSTS = 100
MAX_POINTS = 2000
MAX_SCATTER = 2000
MAX_EVENTS = 50
GROUNDING = "S Fig 10 of the source paper; A refusals"
CONFOUNDERS = (
    "warm-up after a start: caches fill while throughput rises by itself",
    "deploys: another program is another service",
    "phases of garbage collection",
    "a changing mix of requests",
    "network changes that alone move throughput",
    "other services on the same hosts",
    "autoscaling: load answers to throughput, which biases the elasticities towards 0",
)


@dataclass(frozen=True, slots=True)
class KindSensitivity:
    """The elasticity of one kind, or why the data cannot tell it."""

    kind: Kind
    elasticity: Annotated[Figure, Described("Per cent of throughput that go with one per cent more of it in DRAM.")]
    refused: Annotated[
        tuple[str, ...], Described("Every reason for which there is no elasticity; empty where there is one.")
    ]
    partial_correlation: Annotated[
        float | None, Described("Of throughput and bytes, levels, the other kind held fixed.")
    ]


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One host-interval. Levels, for looking at: the estimate is made from changes."""

    host_id: str
    at: datetime
    anon_bytes: float
    file_bytes: float
    throughput: float


@dataclass(frozen=True, slots=True)
class ScatterFit:
    """A straight line through the levels of one kind: throughput = intercept + slope x bytes."""

    kind: Kind
    slope: float
    intercept: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How throughput follows the memory that DRAM serves, or why that cannot be told."""

    service_id: str
    origin: Origin
    window: Window
    label: Annotated[Literal["association"], Described("What the elasticities are: nothing was changed at random.")]
    residency: Annotated[str | None, Described("Where the bytes in DRAM come from.")]
    throughput_measure: Measure | None
    interval_seconds: float | None
    kinds: tuple[KindSensitivity, ...]
    scatter: tuple[ScatterPoint, ...]
    scatter_of: Annotated[int, Described("Host-intervals before thinning; `scatter` is every n-th of them.")]
    fit: tuple[ScatterFit, ...]
    n_pairs: Annotated[int, Described("Changes between neighbouring intervals of one host.")]
    n_hosts: int
    n_effective: float | None
    correlation: Annotated[float | None, Described("Of the changes of anon and of file.")]
    variance_inflation: float | None
    errors: Literal["clustered", "hac"] | None
    heat_index: HeatIndex
    confounders: tuple[str, ...]
    missing: Annotated[Figure | None, Described("Why there is no panel.")]
    notes: tuple[str, ...]


class SensitivityReads(ContextUseCase):
    """Sensitivity of services."""

    def service(self, service_id: str, *, from_: str | None, to: str | None) -> Sensitivity:
        """Elasticities over the hosts of a service, the scatter behind them, and the index from heat.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        with self._context.database.read() as session:
            service, every = require_service_hosts(session, service_id)
            hosts = every[:MAX_HOSTS]
            lines = read_service_lines(
                session,
                hosts,
                service_scopes(session, service),
                lambda source, name: is_measure(source, name) or is_residency(source, name),
                window,
                now=now,
                max_points=MAX_POINTS,
            )
            grid = line_grid(window, now=now, max_points=MAX_POINTS)
            residency = read_residency(session, service.id, hosts, lines, grid, window, now=now)
            mix = read_heat_mix(session, service.id, hosts, window, now=now)
            events = list_events(
                session,
                start=window.start,
                end=window.end,
                service=service.public_id,
                host=None,
                before=None,
                limit=MAX_EVENTS,
            )
        rows = join_panel(residency, lines, grid)
        notes = () if len(every) <= MAX_HOSTS else (f"The first {MAX_HOSTS} of {len(every)} hosts.",)
        return _view(service, rows, mix, events, window, name_sources(residency), notes)


def _view(
    service: SubjectService,
    rows: PanelRows,
    mix: HeatMix,
    events: Sequence[EventItem],
    window: Window,
    residency: str | None,
    notes: tuple[str, ...],
) -> Sensitivity:
    found = None if rows.panel is None else sensitivity.estimate(rows.panel)
    missing = None
    if rows.panel is None:
        missing = absent("sensitivity.elasticity/1", "1", "not_collected", rows.lacking, window=window)
    points, fit = _scatter(rows)
    total = 0 if rows.panel is None else len(rows.panel.host)
    if len(points) < total:
        notes = (*notes, f"The scatter shows {len(points)} of {total} host-intervals, evenly thinned.")
    return Sensitivity(
        service_id=service.public_id,
        origin=service.origin,
        window=window,
        label="association",
        residency=residency,
        throughput_measure=rows.measure,
        interval_seconds=None if rows.panel is None else rows.interval_seconds,
        kinds=tuple(_kind(kind, rows, found, window) for kind in KINDS),
        scatter=points,
        scatter_of=total,
        fit=fit,
        n_pairs=0 if found is None else found.n,
        n_hosts=0 if found is None else found.n_hosts,
        n_effective=None if found is None else found.n_effective,
        correlation=None if found is None else found.correlation,
        variance_inflation=_inflation(found),
        errors=None if found is None else found.errors,
        heat_index=view_heat_index(mix, window),
        confounders=(*CONFOUNDERS, *_name_events(events)),
        missing=missing,
        notes=(*notes, *rows.notes),
    )


def _inflation(found: Elasticities | None) -> float | None:
    """Variance inflation; None where it is not finite, for kinds that move as one."""
    if found is None:
        return None
    value = sensitivity.inflation(found.correlation)
    return value if np.isfinite(value) else None


def _kind(kind: Kind, rows: PanelRows, found: Elasticities | None, window: Window) -> KindSensitivity:
    name = "sensitivity.elasticity/1"
    if found is None or rows.panel is None:
        nothing = absent(name, "1", "not_collected", rows.lacking, window=window, method="counters")
        return KindSensitivity(kind, nothing, (rows.lacking,), None)
    correlation = sensitivity.level_correlations(rows.panel)[kind]
    elasticity = found.anon if kind == "anon" else found.file
    if elasticity is None:
        reasons = found.refused[kind]
        reason = f"Not enough variation to tell: {'; '.join(reasons)}."
        nothing = absent(name, "1", "not_enough_data", reason, window=window, method="counters")
        return KindSensitivity(kind, nothing, reasons, correlation)
    grade: Grade = "good" if found.errors == "clustered" else "partial"
    figure = Figure(
        name,
        "ok",
        elasticity.value,
        "1",
        method="counters",
        window=window,
        interval=Interval(elasticity.lo, elasticity.hi, sensitivity.LEVEL, "confidence"),
        n_hosts=found.n_hosts,
        n_intervals=found.n,
        grade=grade,
        grounding=GROUNDING,
        warnings=("association: nothing was changed at random", *rows.warnings),
    )
    return KindSensitivity(kind, figure, (), correlation)


def _scatter(rows: PanelRows) -> tuple[tuple[ScatterPoint, ...], tuple[ScatterFit, ...]]:
    if rows.panel is None:
        return (), ()
    panel = rows.panel
    points = tuple(
        ScatterPoint(
            rows.host_ids[int(panel.host[i])],
            datetime.fromtimestamp(float(rows.times_s[i]), UTC),
            float(panel.anon_bytes[i]),
            float(panel.file_bytes[i]),
            float(rows.throughput[i]),
        )
        for i in sensitivity.thin(len(panel.host), MAX_SCATTER).tolist()
    )
    lines = []
    for kind, levels in zip(KINDS, (panel.anon_bytes, panel.file_bytes), strict=True):
        line = sensitivity.level_line(levels, rows.throughput)
        if line is not None:
            lines.append(ScatterFit(kind, line.slope, line.intercept))
    return points, tuple(lines)


def _name_events(events: Sequence[EventItem]) -> tuple[str, ...]:
    """Events of the window, the oldest first: each may have changed throughput by itself."""
    return tuple(
        f"event in the window: {event.kind} at {event.at:%Y-%m-%d %H:%M} UTC, {event.text}"
        for event in reversed(events)
    )

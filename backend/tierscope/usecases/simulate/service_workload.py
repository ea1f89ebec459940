"""A simulated service that stands for a workload of a paper: what the paper measured, beside what comes out here."""

from dataclasses import dataclass
from typing import Annotated

from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, Origin, absent
from tierscope.domain.simulate.presets import NAMESPACE, WORKLOADS, find_workload
from tierscope.storage.base.subjects import SubjectService
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.heat.services import HeatFigures, read_heat_now, service_figures

_DEFINITION = "workload.hot_in_dram_ratio/1"


@dataclass(frozen=True, slots=True)
class PaperWorkload:
    """A workload of a paper, and what comes out here. All but the paper's statements is simulated."""

    workload: Annotated[str, Described("Its name in simulator, sweeps and costs.")]
    label: str
    source: str
    parameters: dict[str, str]
    measured: Annotated[tuple[str, ...], Described("What its paper measured on real hosts, in words.")]
    hot_ratio: Figure
    hot_in_dram_ratio: Annotated[Figure, Described("Share of hot memory that lies in DRAM.")]


@dataclass(frozen=True, slots=True)
class ServiceWorkload:
    """Which workload of a paper a service stands for, if it is a simulated one that does."""

    service_id: str
    origin: Origin
    stands_for: Annotated[PaperWorkload | None, Described("None: it stands for no workload of a paper.")]


class ServiceWorkloadReads(ContextUseCase):
    """Reads of services that stand for workloads."""

    def service(self, service_id: str) -> ServiceWorkload:
        """The workload of a simulated service, and none of any other.

        Raises:
            NotFound: there is no such service.
        """
        now = self._context.clock()
        with self._context.database.read() as session:
            row = require_service(session, service_id)
            heat = read_heat_now(session, now=now, service_id=row.id).get(row.id)
        name = _workload_of(row) if row.origin == "simulated" and row.namespace == NAMESPACE else None
        if name is None:
            return ServiceWorkload(row.public_id, row.origin, None)
        figures, known = service_figures(heat, None, now=now), WORKLOADS[name]
        return ServiceWorkload(
            row.public_id,
            row.origin,
            PaperWorkload(
                workload=name,
                label=known.label,
                source=known.source,
                parameters=dict(known.parameters),
                measured=known.measured,
                hot_ratio=figures.hot_ratio,
                hot_in_dram_ratio=_hot_in_dram(figures),
            ),
        )


def _workload_of(row: SubjectService) -> str | None:
    try:
        return find_workload(row.name)
    except ValueError:
        return None


def _hot_in_dram(figures: HeatFigures) -> Figure:
    """One less the hot bytes outside DRAM over all hot bytes; hot bytes are the share of what is resident."""
    hot, resident, outside = figures.hot_ratio, figures.resident_bytes, figures.hot_outside_dram_bytes
    for part in (hot, resident, outside):
        if part.value is None:
            status = "not_enough_data" if part.status == "ok" else part.status
            return absent(_DEFINITION, "ratio", status, part.reason or "Not measured.", window=part.window)
    hot_bytes = (hot.value or 0.0) * (resident.value or 0.0)
    if hot_bytes <= 0.0:
        return absent(_DEFINITION, "ratio", "not_enough_data", "No memory is hot.", window=hot.window)

    def inside(bytes_: float) -> float:
        return min(max(1.0 - bytes_ / hot_bytes, 0.0), 1.0)

    around = None
    if outside.interval is not None:
        ends = outside.interval
        around = Interval(inside(ends.hi), inside(ends.lo), ends.level, ends.kind)
    return Figure(
        _DEFINITION,
        "ok",
        inside(outside.value or 0.0),
        "ratio",
        method=outside.method,
        window=outside.window,
        interval=around,
        n_hosts=outside.n_hosts,
        n_intervals=outside.n_intervals,
        coverage=outside.coverage,
        grade="early",
        grounding="A simulated",
    )

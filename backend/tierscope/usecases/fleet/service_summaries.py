"""Lines of the services table: newest heat, what its own cgroups moved, and the gravest verdict on its hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tierscope.core.database import ReadSession
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin
from tierscope.domain.fleet.gain import ServiceGain
from tierscope.domain.fleet.host_columns import HostColumns
from tierscope.storage.access.teams import TeamRef
from tierscope.storage.fleet.services import ServiceRow, commonest_reasons, read_gains
from tierscope.usecases.fleet.service_moves import ServiceMoves, read_service_moves
from tierscope.usecases.heat.services import HeatFigures, HeatNow, service_figures

NOT_MEASURED = "Heat is not measured for this service on any host."


@dataclass(frozen=True, slots=True)
class ServiceSummary:
    """A line of the services table."""

    id: str
    namespace: str
    name: str
    origin: Origin
    n_hosts: int
    n_hosts_with_heat: int
    resident_bytes: Figure
    anon_ratio: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    method: str | None
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    verdict: Annotated[str, Described("The gravest verdict on its hosts.")]
    gain: Annotated[
        ServiceGain | None, Described("What its safe ratio saves a year; null: its ratio is not judged yet.")
    ]
    last_seen: datetime | None
    owner_team: Annotated[TeamRef | None, Described("Its members may do more with this service than their role says.")]


@dataclass(frozen=True, slots=True)
class SummarisedService:
    """A service's line with what it was made of. `heat_reason` says why heat is not measured, None where it is."""

    row: ServiceRow
    summary: ServiceSummary
    heat: HeatFigures
    heat_reason: str | None


def summarise_services(
    session: ReadSession,
    rows: Sequence[ServiceRow],
    heats: Mapping[int, HeatNow],
    *,
    now: datetime,
    columns: HostColumns | None = None,
) -> list[SummarisedService]:
    """Return the lines of these services, in their order; `columns` as for `read_service_moves`."""
    moves = read_service_moves(session, rows, now=now, columns=columns)
    without = [row.id for row in rows if row.id not in heats or heats[row.id].source is None]
    reasons = commonest_reasons(session, without) if without else {}
    gains = read_gains(session, [row.id for row in rows])
    return [
        _summarise(row, moves[row.id], heats.get(row.id), reasons.get(row.id) or NOT_MEASURED, gains.get(row.id), now)
        for row in rows
    ]


def _summarise(
    row: ServiceRow,
    found: ServiceMoves,
    heat: HeatNow | None,
    why_not: str,
    gain: ServiceGain | None,
    now: datetime,
) -> SummarisedService:
    source = None if heat is None else heat.source
    reason = None if source is not None else why_not
    figures = service_figures(heat, reason, now=now)
    summary = copied(
        ServiceSummary,
        figures,
        id=row.public_id,
        namespace=row.namespace,
        name=row.name,
        origin=row.origin,
        n_hosts=found.n_hosts,
        n_hosts_with_heat=0 if source is None else len(source.host_ids),
        method=heat.method.family if heat and heat.method and source is not None else None,
        promotion_pages_per_s=found.moves.promotion,
        demotion_pages_per_s=found.moves.demotion,
        psi_memory_some_ratio=found.moves.psi,
        verdict=found.verdict,
        gain=gain,
        last_seen=row.last_seen_at,
        owner_team=row.owner_team,
    )
    return SummarisedService(row, summary, figures, reason)

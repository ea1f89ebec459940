"""Lines of the services table, from the newest heat and from the hosts that a service runs on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tierscope.domain.figures import Figure
from tierscope.domain.move_figures import MoveFigures, figures_of
from tierscope.storage.services import ServiceRow
from tierscope.usecases.host_summaries import Summarised
from tierscope.usecases.service_heat import HeatFigures, HeatNow, service_figures

WHOLE_HOSTS = "of the service's whole hosts, all their services together"
GRAVITY = (
    "promotion_failing",
    "futile_ping_pong",
    "swap_pressure",
    "limiter_bound",
    "limit_reclaim",
    "stalled",
    "spill",
    "following_phases",
    "harmless_demotion",
    "healthy",
    "fits",
)
NOT_MEASURED = "Heat is not measured for this service on any host."


@dataclass(frozen=True, slots=True)
class ServiceSummary:
    """A line of the services table."""

    id: str
    namespace: str
    name: str
    origin: str
    n_hosts: int
    n_hosts_with_heat: int
    resident_bytes: Figure
    anon_ratio: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    method: str | None
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    verdict: str
    last_seen: datetime | None


@dataclass(frozen=True, slots=True)
class SummarisedService:
    """A service's line with what it was made of. `heat_reason` says why heat is not measured, None where it is."""

    row: ServiceRow
    summary: ServiceSummary
    hosts: tuple[Summarised, ...]
    heat: HeatFigures
    heat_reason: str | None


def summarise_services(
    rows: Sequence[ServiceRow], hosts: Sequence[Summarised], heats: Mapping[int, HeatNow], *, now: datetime
) -> list[SummarisedService]:
    """Return the lines of these services. `hosts` must hold all hosts that they run on."""
    by_service: dict[str, list[Summarised]] = {}
    for host in hosts:
        for service in host.services:
            by_service.setdefault(service.id, []).append(host)
    return [_summarise(row, by_service.get(row.public_id, []), heats.get(row.id), now) for row in rows]


def _summarise(row: ServiceRow, hosts: Sequence[Summarised], heat: HeatNow | None, now: datetime) -> SummarisedService:
    on_hosts = [service for host in hosts for service in host.services if service.id == row.public_id]
    measured = heat is not None and len(heat.series) > 0
    reasons = Counter(service.heat_reason for service in on_hosts if service.heat_reason)
    reason = None if measured else (reasons.most_common(1)[0][0] if reasons else None) or NOT_MEASURED
    figures = service_figures(heat, reason, now=now)
    moves = moves_of(hosts)
    summary = ServiceSummary(
        id=row.public_id,
        namespace=row.namespace,
        name=row.name,
        origin=row.origin,
        n_hosts=len(hosts),
        n_hosts_with_heat=len({part.host_id for part in heat.series}) if heat else 0,
        resident_bytes=figures.resident_bytes,
        anon_ratio=figures.anon_ratio,
        hot_ratio=figures.hot_ratio,
        warm_ratio=figures.warm_ratio,
        cold_ratio=figures.cold_ratio,
        method=heat.method.family if heat and heat.method and measured else None,
        promotion_pages_per_s=_of_hosts(moves.promotion),
        demotion_pages_per_s=_of_hosts(moves.demotion),
        psi_memory_some_ratio=_of_hosts(moves.psi),
        verdict=gravest(hosts),
        last_seen=row.last_seen_at,
    )
    return SummarisedService(row, summary, tuple(hosts), figures, reason)


def moves_of(hosts: Sequence[Summarised]) -> MoveFigures:
    """Rates of several hosts together."""
    ledgers = [host.ledger for host in hosts if host.ledger is not None]
    one_tier = bool(hosts) and all(host.facts.tiers.known and host.facts.n_tiers == 1 for host in hosts)
    return figures_of(ledgers, one_tier=one_tier)


def gravest(hosts: Sequence[Summarised]) -> str:
    """The verdict of most hosts, the graver one where two are equally common."""
    words = Counter(host.verdict.word for host in hosts if host.verdict.word != "not_enough_data")
    if not words:
        return "not_enough_data"
    return max(words, key=lambda word: (words[word], -_gravity(word)))


def _gravity(word: str) -> int:
    return GRAVITY.index(word) if word in GRAVITY else len(GRAVITY)


def _of_hosts(figure: Figure) -> Figure:
    return replace(figure, warnings=(*figure.warnings, WHOLE_HOSTS)) if figure.status == "ok" else figure

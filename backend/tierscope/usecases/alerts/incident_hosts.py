"""Whom an incident touched, and the gravest of their verdicts, which is its cause."""

from collections.abc import Sequence

from tierscope.domain.ledger.figures import figures_of
from tierscope.domain.ledger.words import Verdict, gravity
from tierscope.usecases.alerts.incident_answers import IncidentCause, IncidentHost
from tierscope.usecases.ledger.sources import HostLedger

NO_HOST = IncidentCause(None, None, "not_known", "No host sent counters while the condition held.", (), (), None)


def view_hosts(parts: Sequence[HostLedger]) -> tuple[tuple[IncidentHost, ...], IncidentCause]:
    """Hosts by gravity of their verdicts, then by pages moved; and the cause, which is the first one's verdict."""
    judged = [(part, part.course().verdict) for part in parts if len(part.ledger.times_s)]
    judged.sort(key=lambda pair: (gravity(pair[1].word), -pair[0].ledger.moved_pages, pair[0].host.name))
    hosts = tuple(_host(part, verdict) for part, verdict in judged)
    return hosts, _cause(*judged[0]) if judged else NO_HOST


def _host(part: HostLedger, verdict: Verdict) -> IncidentHost:
    tiers = part.machine.tiers
    moves = figures_of([part.ledger], one_tier=tiers.known and not tiers.slow_nodes, machine=part.machine)
    return IncidentHost(
        host_id=part.host.public_id,
        host_name=part.host.name,
        verdict=verdict.word,
        explanation=f"{verdict.explanation} ({verdict.confidence})",
        promotion_pages_per_s=moves.promotion,
        demotion_pages_per_s=moves.demotion,
        psi_memory_some_ratio=moves.psi,
    )


def _cause(part: HostLedger, verdict: Verdict) -> IncidentCause:
    return IncidentCause(
        host_id=part.host.public_id,
        host_name=part.host.name,
        verdict=verdict.word,
        explanation=f"{verdict.explanation} ({verdict.confidence})",
        evidence=verdict.evidence,
        against=verdict.against,
        runner_up=verdict.runner_up,
    )

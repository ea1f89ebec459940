"""All hosts together for the fleet page: from the row that the workers keep of each, or one by one without it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, absent
from tierscope.domain.fleet.host_facts import LATE_INTERVALS, NOMINAL_SECONDS, SILENT_SECONDS
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.figures import MoveFigures, figures_of_sums
from tierscope.storage.fleet.hosts import HostFilter, hosts_with_ids, list_hosts
from tierscope.storage.fleet.overview import FleetHosts, Limits, Problems, sum_hosts, worst_hosts
from tierscope.usecases.fleet.host_summaries import MEMORY, HostSummary, Summarised, list_summaries, summarise
from tierscope.usecases.fleet.service_moves import rates_of
from tierscope.usecases.ledger.recent import LEDGER_SPAN

MAX_WORST = 10
BAD_VERDICTS = ("futile_ping_pong", "promotion_failing", "swap_pressure", "spill")
"""Verdicts on tier moves that call for someone."""
_PROBLEMS = Problems(
    findings={"critical": 100, "warning": 10, "info": 0}, silent=50, late=5, verdict=20, bad_verdicts=BAD_VERDICTS
)


@dataclass(frozen=True, slots=True)
class HostsTogether:
    """What the fleet page says of hosts. `ledgers` are those of hosts that no worker has summed up yet."""

    total: int
    simulated: bool
    reporting: int
    late: int
    silent: int
    tiering_off: int
    grave: int
    memory_bytes: Figure
    moves: MoveFigures
    worst: tuple[HostSummary, ...]
    ledgers: tuple[Ledger, ...]


def read_hosts_together(session: ReadSession, *, now: datetime) -> HostsTogether:
    """All hosts that are neither retired nor revoked."""
    late = now - timedelta(seconds=LATE_INTERVALS * NOMINAL_SECONDS)
    limits = Limits(late, now - timedelta(seconds=SILENT_SECONDS), now - LEDGER_SPAN)
    known = sum_hosts(session, limits, _PROBLEMS)
    others: list[Summarised] = []
    if known.n_others:
        wanted = HostFilter(retired=False, without_recent=True)
        others = summarise(session, list_hosts(session, wanted=wanted, after=None, limit=None), now=now)
    weighed = worst_hosts(session, limits, _PROBLEMS, limit=MAX_WORST)
    rows = hosts_with_ids(session, [host_id for host_id, _ in weighed])
    lines = {row.id: line for row, line in zip(rows, list_summaries(session, rows, now=now), strict=True)}
    candidates = [(weight, lines[host_id]) for host_id, weight in weighed if host_id in lines]
    candidates += [(weight, host.summary) for host in others if (weight := _weight(host)) > 0]
    candidates.sort(key=lambda pair: (-pair[0], pair[1].name))
    rates = [before + after for before, after in zip(known.rates, rates_of(others), strict=True)]
    one_tier = known.n_hosts > 0 and known.one_tier and all(_one_tier(host) for host in others)
    return HostsTogether(
        total=known.n_hosts,
        simulated=known.simulated,
        reporting=known.states["reporting"],
        late=known.states["late"],
        silent=known.states["silent"],
        tiering_off=known.n_tiering_off + sum(host.facts.tiering_off is True for host in others),
        grave=known.n_grave + sum(map(_is_grave, others)),
        memory_bytes=_memory(known, others),
        moves=figures_of_sums(rates, one_tier=one_tier),
        worst=tuple(line for _, line in candidates[:MAX_WORST]),
        ledgers=tuple(host.ledger for host in others if host.ledger is not None),
    )


def _memory(known: FleetHosts, others: Sequence[Summarised]) -> Figure:
    said = [host.facts.memory_bytes for host in others if host.facts.memory_bytes is not None]
    n_known = known.n_memory + len(said)
    definition = MEMORY.replace("host.", "fleet.")
    if not n_known:
        return absent(definition, "bytes", "not_collected", "No host has said yet how much memory it has.")
    total = float((known.memory_bytes or 0) + sum(said))
    figure = Figure(definition, "ok", total, "bytes", method="counters", n_hosts=n_known, grade="good")
    missing = known.n_hosts - n_known
    return replace(figure, grade="partial", warnings=(f"{missing} hosts do not say",)) if missing else figure


def _weight(host: Summarised) -> int:
    findings = Counter(finding.severity for finding in host.summary.findings)
    weight = sum(_PROBLEMS.findings.get(severity, 0) * count for severity, count in findings.items())
    silent = host.summary.state == "silent" and host.row.origin != "import"
    weight += _PROBLEMS.verdict if host.verdict.word in BAD_VERDICTS else 0
    return weight + (_PROBLEMS.silent if silent else _PROBLEMS.late if host.summary.state == "late" else 0)


def _is_grave(host: Summarised) -> bool:
    """Whether it has a critical finding, or a verdict that calls for someone."""
    critical = any(finding.severity == "critical" for finding in host.summary.findings)
    return critical or host.verdict.word in BAD_VERDICTS


def _one_tier(host: Summarised) -> bool:
    return host.facts.machine.tiers.known and host.facts.n_tiers == 1

"""Lines of the hosts list: state, memory, tiers, services, tier moves, verdict and findings, for many hosts at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tierscope.core.database import ReadSession
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Origin, absent
from tierscope.domain.fleet.host_facts import HostFacts, HostState, find_state, read_facts
from tierscope.domain.ledger import Ledger, Verdict
from tierscope.domain.ledger.figures import RateSum, figures_of, figures_of_sums
from tierscope.storage.fleet.hosts import (
    Finding,
    HostRow,
    HostServiceRow,
    read_findings,
    read_host_services,
    read_inventories,
)
from tierscope.storage.fleet.recent import RATES, HostRecent, read_recent_rows
from tierscope.usecases.ledger.recent import LEDGER_SPAN, judge_recent, recent_ledgers

MEMORY = "host.memory_bytes/1"


@dataclass(frozen=True, slots=True)
class HostSummary:
    """A line of the hosts list. `services` are their ids."""

    id: str
    name: str
    origin: Origin
    state: HostState
    enrolled_at: datetime
    last_seen: datetime | None
    kernel: str | None
    dialect: str | None
    labels: dict[str, str]
    memory_bytes: Figure
    tiers: tuple[str, ...]
    services: tuple[str, ...]
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    verdict: str
    tiering_off: Annotated[
        bool | None, Described("Whether it has a slower tier that the kernel is told not to use; null if not known.")
    ]
    findings: tuple[Finding, ...]
    agent_version: str | None


@dataclass(frozen=True, slots=True)
class Summarised:
    """A host's line with what it was made of."""

    row: HostRow
    summary: HostSummary
    facts: HostFacts
    inventory: dict[str, object] | None
    inventory_at: datetime | None
    services: tuple[HostServiceRow, ...]
    ledger: Ledger | None
    verdict: Verdict


def summarise(session: ReadSession, rows: Sequence[HostRow], *, now: datetime) -> list[Summarised]:
    """Return the lines of these hosts, in their order, with one statement per kind of fact."""
    ids = [row.id for row in rows]
    if not ids:
        return []
    inventories = read_inventories(session, ids)
    facts = {host_id: read_facts(inventories[host_id][1] if host_id in inventories else None) for host_id in ids}
    services = read_host_services(session, ids)
    findings = read_findings(session, ids)
    ledgers = recent_ledgers(session, rows, facts, now=now)
    found = []
    for row in rows:
        at, body = inventories.get(row.id, (None, None))
        seen = tuple(services.get(row.id, ()))
        ledger = ledgers.get(row.id)
        verdict = judge_recent(ledger, facts[row.id])
        summary = _line(row, facts[row.id], body or {}, seen, ledger, verdict, tuple(findings.get(row.id, ())), now)
        found.append(Summarised(row, summary, facts[row.id], body, at, seen, ledger, verdict))
    return found


def list_summaries(session: ReadSession, rows: Sequence[HostRow], *, now: datetime) -> list[HostSummary]:
    """Return the lines of these hosts, in their order, from the row that the workers keep of each host.

    Hosts that no worker has summed up yet are looked at one by one.
    """
    ids = [row.id for row in rows]
    recent = read_recent_rows(session, ids)
    others = summarise(session, [row for row in rows if row.id not in recent], now=now)
    lines = {host.row.id: host.summary for host in others}
    services, findings = read_host_services(session, list(recent)), read_findings(session, list(recent))
    for row in rows:
        known = recent.get(row.id)
        if known is not None:
            seen = tuple(services.get(row.id, ()))
            lines[row.id] = _recent_line(row, known, seen, tuple(findings.get(row.id, ())), now)
    return [lines[row.id] for row in rows]


def _recent_line(
    row: HostRow,
    known: HostRecent,
    services: tuple[HostServiceRow, ...],
    findings: tuple[Finding, ...],
    now: datetime,
) -> HostSummary:
    newest = known.ended_at is not None and known.ended_at > now - LEDGER_SPAN
    sums = [known.rate(name) if newest else RateSum() for name in RATES]
    moves = figures_of_sums(sums, one_tier=known.one_tier)
    return copied(
        HostSummary,
        row,
        id=row.public_id,
        state=find_state(now, row.last_seen_at, row.retired_at, row.held_seconds),
        last_seen=row.last_seen_at,
        kernel=known.kernel,
        dialect=known.dialect,
        memory_bytes=memory_figure(known.memory_bytes),
        tiers=known.tier_classes,
        services=tuple(service.id for service in services),
        promotion_pages_per_s=moves.promotion,
        demotion_pages_per_s=moves.demotion,
        psi_memory_some_ratio=moves.psi,
        verdict=known.verdict if newest else "not_known",
        tiering_off=known.tiering_off,
        findings=findings,
    )


def _line(
    row: HostRow,
    facts: HostFacts,
    body: dict[str, object],
    services: tuple[HostServiceRow, ...],
    ledger: Ledger | None,
    verdict: Verdict,
    findings: tuple[Finding, ...],
    now: datetime,
) -> HostSummary:
    moves = figures_of([] if ledger is None else [ledger], one_tier=facts.one_tier, machine=facts.machine)
    return copied(
        HostSummary,
        row,
        id=row.public_id,
        state=find_state(now, row.last_seen_at, row.retired_at, row.held_seconds),
        last_seen=row.last_seen_at,
        kernel=_text(body.get("kernel_release")),
        dialect=_text(body.get("dialect")),
        memory_bytes=memory_figure(facts.memory_bytes),
        tiers=facts.tier_classes,
        services=tuple(service.id for service in services),
        promotion_pages_per_s=moves.promotion,
        demotion_pages_per_s=moves.demotion,
        psi_memory_some_ratio=moves.psi,
        verdict=verdict.word,
        tiering_off=facts.tiering_off,
        findings=findings,
    )


def memory_figure(memory_bytes: int | None) -> Figure:
    """Memory of a host, as its nodes say."""
    if memory_bytes is None:
        return absent(MEMORY, "bytes", "not_collected", "Nothing that the host sends says how large its memory is.")
    return Figure(MEMORY, "ok", float(memory_bytes), "bytes", method="counters", n_hosts=1, grade="good", grounding="L")


def _text(value: object) -> str | None:
    return str(value) if value else None

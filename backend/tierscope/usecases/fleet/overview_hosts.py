"""All hosts together for the fleet page: from the row that the workers keep of each, or one by one without it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, absent
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.figures import MoveFigures, TierFlow, figures_of_sums, tier_flow_of_sums
from tierscope.storage.fleet.causes import CausesOfHosts
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.fleet.overview import FleetHosts, sum_hosts
from tierscope.storage.fleet.reporting import Limits
from tierscope.usecases.fleet.causes import read_causes
from tierscope.usecases.fleet.host_summaries import MEMORY, Summarised, summarise
from tierscope.usecases.fleet.limits import limits_at
from tierscope.usecases.fleet.service_moves import flows_of, rates_of


@dataclass(frozen=True, slots=True)
class HostsTogether:
    """What the fleet page says of hosts. `ledgers` are those of hosts that no worker has summed up yet."""

    total: int
    simulated: bool
    reporting: int
    late: int
    silent: int
    tiering_off: int
    memory_bytes: Figure
    moves: MoveFigures
    flow: TierFlow
    attention: CausesOfHosts
    ledgers: tuple[Ledger, ...]


def read_hosts_together(session: ReadSession, *, now: datetime) -> HostsTogether:
    """All hosts that are neither retired nor revoked."""
    limits = limits_at(now)
    known, others = _read_known(session, limits, now)
    rates = [before + after for before, after in zip(known.rates, rates_of(others), strict=True)]
    flows = [before + after for before, after in zip(known.flows, flows_of(others), strict=True)]
    one_tier = known.n_hosts > 0 and known.one_tier and all(host.facts.one_tier for host in others)
    return HostsTogether(
        total=known.n_hosts,
        simulated=known.simulated,
        reporting=known.states["reporting"],
        late=known.states["late"],
        silent=known.states["silent"],
        tiering_off=known.n_tiering_off + sum(host.facts.tiering_off is True for host in others),
        memory_bytes=_memory(known, others),
        moves=figures_of_sums(rates, one_tier=one_tier),
        flow=tier_flow_of_sums(flows, one_tier=one_tier),
        attention=read_causes(session, limits, others),
        ledgers=tuple(host.ledger for host in others if host.ledger is not None),
    )


def read_fleet_memory(session: ReadSession, *, now: datetime) -> Figure:
    """The memory of all hosts that are neither retired nor revoked."""
    return _memory(*_read_known(session, limits_at(now), now))


def _read_known(session: ReadSession, limits: Limits, now: datetime) -> tuple[FleetHosts, list[Summarised]]:
    """What workers have summed up, and the hosts that they have not, looked at one by one."""
    known = sum_hosts(session, limits)
    if not known.n_others:
        return known, []
    wanted = HostFilter(retired=False, without_recent=True)
    return known, summarise(session, list_hosts(session, wanted=wanted, after=None, limit=None), now=now)


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

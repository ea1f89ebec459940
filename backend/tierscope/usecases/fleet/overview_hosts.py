"""All hosts together for the fleet page: from the row that the workers keep of each, or one by one without it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, absent
from tierscope.domain.fleet.host_columns import STATES, HostColumns
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.figures import MoveFigures, TierFlow, figures_of_sums, tier_flow_of_sums
from tierscope.storage.fleet.causes import CausesOfHosts
from tierscope.storage.fleet.host_columns import read_host_columns
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.fleet.recent import FLOWS, IN_BYTES, RATES
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


@dataclass(frozen=True, slots=True)
class FleetHosts:
    """What workers have summed up of the hosts in service, and the hosts that they have not, one by one."""

    columns: HostColumns
    others: tuple[Summarised, ...]


def read_hosts_together(session: ReadSession, columns: HostColumns, *, now: datetime) -> HostsTogether:
    """Those of the hosts in `columns`, which have RATES and FLOWS, that are neither retired nor revoked."""
    fleet = _in_service(session, columns, now)
    known, others = fleet.columns, fleet.others
    summed = np.flatnonzero(known.summed)
    rates, flows = (
        [before + after for before, after in zip(some.add_up(names, summed), added, strict=True)]
        for some, names, added in (
            (known, RATES, rates_of(others)),
            (known.in_bytes([name for name in FLOWS if name not in IN_BYTES]), FLOWS, flows_of(others)),
        )
    )
    one_tier = len(known) > 0 and bool(known.one_tier[summed].all()) and all(host.facts.one_tier for host in others)
    reporting, late, silent = np.bincount(known.states[~known.imported], minlength=len(STATES)).tolist()
    return HostsTogether(
        total=len(known),
        simulated=bool(known.simulated.any()),
        reporting=reporting,
        late=late,
        silent=silent,
        tiering_off=int(known.tiering_off.sum()) + sum(host.facts.tiering_off is True for host in others),
        memory_bytes=_memory(known, others),
        moves=figures_of_sums(rates, one_tier=one_tier),
        flow=tier_flow_of_sums(flows, one_tier=one_tier),
        attention=read_causes(session, known, others),
        ledgers=tuple(host.ledger for host in others if host.ledger is not None),
    )


def read_fleet_memory(session: ReadSession, *, now: datetime) -> Figure:
    """The memory of all hosts that are neither retired nor revoked."""
    fleet = _in_service(session, read_host_columns(session, limits_at(now), ()), now)
    return _memory(fleet.columns, fleet.others)


def _in_service(session: ReadSession, columns: HostColumns, now: datetime) -> FleetHosts:
    known = columns.of(np.flatnonzero(~columns.retired))
    if known.summed.all():
        return FleetHosts(known, ())
    lacking = tuple(known.host_ids[~known.summed].tolist())
    wanted = HostFilter(retired=False, without_recent=True, ids=lacking)
    others = summarise(session, list_hosts(session, wanted=wanted, after=None, limit=None), now=now)
    return FleetHosts(known, tuple(others))


def _memory(known: HostColumns, others: Sequence[Summarised]) -> Figure:
    said = [host.facts.memory_bytes for host in others if host.facts.memory_bytes is not None]
    summed = known.memory_bytes[known.memory_bytes >= 0]
    n_known = len(summed) + len(said)
    definition = MEMORY.replace("host.", "fleet.")
    if not n_known:
        return absent(definition, "bytes", "not_collected", "No host has said yet how much memory it has.")
    total = float(int(summed.sum()) + sum(said))
    figure = Figure(definition, "ok", total, "bytes", method="counters", n_hosts=n_known, grade="good")
    missing = len(known) - n_known
    return replace(figure, grade="partial", warnings=(f"{missing} hosts do not say",)) if missing else figure

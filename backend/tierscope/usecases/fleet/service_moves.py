"""Tier moves of the hosts of many services, from the row that the workers keep of each host's newest hour."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.host_columns import HostColumns, Ints
from tierscope.domain.ledger.figures import FLOWS, RATES, MoveFigures, RateSum, figures_of_sums, flow_of, rate_of
from tierscope.domain.ledger.words import gravest_verdict
from tierscope.storage.fleet.host_columns import read_host_columns, read_members
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.fleet.recent import RATES as RATE_COLUMNS
from tierscope.storage.fleet.services import ServiceRow
from tierscope.usecases.fleet.host_summaries import Summarised, summarise
from tierscope.usecases.fleet.limits import limits_at


@dataclass(frozen=True, slots=True)
class ServiceMoves:
    """What the hosts of a service say together."""

    n_hosts: int
    moves: MoveFigures
    verdict: str


def read_service_moves(
    session: ReadSession, rows: Sequence[ServiceRow], *, now: datetime, columns: HostColumns | None = None
) -> dict[int, ServiceMoves]:
    """Of these services. Hosts that no worker has summed up yet are looked at one by one.

    `columns`: their hosts, or more, with RATES; without them they are read.
    """
    ids = [row.id for row in rows]
    if columns is None:
        columns = read_host_columns(session, limits_at(now), RATE_COLUMNS, service_ids=ids)
    members = read_members(session, ids)
    places = {row.id: _places(columns, members.get(row.id)) for row in rows}
    lacking = [row.public_id for row in rows if not columns.summed[places[row.id]].all()]
    others = _hosts_not_summed(session, lacking, now)
    return {row.id: _moves_of(columns, places[row.id], others.get(row.public_id, ())) for row in rows}


def _places(columns: HostColumns, host_ids: Ints | None) -> Ints:
    found = columns.places(np.zeros(0, np.int64) if host_ids is None else host_ids)
    return found[found >= 0]


def _hosts_not_summed(session: ReadSession, services: Sequence[str], now: datetime) -> dict[str, list[Summarised]]:
    """By service, each host looked at once whatever the number of its services."""
    if not services:
        return {}
    wanted = HostFilter(service=services[0] if len(services) == 1 else None, without_recent=True)
    found: dict[str, list[Summarised]] = {}
    for host in summarise(session, list_hosts(session, wanted=wanted, after=None, limit=None), now=now):
        for service in host.services:
            found.setdefault(service.id, []).append(host)
    return found


def _moves_of(columns: HostColumns, found: Ints, others: Sequence[Summarised]) -> ServiceMoves:
    n_hosts, places = len(found), found[columns.summed[found]]
    rates = columns.add_up(RATE_COLUMNS, places)
    counts = np.bincount(columns.verdicts[places], minlength=len(columns.words)).tolist()
    words = Counter({word: count for word, count in zip(columns.words, counts, strict=True) if count})
    one_tier = n_hosts > 0 and bool(columns.one_tier[places].all())
    if len(places) < n_hosts:
        rates = [before + after for before, after in zip(rates, rates_of(others), strict=True)]
        words.update(host.verdict.word for host in others)
        one_tier = one_tier and all(host.facts.one_tier for host in others)
    return ServiceMoves(n_hosts, figures_of_sums(rates, one_tier=one_tier), gravest_verdict(words))


def rates_of(hosts: Iterable[Summarised]) -> list[RateSum]:
    """Rates of hosts together, in the order of `RATES`."""
    parts = [(host.ledger, host.facts.machine) for host in hosts if host.ledger is not None]
    return [sum((rate_of(ledger, what, machine) for ledger, machine in parts), RateSum()) for what in RATES]


def flows_of(hosts: Iterable[Summarised]) -> list[RateSum]:
    """Flows of hosts together in bytes, in the order of `FLOWS`."""
    parts = [(host.ledger, host.facts.machine) for host in hosts if host.ledger is not None]
    return [sum((flow_of(ledger, what, machine) for ledger, machine in parts), RateSum()) for what in FLOWS]

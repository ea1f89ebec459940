"""Tier moves of the hosts of many services, from the row that the workers keep of each host's newest hour."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.database import ReadSession
from tierscope.domain.ledger.figures import FLOWS, RATES, MoveFigures, RateSum, figures_of_sums, flow_of, rate_of
from tierscope.domain.ledger.words import gravest_verdict
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.fleet.recent import sum_recent
from tierscope.storage.fleet.services import ServiceHosts, ServiceRow, count_hosts
from tierscope.usecases.fleet.host_summaries import Summarised, summarise
from tierscope.usecases.ledger.recent import LEDGER_SPAN


@dataclass(frozen=True, slots=True)
class ServiceMoves:
    """What the hosts of a service say together."""

    hosts: ServiceHosts
    moves: MoveFigures
    verdict: str


def read_service_moves(session: ReadSession, rows: Sequence[ServiceRow], *, now: datetime) -> dict[int, ServiceMoves]:
    """Of these services. Hosts that no worker has summed up yet are looked at one by one."""
    ids = [row.id for row in rows]
    counted = count_hosts(session, ids)
    summed = sum_recent(session, since=now - LEDGER_SPAN, service_ids=ids)
    found = {}
    for row in rows:
        hosts, recent = counted.get(row.id, ServiceHosts(0, None)), summed.get(row.id)
        rates = list(recent.rates) if recent else [RateSum()] * len(RATES)
        words = Counter(recent.verdicts if recent else {})
        one_tier = recent.one_tier if recent else hosts.n_hosts > 0
        if (recent.n_hosts if recent else 0) < hosts.n_hosts:
            wanted = HostFilter(service=row.public_id, without_recent=True)
            others = summarise(session, list_hosts(session, wanted=wanted, after=None, limit=None), now=now)
            rates = [before + after for before, after in zip(rates, rates_of(others), strict=True)]
            words.update(host.verdict.word for host in others)
            one_tier = one_tier and all(host.facts.one_tier for host in others)
        found[row.id] = ServiceMoves(hosts, figures_of_sums(rates, one_tier=one_tier), gravest_verdict(words))
    return found


def rates_of(hosts: Iterable[Summarised]) -> list[RateSum]:
    """Rates of hosts together, in the order of `RATES`."""
    ledgers = [host.ledger for host in hosts if host.ledger is not None]
    return [sum((rate_of(ledger, what) for ledger in ledgers), RateSum()) for what in RATES]


def flows_of(hosts: Iterable[Summarised]) -> list[RateSum]:
    """Flows of hosts together in bytes, in the order of `FLOWS`."""
    parts = [(host.ledger, host.facts.machine.page_bytes) for host in hosts if host.ledger is not None]
    return [sum((flow_of(ledger, what, page_bytes) for ledger, page_bytes in parts), RateSum()) for what in FLOWS]

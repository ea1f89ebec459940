"""Tier moves of many services: of their own cgroups over their newest hour, and the gravest verdict on their hosts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.domain.fleet.host_columns import HostColumns, Ints
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.columns import COLUMN_INDEX
from tierscope.domain.ledger.figures import (
    FLOWS,
    NOWHERE,
    RATES,
    MoveFigures,
    RateDefinition,
    RateSum,
    figures_of,
    flow_of,
    rate_of,
)
from tierscope.domain.ledger.words import gravest_verdict
from tierscope.storage.fleet.host_columns import read_host_columns, read_members
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.storage.fleet.services import ServiceRow
from tierscope.storage.ledger.rows import read_newest
from tierscope.storage.ledger.services import HOUR, MovesHour, read_newest_hours
from tierscope.usecases.fleet.host_summaries import Summarised, summarise
from tierscope.usecases.fleet.limits import limits_at
from tierscope.usecases.ledger.recent import LEDGER_SPAN, RECENT_ROWS

MOST_UNSUMMED_HOSTS = 100
"""Of a service without a summed hour, hosts whose rows are read instead."""
NOT_BY_CGROUP = "No kernel of its hosts keeps this counter by cgroup; the list of hosts has what whole hosts move."


@dataclass(frozen=True, slots=True)
class ServiceMoves:
    """What a service's own cgroups moved in their newest hour, and the gravest verdict on its hosts."""

    n_hosts: int
    moves: MoveFigures
    verdict: str


def read_service_moves(
    session: ReadSession, rows: Sequence[ServiceRow], *, now: datetime, columns: HostColumns | None = None
) -> dict[int, ServiceMoves]:
    """Of these services. Hosts that no worker has summed up yet are looked at one by one.

    `columns`: their hosts, or more; without them they are read.
    """
    ids = [row.id for row in rows]
    if columns is None:
        columns = read_host_columns(session, limits_at(now), (), service_ids=ids)
    members = read_members(session, ids)
    places = {row.id: _places(columns, members.get(row.id)) for row in rows}
    lacking = [row.public_id for row in rows if not columns.summed[places[row.id]].all()]
    others = _hosts_not_summed(session, lacking, now)
    hours = read_newest_hours(session, ids, now - LEDGER_SPAN)
    few = {one: columns.host_ids[at].tolist() for one, at in places.items() if len(at) <= MOST_UNSUMMED_HOSTS}
    newest: dict[int, list[Ledger]] = {one: [] for one in few if one not in hours}
    pairs = [(host, one) for one in newest for host in few[one]]
    for part in read_newest(session, pairs, rows=RECENT_ROWS, since=now - LEDGER_SPAN):
        newest[part.service_id].append(part.ledger)
    found = {}
    for row in rows:
        verdict, one_tier = _judge(columns, places[row.id], others.get(row.public_id, ()))
        if row.id in newest:
            moves = figures_of(newest[row.id], one_tier=one_tier)
        else:
            moves = MoveFigures(*(_figure(hours.get(row.id), what, one_tier=one_tier) for what in RATES))
        found[row.id] = ServiceMoves(len(places[row.id]), moves, verdict)
    return found


def _figure(hour: MovesHour | None, what: RateDefinition, *, one_tier: bool) -> Figure:
    if what.needs_tiers and one_tier:
        return absent(what.definition, what.unit, "not_supported", NOWHERE)
    if hour is None:
        return absent(what.definition, what.unit, "not_collected", "No hour of it is summed yet.")
    rate = float(hour.rates[COLUMN_INDEX[what.column]])
    if not hour.own or np.isnan(rate):
        return absent(what.definition, what.unit, "not_supported", NOT_BY_CGROUP)
    window = Window(hour.start, hour.start + HOUR)
    return Figure(
        what.definition,
        "ok",
        rate * what.factor,
        what.unit,
        method="counters",
        window=window,
        n_hosts=hour.n_hosts,
        grade="good",
        grounding="L",
    )


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


def _judge(columns: HostColumns, found: Ints, others: Sequence[Summarised]) -> tuple[str, bool]:
    """The gravest verdict on hosts, and whether none has a second tier."""
    n_hosts, places = len(found), found[columns.summed[found]]
    counts = np.bincount(columns.verdicts[places], minlength=len(columns.words)).tolist()
    words = Counter({word: count for word, count in zip(columns.words, counts, strict=True) if count})
    one_tier = n_hosts > 0 and bool(columns.one_tier[places].all())
    if len(places) < n_hosts:
        words.update(host.verdict.word for host in others)
        one_tier = one_tier and all(host.facts.one_tier for host in others)
    return gravest_verdict(words), one_tier


def rates_of(hosts: Iterable[Summarised]) -> list[RateSum]:
    """Rates of hosts together, in the order of `RATES`."""
    parts = [(host.ledger, host.facts.machine) for host in hosts if host.ledger is not None]
    return [sum((rate_of(ledger, what, machine) for ledger, machine in parts), RateSum()) for what in RATES]


def flows_of(hosts: Iterable[Summarised]) -> list[RateSum]:
    """Flows of hosts together in bytes, in the order of `FLOWS`."""
    parts = [(host.ledger, host.facts.machine) for host in hosts if host.ledger is not None]
    return [sum((flow_of(ledger, what, machine) for ledger, machine in parts), RateSum()) for what in FLOWS]

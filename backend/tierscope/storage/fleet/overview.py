"""All hosts of the installation together: how many report, and what they have."""

from dataclasses import dataclass

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.ledger.figures import RateSum
from tierscope.storage.fleet.recent import flow_cells, parse_rates, rate_cells
from tierscope.storage.fleet.reporting import IN_SERVICE, STATE, Limits

_HOSTS = (
    "SELECT h.origin, r.host_id IS NOT NULL AS summed, r.memory_bytes, r.one_tier, r.tiering_off,"  # noqa: S608
    f" {STATE} AS state FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id WHERE {IN_SERVICE}"
)


@dataclass(frozen=True, slots=True)
class FleetHosts:
    """What hosts add up to, of those that a worker has summed up. `states` leave imported hosts out.

    `n_hosts` and `states` count all hosts; the others are without `n_others` hosts that no worker has summed up yet.
    """

    n_hosts: int
    n_others: int
    simulated: bool
    states: dict[str, int]
    memory_bytes: int | None
    n_memory: int
    one_tier: bool
    n_tiering_off: int
    rates: tuple[RateSum, ...]
    flows: tuple[RateSum, ...]


def sum_hosts(session: ReadSession, limits: Limits) -> FleetHosts:
    """All hosts that are neither retired nor revoked, in one statement each for facts and rates."""
    facts = text(
        "SELECT count(*), count(*) FILTER (WHERE NOT summed), coalesce(bool_or(origin = 'simulated'), false),"  # noqa: S608
        " count(*) FILTER (WHERE origin <> 'import' AND state = 'reporting'),"
        " count(*) FILTER (WHERE origin <> 'import' AND state = 'late'),"
        " count(*) FILTER (WHERE origin <> 'import' AND state = 'silent'),"
        " sum(memory_bytes)::bigint, count(memory_bytes), coalesce(bool_and(one_tier) FILTER (WHERE summed), true),"
        " count(*) FILTER (WHERE tiering_off)"
        f" FROM ({_HOSTS}) AS hosts"
    )
    row = session.execute(facts, {"late": limits.late, "silent": limits.silent}).one()
    rates = rate_cells()
    statement = text(
        "SELECT count(*) FILTER (WHERE r.ended_at > :since),"  # noqa: S608 - names of our own
        " coalesce(bool_or(r.broken) FILTER (WHERE r.ended_at > :since), false),"
        f" {', '.join([*rates, *flow_cells()])} FROM hosts h JOIN host_recent r ON r.host_id = h.id"
        f" WHERE {IN_SERVICE}"
    )
    n_newest, broken, *cells = session.execute(statement, {"since": limits.since}).one()
    return FleetHosts(
        n_hosts=row[0],
        n_others=row[1],
        simulated=row[2],
        states={"reporting": row[3], "late": row[4], "silent": row[5]},
        memory_bytes=row[6],
        n_memory=row[7],
        one_tier=row[8],
        n_tiering_off=row[9],
        rates=parse_rates(cells[: len(rates)], n_newest, broken=broken),
        flows=parse_rates(cells[len(rates) :], n_newest, broken=broken),
    )

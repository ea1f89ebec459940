"""How many hosts each node has, kept on the coordinator for the time when the node does not answer."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.fleet.hosts_away import NONE_AWAY, HostsAway
from tierscope.storage.base.facts import delete_fact, find_fact, store_fact
from tierscope.storage.base.subjects import IN_SERVICE
from tierscope.storage.nodes.placement import Placement, Span
from tierscope.storage.nodes.rows import read_nodes, read_placement, try_lock_nodes

Count = tuple[int, datetime]
"""Hosts in service, and when they were counted."""


def count_in_service(session: ReadSession, spans: Sequence[Span]) -> int:
    """Hosts of these ranges that are neither retired nor revoked, on the node that holds them."""
    statement = text(
        "SELECT count(*) FROM unnest(CAST(:firsts AS bigint[]), CAST(:beyonds AS bigint[])) AS r (first, beyond)"  # noqa: S608
        f" JOIN hosts h ON h.id >= r.first AND h.id < r.beyond WHERE {IN_SERVICE}"
    )
    values = {"firsts": [first for first, _ in spans], "beyonds": [beyond for _, beyond in spans]}
    return int(session.execute(statement, values).scalar_one())


def read_count(session: ReadSession, number: int) -> Count | None:
    """The last count of a node; None where its hosts were not counted since some moved to it or from it."""
    kept = find_fact(session, _key(number))
    if kept is None:
        return None
    found = json.loads(kept)
    return int(found["hosts"]), datetime.fromisoformat(found["at"])


def store_counts(
    transaction: WriteTransaction, counts: Mapping[int, int], placement: Placement, *, at: datetime
) -> None:
    """Keeps counts of hosts by the number of their node, unless hosts move now or moved since `placement` was read."""
    if try_lock_nodes(transaction) and read_placement(transaction) == placement:
        for number, hosts in counts.items():
            store_fact(transaction, _key(number), json.dumps({"hosts": hosts, "at": at.isoformat()}))


def forget_counts(transaction: WriteTransaction, *numbers: int) -> None:
    """Says that it is not known how many hosts these nodes have."""
    for number in numbers:
        delete_fact(transaction, _key(number))


def read_hosts_away(session: ReadSession) -> HostsAway:
    """How many hosts the rows of the fleet lack now."""
    away = [node for node in read_nodes(session) if node.away_since is not None]
    if not away:
        return NONE_AWAY
    names = tuple(node.name for node in away)
    counts = [read_count(session, node.number) for node in away]
    known = [count for count in counts if count is not None]
    if len(known) < len(away):
        return HostsAway(names, None, None)
    return HostsAway(names, sum(hosts for hosts, _ in known), min(at for _, at in known))


def _key(number: int) -> str:
    return f"hosts_of_node_{number}"

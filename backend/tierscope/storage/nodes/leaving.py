"""What a server leaves behind when it is taken out of a fleet."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.jobs import OF_THE_FLEET
from tierscope.storage.base.facts import find_fact, store_fact
from tierscope.storage.nodes.placement import HOSTS_PER_NODE, Span
from tierscope.storage.tables import advice, events, experiment_hosts, pauses, sweeps

NAMING_HOSTS = (advice, events, experiment_hosts, pauses, sweeps)
"""Tables of the whole fleet whose rows belong to a host; those of services and of all hosts name none."""
LOST_FACT = "lost_hosts"
"""Under which the coordinator keeps the numbers of lost hosts that sums of services still count."""
_KINDS = [job.kind for job in OF_THE_FLEET]


@dataclass(frozen=True, slots=True)
class LostHost:
    """A host that was enrolled and is on no server."""

    public_id: str
    name: str
    enrolled_at: datetime


def hold_enrolments(transaction: WriteTransaction) -> int:
    """Keeps hosts from being added to a server or taken from it until the transaction ends; how many it has."""
    transaction.execute(text("LOCK TABLE hosts IN SHARE ROW EXCLUSIVE MODE"))
    return int(transaction.execute(text("SELECT count(*) FROM hosts")).scalar_one())


def take_over_work(source: ReadSession, coordinator: WriteTransaction) -> int:
    """Copies the marks of work of the fleet from a server to the coordinator's own; how many."""
    found = source.execute(
        text("SELECT kind, subject_id, service_id, bucket, created_at FROM marks WHERE kind = ANY(:kinds) ORDER BY id"),
        {"kinds": _KINDS},
    )
    rows = [row._asdict() for row in found]
    if rows:
        coordinator.execute(
            text(
                "INSERT INTO public.marks (kind, subject_id, service_id, bucket, created_at)"
                " VALUES (:kind, :subject_id, :service_id, :bucket, :created_at)"
            ),
            rows,
        )
    return len(rows)


def count_objects(session: ReadSession) -> int:
    """Objects that a server has in the object store, or has still to delete there."""
    return int(session.execute(text("SELECT count(*) FROM objects")).scalar_one())


def database_bytes(session: ReadSession) -> int:
    """How large a server's database is."""
    return int(session.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def lost_hosts(session: ReadSession) -> list[LostHost]:
    """Hosts of the audit trail that no server has which the session sees, and that nobody removed or gave up."""
    found = session.execute(
        text(
            "SELECT a.subject, coalesce(a.detail ->> 'name', '') AS name, a.at FROM audit a"
            " WHERE a.action = 'host.enrol' AND NOT EXISTS (SELECT FROM hosts h WHERE h.public_id = a.subject)"
            " AND NOT EXISTS (SELECT FROM audit g WHERE g.subject = a.subject"
            " AND g.action IN ('host.purge', 'host.lose')) ORDER BY a.id"
        )
    )
    return [LostHost(row.subject, row.name, row.at) for row in found]


def forget_hosts(transaction: WriteTransaction, spans: Sequence[Span]) -> int:
    """Deletes what the coordinator keeps of hosts of these ranges, which are lost; how many rows.

    What Prometheus sends of one from now on makes a host again.
    """
    deleted = 0
    for span in spans:
        bounds = {"first": span[0], "beyond": span[1]}
        for table in NAMING_HOSTS:
            statement = text(f"DELETE FROM {table.name} WHERE host_id >= :first AND host_id < :beyond")  # noqa: S608
            deleted += transaction.execute(statement, bounds).rowcount
        anew = "UPDATE sample_targets SET host_id = NULL, reason = NULL WHERE host_id >= :first AND host_id < :beyond"
        transaction.execute(text(anew), bounds)
    return deleted


def note_lost(transaction: WriteTransaction, spans: Sequence[Span], *, until: datetime) -> None:
    """Keeps the numbers of lost hosts for as long as hours of services that are called new may count them."""
    kept = json.loads(find_fact(transaction, LOST_FACT) or "[]")
    store_fact(transaction, LOST_FACT, json.dumps([*kept, *([*span, until.isoformat()] for span in spans)]))


def read_lost(session: ReadSession, *, now: datetime) -> tuple[Span, ...]:
    """Numbers of lost hosts that the newest hours of services may still count."""
    kept = json.loads(find_fact(session, LOST_FACT) or "[]")
    return tuple((first, beyond) for first, beyond, until in kept if datetime.fromisoformat(until) > now)


def own_numberings(session: ReadSession) -> set[int]:
    """Numbers of nodes that gave hosts of this server their numbers."""
    found = session.execute(text("SELECT DISTINCT id / :per_node FROM hosts"), {"per_node": HOSTS_PER_NODE})
    return {int(number) for number in found.scalars()}

"""What the ratio advice of services rests on, as a worker read it: a row each, with the state of what it was read from.

The state is that of the service's hosts, of their newest inventories, of its replays, and of the database's generation:
once one of them is another, the row counts for nothing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.base.facts import find_fact
from tierscope.storage.fleet.host_columns import read_members
from tierscope.storage.fleet.inventories import newest_inventories

_NEWEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StoredInputs:
    """JSON of what was read up to `window_end`, in which `state`."""

    state: str
    window_end: datetime
    body: str


def find_inputs(session: ReadSession, service_id: int) -> StoredInputs | None:
    """What is stored of a service; None where nothing is."""
    statement = text("SELECT state, window_end, body FROM ratio_inputs WHERE service_id = :service")
    row = session.execute(statement, {"service": service_id}).one_or_none()
    return None if row is None else StoredInputs(*row)


def store_inputs(transaction: WriteTransaction, service_id: int, stored: StoredInputs) -> None:
    """Store it in place of what was read before."""
    statement = text(
        "INSERT INTO ratio_inputs (service_id, state, window_end, body) VALUES (:service, :state, :window_end, :body)"
        " ON CONFLICT (service_id) DO UPDATE"
        " SET state = excluded.state, window_end = excluded.window_end, body = excluded.body"
    )
    values = {"service": service_id, "state": stored.state, "window_end": stored.window_end, "body": stored.body}
    transaction.execute(statement, values)


def outdated_inputs(session: ReadSession, service_ids: Sequence[int]) -> set[int]:
    """Services without stored inputs, or whose are of another state than that of now."""
    statement = text("SELECT service_id, state FROM ratio_inputs WHERE service_id = ANY(:services)")
    stored = {row.service_id: row.state for row in session.execute(statement, {"services": list(service_ids)})}
    return {service for service, state in read_states(session, service_ids).items() if stored.get(service) != state}


def read_states(session: ReadSession, service_ids: Sequence[int]) -> dict[int, str]:
    """The state of what each of these services' advice would be read from now."""
    members = {service: sorted(hosts.tolist()) for service, hosts in read_members(session, service_ids).items()}
    hosts = sorted({host for of_service in members.values() for host in of_service})
    ids, [times_us] = newest_inventories(session, [_NEWEST], hosts)
    sent = dict(zip(ids.tolist(), times_us.tolist(), strict=True))
    statement = text(
        "SELECT service_id, max(made_at) FROM replayed_placements WHERE service_id = ANY(:services) GROUP BY 1"
    )
    replays = {row[0]: row[1] for row in session.execute(statement, {"services": list(service_ids)})}
    generation = find_fact(session, "generation")
    found = {}
    for service in service_ids:
        of_hosts = [(host, sent.get(host)) for host in members.get(service, ())]
        told = repr((of_hosts, str(replays.get(service)), generation))
        found[service] = hashlib.sha256(told.encode()).hexdigest()
    return found

"""Hosts that Prometheus reports: found or made, their counters as rows, their boots, what they say of themselves."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.names import escaped_name
from tierscope.domain.counters.packing import Block
from tierscope.domain.ingest.batch import ServiceKey
from tierscope.domain.ingest.prometheus.containers import POD_RULE
from tierscope.storage.base import copy
from tierscope.storage.base.layouts import ensure_layout
from tierscope.storage.base.numbering import copy_rows, numbering
from tierscope.storage.counters.rows import remove_packed
from tierscope.storage.fleet.agents import NewHost, insert_host
from tierscope.storage.ingest.facts import admit_services
from tierscope.storage.ingest.registry import NOTE_SECONDS, store_services
from tierscope.storage.tables import host_layouts, services

_NO_HEAT = "Prometheus does not say which pages are in use"
_EPOCH_2000_US = 946_684_800 * 10**6


@dataclass(frozen=True, slots=True)
class SampledHost:
    """A host, locked. `agent_seen_at` is when an agent of ours was last heard of, None without one."""

    id: int
    public_id: str
    enrolled_at: datetime
    agent_seen_at: datetime | None
    revoked: bool
    moving: bool
    """Whether it moves to another server, or has moved: its rows stay as they are here."""
    own_findings: tuple[str, ...]
    """What the service itself finds wrong with it."""


def lock_host(transaction: WriteTransaction, host_id: int) -> SampledHost | None:
    """Lock a host's row, so that its counters are written by one worker at a time."""
    statement = text(
        "SELECT id, public_id, enrolled_at,"
        " CASE WHEN agent_version IS NULL THEN NULL ELSE last_seen_at END AS agent_seen_at,"
        " revoked_at IS NOT NULL AS revoked, coalesce(moving_until > now(), false) AS moving,"
        " ARRAY(SELECT finding_id FROM findings WHERE host_id = hosts.id AND source = 'service' AND until IS NULL)"
        " AS own_findings FROM hosts WHERE id = :host FOR NO KEY UPDATE"
    )
    row = transaction.execute(statement, {"host": host_id}).mappings().one_or_none()
    return None if row is None else SampledHost(**{**row, "own_findings": tuple(row["own_findings"])})


def find_agent_host(session: ReadSession, names: Sequence[str], *, seen_after: datetime) -> int | None:
    """The live host of one of these names that an agent of ours reports, the one heard of last."""
    statement = text(
        "SELECT id FROM hosts WHERE name = ANY(:names) AND origin = 'live' AND revoked_at IS NULL"
        " AND agent_version IS NOT NULL AND last_seen_at > :after ORDER BY last_seen_at DESC LIMIT 1"
    )
    found: int | None = session.execute(statement, {"names": list(names), "after": seen_after}).scalar_one_or_none()
    return found


def count_hosts_without_agent(session: ReadSession, host_ids: Sequence[int]) -> int:
    """Of hosts that targets are, those that exist because a target was seen."""
    statement = text("SELECT count(*) FROM hosts WHERE id = ANY(:hosts) AND agent_version IS NULL")
    return int(session.execute(statement, {"hosts": list(host_ids)}).scalar_one())


def make_host(transaction: WriteTransaction, *, name: str, labels: dict[str, str]) -> tuple[int, str]:
    """Make a host that no credential speaks for; its id and public id. Deceiving characters of texts are escaped."""
    public_id = "h" + secrets.token_hex(8)
    # Nobody knows the secret behind this digest, so that no agent can send as this host.
    plain = {escaped_name(key): escaped_name(value) for key, value in labels.items()}
    host = NewHost(public_id, escaped_name(name), "live", plain, {}, secrets.token_bytes(32))
    return insert_host(transaction, host), public_id


def replace_rows(
    transaction: WriteTransaction, host_id: int, stored: Block, rows: Block, span: tuple[datetime, datetime]
) -> list[int]:
    """Bring the stored rows of a span to `rows`, writing only those that differ; their times in microseconds."""
    changed = _differing(stored, rows)
    gone = sorted(set(stored.times_us.tolist()) - set(rows.times_us.tolist()))
    if not changed and not gone:
        return []
    if gone:
        remove_packed(transaction, host_id, gone)
    statement = text(
        "DELETE FROM counters_live WHERE host_id = :host AND ts > :start AND ts <= :end"
        " AND ts = ANY(SELECT to_timestamp(0) + us * interval '1 microsecond' FROM unnest(CAST(:times AS bigint[])) us)"
    )
    new = rows.rows(np.array(changed, np.int64))
    times = [*new.times_us.tolist(), *gone]
    if len(stored):
        values = {"host": host_id, "start": span[0], "end": span[1], "times": times}
        transaction.execute(statement, values)
    if changed:
        layout_id = _register_layout(transaction, host_id, rows.keys)
        n = len(new)
        leading = [
            np.full(n, host_id, np.int64),
            new.times_us - _EPOCH_2000_US,
            np.full(n, layout_id, np.int64),
            new.boots,
            None,
            np.zeros(n, np.int16),
        ]
        columns = ("host_id", "ts", "layout_id", "boot_ref", "boottime_ns", "flags", "vals")
        copy.copy_rows(transaction, "counters_live", columns, [copy.int8_matrix_rows(leading, new.values, new.present)])
    return times


def _differing(stored: Block, rows: Block) -> list[int]:
    """Places of those rows that are not stored just so."""
    if not len(stored) or stored.keys != rows.keys:
        return list(range(len(rows)))
    place = {at: i for i, at in enumerate(stored.times_us.tolist())}
    found = []
    for i, at in enumerate(rows.times_us.tolist()):
        j = place.get(at)
        same = (
            j is not None
            and stored.boots[j] == rows.boots[i]
            and bool((stored.present[j] == rows.present[i]).all())
            and bool((stored.values[j] == rows.values[i]).all())
        )
        if not same:
            found.append(i)
    return found


def _register_layout(transaction: WriteTransaction, host_id: int, keys: Sequence[str]) -> int:
    layout_id = ensure_layout(transaction, keys)
    statement = insert(host_layouts).values(host_id=host_id, layout_id=layout_id).on_conflict_do_nothing()
    transaction.execute(statement)
    transaction.execute(
        text("UPDATE hosts SET layout_id = :layout WHERE id = :host AND layout_id IS DISTINCT FROM :layout"),
        {"layout": layout_id, "host": host_id},
    )
    return layout_id


def boots_of(session: ReadSession, host_id: int) -> dict[str, int]:
    """Ids of a host's boots."""
    rows = session.execute(text("SELECT id, boot_id FROM boots WHERE host_id = :host"), {"host": host_id})
    return {row.boot_id: row.id for row in rows}


def add_boot(transaction: WriteTransaction, host_id: int, boot_id: str) -> int:
    """Store a boot of a host; its id."""
    statement = text("INSERT INTO boots (host_id, boot_id) VALUES (:host, :boot) RETURNING id")
    return int(transaction.execute(statement, {"host": host_id, "boot": boot_id}).scalar_one())


def rename_boot(transaction: WriteTransaction, boot: int, boot_id: str) -> None:
    """Give a boot the name that is known now."""
    transaction.execute(text("UPDATE boots SET boot_id = :name WHERE id = :id"), {"name": boot_id, "id": boot})


def note_sighting(
    transaction: WriteTransaction, host_id: int, *, seen: datetime | None, ended_us: int, boot_id: str | None
) -> None:
    """Write when a host was last heard of and what it told last."""
    transaction.execute(
        text(
            "UPDATE hosts SET last_seen_at = greatest(last_seen_at, CAST(:seen AS timestamptz)),"
            " last_end_at = greatest(last_end_at, to_timestamp(0) + CAST(:ended AS bigint) * interval '1 microsecond'),"
            " boot_id = coalesce(:boot, boot_id), retired_at = NULL WHERE id = :host"
        ),
        {"host": host_id, "seen": seen, "ended": ended_us, "boot": boot_id},
    )


def note_container_services(
    transaction: WriteTransaction, host_id: int, keys: Sequence[ServiceKey], *, per_host: int
) -> None:
    """Note the services whose containers run on a host; those beyond the limit of a host are left out.

    Sightings are written once in some minutes. Many hosts share a service, so none waits for another to write it.
    """
    with numbering(transaction) as giving:
        ids = sorted(store_services(giving, {("live", key) for key in keys}).values())
        _note_services(giving, ids)
        copy_rows(giving, transaction, services, ids)
    refused = {service for _, service in admit_services(transaction, {host_id: ids}, per_host=per_host)}
    values = {
        "host": host_id,
        "rule": POD_RULE,
        "reason": _NO_HEAT,
        "services": [service for service in ids if service not in refused],
        "after": NOTE_SECONDS,
    }
    transaction.execute(
        text(
            "INSERT INTO host_services AS h (host_id, service_id, rule, heat_reason)"
            " SELECT :host, s, :rule, :reason FROM unnest(CAST(:services AS bigint[])) s ORDER BY s"
            " ON CONFLICT (host_id, service_id) DO UPDATE SET last_seen_at = now()"
            " WHERE h.last_seen_at < now() - :after * interval '1 second'"
        ),
        values,
    )


def _note_services(transaction: WriteTransaction, ids: Sequence[int]) -> None:
    transaction.execute(
        text(
            "UPDATE services SET last_seen_at = now() WHERE id IN (SELECT id FROM services WHERE id = ANY(:services)"
            " AND last_seen_at < now() - :after * interval '1 second' FOR NO KEY UPDATE SKIP LOCKED)"
        ),
        {"services": list(ids), "after": NOTE_SECONDS},
    )


def write_inventory(transaction: WriteTransaction, host_id: int, body: Mapping[str, Any], at: datetime) -> bool:
    """Store an inventory where it says something else than the newest one; whether it did."""
    values = {"host": host_id, "at": at, "body": json.dumps(body, ensure_ascii=False, allow_nan=False)}
    statement = text(
        "INSERT INTO inventory (host_id, at, body) SELECT :host, :at, CAST(:body AS jsonb)"
        " WHERE CAST(:body AS jsonb) IS DISTINCT FROM"
        " (SELECT body FROM inventory WHERE host_id = :host ORDER BY at DESC LIMIT 1)"
        " ON CONFLICT (host_id, at) DO UPDATE SET body = excluded.body"
    )
    return transaction.execute(statement, values).rowcount > 0

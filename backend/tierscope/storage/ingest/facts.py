"""What batches say of hosts beside measurements: last sighting, inventory, services on the host, findings."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import LiteralString

from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.domain.ingest.batch import Finding, Inventory
from tierscope.storage.fleet.labels import refresh_labels
from tierscope.storage.ingest.boots import HostState, sealed_at
from tierscope.storage.ingest.incoming import Incoming
from tierscope.storage.ingest.registry import Registry
from tierscope.storage.ingest.rows import Tally

HostService = tuple[int, int]
_POD_FIELDS = ("node", "namespace", "name", "owner_kind", "owner", "owner_source", "service_id", "labels")
_PUT_PODS = text(
    # Inventories come often and pods change rarely: rows that say the same are not written again.
    f"INSERT INTO host_pods AS p (host_id, first_seen_at, uid, {', '.join(_POD_FIELDS)})"  # noqa: S608 - names of our own
    f" SELECT :host, :at, x.uid, {', '.join(f'x.{name}' for name in _POD_FIELDS)}"
    " FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS x (uid text, node text, namespace text, name text,"
    " owner_kind text, owner text, owner_source text, service_id bigint, labels jsonb)"
    f" ON CONFLICT (host_id, uid) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _POD_FIELDS)}"
    f" WHERE ({', '.join(f'p.{name}' for name in _POD_FIELDS)})"
    f" IS DISTINCT FROM ({', '.join(f'excluded.{name}' for name in _POD_FIELDS)})"
)


_SIGHTED: LiteralString = (
    "UPDATE hosts AS h SET last_seen_at = greatest(h.last_seen_at, s.seen),"
    " last_end_at = greatest(h.last_end_at, s.ended), boot_id = s.boot,"
    " agent_version_since = CASE WHEN h.agent_version = s.version AND h.agent_version_since IS NOT NULL"
    " THEN h.agent_version_since ELSE s.seen END,"
    " agent_version = s.version, refused_protocol = NULL, refused_protocol_at = NULL,"
    " clock_skew_seconds = s.skew, layout_id = coalesce(s.layout, h.layout_id),"
    " too_late_points = h.too_late_points + s.late, set_aside_points = h.set_aside_points + s.aside,"
    " retired_at = NULL FROM unnest(%(hosts)s::bigint[], %(seen)s::timestamptz[], %(ended)s::timestamptz[],"
    " %(boot)s::text[], %(version)s::text[], %(skew)s::float8[], %(layout)s::bigint[], %(late)s::bigint[],"
    " %(aside)s::bigint[]) AS s (host, seen, ended, boot, version, skew, layout, late, aside) WHERE h.id = s.host"
)


@dataclass(frozen=True, slots=True)
class OwnFinding:
    """A finding of the service itself. `holds` False ends it."""

    host_id: int
    finding: Finding
    holds: bool


def admit_services(
    transaction: WriteTransaction, wanted: Mapping[int, Sequence[int]], *, per_host: int
) -> set[HostService]:
    """Returns the (host, service) pairs beyond the limit of a host. The caller holds the hosts' locks."""
    statement: LiteralString = "SELECT host_id, service_id FROM host_services WHERE host_id = ANY(%(hosts)s::bigint[])"
    known: dict[int, set[int]] = {host: set() for host in wanted}
    for row in transaction.ask(statement, {"hosts": sorted(wanted)}):
        known[row.host_id].add(row.service_id)
    refused: set[HostService] = set()
    for host, services in wanted.items():
        for service in dict.fromkeys(services):
            if service in known[host]:
                continue
            if len(known[host]) >= per_host:
                refused.add((host, service))
            else:
                known[host].add(service)
    return refused


def write_host_services(transaction: WriteTransaction, item: Incoming, registry: Registry, refused: set[int]) -> None:
    """Notes the services of a host that its inventory lists."""
    origin = item.host.origin
    listed = item.batch.inventory.services if item.batch.inventory is not None else ()
    rows = [
        {
            "host": item.host.id,
            "service": registry.service(origin, service.key),
            "rule": service.rule,
            "processes": service.processes,
            "measured": service.heat_measured,
            "reason": service.heat_reason or None,
        }
        for service in listed
    ]
    rows = sorted((row for row in rows if row["service"] not in refused), key=lambda row: int(str(row["service"])))
    if rows:
        transaction.execute(
            text(
                "INSERT INTO host_services (host_id, service_id, rule, processes, heat_measured, heat_reason)"
                " VALUES (:host, :service, :rule, :processes, :measured, :reason)"
                " ON CONFLICT (host_id, service_id) DO UPDATE SET rule = excluded.rule,"
                " processes = excluded.processes, heat_measured = excluded.heat_measured,"
                " heat_reason = excluded.heat_reason, last_seen_at = now()"
            ),
            rows,
        )
    if rows:
        registry.forget_host(item.host.id)


def note_host_services(
    transaction: WriteTransaction, items: Iterable[Incoming], registry: Registry, refused: Mapping[int, set[int]]
) -> None:
    """Notes services by the sighting of their heat, once in some minutes each."""
    pairs = {
        (item.host.id, registry.service(item.host.origin, key))
        for item in items
        for block in item.batch.heat
        for key in set(block.services)
    }
    new = sorted(pair for pair in registry.unnoted(pairs) if pair[0] not in refused or pair[1] not in refused[pair[0]])
    if not new:
        return
    transaction.execute(
        text(
            "INSERT INTO host_services (host_id, service_id, heat_measured)"
            " SELECT h, s, true FROM unnest(CAST(:hosts AS bigint[]), CAST(:services AS bigint[])) AS p (h, s)"
            " ORDER BY h, s ON CONFLICT (host_id, service_id) DO UPDATE"
            " SET heat_measured = true, last_seen_at = now(),"
            # A reason beside measured heat is of some of the processes, and still holds.
            " heat_reason = CASE WHEN host_services.heat_measured THEN host_services.heat_reason END"
        ),
        {"hosts": [host for host, _ in new], "services": [service for _, service in new]},
    )
    registry.note(new)


def write_inventory(transaction: WriteTransaction, item: Incoming, inventory: Inventory, now: datetime) -> None:
    """Stores an inventory if it changed, the labels, and the agent's findings; findings no longer listed end."""
    body = json.dumps(inventory.body, ensure_ascii=False, allow_nan=False)
    values = {"host": item.host.id, "at": min(sealed_at(item), now), "body": body}
    transaction.execute(
        text(
            "INSERT INTO inventory (host_id, at, body) SELECT :host, :at, CAST(:body AS jsonb)"
            " WHERE CAST(:body AS jsonb) IS DISTINCT FROM"
            " (SELECT body FROM inventory WHERE host_id = :host ORDER BY at DESC LIMIT 1)"
            " ON CONFLICT (host_id, at) DO UPDATE SET body = excluded.body"
        ),
        values,
    )
    _write_told(transaction, item.host.id, inventory)
    transaction.execute(
        text(
            "UPDATE findings SET until = :now WHERE host_id = :host AND source = 'agent' AND until IS NULL"
            " AND NOT finding_id = ANY(:ids)"
        ),
        {"host": item.host.id, "now": now, "ids": [finding.id for finding in inventory.findings]},
    )
    for finding in inventory.findings:
        _upsert_finding(transaction, item.host.id, finding, source="agent", now=now)


def write_pods(
    transaction: WriteTransaction,
    item: Incoming,
    inventory: Inventory,
    registry: Registry,
    refused: set[int],
    now: datetime,
) -> None:
    """Replaces the pods of a host by those of its inventory. A pod of a service that is not listed there has none."""
    origin, pods, at = item.host.origin, inventory.pods, min(sealed_at(item), now)
    listed = {service.key: registry.service(origin, service.key) for service in inventory.services}
    rows = [
        {
            "uid": pod.uid,
            "node": inventory.body["hostname"],
            "namespace": pod.namespace,
            "name": pod.name,
            "owner_kind": pod.owner_kind,
            "owner": pod.owner,
            "owner_source": pod.owner_source,
            "service_id": None
            if pod.service is None or listed.get(pod.service) in refused
            else listed.get(pod.service),
            "labels": pod.labels,
        }
        for pod in (() if pods is None else pods.pods)
    ]
    transaction.execute(
        text("DELETE FROM host_pods WHERE host_id = :host AND NOT uid = ANY(:uids)"),
        {"host": item.host.id, "uids": [row["uid"] for row in rows]},
    )
    if rows:
        transaction.execute(_PUT_PODS, {"host": item.host.id, "at": at, "rows": json.dumps(rows, ensure_ascii=False)})
    transaction.execute(
        text("UPDATE hosts SET pods_at = :at, pods_left_out = :left_out, pods_unavailable = :why WHERE id = :host"),
        {
            "host": item.host.id,
            "at": None if pods is None else at,
            "left_out": None if pods is None else pods.left_out,
            "why": None if pods is None else pods.unavailable,
        },
    )


def _write_told(transaction: WriteTransaction, host_id: int, inventory: Inventory) -> None:
    """Labels and interval as the agent tells them. One that does not say that its labels are complete only adds."""
    before = "" if inventory.labels_complete else "agent_labels || "
    kept = "kubernetes_labels || " if inventory.kubernetes_labels_partial else ""
    transaction.execute(
        text(
            f"UPDATE hosts SET agent_labels = {before}CAST(:own AS jsonb),"  # noqa: S608 - constants
            f" kubernetes_labels = {kept}CAST(:kubernetes AS jsonb), interval_seconds = nullif(:interval, 0)"
            " WHERE id = :host"
        ),
        {
            "host": host_id,
            "own": json.dumps(inventory.labels, ensure_ascii=False),
            "kubernetes": json.dumps(inventory.kubernetes_labels, ensure_ascii=False),
            "interval": inventory.interval_seconds,
        },
    )
    refresh_labels(transaction, [host_id])


def write_own_findings(transaction: WriteTransaction, findings: Iterable[OwnFinding], now: datetime) -> None:
    """Begins, refreshes or ends findings of the service itself."""
    ended: dict[str, set[int]] = defaultdict(set)
    for own in findings:
        if own.holds:
            ended[own.finding.id].discard(own.host_id)
            _upsert_finding(transaction, own.host_id, own.finding, source="service", now=now)
        else:
            ended[own.finding.id].add(own.host_id)
    for finding_id, hosts in ended.items():
        if hosts:
            transaction.execute(
                text(
                    "UPDATE findings SET until = :now WHERE host_id = ANY(:hosts) AND finding_id = :id"
                    " AND source = 'service' AND until IS NULL"
                ),
                {"hosts": sorted(hosts), "id": finding_id, "now": now},
            )


def write_hosts(
    transaction: WriteTransaction, items: Sequence[tuple[Incoming, Tally]], states: Mapping[int, HostState]
) -> None:
    """Writes the last sighting of each host of a group."""
    rounds: list[dict[int, dict[str, object]]] = []
    for item, tally in items:
        skew, host = item.clocks.skew_ns, item.host.id
        row = {
            "hosts": host,
            "seen": _instant(item.clocks.arrival_ns),
            "ended": None if tally.last_end_ns is None else _instant(tally.last_end_ns),
            "boot": states[host].boot_id,
            "version": item.batch.agent_version,
            "skew": None if skew is None else skew / 1e9,
            "layout": None if tally.layout is None else tally.layout[1],
            "late": tally.too_late,
            "aside": tally.set_aside,
        }
        # A statement takes each host once: of one that sent twice, what came later follows in the next round.
        free = next((found for found in rounds if host not in found), None)
        if free is None:
            free = {}
            rounds.append(free)
        free[host] = row
    for found in rounds:
        ordered = [found[host] for host in sorted(found)]
        transaction.ask(_SIGHTED, {name: [row[name] for row in ordered] for name in ordered[0]})


def known_epochs(transaction: WriteTransaction, item: Incoming) -> dict[int, int]:
    """Returns the services of the tile epochs that a batch's columns refer to and that are stored already."""
    wanted = {column.epoch_id for column in item.batch.tile_columns}
    wanted -= {epoch.epoch_id for epoch in item.batch.tile_epochs}
    if not wanted:
        return {}
    rows = transaction.execute(
        text("SELECT DISTINCT epoch_id, service_id FROM tile_epochs WHERE host_id = :host AND epoch_id = ANY(:ids)"),
        {"host": item.host.id, "ids": sorted(wanted)},
    )
    return {row.epoch_id: row.service_id for row in rows}


def _upsert_finding(
    transaction: WriteTransaction, host_id: int, finding: Finding, *, source: str, now: datetime
) -> None:
    transaction.execute(
        text(
            "INSERT INTO findings AS f (host_id, finding_id, source, severity, cause, fix, confidence, since)"
            " VALUES (:host, :id, :source, :severity, :cause, :fix, :confidence, :now)"
            " ON CONFLICT (host_id, finding_id) DO UPDATE SET severity = excluded.severity, cause = excluded.cause,"
            " fix = excluded.fix, confidence = excluded.confidence, source = excluded.source, until = NULL,"
            " since = CASE WHEN f.until IS NULL THEN f.since ELSE excluded.since END"
        ),
        {
            "host": host_id,
            "id": finding.id,
            "source": source,
            "severity": finding.severity,
            "cause": finding.cause,
            "fix": finding.fix,
            "confidence": finding.confidence,
            "now": now,
        },
    )


def _instant(wall_ns: int) -> datetime:
    return datetime.fromtimestamp(wall_ns / 1e9, tz=UTC)

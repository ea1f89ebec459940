"""Advice as stored: one row per subject and key, refreshed in place, read in groups that say the same thing.

A body holds `sentence`; `answer`, what the advice was made from; `says`, what of it a decision is about; `group`, a
hash that advice with one content to hosts with the same services shares; and, once decided, `decided_says`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.figures import Origin
from tierscope.storage.base.facts import find_fact, store_fact
from tierscope.storage.fleet.tags import Tagged

_ROUND = "advice_round"
Kind = Literal["ratio", "knob"]
Status = Literal["open", "adopted", "dismissed", "gone"]
Decision = Literal["open", "adopted", "dismissed"]


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom advice is for: a host or a service, by its number."""

    id: int
    is_host: bool

    @property
    def column(self) -> str:
        """Where its number stands."""
        return "host_id" if self.is_host else "service_id"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Advice that says the same to several hosts, or one piece. Ids are public ones, the first is the group's own.

    `services` run on all its hosts, or are the one it is for, with their names.
    """

    advice_ids: tuple[str, ...]
    kind: Kind
    key: str
    title: str
    sentence: str
    status: Status
    stake_bytes: float | None
    created_at: datetime
    refreshed_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    note: str | None
    origin: Origin
    host_ids: tuple[str, ...]
    host_names: tuple[str, ...]
    service_ids: tuple[str, ...]
    service_names: tuple[str, ...]
    gain: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class StoredAdvice:
    """What is stored of one piece under its key."""

    public_id: str
    status: Status
    body: Mapping[str, Any]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewAdvice:
    """What a refresh stores. `reopen`: an earlier decision no longer stands."""

    public_id: str
    kind: Kind
    key: str
    title: str
    stake_bytes: float | None
    body: Mapping[str, Any]
    expires_at: datetime
    reopen: bool


_SLOW_NODE = '$.nodes[*] ? (@.tier_class == "cxl" || @.tier_class == "pmem")'
_GROUPS = """
SELECT array_agg(a.public_id ORDER BY a.id) AS advice_ids, a.kind, a.key, a.status,
 (array_agg(a.title ORDER BY a.id))[1] AS title, (array_agg(a.body->>'sentence' ORDER BY a.id))[1] AS sentence,
 sum(a.stake_bytes ORDER BY a.id)::float8 AS stake_bytes,
 min(a.created_at) AS created_at, max(a.refreshed_at) AS refreshed_at,
 min(a.expires_at) AS expires_at, max(a.decided_at) AS decided_at,
 (array_agg(a.decided_by ORDER BY a.decided_at DESC NULLS LAST))[1] AS decided_by,
 (array_agg(a.note ORDER BY a.decided_at DESC NULLS LAST))[1] AS note,
 min(coalesce(h.origin, s.origin)) AS origin, (array_agg(a.body->'gain' ORDER BY a.id))[1] AS gain,
 coalesce(array_agg(h.public_id ORDER BY a.id) FILTER (WHERE h.id IS NOT NULL), '{}') AS host_ids,
 coalesce(array_agg(h.name ORDER BY a.id) FILTER (WHERE h.id IS NOT NULL), '{}') AS host_names,
 (array_agg(v.ids ORDER BY a.id))[1:1] AS service_ids, (array_agg(v.names ORDER BY a.id))[1:1] AS service_names
FROM advice a LEFT JOIN hosts h ON h.id = a.host_id LEFT JOIN services s ON s.id = a.service_id
CROSS JOIN LATERAL (
 SELECT coalesce(jsonb_agg(o.public_id ORDER BY o.id), '[]') AS ids,
  coalesce(jsonb_agg(o.namespace || '/' || o.name ORDER BY o.id), '[]') AS names FROM services o
 WHERE o.id = a.service_id OR o.id IN (SELECT x.service_id FROM host_services x WHERE x.host_id = a.host_id)
) v
"""
_TAGGED = " AND (a.host_id = ANY(:hosts) OR a.service_id = ANY(:services))"
_GROUP_BY = " GROUP BY a.kind, a.key, a.status, coalesce(a.body->>'group', a.public_id)"
_PROVEN = "greatest(coalesce(sum((a.body->'gain'->>'net_per_year_p10')::float8 ORDER BY a.id), 0), 0)"
_FIRST = "CASE WHEN a.kind = 'knob' OR bool_or(a.body->'says'->>'ratio' IS NOT NULL) THEN 0 ELSE 1 END"
_ORDER = f" ORDER BY {_PROVEN} DESC, {_FIRST}, coalesce(sum(a.stake_bytes ORDER BY a.id), -1) DESC, min(a.id)"
"""Proven gains first, the highest leading; then what can be done at all; last ratios of which none is proven."""


def list_groups(
    session: ReadSession,
    *,
    kind: str | None,
    status: str | None,
    service: str | None,
    host: str | None,
    tagged: Tagged | None = None,
    after: int,
    limit: int,
) -> list[GroupRow]:
    """Groups from place `after`, by proven gain, then by what is at stake; without a status all but what is gone.

    Advice to hosts whose server is away is left out.
    `service` takes in advice to hosts that run it; with `host` only that host's part of a group is listed.
    """
    statement = text(
        _GROUPS + " WHERE (CAST(:kind AS text) IS NULL OR a.kind = :kind)"
        " AND CASE WHEN CAST(:status AS text) IS NULL THEN a.status <> 'gone' ELSE a.status = :status END"
        " AND (a.host_id IS NULL OR h.id IS NOT NULL)"
        " AND (CAST(:host AS text) IS NULL OR h.public_id = :host)"
        " AND (CAST(:service AS text) IS NULL OR v.ids ? CAST(:service AS text))"
        f"{'' if tagged is None else _TAGGED}{_GROUP_BY}{_ORDER} OFFSET :after LIMIT :limit"
    )
    values: dict[str, Any] = {"kind": kind, "status": status, "service": service, "host": host}
    values |= {"after": after, "limit": limit}
    values |= {} if tagged is None else {"hosts": list(tagged.hosts), "services": list(tagged.services)}
    return [_group(dict(row)) for row in session.execute(statement, values).mappings()]


def find_group(session: ReadSession, public_id: str) -> GroupRow | None:
    """The group that a piece of advice belongs to."""
    statement = text(
        f"{_GROUPS} WHERE (a.kind, a.key, a.status, coalesce(a.body->>'group', a.public_id)) ="  # noqa: S608 - our own
        " (SELECT b.kind, b.key, b.status, coalesce(b.body->>'group', b.public_id) FROM advice b"
        f" WHERE b.public_id = :id){_GROUP_BY}"
    )
    row = session.execute(statement, {"id": public_id}).mappings().one_or_none()
    return None if row is None else _group(dict(row))


def read_body(session: ReadSession, public_id: str) -> dict[str, Any]:
    """The body of one piece of advice; empty where there is none."""
    statement = text("SELECT body FROM advice WHERE public_id = :id")
    return session.execute(statement, {"id": public_id}).scalar_one_or_none() or {}


def read_stored(session: ReadSession, subject: Subject) -> dict[str, StoredAdvice]:
    """All advice to one subject by key, what is gone too."""
    statement = text(
        f"SELECT key, public_id, status, body, expires_at FROM advice WHERE {subject.column} = :id"  # noqa: S608
    )
    rows = session.execute(statement, {"id": subject.id})
    return {row.key: StoredAdvice(row.public_id, row.status, row.body, row.expires_at) for row in rows}


def write_advice(transaction: WriteTransaction, subject: Subject, new: NewAdvice, *, now: datetime) -> None:
    """Store a piece of advice, or refresh the one with its key. What reopens counts as made now, undecided."""
    fresh = "(:reopen OR advice.status = 'gone')"
    kept = ("decided_at", "decided_by", "note")
    statement = text(
        f"INSERT INTO advice (public_id, kind, key, {subject.column}, title, stake_bytes, body, status, created_at,"  # noqa: S608
        " refreshed_at, expires_at) VALUES (:id, :kind, :key, :subject, :title, :stake, CAST(:body AS jsonb), 'open',"
        " :now, :now, :expires)"
        " ON CONFLICT (host_id, service_id, key) DO UPDATE SET kind = excluded.kind, title = excluded.title,"
        " stake_bytes = excluded.stake_bytes, body = excluded.body, refreshed_at = excluded.refreshed_at,"
        " expires_at = excluded.expires_at,"
        f" status = CASE WHEN {fresh} THEN 'open' ELSE advice.status END,"
        f" created_at = CASE WHEN {fresh} THEN excluded.created_at ELSE advice.created_at END,"
        + ",".join(f" {name} = CASE WHEN {fresh} THEN NULL ELSE advice.{name} END" for name in kept)
    )
    values = {
        "id": new.public_id,
        "kind": new.kind,
        "key": new.key,
        "subject": subject.id,
        "title": new.title,
        "stake": new.stake_bytes,
        "body": json.dumps(new.body),
        "expires": new.expires_at,
        "reopen": new.reopen,
        "now": now,
    }
    transaction.execute(statement, values)


def end_advice(transaction: WriteTransaction, subject: Subject, keys: Sequence[str]) -> None:
    """Mark advice as gone: it no longer holds."""
    statement = text(
        f"UPDATE advice SET status = 'gone' WHERE {subject.column} = :id AND key = ANY(:keys)"  # noqa: S608
        " AND status <> 'gone'"
    )
    transaction.execute(statement, {"id": subject.id, "keys": list(keys)})


def end_expired(transaction: WriteTransaction, now: datetime) -> int:
    """Mark what nobody could refresh in time as gone; how much that was."""
    statement = text("UPDATE advice SET status = 'gone' WHERE expires_at <= :now AND status <> 'gone'")
    return transaction.execute(statement, {"now": now}).rowcount


def decide_advice(
    transaction: WriteTransaction,
    public_ids: Sequence[str],
    decision: Decision,
    *,
    actor: str,
    note: str,
    now: datetime,
) -> None:
    """Record a decision, and what it was about. `open` takes an earlier one back."""
    statement = text(
        "UPDATE advice SET status = :decision, decided_at = :at, decided_by = :actor, note = :note,"
        " body = CASE WHEN CAST(:at AS timestamptz) IS NULL THEN body - 'decided_says'"
        "  ELSE jsonb_set(body, '{decided_says}', coalesce(body->'says', 'null')) END"
        " WHERE public_id = ANY(:ids) AND status <> 'gone'"
    )
    is_open = decision == "open"
    values = {
        "decision": decision,
        "at": None if is_open else now,
        "actor": None if is_open else actor,
        "note": None if is_open else note,
        "ids": list(public_ids),
    }
    transaction.execute(statement, values)


def lock_refresh(transaction: WriteTransaction) -> bool:
    """Whether this transaction may refresh: one at a time, until it ends."""
    statement = text("SELECT pg_try_advisory_xact_lock(hashtextextended('advice.refresh', 7))")
    return bool(transaction.execute(statement).scalar_one())


@dataclass(frozen=True, slots=True)
class Round:
    """How far the present round over all subjects has come: they are judged in the order of their numbers.

    `ended_at`: when nothing was left of it.
    """

    began_at: datetime
    after_service: int = 0
    after_host: int = 0
    ended_at: datetime | None = None


def read_round(session: ReadSession) -> Round | None:
    """The present round; None before the first."""
    value = find_fact(session, _ROUND)
    if value is None:
        return None
    began_at, service, host, ended_at = value.split(" ")
    end = None if ended_at == "-" else datetime.fromisoformat(ended_at)
    return Round(datetime.fromisoformat(began_at), int(service), int(host), end)


def write_round(transaction: WriteTransaction, now: Round) -> None:
    """Keep how far it has come."""
    ended_at = "-" if now.ended_at is None else now.ended_at.isoformat()
    value = f"{now.began_at.isoformat()} {now.after_service} {now.after_host} {ended_at}"
    store_fact(transaction, _ROUND, value)


def is_priced_since(session: ReadSession, since: datetime) -> bool:
    """Whether a price was confirmed since: what ratios save is another amount."""
    statement = text("SELECT EXISTS (SELECT FROM prices WHERE confirmed_at > :since)")
    return bool(session.execute(statement, {"since": since}).scalar_one())


def services_to_judge(session: ReadSession, *, since: datetime) -> list[tuple[int, str]]:
    """Numbers and ids of services with page samples, in order."""
    statement = text(
        "SELECT s.id, s.public_id FROM services s"
        " WHERE EXISTS (SELECT FROM traces t WHERE t.service_id = s.id AND t.ts > :since) ORDER BY s.id"
    )
    return [(int(row.id), str(row.public_id)) for row in session.execute(statement, {"since": since})]


def hosts_to_judge(session: ReadSession, *, since: datetime) -> list[int]:
    """Numbers of hosts that reported since and have a slower tier or advice, in order."""
    statement = text(
        "SELECT h.id FROM hosts h LEFT JOIN LATERAL (SELECT body FROM inventory i WHERE i.host_id = h.id"
        "  ORDER BY at DESC LIMIT 1) i ON true"
        " WHERE h.revoked_at IS NULL AND h.retired_at IS NULL AND h.last_seen_at > :since"
        "  AND (jsonb_path_exists(i.body, CAST(:slow AS jsonpath))"
        "   OR EXISTS (SELECT FROM advice a WHERE a.host_id = h.id AND a.status <> 'gone')) ORDER BY h.id"
    )
    return [int(found) for found in session.execute(statement, {"since": since, "slow": _SLOW_NODE}).scalars()]


def enrolled_since(session: ReadSession, host_ids: Sequence[int], since: datetime) -> set[int]:
    """Those of the hosts that enrolled since."""
    statement = text("SELECT id FROM hosts WHERE id = ANY(:ids) AND enrolled_at > :since")
    return {int(found) for found in session.execute(statement, {"ids": list(host_ids), "since": since}).scalars()}


def services_of_host(session: ReadSession, host_id: int) -> list[str]:
    """Ids of the services found on a host."""
    statement = text(
        "SELECT s.public_id FROM host_services x JOIN services s ON s.id = x.service_id WHERE x.host_id = :host"
        " ORDER BY s.id"
    )
    return [str(found) for found in session.execute(statement, {"host": host_id}).scalars()]


def _group(fields: dict[str, Any]) -> GroupRow:
    for name in ("advice_ids", "host_ids", "host_names"):
        fields[name] = tuple(fields[name])
    for name in ("service_ids", "service_names"):
        fields[name] = tuple(fields[name][0]) if fields[name] else ()
    return GroupRow(**fields)

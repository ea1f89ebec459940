"""Hosts as stored: the list, inventories, services on them, findings, reports of their agents."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import ColumnElement, Select, TextClause, column, func, select, text, tuple_

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_facts import HostSort, HostState
from tierscope.domain.ledger.words import VERDICT_SEVERITY, Confidence
from tierscope.storage.fleet.causes import CauseKind
from tierscope.storage.fleet.reporting import STATE, VERDICT, Limits
from tierscope.storage.tables import host_recent, host_services, hosts, services

_H, _R = hosts.alias("h"), host_recent.alias("r")
_COLUMNS = (
    _H.c.id,
    _H.c.public_id,
    _H.c.name,
    _H.c.origin,
    _H.c.labels,
    _H.c.enrolled_at,
    _H.c.last_seen_at,
    _H.c.last_end_at,
    _H.c.boot_id,
    _H.c.agent_version,
    _H.c.clock_skew_seconds,
    _H.c.layout_id,
    _H.c.retired_at,
    _H.c.held_seconds,
)


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host."""

    id: int
    public_id: str
    name: str
    origin: Origin
    labels: dict[str, str]
    enrolled_at: datetime
    last_seen_at: datetime | None
    last_end_at: datetime | None
    boot_id: str | None
    agent_version: str | None
    clock_skew_seconds: float | None
    layout_id: int | None
    retired_at: datetime | None
    held_seconds: int


CauseOf = tuple[CauseKind, str]
"""A verdict, or what else calls for someone: the kind of a cause and its key."""


@dataclass(frozen=True, slots=True)
class HostFilter:
    """Which hosts. `seen_after` and `seen_until` bound when the last sighting is out of date; `retired` None = both."""

    service: str | None = None
    origin: Origin | None = None
    labels: tuple[tuple[str, str], ...] = ()
    seen_after: datetime | None = None
    seen_until: datetime | None = None
    enrolled_since: datetime | None = None
    retired: bool | None = None
    without_recent: bool = False
    """Only hosts of which no worker has summed up the newest hour yet."""
    public_ids: tuple[str, ...] | None = None
    ids: tuple[int, ...] | None = None
    words: tuple[str, ...] = ()
    """Lower-case texts, each of which is part of the name, kernel, tiers or a label as `key=value`."""
    cause: CauseOf | None = None


@dataclass(frozen=True, slots=True)
class HostOrder:
    """Another order than by name: what nobody collected comes last, equals by name. `limits` say what is late."""

    by: HostSort
    descending: bool
    limits: Limits


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or noteworthy on a host, with its cause and what to do about it."""

    id: str
    severity: Severity
    cause: str
    fix: str
    confidence: Confidence
    since: datetime | None


@dataclass(frozen=True, slots=True)
class HostService:
    """A service seen on this host."""

    id: str
    namespace: str
    name: str
    rule: str
    processes: int
    heat_measured: bool
    heat_reason: str | None


@dataclass(frozen=True, slots=True)
class HostServiceRow(HostService):
    """A service on one of several hosts."""

    host_id: int


@dataclass(frozen=True, slots=True)
class SelfReportRow:
    """The newest report of an agent on itself; None where its release does not say."""

    ts: datetime
    window_ns: int
    cpu_ns: int
    rss_bytes: int
    spool_bytes: int
    dropped_batches: int
    collectors: list[dict[str, Any]]
    budget_state: str | None
    budget_reason: str | None
    heat_rung: str | None
    guard_paused_intervals: int | None
    samples_taken: int | None
    samples_lost: int | None
    throttles: int | None


def list_hosts(
    session: ReadSession, *, wanted: HostFilter, after: tuple[str, int] | None, limit: int | None
) -> list[HostRow]:
    """Hosts by name, then id; `after` is (name, id) of the last one seen. Revoked hosts are left out."""
    statement: Select[Any] = select(*_COLUMNS).where(_H.c.revoked_at.is_(None), *_conditions(wanted))
    if after is not None:
        statement = statement.where(tuple_(_H.c.name, _H.c.id) > after)
    statement = statement.order_by(_H.c.name, _H.c.id)
    if limit is not None:
        statement = statement.limit(limit)
    return [HostRow(*row) for row in session.execute(statement)]


def sort_hosts(session: ReadSession, *, wanted: HostFilter, order: HostOrder, offset: int, limit: int) -> list[HostRow]:
    """Hosts in another order than by name, `offset` of them left out. Revoked hosts are left out."""
    direction = "DESC" if order.descending else "ASC"
    statement = _joined(select(*_COLUMNS), wanted, order.limits, findings=order.by in ("trouble", "findings"))
    statement = statement.order_by(text(f"{_ORDERS[order.by]} {direction} NULLS LAST"), _H.c.name, _H.c.id)
    rows = session.execute(statement.offset(offset).limit(limit), asdict(order.limits))
    return [HostRow(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class HostCounts:
    """Hosts by state. `hosts` is all of them, without those of database nodes that are away."""

    hosts: int
    reporting: int
    late: int
    silent: int
    retired: int


def count_hosts(session: ReadSession, wanted: HostFilter, limits: Limits) -> HostCounts:
    """How many hosts there are of those that are wanted. Revoked ones are left out."""
    counted: Any = select(text(f"{_STATE} AS state"), func.count())
    statement = _joined(counted, wanted, limits).group_by(text("1"))
    found = {row[0]: int(row[1]) for row in session.execute(statement, asdict(limits))}
    return HostCounts(sum(found.values()), *(found.get(name, 0) for name in get_args(HostState)))


def _joined(statement: Select[Any], wanted: HostFilter, limits: Limits, *, findings: bool = False) -> Select[Any]:
    source: Any = _H.outerjoin(_R, _R.c.host_id == _H.c.id)
    if findings:
        source = source.outerjoin(_WORST, text("f.host_id = h.id"))
    return statement.select_from(source).where(_H.c.revoked_at.is_(None), *_conditions(wanted), *_texts(wanted, limits))


_STATE = f"CASE WHEN h.retired_at IS NOT NULL THEN 'retired' ELSE ({STATE}) END"
_TEXT = (
    "lower(concat_ws(' ', h.name, r.kernel, array_to_string(r.tier_classes, ' '),"
    " (SELECT string_agg(key || '=' || value, ' ') FROM jsonb_each_text(h.labels))))"
)
_RANKS = {"critical": 3, "warning": 2, "info": 1}
_WORST = (
    text(
        "SELECT host_id, max(CASE severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 ELSE 1 END) AS worst"
        " FROM findings WHERE until IS NULL GROUP BY host_id"
    )
    .columns(column("host_id"), column("worst"))
    .subquery("f")
)


def _rank_of_verdict() -> str:
    graves = " ".join(f"WHEN '{word}' THEN {_RANKS[severity]}" for word, severity in VERDICT_SEVERITY.items())
    return f"(CASE {VERDICT} {graves} WHEN 'following_phases' THEN 1 WHEN 'not_known' THEN 0.5 ELSE 0 END)"


_TROUBLE = (
    f"(CASE WHEN h.origin = 'import' THEN 0 ELSE CASE {_STATE} WHEN 'silent' THEN 3 WHEN 'late' THEN 2 ELSE 0 END END)",
    _rank_of_verdict(),
    "(CASE WHEN r.tiering_off THEN 2 ELSE 0 END)",
    "(CASE WHEN f.worst >= 2 THEN f.worst ELSE 0 END)",
)


def _rate(name: str, *, scale: str = "1") -> str:
    told = f"r.ended_at > :since AND r.{name}_seconds > 0"
    return f"(CASE WHEN {told} THEN r.{name}_total / r.{name}_seconds * {scale} END)"


_ORDERS: dict[HostSort, str] = {
    "name": "h.name",
    "state": _STATE,
    "seen": "h.last_seen_at",
    "memory": "r.memory_bytes",
    "promoted": _rate("promoted"),
    "demoted": _rate("demoted"),
    "psi": _rate("psi"),
    # The worst part decides; among equals, how much there is of it.
    "trouble": f"(greatest({', '.join(_TROUBLE)}) * 100 + {' + '.join(_TROUBLE)})",
    "findings": "coalesce(f.worst, 0)",
    "kernel": "r.kernel",
}


def _texts(wanted: HostFilter, limits: Limits) -> list[TextClause]:
    """Conditions on what a host's row of its newest hour says."""
    found = [
        text(f"strpos({_TEXT}, :word_{place}) > 0").bindparams(**{f"word_{place}": word})
        for place, word in enumerate(wanted.words)
    ]
    if wanted.cause is not None:
        kind, key = wanted.cause
        condition = {
            "state": f"h.origin <> 'import' AND {_STATE} = :cause",
            "verdict": f"{VERDICT} = :cause",
            "setting": "r.tiering_off AND :cause = 'tiering_off'",
            "finding": "h.id IN (SELECT host_id FROM findings WHERE until IS NULL AND severity <> 'info'"
            " AND finding_id = :cause)",
        }[kind]
        found.append(text(condition).bindparams(cause=key))
    moments = asdict(limits)
    return [one.bindparams(**{name: moments[name] for name in moments if f":{name}" in one.text}) for one in found]


@dataclass(frozen=True, slots=True)
class LabelledHost:
    """A host with what its inventory need not say."""

    id: int
    name: str
    labels: dict[str, str]
    agent_version: str | None


def list_labelled(session: ReadSession) -> list[LabelledHost]:
    """All hosts by name, then id. Retired and revoked ones are left out."""
    rows = session.ask(
        "SELECT id, name, labels, agent_version FROM hosts WHERE retired_at IS NULL AND revoked_at IS NULL"
        " ORDER BY name, id"
    )
    return [LabelledHost(*row) for row in rows]


def _conditions(wanted: HostFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.origin is not None:
        found.append(_H.c.origin == wanted.origin)
    if wanted.service is not None:
        inner = select(host_services.c.host_id).join(services, services.c.id == host_services.c.service_id)
        found.append(_H.c.id.in_(inner.where(services.c.public_id == wanted.service)))
    found += [_H.c.labels[key].astext == value for key, value in wanted.labels]
    due = _H.c.last_seen_at + func.make_interval(0, 0, 0, 0, 0, 0, _H.c.held_seconds)
    if wanted.seen_after is not None:
        found.append(due > wanted.seen_after)
    if wanted.seen_until is not None:
        found.append((due <= wanted.seen_until) | due.is_(None))
    if wanted.enrolled_since is not None:
        found.append(_H.c.enrolled_at >= wanted.enrolled_since)
    if wanted.without_recent:
        found.append(_H.c.id.not_in(select(host_recent.c.host_id)))
    if wanted.ids is not None:
        found.append(_H.c.id == func.any(list(wanted.ids)))
    if wanted.public_ids is not None:
        found.append(_H.c.public_id.in_(wanted.public_ids))
    if wanted.retired is not None:
        found.append(_H.c.retired_at.is_not(None) if wanted.retired else _H.c.retired_at.is_(None))
    return found


def find_host(session: ReadSession, public_id: str) -> HostRow | None:
    """One host by its public id."""
    statement = select(*_COLUMNS).where(_H.c.public_id == public_id, _H.c.revoked_at.is_(None))
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else HostRow(**row)


def read_inventories(session: ReadSession, host_ids: Sequence[int]) -> dict[int, tuple[datetime, dict[str, Any]]]:
    """The newest inventory of each host, without the services that are listed in it."""
    statement = text(
        "SELECT DISTINCT ON (host_id) host_id, at, body - 'services' AS body FROM inventory"
        " WHERE host_id = ANY(:hosts) ORDER BY host_id, at DESC"
    )
    return {row.host_id: (row.at, row.body) for row in session.execute(statement, {"hosts": list(host_ids)})}


def read_inventories_since(
    session: ReadSession, host_ids: Sequence[int], start: datetime
) -> list[tuple[int, datetime, dict[str, Any]]]:
    """Host, time and body of inventories from a time on, and the newest before, without services; oldest first."""
    statement = text(
        "SELECT host_id, at, body - 'services' AS body FROM inventory i WHERE host_id = ANY(:hosts) AND at >= coalesce("
        "(SELECT max(at) FROM inventory b WHERE b.host_id = i.host_id AND b.at <= :start), :start)"
        " ORDER BY host_id, at"
    )
    rows = session.execute(statement, {"hosts": list(host_ids), "start": start})
    return [(row.host_id, row.at, row.body) for row in rows]


def read_rdma_devices(
    session: ReadSession, host_ids: Sequence[int], at: Sequence[datetime]
) -> list[dict[int, frozenset[str]]]:
    """RDMA devices of hosts, and `smc` where the kernel has SMC-R, at each of the times, by their newest inventory.

    Hosts without an inventory until then, or whose inventory does not say, are missing.
    """
    statement = text(
        "SELECT DISTINCT ON (host_id) host_id, body->'rdma_devices' AS devices, body->>'kernel_release' AS kernel"
        " FROM inventory WHERE host_id = ANY(:hosts) AND at <= :at ORDER BY host_id, at DESC"
    )
    found = []
    for moment in at:
        rows = session.execute(statement, {"hosts": list(host_ids), "at": moment})
        # An inventory without a kernel is of a recording or of an exporter: nobody looked at its devices.
        found.append({row.host_id: frozenset(row.devices) for row in rows if row.kernel and row.devices is not None})
    return found


def read_host_services(session: ReadSession, host_ids: Sequence[int]) -> dict[int, list[HostServiceRow]]:
    """Services of each host, by namespace and name."""
    statement = text(
        "SELECT s.public_id, s.namespace, s.name, h.rule, h.processes, h.heat_measured, h.heat_reason, h.host_id"
        " FROM host_services h JOIN services s ON s.id = h.service_id WHERE h.host_id = ANY(:hosts)"
        " ORDER BY h.host_id, s.namespace, s.name, s.id"
    )
    found: dict[int, list[HostServiceRow]] = {}
    for row in session.execute(statement, {"hosts": list(host_ids)}):
        found.setdefault(row[-1], []).append(HostServiceRow(*row))
    return found


def read_findings(session: ReadSession, host_ids: Sequence[int]) -> dict[int, list[Finding]]:
    """Findings that hold now, the most severe first."""
    statement = text(
        "SELECT finding_id, severity, cause, fix, confidence, since, host_id FROM findings"
        " WHERE host_id = ANY(:hosts) AND until IS NULL"
        " ORDER BY host_id, array_position(ARRAY['critical', 'warning', 'info'], severity), finding_id"
    )
    found: dict[int, list[Finding]] = {}
    for row in session.execute(statement, {"hosts": list(host_ids)}):
        found.setdefault(row[-1], []).append(Finding(*row[:-1]))
    return found


def newest_self_report(session: ReadSession, host_id: int, *, since: datetime) -> SelfReportRow | None:
    """The newest report of the host's agent after `since`."""
    statement = text(
        "SELECT ts, window_ns, cpu_ns, rss_bytes, spool_bytes, dropped_batches, collectors, budget_state,"
        " budget_reason, heat_rung, guard_paused_intervals, samples_taken, samples_lost, throttles FROM self_reports"
        " WHERE host_id = :host AND ts > :since ORDER BY ts DESC LIMIT 1"
    )
    row = session.execute(statement, {"host": host_id, "since": since}).mappings().one_or_none()
    return None if row is None else SelfReportRow(**row)

"""Views of schema `tierscope_v1` for tools that speak SQL: the tables' layouts may change, these columns do not.

A later release may add views and columns; a change of meaning is a schema `tierscope_v2`. A revision that adds columns
makes their view again (`storage/base/ddl.py: make_view`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tierscope.domain.heat.classes import CLASSES
from tierscope.domain.heat.rows import BACKENDS
from tierscope.storage.tables.time import CAPACITY_BYTES, TIER_MOVE_COLUMNS

SCHEMA = "tierscope_v1"


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column: its name, its type in PostgreSQL, and the expression that it is."""

    name: str
    type: str
    expression: str


@dataclass(frozen=True, slots=True)
class View:
    """A view: its columns, and what follows FROM."""

    name: str
    help: str
    columns: tuple[ViewColumn, ...]
    source: str


def _columns(table: str, kind: str, *names: str) -> Iterator[ViewColumn]:
    """Columns under their own names."""
    return (ViewColumn(name, kind, f'{table}."{name}"') for name in names)


def _host() -> Iterator[ViewColumn]:
    yield ViewColumn("host_id", "text", "h.public_id")
    yield ViewColumn("host", "text", "h.name")
    yield ViewColumn("origin", "text", "h.origin")


def _service() -> Iterator[ViewColumn]:
    yield ViewColumn("service_id", "text", "s.public_id")
    yield from _columns("s", "text", "namespace")
    yield ViewColumn("service", "text", "s.name")
    yield ViewColumn("origin", "text", "s.origin")


def _service_heat(bucket: str, table: str) -> View:
    methods = " ".join(f"WHEN {place} THEN '{name}'" for place, name in enumerate(BACKENDS) if name)
    columns = (
        *_service(),
        ViewColumn(f"{bucket}_start", "timestamptz", "r.ts"),
        ViewColumn("method", "text", f"CASE r.backend {methods} END"),
        ViewColumn("interval_seconds", "double precision", "r.interval_ns / 1e9"),
        *_columns("r", "integer", "n_hosts"),
        *(
            ViewColumn(f"{name}_bytes", "double precision", f"r.class_bytes[{place}]")
            for place, name in enumerate(CLASSES, 1)
        ),
    )
    words = f"Memory of a service by class in each {bucket} and by each method: the mean over its hosts, added up."
    return View(table, words, columns, f"{table} r JOIN services s ON s.id = r.service_id")


VIEWS = (
    View(
        "hosts",
        "Hosts that are or were enrolled.",
        (
            *_host(),
            *_columns("h", "jsonb", "labels"),
            *_columns("h", "text", "agent_version"),
            *_columns("h", "timestamptz", "enrolled_at", "last_seen_at", "last_end_at", "retired_at"),
        ),
        "hosts h",
    ),
    View(
        "services",
        "Services that hosts told of.",
        (*_service(), *_columns("s", "timestamptz", "first_seen_at", "last_seen_at")),
        "services s",
    ),
    View(
        "service_hosts",
        "Which services run on which hosts, and why heat of one is not measured.",
        (
            *_service(),
            ViewColumn("host_id", "text", "h.public_id"),
            ViewColumn("host", "text", "h.name"),
            *_columns("p", "boolean", "heat_measured"),
            *_columns("p", "text", "heat_reason"),
            *_columns("p", "timestamptz", "last_seen_at"),
        ),
        "host_services p JOIN services s ON s.id = p.service_id JOIN hosts h ON h.id = p.host_id",
    ),
    View(
        "host_tier_moves",
        "The ledger of whole hosts: differences over each interval, states at its end; null where nothing counts it.",
        (
            *_host(),
            ViewColumn("interval_end", "timestamptz", "m.ts"),
            ViewColumn("interval_seconds", "double precision", "m.dt_seconds"),
            *_columns("m", "bigint", *TIER_MOVE_COLUMNS),
        ),
        "tier_moves m JOIN hosts h ON h.id = m.host_id WHERE m.service_id = 0",
    ),
    _service_heat("hour", "service_heat_1h"),
    _service_heat("day", "service_heat_1d"),
    View(
        "capacity_days",
        "Memory of services and host groups by day; null where it was not collected.",
        (
            ViewColumn("subject_kind", "text", "c.kind"),
            *_columns("c", "text", "subject"),
            ViewColumn("day_start", "timestamptz", "c.ts"),
            *_columns("c", "integer", "n_hosts", "n_hours", "heat_hosts"),
            *_columns("c", "text", "heat_method", "resident_source"),
            *_columns("c", "double precision", *CAPACITY_BYTES, "busy_cores"),
        ),
        "capacity_days c WHERE c.kind <> 'made'",
    ),
    View(
        "alerts",
        "Episodes of rules, from when a condition begins to hold until it is resolved.",
        (
            ViewColumn("alert_id", "text", "a.public_id"),
            ViewColumn("rule", "text", "a.rule_name"),
            *_columns("a", "text", "severity", "state", "subject_kind", "subject_id", "subject_name", "origin"),
            *_columns("a", "jsonb", "labels"),
            *_columns("a", "double precision", "value", "threshold"),
            *_columns("a", "text", "unit", "summary"),
            *_columns("a", "timestamptz", "started_at", "fired_at", "resolved_at", "last_seen_at"),
        ),
        "alerts a",
    ),
)

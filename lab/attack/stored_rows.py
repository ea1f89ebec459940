"""Rows that no release can read, put into the database by SQL: API and worker go on with all others."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import TextClause, text

from attack.assault import Assault
from attack.worker_tasks import wake
from factories.waiting import until
from tierscope.storage.tables import metadata

_READS = (
    "/v1/rules",
    "/v1/rules/export",
    "/v1/rules/export?format=prometheus",
    "/v1/silences",
    "/v1/alert-routes",
    "/v1/alerts",
    "/v1/scenarios",
    "/v1/tco/compare?scenario=attack&scenario=attack",
    "/v1/scenarios/attack",
    "/v1/reports",
    "/v1/sweeps",
    "/v1/sweeps/attack",
    "/v1/sweeps/attack/results",
    "/v1/silences/attack",
    "/v1/rules/attack",
    "/v1/experiments",
    "/v1/status",
    "/v1/fleet",
    "/metrics",
)
_TASKS = ("alerts.evaluate", "notifications.deliver", "sweeps.run", "reports.deliver")
_BODIES: tuple[object, ...] = ({}, [], "x", {"name": 1, "expression": [], "scope": "?"}, {"\u202e": {"x": [None]}}, 7)
_JSON_COLUMN = {"alert_rules": "body", "silences": "matchers", "scenarios": "spec", "reports": "body", "sweeps": "spec"}

_ROUTING = text("UPDATE alert_routing SET version = version + 1, body = CAST(:body AS jsonb)")


def attack(assault: Assault) -> None:
    """Each kind of body in each table."""
    for body in assault.some(_BODIES, 1):
        with _unreadable(assault, body):
            for path in _READS:
                assault.ask("GET", path, headers=assault.arena.admin, what=f"{path} beside rows of {body!r}")
            for failure in wake(assault.arena, *_TASKS):
                assault.found(f"{failure} beside rows of {body!r}")
    if not assault.small:
        with _unreadable(assault, {}):
            rule_id = assault.arena.made.ids["rule_id"][0]
            before = _judged_to(assault, rule_id)
            until(
                lambda: _judged_to(assault, rule_id) not in (before, None),
                "the worker judges a readable rule beside one that is not",
                log=assault.arena.worker.log,
            )


def _judged_to(assault: Assault, rule_id: str) -> str | None:
    answer = assault.ask("GET", f"/v1/rules/{rule_id}", headers=assault.arena.admin, expect=(200,))
    found: str | None = None if answer is None else answer.json()["evaluated_to"]
    return found


@contextmanager
def _unreadable(assault: Assault, body: object) -> Iterator[None]:
    """A copy of a good row in each table, with another body; they are removed through the API, and then by SQL."""
    database = assault.arena.database
    document = json.dumps(body)
    with database.write() as transaction:
        routing = transaction.execute(text("SELECT body FROM alert_routing")).scalar()
        for table, column in _JSON_COLUMN.items():
            transaction.execute(_copy(table, column), {"body": document})
        transaction.execute(_ROUTING, {"body": document})
        transaction.execute(text("UPDATE reports SET due_at = now() - interval '1 hour' WHERE public_id = 'attack'"))
    try:
        yield
    finally:
        for path in ("/v1/rules/attack", "/v1/scenarios/attack", "/v1/reports/attack", "/v1/sweeps/attack"):
            assault.ask("DELETE", path, headers=assault.arena.admin, what=f"DELETE {path} with {body!r}")
        with database.write() as transaction:
            for table in _JSON_COLUMN:
                transaction.execute(text(f"DELETE FROM {table} WHERE public_id = 'attack'"))
            transaction.execute(_ROUTING, {"body": json.dumps(routing or {})})


def _copy(table: str, column: str) -> TextClause:
    """Copies one row with another id and name, and with another body."""
    changed = {"public_id": "'attack'", "name": "'attack'", column: "CAST(:body AS jsonb)"}
    names = [item.name for item in metadata.tables[table].columns if item.name != "id"]
    values = ", ".join(changed.get(name, name) for name in names)
    return text(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} LIMIT 1")

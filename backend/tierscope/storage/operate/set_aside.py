"""Stored rows that people made, as they are stored: which of them can be read is judged elsewhere, once for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.fleet.events import READABLE_FROM, READABLE_TO

Kind = Literal["alert rule", "silence", "alert routes", "scenario", "sweep", "report", "mark"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """One state of a row: another transaction (`written_by`) that writes it makes another state."""

    kind: Kind
    number: int
    written_by: str


@dataclass(frozen=True, slots=True)
class StoredBody:
    """A row as it is stored."""

    stamp: Stamp
    public_id: str
    name: str
    body: Any


# Of each kind: the table, what people call a row, its body, and which rows count.
_PLACES: dict[Kind, tuple[str, str, str, str, str]] = {
    "alert rule": ("alert_rules", "public_id", "name", "body", "true"),
    "silence": ("silences", "public_id", "comment", "matchers", "ends_at > :now"),
    "alert routes": ("alert_routing", "'routes'", "'routes'", "body", "true"),
    "scenario": ("scenarios", "public_id", "name", "spec", "true"),
    "sweep": ("sweeps", "public_id", "name", "spec", "true"),
    "report": ("reports", "public_id", "name", "body", "true"),
    "mark": ("events", "CAST(id AS text)", "left(text, 80)", "'null'::jsonb", "at < :first OR at >= :last"),
}


def read_stamps(session: ReadSession, now: datetime) -> list[Stamp]:
    """The states of all rows that count now, without their bodies."""
    parts = [
        f"SELECT '{kind}' AS kind, CAST(id AS bigint) AS number, CAST(xmin AS text) AS written_by"  # noqa: S608 - own names
        f" FROM {table} WHERE {which}"
        for kind, (table, _, _, _, which) in _PLACES.items()
    ]
    values = {"now": now, "first": READABLE_FROM, "last": READABLE_TO}
    rows = session.execute(text(" UNION ALL ".join(parts)), values)
    return [Stamp(row.kind, row.number, row.written_by) for row in rows]


def read_stored(session: ReadSession, stamps: Sequence[Stamp]) -> list[StoredBody]:
    """The rows of these states with their bodies."""
    found = []
    for kind, (table, public_id, name, body, _) in _PLACES.items():
        numbers = {stamp.number: stamp for stamp in stamps if stamp.kind == kind}
        if numbers:
            statement = text(
                f"SELECT id, {public_id} AS public_id, {name} AS name, {body} AS body"  # noqa: S608 - own names
                f" FROM {table} WHERE id = ANY(:ids)"
            )
            rows = session.execute(statement, {"ids": list(numbers)})
            found += [StoredBody(numbers[row.id], row.public_id, row.name, row.body) for row in rows]
    return found

"""Silences, and acknowledgements of alerts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import insert, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.stored_documents import WRONG_SHAPE, describe_problem
from tierscope.domain.notifications.matchers import Matcher
from tierscope.domain.notifications.routing import matcher_documents, read_matchers
from tierscope.domain.notifications.silences import Silence
from tierscope.domain.notifications.stored_routing import unreadable_matchers
from tierscope.storage.tables import silences

_SELECT = "SELECT id, public_id, matchers, starts_at, ends_at, comment, created_by, created_at FROM silences"


@dataclass(frozen=True, slots=True)
class SilenceRow:
    """A silence as stored; `problem` says why it holds back nothing where it cannot be read."""

    number: int
    silence: Silence
    comment: str
    created_by: str
    created_at: datetime
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """An alert that is not resolved, with the labels that matchers see."""

    number: int
    id: str
    state: str
    labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Who looks after an alert."""

    at: datetime
    by: str
    note: str


def insert_silence(transaction: WriteTransaction, silence: Silence, *, comment: str, by: str, now: datetime) -> None:
    """Store a silence."""
    values = {
        "public_id": silence.id,
        "matchers": matcher_documents(silence.matchers),
        "starts_at": silence.starts_at,
        "ends_at": silence.ends_at,
        "comment": comment,
        "created_by": by,
        "created_at": now,
    }
    transaction.execute(insert(silences).values(values))


def list_silences(
    session: ReadSession,
    *,
    status: Literal["pending", "active", "expired"] | None,
    now: datetime,
    before: int | None,
    limit: int,
) -> list[SilenceRow]:
    """Silences, newest first; `before` is the number of the last one seen."""
    states = {
        "expired": "ends_at <= :now",
        "active": "starts_at <= :now AND ends_at > :now",
        "pending": "starts_at > :now AND ends_at > :now",
    }
    wanted = ["true"] if status is None else [states[status]]
    wanted += [] if before is None else ["id < :before"]
    statement = text(f"{_SELECT} WHERE {' AND '.join(wanted)} ORDER BY id DESC LIMIT :limit")
    values = {"now": now, "before": before, "limit": limit}
    bound = {name: value for name, value in values.items() if f":{name}" in str(statement)}
    return [_row(row) for row in session.execute(statement, bound)]


def find_silence(session: ReadSession, public_id: str) -> SilenceRow | None:
    """One silence."""
    rows = session.execute(text(f"{_SELECT} WHERE public_id = :id"), {"id": public_id})
    return next((_row(row) for row in rows), None)


def silences_in_force(session: ReadSession, now: datetime) -> list[Silence]:
    """Silences that are not over at `now`; those still to come too, those that cannot be read not."""
    rows = session.execute(text(f"{_SELECT} WHERE ends_at > :now ORDER BY id"), {"now": now})
    return [found.silence for found in map(_row, rows) if found.problem is None]


def end_silence(transaction: WriteTransaction, public_id: str, now: datetime) -> None:
    """End a silence that is not over."""
    statement = text(
        "UPDATE silences SET ends_at = :now, starts_at = least(starts_at, :now)"
        " WHERE public_id = :id AND ends_at > :now"
    )
    transaction.execute(statement, {"id": public_id, "now": now})


def open_alerts(session: ReadSession) -> list[OpenAlert]:
    """Alerts that are not resolved."""
    statement = text(
        "SELECT id, public_id, state, labels, rule_name, severity, subject_kind, subject_id, subject_name, origin"
        " FROM alerts WHERE resolved_at IS NULL ORDER BY id"
    )
    return [OpenAlert(row.id, row.public_id, row.state, alert_labels(row)) for row in session.execute(statement)]


def alert_labels(row: Any) -> dict[str, str]:  # noqa: ANN401 - a row of the driver
    """The labels of an alert that matchers, routes and receivers see: its own, and what it is about."""
    subject = (
        {}
        if row.subject_kind == "fleet"
        else {
            row.subject_kind: row.subject_name,
            f"{row.subject_kind}_id": row.subject_id,
        }
    )
    own = {str(name): str(value) for name, value in row.labels.items()}
    return {**own, **subject, "alertname": row.rule_name, "severity": row.severity, "origin": row.origin}


def find_alert(session: ReadSession, public_id: str) -> OpenAlert | None:
    """One alert, open or resolved."""
    statement = text(
        "SELECT id, public_id, state, labels, rule_name, severity, subject_kind, subject_id, subject_name, origin"
        " FROM alerts WHERE public_id = :id"
    )
    rows = session.execute(statement, {"id": public_id})
    return next((OpenAlert(row.id, row.public_id, row.state, alert_labels(row)) for row in rows), None)


def store_acknowledgement(transaction: WriteTransaction, alert: int, given: Acknowledgement) -> None:
    """Acknowledge an alert; a second acknowledgement takes the place of the first."""
    statement = text(
        "INSERT INTO alert_acknowledgements (alert_id, at, by, note) VALUES (:alert, :at, :by, :note)"
        " ON CONFLICT (alert_id) DO UPDATE SET at = excluded.at, by = excluded.by, note = excluded.note"
    )
    transaction.execute(statement, {"alert": alert, "at": given.at, "by": given.by, "note": given.note})


def take_acknowledgement(transaction: WriteTransaction, alert: int) -> bool:
    """Take an acknowledgement back; whether there was one."""
    statement = text("DELETE FROM alert_acknowledgements WHERE alert_id = :alert RETURNING alert_id")
    return transaction.execute(statement, {"alert": alert}).scalar_one_or_none() is not None


def acknowledgements_of(session: ReadSession, alert_ids: Sequence[str]) -> dict[str, Acknowledgement]:
    """Acknowledgements by public id of the alert."""
    statement = text(
        "SELECT a.public_id, k.at, k.by, k.note FROM alert_acknowledgements k JOIN alerts a ON a.id = k.alert_id"
        " WHERE a.public_id = ANY(:ids)"
    )
    rows = session.execute(statement, {"ids": list(alert_ids)})
    return {row.public_id: Acknowledgement(row.at, row.by, row.note) for row in rows}


def acknowledged_alerts(session: ReadSession) -> frozenset[str]:
    """Public ids of the open alerts that someone looks after."""
    statement = text(
        "SELECT a.public_id FROM alert_acknowledgements k JOIN alerts a ON a.id = k.alert_id"
        " WHERE a.resolved_at IS NULL"
    )
    return frozenset(session.execute(statement).scalars())


def _row(row: Any) -> SilenceRow:  # noqa: ANN401 - a row of the driver
    matchers, problem = read_stored_matchers(row.matchers)
    silence = Silence(row.public_id, matchers, row.starts_at, row.ends_at)
    return SilenceRow(row.id, silence, row.comment, row.created_by, row.created_at, problem)


def read_stored_matchers(documents: Any) -> tuple[tuple[Matcher, ...], str | None]:  # noqa: ANN401 - whatever is stored
    """The matchers of a stored silence, and why it cannot match: none can be read, or one has a bad expression."""
    try:
        matchers = read_matchers(documents, stored=True)
    except WRONG_SHAPE as error:
        return (), describe_problem(error)
    if not matchers:
        return (), "it has no matchers"
    unreadable = unreadable_matchers(matchers)
    return matchers, f"{', '.join(unreadable)} can match nothing" if unreadable else None

"""Alerts as the evaluator writes them: the row of the alert and the change, in one transaction."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, select, update

from tierscope.core.database import Database
from tierscope.storage.tables import alert_changes, alerts

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class SetClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now


def change_alert(
    database: Database,
    name: str,
    to_state: str,
    at: datetime,
    *,
    rule: str = "Ping-pong",
    severity: str = "warning",
    service: str = "cache",
    subject_id: str | None = None,
    labels: dict[str, str] | None = None,
    origin: str = "live",
    summary: str | None = None,
) -> None:
    """An alert of the public id `name` begins, changes or ends. Its fingerprint is the name up to the first dot.

    Its service need not exist; where it does, `subject_id` is its id.
    """
    open_states = {
        "state": to_state,
        "last_seen_at": at,
        "resolved_at": at if to_state in ("resolved", "ok") else None,
        "value": 12.5,
    }
    if to_state == "firing":
        open_states["fired_at"] = at
    said = summary or f"Pages of {service} go back and forth"
    with database.write() as transaction:
        found = transaction.execute(select(alerts.c.id, alerts.c.state).where(alerts.c.public_id == name)).one_or_none()
        if found is None:
            values = {
                "public_id": name,
                "rule_name": rule,
                "fingerprint": name.partition(".")[0],
                "severity": severity,
                "subject_kind": "service",
                "subject_id": subject_id or f"id-{service}",
                "subject_name": service,
                "origin": origin,
                "labels": labels or {},
                "unit": "pages_per_s",
                "threshold": 10.0,
                "summary": said,
                "description": "Too many.",
                "started_at": at,
                **open_states,
            }
            number = transaction.execute(insert(alerts).values(**values).returning(alerts.c.id)).scalar_one()
            before = "ok"
        else:
            number, before = found
            transaction.execute(update(alerts).where(alerts.c.id == number).values(**open_states))
        change = {
            "alert_id": number,
            "fingerprint": name.partition(".")[0],
            "at": at,
            "from_state": before,
            "to_state": to_state,
            "severity": severity,
            "labels": labels or {},
            "value": 12.5,
            "summary": said,
        }
        transaction.execute(insert(alert_changes).values(**change))

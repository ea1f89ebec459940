"""Owners' own measurements of the slowdown, as stored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import delete, insert, select

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import services, slowdown_points

Source = Literal["ab_test", "prediction"]


@dataclass(frozen=True, slots=True)
class SlowdownPointItem:
    """A measurement; ids are the public ones, shares and losses in 0..1."""

    id: str
    service_id: str
    source: Source
    share_on_slow: float
    loss: float
    loss_standard_error: float
    measured_at: datetime
    author: str
    note: str


_c = slowdown_points.c
_SELECT = select(
    _c.public_id.label("id"),
    services.c.public_id.label("service_id"),
    _c.source,
    _c.share_on_cxl.label("share_on_slow"),
    _c.loss,
    _c.loss_standard_error,
    _c.measured_at,
    _c.author,
    _c.note,
).join(services, services.c.id == _c.service_id)


def insert_point(transaction: WriteTransaction, service: int, point: SlowdownPointItem) -> None:
    """Store a measurement of the service with this internal id."""
    values = {
        "public_id": point.id,
        "service_id": service,
        "source": point.source,
        "share_on_cxl": point.share_on_slow,
        "loss": point.loss,
        "loss_standard_error": point.loss_standard_error,
        "measured_at": point.measured_at,
        "author": point.author,
        "note": point.note,
    }
    transaction.execute(insert(slowdown_points).values(values))


def list_points(session: ReadSession, service_id: int) -> list[SlowdownPointItem]:
    """Measurements of a service, newest first."""
    statement = _SELECT.where(_c.service_id == service_id).order_by(_c.measured_at.desc(), _c.id.desc())
    return [SlowdownPointItem(**row) for row in session.execute(statement).mappings()]


def count_points(session: ReadSession, service_id: int) -> int:
    """How many measurements a service has."""
    return len(session.execute(select(_c.id).where(_c.service_id == service_id)).all())


def take_point(transaction: WriteTransaction, public_id: str) -> SlowdownPointItem | None:
    """Delete a measurement and return what it said; None where there is none."""
    row = transaction.execute(_SELECT.where(_c.public_id == public_id)).mappings().one_or_none()
    if row is None:
        return None
    transaction.execute(delete(slowdown_points).where(_c.public_id == public_id))
    return SlowdownPointItem(**row)

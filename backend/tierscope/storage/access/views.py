"""Saved views: names for addresses of the dashboard."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, insert, or_, select, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import saved_views

_c = saved_views.c


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A saved view; `user_id` is the internal id, None where the view belongs to the installation."""

    id: int
    public_id: str
    user_id: int | None
    name: str
    address: str
    shared: bool
    created_at: datetime
    created_by: str


_SELECT = select(*(_c[name] for name in ViewRow.__dataclass_fields__))


def insert_view(transaction: WriteTransaction, row: ViewRow) -> None:
    """Stores a view; the database gives it its internal id."""
    values = {name: getattr(row, name) for name in ViewRow.__dataclass_fields__ if name != "id"}
    transaction.execute(insert(saved_views).values(values))


def find_view(session: ReadSession, public_id: str, *, user_id: int | None) -> ViewRow | None:
    """The view with this id, where it is the user's own or shared."""
    statement = _SELECT.where(_c.public_id == public_id, or_(_c.shared, _c.user_id == user_id))
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else ViewRow(**row)


def list_views(session: ReadSession, *, user_id: int | None, before: int | None, limit: int) -> list[ViewRow]:
    """The user's own views and all shared ones, newest first; `before` is the internal id of the last one seen."""
    statement = _SELECT.where(or_(_c.shared, _c.user_id == user_id)).order_by(_c.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(_c.id < before)
    return [ViewRow(**row) for row in session.execute(statement).mappings()]


def count_views(session: ReadSession, *, user_id: int | None) -> int:
    """How many views belong to a user; None counts those of the installation."""
    owned = _c.user_id.is_(None) if user_id is None else _c.user_id == user_id
    return int(session.execute(select(func.count()).select_from(saved_views).where(owned)).scalar_one())


def update_view(transaction: WriteTransaction, view_id: int, *, name: str, address: str, shared: bool) -> None:
    """Gives a view (internal id) another name, address and readers."""
    values = {"name": name, "address": address, "shared": shared}
    transaction.execute(update(saved_views).where(_c.id == view_id).values(values))


def delete_view(transaction: WriteTransaction, view_id: int) -> None:
    """Removes a view (internal id)."""
    transaction.execute(delete(saved_views).where(_c.id == view_id))

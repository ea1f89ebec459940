"""The price book, as stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import delete, func, insert, select, update

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import prices

_c = prices.c


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A price; `id` is the public one. It counts once it is confirmed, the newest confirmation first."""

    id: str
    item: str
    value: float
    low: float
    high: float
    currency: str
    source: str
    date: date
    created_at: datetime
    author: str
    confirmed_by: str | None
    confirmed_at: datetime | None


_SELECT = select(
    _c.public_id.label("id"),
    _c.item,
    _c.value,
    _c.low,
    _c.high,
    _c.currency,
    _c.source,
    _c.date,
    _c.created_at,
    _c.author,
    _c.confirmed_by,
    _c.confirmed_at,
)


def insert_price(transaction: WriteTransaction, row: PriceRow) -> None:
    """Store a price."""
    values = {name: getattr(row, name) for name in row.__dataclass_fields__ if name != "id"}
    transaction.execute(insert(prices).values(public_id=row.id, **values))


def list_prices(session: ReadSession) -> list[PriceRow]:
    """All prices: by item, the newest date first."""
    statement = _SELECT.order_by(_c.item, _c.date.desc(), _c.id.desc())
    return [PriceRow(**row) for row in session.execute(statement).mappings()]


def find_price(session: ReadSession, public_id: str) -> PriceRow | None:
    """One price by its public id."""
    row = session.execute(_SELECT.where(_c.public_id == public_id)).mappings().one_or_none()
    return None if row is None else PriceRow(**row)


def count_prices(session: ReadSession) -> int:
    """How many prices the book holds."""
    return int(session.execute(select(func.count()).select_from(prices)).scalar_one())


def confirm_price(transaction: WriteTransaction, public_id: str, *, by: str, at: datetime) -> None:
    """Note who stands for a price."""
    transaction.execute(update(prices).where(_c.public_id == public_id).values(confirmed_by=by, confirmed_at=at))


def take_price(transaction: WriteTransaction, public_id: str) -> PriceRow | None:
    """Delete a price and return what it said; None where there is none."""
    row = find_price(transaction, public_id)
    if row is not None:
        transaction.execute(delete(prices).where(_c.public_id == public_id))
    return row


def prices_in_force(session: ReadSession, currency: str) -> Mapping[str, PriceRow]:
    """For each item the price in a currency that was confirmed last."""
    statement = _SELECT.where(_c.currency == currency, _c.confirmed_at.is_not(None)).order_by(
        _c.item, _c.confirmed_at, _c.id
    )
    return {row["item"]: PriceRow(**row) for row in session.execute(statement).mappings()}

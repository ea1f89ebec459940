"""The price book: nothing counts until somebody stands for it, the newest confirmation counts, the trail keeps it."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import count

import pytest
from sqlalchemy import text

from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.usecases.tco.prices import PriceRequest, Prices

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
CONTRACT = PriceRequest("dram", 12.5, 11.0, 14.0, "USD", "contract 4711", date(2026, 10, 1), confirm=False)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def book(database_url: str) -> Iterator[Prices]:
    with closing(Database(database_url)) as opened:
        minutes = count(1)
        yield Prices(opened, clock=lambda: NOW + timedelta(minutes=next(minutes)))


def in_force(book: Prices, currency: str = "USD") -> dict[str, float]:
    return {item: view.value for item, view in book.in_force(currency).items()}


def test_presets_are_offered_and_count_only_once_confirmed(book: Prices) -> None:
    presets = [view for view in book.list() if view.item == "dram"]
    assert [view.value for view in presets] == [32.0, 11.0, 7.0]
    assert all(view.preset and not view.in_force and view.source and view.date for view in presets)
    assert in_force(book) == {}
    confirmed = book.confirm(presets[1].id, actor="ann")
    assert (confirmed.confirmed_by, confirmed.in_force, confirmed.preset) == ("ann", True, True)
    assert in_force(book) == {"dram": 11.0}
    book.delete(confirmed.id, actor="ann")
    assert in_force(book) == {}
    assert [view.value for view in book.list() if view.item == "dram"] == [32.0, 11.0, 7.0]


def test_the_newest_confirmation_of_a_currency_counts(book: Prices) -> None:
    first = book.create(replace(CONTRACT, confirm=True), actor="ann")
    euro = book.create(replace(CONTRACT, value=11.5, currency="EUR", confirm=True), actor="ann")
    book.confirm("preset-dram-2026-spot", actor="bob")
    assert (in_force(book), in_force(book, "EUR")) == ({"dram": 32.0}, {"dram": 11.5})
    book.confirm(first.id, actor="ann")
    assert in_force(book) == {"dram": 12.5}
    marked = {view.id for view in book.list() if view.in_force}
    assert marked == {first.id, euro.id}


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"low": 13.0}, "low <= value <= high"),
        ({"value": 0.0, "low": 0.0}, "DRAM is not free"),
        ({"value": float("nan")}, "low <= value"),
        ({"date": date(2026, 12, 1)}, "lies ahead"),
    ],
)
def test_prices_that_cannot_be_are_refused(book: Prices, changed: dict[str, object], cause: str) -> None:
    with pytest.raises(Unprocessable, match=cause):
        book.create(replace(CONTRACT, **changed), actor="ann")  # type: ignore[arg-type]


def test_a_request_sent_again_adds_once(book: Prices) -> None:
    first = book.create(CONTRACT, actor="ann", idempotency_key="k")
    assert book.create(CONTRACT, actor="ann", idempotency_key="k") == first
    with pytest.raises(Conflict, match="other content"):
        book.create(replace(CONTRACT, value=13.0), actor="ann", idempotency_key="k")
    assert [view.id for view in book.list() if not view.preset] == [first.id]


def test_changes_stand_in_the_audit_trail(book: Prices, database_url: str) -> None:
    made = book.create(CONTRACT, actor="ann")
    assert not made.in_force
    book.confirm(made.id, actor="bob")
    book.delete(made.id, actor="ann")
    with closing(Database(database_url)) as database, database.read() as session:
        statement = text("SELECT actor || ' ' || action FROM audit WHERE action LIKE 'price%' ORDER BY id")
        trail = list(session.execute(statement).scalars())
    assert trail == ["ann price.create", "bob price.confirm", "ann price.delete"]
    with pytest.raises(NotFound):
        book.delete(made.id, actor="ann")
    with pytest.raises(NotFound):
        book.confirm("preset-none", actor="ann")

"""The price book: prices with source and date. Those that somebody stands for count; presets are published ones."""

import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import ASKED, Described
from tierscope.domain.tco.published import PRESET_CURRENCY, PRESETS, PRICE_LABELS, PRICE_UNITS, Preset, PriceItem
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.tco import prices as stored
from tierscope.storage.tco.prices import PriceRow
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.repeated_requests import made_before, note_made

MAX_PRICES = 500
_MONEY = Field(ge=0, le=1e12, allow_inf_nan=False)
_PRESETS = {preset.id: preset for preset in PRESETS}


@dataclass(frozen=True, slots=True)
class Price:
    """A price with source and date. Scenarios that state none take the one in force, in their currency."""

    id: str
    item: PriceItem
    label: str
    value: float
    low: Annotated[float, Described("Low end of its range; equal to the value where it is certain.")]
    high: float
    currency: Annotated[str, Described("ISO 4217, such as USD.", r"^[A-Z]{3}$")]
    unit: Annotated[str, Described("`per GiB` of memory, `per GB` of a drive, `per device`, `per kWh`.")]
    source: str
    date: date
    grounding: Annotated[
        str, Described("L literature, A assumption, `owner` where people of this installation state it.")
    ]
    preset: Annotated[bool, Described("Published; it counts once somebody confirms it.")]
    confirmed_by: str | None
    confirmed_at: datetime | None
    in_force: Annotated[bool, Described("Whether scenarios take it.")]


@dataclass(frozen=True, slots=True)
class PriceRequest:
    """A price to add; ends left out = certain."""

    __pydantic_config__: ClassVar = ASKED

    item: PriceItem
    value: Annotated[float, _MONEY]
    low: Annotated[Annotated[float, _MONEY] | None, Field(default=None)]
    high: Annotated[Annotated[float, _MONEY] | None, Field(default=None)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217, such as USD.")]
    source: Annotated[
        str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", description="Such as a contract.")
    ]
    date: date
    confirm: Annotated[bool, Field(default=True, description="Whether you stand for it at once.")]


class Prices(ClockedUseCase):
    """The price book: list, add, confirm, remove."""

    def list(self) -> tuple[Price, ...]:
        """Prices of people, then the published ones, by item in the order of a bill."""
        with self._database.read() as session:
            rows = stored.list_prices(session)
        return _views(rows)

    def create(self, price: PriceRequest, *, actor: str, idempotency_key: str | None = None) -> Price:
        """Add a price; with `confirm` it counts at once. The same key with the same content adds it once.

        Raises:
            Unprocessable: a value is not acceptable.
            Conflict: the book is full, or the key was used for something else.
            NotFound: what the key made is gone.
        """
        now = self._clock()
        row = _row(price, author=actor, now=now)
        content = ["price", asdict(price)]
        with self._database.write() as transaction:
            before = made_before(transaction, actor=actor, key=idempotency_key, content=content)
            if before is not None:
                return _one(stored.list_prices(transaction), before)
            if stored.count_prices(transaction) >= MAX_PRICES:
                raise Conflict(f"the price book holds {MAX_PRICES} prices", next_step="Delete those that are outdated.")
            stored.insert_price(transaction, row)
            append_audit(transaction, AuditRow(now, actor, "price.create", row.id, _document(row)))
            note_made(transaction, actor=actor, key=idempotency_key, content=content, made=row.id)
            rows = stored.list_prices(transaction)
        return _one(rows, row.id)

    def confirm(self, price_id: str, *, actor: str) -> Price:
        """Stand for a price: from now on it is the one of its item and currency.

        Raises:
            NotFound: no such price.
        """
        now = self._clock()
        with self._database.write() as transaction:
            if stored.find_price(transaction, price_id) is None:
                stored.insert_price(transaction, _of_preset(_preset(price_id), actor, now))
            stored.confirm_price(transaction, price_id, by=actor, at=now)
            found = stored.find_price(transaction, price_id)
            append_audit(transaction, AuditRow(now, actor, "price.confirm", price_id, _document(found)))
            rows = stored.list_prices(transaction)
        return _one(rows, price_id)

    def delete(self, price_id: str, *, actor: str) -> None:
        """Remove a price; a published one is only no longer confirmed.

        Raises:
            NotFound: no such price.
        """
        with self._database.write() as transaction:
            gone = stored.take_price(transaction, price_id)
            if gone is None:
                raise _unknown(price_id)
            append_audit(transaction, AuditRow(self._clock(), actor, "price.delete", price_id, _document(gone)))

    def in_force(self, currency: str) -> Mapping[str, Price]:
        """The confirmed price of each item in a currency."""
        with self._database.read() as session:
            rows = stored.prices_in_force(session, currency)
        return {item: view_in_force(row) for item, row in rows.items()}


def view_in_force(row: "PriceRow") -> Price:
    """A confirmed price as answers show it."""
    return _view(row, in_force=True)


FOLLOWS_DRAM = "taken to cost what DRAM costs, because it is DRAM"


def follow_dram(dram: Price) -> Price:
    """The price of memory behind CXL where nobody has said one."""
    return replace(
        dram,
        item="cxl_media",
        label=PRICE_LABELS["cxl_media"],
        source=FOLLOWS_DRAM,
        grounding="A",
        preset=False,
        confirmed_by=None,
        confirmed_at=None,
        in_force=False,
    )


def preset_views(item: PriceItem) -> tuple[Price, ...]:
    """The published prices of an item, none of them confirmed."""
    return tuple(_preset_view(preset) for preset in PRESETS if preset.item == item)


def _views(rows: "list[PriceRow]") -> tuple[Price, ...]:
    newest: dict[tuple[str, str], PriceRow] = {}
    for row in sorted((row for row in rows if row.confirmed_at), key=lambda row: str(row.confirmed_at)):
        newest[row.item, row.currency] = row
    views = [_view(row, in_force=newest.get((row.item, row.currency)) is row) for row in rows]
    there = {view.id for view in views}
    views += [_preset_view(preset) for preset in PRESETS if preset.id not in there]
    order = list(PRICE_UNITS)
    return tuple(sorted(views, key=lambda view: (order.index(view.item), view.preset, -view.date.toordinal(), view.id)))


def _one(rows: "list[PriceRow]", price_id: str) -> Price:
    found = next((view for view in _views(rows) if view.id == price_id), None)
    if found is None:
        raise _unknown(price_id)
    return found


def _view(row: PriceRow, *, in_force: bool) -> Price:
    preset = _PRESETS.get(row.id)
    item: PriceItem = next(name for name in PRICE_UNITS if name == row.item)
    return copied(
        Price,
        row,
        item=item,
        label=preset.label if preset else PRICE_LABELS[item],
        unit=PRICE_UNITS[item],
        grounding=preset.grounding if preset else "owner",
        preset=preset is not None,
        in_force=in_force,
    )


def _preset_view(preset: Preset) -> Price:
    return copied(
        Price,
        preset,
        value=preset.price.value,
        low=preset.price.low,
        high=preset.price.high,
        currency=PRESET_CURRENCY,
        unit=PRICE_UNITS[preset.item],
        preset=True,
        confirmed_by=None,
        confirmed_at=None,
        in_force=False,
    )


def _row(price: PriceRequest, *, author: str, now: datetime) -> PriceRow:
    low = price.value if price.low is None else price.low
    high = price.value if price.high is None else price.high
    if not (math.isfinite(low) and math.isfinite(high) and 0.0 <= low <= price.value <= high):
        raise Unprocessable(f"a price has 0 <= low <= value <= high, not {low}, {price.value}, {high}")
    if price.item == "dram" and low <= 0.0:
        raise Unprocessable("DRAM is not free: its price and the low end of its range are above zero")
    if price.date > now.date():
        raise Unprocessable(f"the date {price.date} lies ahead: a price has the day that it held on")
    return copied(
        PriceRow,
        price,
        id="p" + secrets.token_hex(8),
        low=low,
        high=high,
        created_at=now,
        author=author,
        confirmed_by=author if price.confirm else None,
        confirmed_at=now if price.confirm else None,
    )


def _preset(price_id: str) -> Preset:
    preset = _PRESETS.get(price_id)
    if preset is None:
        raise _unknown(price_id)
    return preset


def _of_preset(preset: Preset, author: str, now: datetime) -> PriceRow:
    price = preset.price
    return copied(
        PriceRow,
        preset,
        value=price.value,
        low=price.low,
        high=price.high,
        currency=PRESET_CURRENCY,
        created_at=now,
        author=author,
        confirmed_by=None,
        confirmed_at=None,
    )


def _unknown(price_id: str) -> NotFound:
    return NotFound(f"there is no price {price_id[:80]!r}", next_step="List them with GET /v1/prices.")


def _document(row: PriceRow | None) -> dict[str, Any]:
    if row is None:
        return {}
    return {
        "item": row.item,
        "value": row.value,
        "low": row.low,
        "high": row.high,
        "currency": row.currency,
        "source": row.source,
        "date": row.date.isoformat(),
    }

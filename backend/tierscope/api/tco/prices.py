"""The price book."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.tco.prices import Price, PriceRequest, Prices

router = APIRouter(prefix="/v1/prices", tags=["tco"])

Book = Annotated[Prices, Depends(use(lambda held: held.prices))]
Writer = Annotated[Caller, Depends(requires("write:scenarios"))]


@router.get("", dependencies=[Depends(requires("read:fleet"))], summary="The price book")
@tabular("items", quick=True)
def list_prices(request: Request, book: Book) -> Answer[Page[Price]]:
    """All prices by item: those of this installation, then published presets. The book is small: one page."""
    return answer(request, Page[Price], Page(tuple(book.list()), None))


@router.post("", status_code=201, summary="Add a price")
def create_price(
    book: Book,
    body: PriceRequest,
    caller: Writer,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Price:
    """Add a price; the same Idempotency-Key with the same body adds it once.

    Confirmed, it replaces the one in force for its item and currency.
    """
    return book.create(body, actor=caller.name, idempotency_key=idempotency_key)


@router.post("/{price_id}/confirm", summary="Stand for a price")
def confirm_price(book: Book, price_id: str, caller: Writer) -> Price:
    """Confirm a price, published ones too: from now on it is the one in force for its item and currency."""
    return book.confirm(price_id, actor=caller.name)


@router.delete("/{price_id}", status_code=204, summary="Remove a price")
def delete_price(book: Book, price_id: str, caller: Writer) -> None:
    """Remove a price; a published one is only no longer confirmed."""
    book.delete(price_id, actor=caller.name)

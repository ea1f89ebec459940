"""Saved views: names that people give to addresses of the dashboard, for themselves or for everyone."""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import Conflict, Forbidden, NotFound, Unprocessable
from tierscope.domain.access.views import MAX_ADDRESS_LENGTH, problem_of_address
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import ASKED, Described
from tierscope.domain.base.pages import Page
from tierscope.storage.access import views as stored
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.access.views import ViewRow
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor

MAX_NAME_LENGTH = 100
MAX_VIEWS = 100
"""Of one person; and of the installation."""


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """What a view is from now on."""

    __pydantic_config__: ClassVar = ASKED

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
    address: Annotated[
        str,
        Field(min_length=1, max_length=MAX_ADDRESS_LENGTH, description="Path and query of a page of the dashboard."),
    ]
    shared: Annotated[bool, Field(default=False, description="Whether everyone who may read the fleet sees it.")]


@dataclass(frozen=True, slots=True)
class SavedView:
    """A name for an address of the dashboard."""

    id: str
    name: str
    address: Annotated[str, Described("Path and query of a page of the dashboard.")]
    shared: bool
    created_at: datetime
    created_by: str
    changeable: Annotated[bool, Described("Whether the caller may change and delete it.")]


class SavedViews(ClockedUseCase):
    """Views of people, and those of the installation: what is saved without an account is shared."""

    def list(self, *, caller: Caller, limit: int, cursor: str | None) -> Page[SavedView]:
        """The caller's own views and all shared ones, newest first.

        Raises:
            BadRequest: the cursor is none of ours.
        """
        before = None if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._database.read() as session:
            rows = stored.list_views(session, user_id=caller.user_id, before=before, limit=limit + 1)
        more = encode_cursor(rows[limit - 1].id) if len(rows) > limit else None
        return Page(tuple(_view(row, caller) for row in rows[:limit]), more)

    def create(self, request: ViewRequest, *, caller: Caller) -> SavedView:
        """Saves a view.

        Raises:
            Unprocessable: name or address is not acceptable, or a view without an account is not to be shared.
            Conflict: the caller has too many.
        """
        name = _check(request, caller.user_id)
        public_id = "v" + secrets.token_hex(8)
        now = self._clock()
        row = ViewRow(0, public_id, caller.user_id, name, request.address, request.shared, now, caller.name)
        with self._database.write() as transaction:
            if stored.count_views(transaction, user_id=caller.user_id) >= MAX_VIEWS:
                raise Conflict(f"there are {MAX_VIEWS} saved views", next_step="Delete those that are outdated.")
            stored.insert_view(transaction, row)
            self._audit(transaction, caller, "view.create", row)
        return _view(row, caller)

    def change(self, public_id: str, request: ViewRequest, *, caller: Caller) -> SavedView:
        """Gives a view another name, address or readers.

        Raises:
            NotFound: the caller sees no such view.
            Forbidden: it belongs to somebody else.
            Unprocessable: name or address is not acceptable, or a view without an account is not to be shared.
        """
        with self._database.write() as transaction:
            row = _require(transaction, public_id, caller)
            name = _check(request, row.user_id)
            row = replace(row, name=name, address=request.address, shared=request.shared)
            stored.update_view(transaction, row.id, name=name, address=row.address, shared=row.shared)
            self._audit(transaction, caller, "view.change", row)
        return _view(row, caller)

    def delete(self, public_id: str, *, caller: Caller) -> None:
        """Removes a view; the audit trail keeps what it was.

        Raises:
            NotFound: the caller sees no such view.
            Forbidden: it belongs to somebody else.
        """
        with self._database.write() as transaction:
            row = _require(transaction, public_id, caller)
            stored.delete_view(transaction, row.id)
            self._audit(transaction, caller, "view.delete", row)

    def _audit(self, transaction: WriteTransaction, caller: Caller, action: str, row: ViewRow) -> None:
        detail = {"name": row.name, "address": row.address, "shared": row.shared}
        append_audit(transaction, AuditRow(self._clock(), caller.name, action, row.public_id, detail))


def _check(request: ViewRequest, user_id: int | None) -> str:
    name = request.name.strip()
    if not 0 < len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        raise Unprocessable(f"a name has 1 to {MAX_NAME_LENGTH} printable characters")
    problem = problem_of_address(request.address)
    if problem is not None:
        raise Unprocessable(problem)
    if user_id is None and not request.shared:
        raise Unprocessable(
            "a view that is saved without an account belongs to the installation, and everyone sees it",
            next_step="Send `shared: true`, or log in with an account.",
        )
    return name


def _may_change(row: ViewRow, caller: Caller) -> bool:
    """Whoever saved it, by their account or, without one, by the name of their token; administrators of people all."""
    permissions = caller.permissions
    own = row.user_id == caller.user_id and (row.user_id is not None or row.created_by == caller.name)
    return "write:own" in permissions and (own or "write:users" in permissions)


def _require(transaction: WriteTransaction, public_id: str, caller: Caller) -> ViewRow:
    row = stored.find_view(transaction, public_id, user_id=caller.user_id)
    if row is None:
        raise NotFound(f"there is no saved view {public_id[:80]!r}", next_step="List them with GET /v1/views.")
    if not _may_change(row, caller):
        raise Forbidden(f"the view belongs to `{row.created_by}`", next_step="Save one of your own.")
    return row


def _view(row: ViewRow, caller: Caller) -> SavedView:
    return copied(SavedView, row, id=row.public_id, changeable=_may_change(row, caller))

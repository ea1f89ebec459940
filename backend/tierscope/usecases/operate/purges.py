"""Removing the data of a host or a service: asked for here, done by a worker (usecases/operate/purge_work.py)."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.base.pages import Page
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.fleet.agents import revoke_host
from tierscope.storage.operate import purges as stored
from tierscope.storage.operate.purges import PurgeKind, PurgeRow
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor


@dataclass(frozen=True, slots=True)
class PurgeSubject:
    """What is removed. The id names nothing any more once the job is done."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class PurgedTable:
    """Rows that were removed from a table, or rewritten without the subject."""

    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class Purge:
    """A job that removes all data of a host or a service. The audit trail stays.

    `progress_ratio` counts steps. `error`: what the last try failed with; it is tried again.
    """

    id: str
    kind: PurgeKind
    subject: PurgeSubject
    requested_by: str
    requested_at: datetime
    status: Literal["waiting", "running", "done"]
    progress_ratio: float
    report: tuple[PurgedTable, ...]
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None


class Purges(ClockedUseCase):
    """Starts and reads jobs."""

    def start(self, kind: PurgeKind, public_id: str, *, confirm: str, actor: str) -> Purge:
        """Ask for all data of a host or service to be removed. A host's credential ends at once.

        Raises:
            NotFound: there is no such host or service.
            Unprocessable: `confirm` is not its name.
            Conflict: that is asked for already.
        """
        now = self._clock()
        with self._database.write() as transaction:
            subject = stored.find_subject(transaction, kind, public_id)
            if subject is None:
                raise NotFound(f"there is no {kind} {public_id[:80]!r}")
            if confirm != subject.name:
                raise Unprocessable(
                    f"{confirm[:80]!r} is not the name of this {kind}", next_step=f"Send its name: {subject.name!r}."
                )
            new_id = "p" + secrets.token_hex(8)
            if not stored.insert_purge(transaction, subject, public_id=new_id, by=actor, now=now):
                raise Conflict(f"the data of this {kind} is being removed", next_step="Look at GET /v1/purges.")
            if kind == "host":
                revoke_host(transaction, public_id=public_id, now=now)
            detail = {"purge": new_id, "name": subject.name}
            append_audit(transaction, AuditRow(now, actor, f"{kind}.purge", public_id, detail))
            return _view(self._require(transaction, new_id))

    def list(self, *, limit: int, cursor: str | None) -> Page[Purge]:
        """Jobs, newest first.

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._database.read() as session:
            rows = stored.list_purges(session, before=before, limit=limit + 1)
        more = encode_cursor(rows[limit - 1].number) if len(rows) > limit else None
        return Page(tuple(_view(row) for row in rows[:limit]), more)

    def read(self, purge_id: str) -> Purge:
        """One job.

        Raises:
            NotFound: there is none.
        """
        with self._database.read() as session:
            row = stored.find_purge(session, purge_id)
        if row is None:
            raise NotFound(f"there is no purge {purge_id[:80]!r}", next_step="List them with GET /v1/purges.")
        return _view(row)

    def _require(self, transaction: WriteTransaction, purge_id: str) -> PurgeRow:
        row = stored.find_purge(transaction, purge_id)
        if row is None:
            raise NotFound(f"there is no purge {purge_id}")
        return row


def _view(row: PurgeRow) -> Purge:
    done = 1.0 if row.status == "done" else 0.0
    return copied(
        Purge,
        row,
        subject=PurgeSubject(row.subject.public_id, row.subject.name),
        progress_ratio=done if not row.steps else min(1.0, row.step / row.steps),
        report=tuple(PurgedTable(table, rows) for table, rows in sorted(row.report.items())),
    )

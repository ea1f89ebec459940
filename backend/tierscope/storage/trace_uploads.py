"""Page traces that people uploaded, as they came."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import trace_uploads

_SELECT = (
    "SELECT id, public_id, name, octet_length(body)::bigint AS bytes, pages, intervals, touched_pages, accesses,"
    " author, created_at FROM trace_uploads"
)
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('trace_uploads', 7))"


@dataclass(frozen=True, slots=True)
class UploadRow:
    """An uploaded trace without its body. `touched_pages`: summed over intervals."""

    id: int
    public_id: str
    name: str
    bytes: int
    pages: int
    intervals: int
    touched_pages: int
    accesses: int
    author: str
    created_at: datetime


def list_uploads(session: ReadSession) -> list[UploadRow]:
    """All uploads, newest first."""
    return [UploadRow(**row) for row in session.execute(text(f"{_SELECT} ORDER BY id DESC")).mappings()]


def find_upload(session: ReadSession, public_id: str) -> UploadRow | None:
    """One upload."""
    row = session.execute(text(f"{_SELECT} WHERE public_id = :id"), {"id": public_id}).mappings().one_or_none()
    return None if row is None else UploadRow(**row)


def count_uploads(transaction: WriteTransaction) -> int:
    """How many there are; nobody adds one until the transaction ends."""
    transaction.execute(text(_LOCK))
    return int(transaction.execute(text("SELECT count(*) FROM trace_uploads")).scalar_one())


def insert_upload(transaction: WriteTransaction, values: Mapping[str, object]) -> None:
    """Store a trace."""
    transaction.execute(insert(trace_uploads).values(dict(values)))


def read_upload(session: ReadSession, upload_id: int) -> bytes | None:
    """The file of an upload."""
    body = session.execute(
        text("SELECT body FROM trace_uploads WHERE id = :id"), {"id": upload_id}
    ).scalar_one_or_none()
    return None if body is None else bytes(body)


def sweeps_of_upload(session: ReadSession, upload_id: int) -> list[str]:
    """Names of the sweeps that replay an upload."""
    statement = text("SELECT name FROM sweeps WHERE upload_id = :id ORDER BY id LIMIT 10")
    return [str(name) for name in session.execute(statement, {"id": upload_id}).scalars()]


def delete_upload(transaction: WriteTransaction, upload_id: int) -> None:
    """Remove a trace."""
    transaction.execute(text("DELETE FROM trace_uploads WHERE id = :id"), {"id": upload_id})


def purge_uploads(transaction: WriteTransaction, before: datetime) -> int:
    """Remove traces that came before a moment and that no sweep replays; how many."""
    statement = text(
        "DELETE FROM trace_uploads u WHERE u.created_at < :before"
        " AND NOT EXISTS (SELECT 1 FROM sweeps s WHERE s.upload_id = u.id)"
    )
    return transaction.execute(statement, {"before": before}).rowcount

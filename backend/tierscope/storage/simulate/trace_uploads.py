"""Page traces that people uploaded, as they came."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.copy import copy_rows, instant, int8
from tierscope.storage.base.copy import text as text_field

_SELECT = (
    "SELECT id, public_id, name, octet_length(body)::bigint AS bytes, pages, intervals, touched_pages, accesses,"
    " author, created_at FROM trace_uploads"
)
_COLUMNS = ("public_id", "name", "pages", "intervals", "touched_pages", "accesses", "author", "created_at", "body")
_BLOCK_BYTES = 256 << 10
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('trace_uploads', 7))"


@dataclass(frozen=True, slots=True)
class TraceSize:
    """What a trace holds. `touched_pages`: summed over intervals."""

    pages: int
    intervals: int
    touched_pages: int
    accesses: int


@dataclass(frozen=True, slots=True)
class UploadRow:
    """An uploaded trace without its body."""

    id: int
    public_id: str
    name: str
    bytes: int
    holds: TraceSize
    author: str
    created_at: datetime


def list_uploads(session: ReadSession) -> list[UploadRow]:
    """All uploads, newest first."""
    return [_row(row) for row in session.execute(text(f"{_SELECT} ORDER BY id DESC"))]


def find_upload(session: ReadSession, public_id: str) -> UploadRow | None:
    """One upload."""
    row = session.execute(text(f"{_SELECT} WHERE public_id = :id"), {"id": public_id}).one_or_none()
    return None if row is None else _row(row)


def _row(row: Any) -> UploadRow:  # noqa: ANN401 - a row of the driver
    holds = TraceSize(row.pages, row.intervals, row.touched_pages, row.accesses)
    return UploadRow(row.id, row.public_id, row.name, row.bytes, holds, row.author, row.created_at)


def count_uploads(transaction: WriteTransaction) -> int:
    """How many there are; nobody adds one until the transaction ends."""
    transaction.execute(text(_LOCK))
    return int(transaction.execute(text("SELECT count(*) FROM trace_uploads")).scalar_one())


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A trace to store; its file stays where it is."""

    public_id: str
    name: str
    holds: TraceSize
    author: str
    created_at: datetime
    file: Path


def insert_upload(transaction: WriteTransaction, new: NewUpload) -> None:
    """Store a trace; of its file a block is in memory at a time."""
    copy_rows(transaction, "trace_uploads", _COLUMNS, _encoded(new))


def _encoded(new: NewUpload) -> Iterator[bytes]:
    held = new.holds
    numbers = (held.pages, held.intervals, held.touched_pages, held.accesses)
    yield struct.pack(">h", len(_COLUMNS)) + text_field(new.public_id) + text_field(new.name)
    yield b"".join(map(int8, numbers)) + text_field(new.author) + instant(to_us(new.created_at) * 1000)
    with new.file.open("rb") as file:
        yield struct.pack(">i", os.fstat(file.fileno()).st_size)
        while block := file.read(_BLOCK_BYTES):
            yield block


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

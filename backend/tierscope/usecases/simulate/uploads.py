"""Uploaded page traces: checked when they come, kept as they came."""

import secrets
from pathlib import Path

from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.simulate import trace_uploads as stored
from tierscope.storage.simulate.trace_uploads import NewUpload, UploadRow
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.simulate.load import MAX_UPLOAD_ROWS
from tierscope.usecases.simulate.measuring import measure_trace
from tierscope.usecases.simulate.views import TraceUpload

MAX_UPLOAD_BYTES = 64 << 20
MAX_UPLOADS = 50


class TraceUploads(ClockedUseCase):
    """Adds and removes uploaded traces."""

    def create(self, name: str, file: Path, *, actor: str) -> TraceUpload:
        """Store the trace in a file.

        Raises:
            Unprocessable: it is no page trace, or has too many rows; the row is named where one is wrong.
            Conflict: there are as many as there may be.
            ConfigurationError: the compiled core is not built.
        """
        if not name or "\0" in name:
            raise Unprocessable("the name of a trace is text without NUL characters")
        now = self._clock()
        holds = measure_trace(file, max_rows=MAX_UPLOAD_ROWS)
        public_id = "u" + secrets.token_hex(8)
        with self._database.write() as transaction:
            if stored.count_uploads(transaction) >= MAX_UPLOADS:
                raise Conflict(
                    f"{MAX_UPLOADS} traces are stored, which is the most there may be",
                    next_step="Remove one that is no longer needed.",
                )
            new = NewUpload(
                public_id=public_id,
                name=name,
                holds=holds,
                author=actor,
                created_at=now,
                file=file,
            )
            stored.insert_upload(transaction, new)
            append_audit(
                transaction,
                AuditRow(now, actor, "trace_upload.create", public_id, {"name": name, "bytes": file.stat().st_size}),
            )
        with self._database.read() as session:
            row = stored.find_upload(session, public_id)
        if row is None:
            raise NotFound("the trace was removed at once")
        return view_upload(row)

    def delete(self, upload_id: str, *, actor: str) -> None:
        """Remove a trace.

        Raises:
            NotFound: there is no such trace.
            Conflict: a sweep replays it.
        """
        with self._database.write() as transaction:
            row = stored.find_upload(transaction, upload_id)
            if row is None:
                raise NotFound(
                    f"there is no uploaded trace {upload_id[:80]!r}",
                    next_step="List them with GET /v1/simulator/sources.",
                )
            using = stored.sweeps_of_upload(transaction, row.id)
            if using:
                raise Conflict(
                    f"the sweep {using[0]!r} replays this trace", next_step="Remove its sweeps first, then the trace."
                )
            stored.delete_upload(transaction, row.id)
            append_audit(
                transaction, AuditRow(self._clock(), actor, "trace_upload.delete", upload_id, {"name": row.name})
            )


def view_upload(row: UploadRow) -> TraceUpload:
    """An upload as it is shown."""
    return TraceUpload(
        id=row.public_id,
        name=row.name,
        bytes=row.bytes,
        pages=row.holds.pages,
        intervals=row.holds.intervals,
        accesses=row.holds.accesses,
        created_by=row.author,
        created_at=row.created_at,
    )

"""The audit trail: who changed what, newest first."""

from tierscope.core.database import Database
from tierscope.storage.access import credentials as stored
from tierscope.storage.access.credentials import AuditEntry, AuditFilter

__all__ = ["AuditEntry", "AuditFilter", "AuditTrail"]

MAX_FILE_ROWS = 50_000


class AuditTrail:
    """Reads of the trail. Rows are written by the changes themselves."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, wanted: AuditFilter, *, limit: int, before: int | None) -> list[AuditEntry]:
        """Returns rows, newest first; `before` is the id that the page before ended with."""
        with self._database.read() as session:
            return stored.list_audit(session, wanted, limit=limit, before=before)

"""The audit trail: who changed what, newest first."""

from tierscope.core.database import Database
from tierscope.domain.base.pages import Page
from tierscope.storage.access import credentials as stored
from tierscope.storage.access.credentials import AuditFilter, AuditRow

__all__ = ["AuditFilter", "AuditRow", "AuditTrail"]


class AuditTrail:
    """Reads of the trail. Rows are written by the changes themselves."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, wanted: AuditFilter, *, limit: int, before: int | None) -> Page[AuditRow]:
        """Returns rows, newest first; `before` is the cursor that the page before ended with."""
        with self._database.read() as session:
            found = stored.list_audit(session, wanted, limit=limit, before=before)
        return Page(tuple(entry.row for entry in found), str(found[-1].id) if len(found) == limit else None)

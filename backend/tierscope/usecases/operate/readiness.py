"""Whether the service can take work."""

from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.storage.base.schema import schema_state


class Readiness:
    """Asks the database for its revision."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def obstacle(self) -> str | None:
        """Returns what keeps the service from working, None where nothing does."""
        try:
            state = schema_state(self._database)
        except TierscopeError as error:
            return error.detail
        if not state.current:
            return (
                f"the database has revision {state.revision}, this release needs {state.head}: run `tierscope migrate`"
            )
        return None

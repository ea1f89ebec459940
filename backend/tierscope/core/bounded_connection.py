"""A connection to PostgreSQL that does not wait for ever: a server that is stopped neither answers nor refuses.

The server's own limits end what is slow (`statement_timeout`); this ends the wait for one that does not come to them.
"""

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.rows import TupleRow

GRACE_SECONDS = 5.0
"""Over the server's own limit: its answer that the limit has come is better than ours."""
_LOOK_SECONDS = 0.1


class BoundedConnection(psycopg.Connection[TupleRow]):
    """Each wait for the server ends after `patience_seconds`, and the connection with it; None = never."""

    patience_seconds: float | None = None
    usual_seconds: float | None = None
    """What that is again in the next transaction, where one takes its time."""

    def wait(self, gen: PQGen[RV], interval: float = _LOOK_SECONDS, timeout: float | None = None) -> RV:
        """Consumes a generator that waits for the server.

        Raises:
            psycopg.OperationalError: nothing came in time.
        """
        own = self.patience_seconds if timeout is None else None
        try:
            return super().wait(gen, interval, own if timeout is None else timeout)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - it has no public name
            if own is None:
                raise
            self.pgconn.finish()  # whatever comes later belongs to no question
            raise psycopg.OperationalError(f"the server has not answered for {own:g} s") from error

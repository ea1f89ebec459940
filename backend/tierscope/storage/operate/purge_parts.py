"""One part of a step of a purge: what is done in one transaction."""

from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.partitions import chunk_spans
from tierscope.storage.ingest.series import may_end_targets
from tierscope.storage.operate.purge_steps import ChunkStep, GoneStep, RowStep, TargetStep, statement_values
from tierscope.storage.operate.purges import PurgeRow

_LOCK_KEY = 0x7469_6572_7075_7267  # "tierpurg": one worker at a time


def try_purge_lock(transaction: WriteTransaction) -> bool:
    """Whether no other worker purges; held until the transaction ends."""
    statement = text("SELECT pg_try_advisory_xact_lock(:key)")
    return bool(transaction.execute(statement, {"key": _LOCK_KEY}).scalar_one())


def change_rows(transaction: WriteTransaction, step: RowStep, purge: PurgeRow) -> int:
    """Run the statement of a step; rows removed or rewritten."""
    values = statement_values(purge.subject)
    named = {name: value for name, value in values.items() if f":{name}" in step.statement}
    return transaction.execute(text(step.statement), named).rowcount


def end_targets(transaction: WriteTransaction, step: TargetStep, purge: PurgeRow) -> dict[str, int]:
    """Remove a host's targets and what is left of their samples; rows by table."""
    may_end_targets(transaction)
    values = {"number": purge.subject.number}
    return {table: transaction.execute(text(statement), values).rowcount for table, statement in step.statements}


def change_chunk(transaction: WriteTransaction, step: ChunkStep, purge: PurgeRow) -> tuple[int, datetime | None]:
    """The next chunk of a time table: rows removed or rewritten, and its end where further ones follow."""
    spans = [span for span in chunk_spans(transaction, step.entry) if not purge.position or span[1] > purge.position]
    if not spans:
        return 0, None
    start, end = spans[0]
    values = {name: value for name, value in statement_values(purge.subject).items() if f":{name}" in step.where}
    rows = transaction.execute(text(step.statement()), values | {"start": start, "end": end}).rowcount
    return rows, end if len(spans) > 1 else None


def count_left(transaction: WriteTransaction, step: GoneStep, purge: PurgeRow) -> int:
    """What another worker has still to remove."""
    return int(transaction.execute(text(step.statement), {"number": purge.subject.number}).scalar_one())


def database_time(transaction: WriteTransaction) -> datetime:
    """The database's own clock, which its transactions are dated by."""
    found: datetime = transaction.execute(text("SELECT clock_timestamp()")).scalar_one()
    return found


def writers_since_before(transaction: WriteTransaction, moment: datetime) -> int:
    """Transactions that write and began before a moment."""
    statement = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_xid IS NOT NULL AND xact_start < :moment"
    )
    return int(transaction.execute(statement, {"moment": moment}).scalar_one())

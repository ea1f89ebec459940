"""Rows of hosts on their way from one server to another: kept from changing, copied, deleted."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from psycopg import errors as pg_errors
from psycopg import sql
from sqlalchemy import Table, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.jobs import OF_ONE_HOST
from tierscope.storage.base.live_rows import PACKED_TABLES
from tierscope.storage.base.numbering import copy_rows
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.nodes.placement import OF_HOSTS, Placement, Span
from tierscope.storage.tables import TIME_TABLES, hosts, layouts, ledger_trusts, marks, objects, services

_TIMED = frozenset(entry.table for entry in TIME_TABLES)
_EDGES = [f"{entry.table.name}_from" for entry in PACKED_TABLES]
_COUNTED_OBJECTS = "stored_at IS NOT NULL AND forgotten_at IS NULL"
_GOING_ON_BYTES = 32 << 20
_LOCK_KEY = 0x7469_6572_6D6F_7665  # "tiermove"


@dataclass(frozen=True, slots=True)
class Mark:
    """Work that waits on a host's own rows."""

    kind: str
    subject_id: int
    service_id: int
    bucket: object
    created_at: object


def try_move_lock(transaction: WriteTransaction) -> bool:
    """Whether nobody else moves hosts; held until the coordinator's transaction ends."""
    statement = text("SELECT pg_try_advisory_xact_lock(:key)")
    return bool(transaction.execute(statement, {"key": _LOCK_KEY}).scalar_one())


def hosts_in(session: ReadSession, span: Span) -> list[int]:
    """Hosts of a range by number."""
    statement = text(f"SELECT id FROM hosts WHERE {_within('id')} ORDER BY id")  # noqa: S608
    return [int(found) for found in session.execute(statement, _bounds(span)).scalars()]


def away_from_home(session: ReadSession, placement: Placement, node: int) -> list[int]:
    """Hosts with rows on a node that are another one's: a move was cut off after it copied, or before it deleted."""
    found = session.execute(text("SELECT id FROM hosts ORDER BY id")).scalars()
    return [int(host) for host in found if placement.node_of(host) != node]


def hold_back(transaction: WriteTransaction, span: Span, seconds: float) -> None:
    """Lets ingest refuse what hosts of a range send, for so long at most. Waits for what is being stored."""
    statement = text(
        "UPDATE hosts SET moving_until = now() + make_interval(secs => :seconds) WHERE id >= :first AND id < :beyond"
    )
    transaction.execute(statement, _bounds(span) | {"seconds": seconds})


def hold_on(transaction: WriteTransaction, span: Span, seconds: float) -> bool:
    """Goes on with `hold_back`. False where that has ended, and hosts may have sent since then."""
    held = _still_held(transaction, span)
    if held:
        hold_back(transaction, span, seconds)
    return held


def let_go(transaction: WriteTransaction, span: Span | None = None) -> None:
    """Lets ingest take again what hosts send: those of a range, or all."""
    within = "TRUE" if span is None else _within("id")
    statement = text(f"UPDATE hosts SET moving_until = NULL WHERE moving_until IS NOT NULL AND {within}")  # noqa: S608
    transaction.execute(statement, {} if span is None else _bounds(span))


def hold_for_good(transaction: WriteTransaction, span: Span) -> bool:
    """Lets ingest refuse whatever hosts of a range send here. False where it may have taken some since `hold_back`."""
    held = _still_held(transaction, span)
    change = text(f"UPDATE hosts SET moving_until = 'infinity' WHERE {_within('id')}")  # noqa: S608
    if held:
        transaction.execute(change, _bounds(span))
    return held


def raise_edges(source: ReadSession, target: WriteTransaction) -> None:
    """Tells a server that rows may be in packs alone from as late on as on the one that they come from."""
    rows = source.execute(text("SELECT key, value FROM installation WHERE key = ANY(:keys)"), {"keys": _EDGES})
    statement = text(
        "INSERT INTO installation AS i (key, value) VALUES (:key, :value)"
        " ON CONFLICT (key) DO UPDATE SET value = greatest(i.value, excluded.value)"
    )
    for row in rows:
        target.execute(statement, {"key": row.key, "value": row.value})


def make_room(source: ReadSession, target: WriteTransaction, span: Span) -> None:
    """Makes the partitions that the rows of a range of hosts need."""
    for entry in TIME_TABLES:
        if entry.table in OF_HOSTS:
            statement = text(f"SELECT min(ts), max(ts) FROM {entry.source} {_within('host_id')}")  # noqa: S608
            first, last = source.execute(statement, _bounds(span)).one()
            if first is not None:
                ensure_partitions(target, first, last, (entry,))


def copy_hosts(
    source: ReadSession,
    target: WriteTransaction,
    coordinator: ReadSession,
    span: Span,
    *,
    going_on: Callable[[], None] = lambda: None,
) -> int:
    """Copies all rows of a range of hosts but their marks, as the source's snapshot has them; how many rows.

    The target takes nothing that they send, and touches none of their objects, before `store_anew`. `going_on` is
    called again and again, and may end it by an exception.
    """
    for column, into in (("layout_id", layouts), ("service_id", services)):
        naming = ((table, key) for table, key in OF_HOSTS.items() if column in table.c)
        named = {found for table, key in naming for found in _named(source, table, key, column, span)}
        copy_rows(coordinator, target, into, named - {0})
    # Packed days name them within their blocks; they are few.
    trusts = coordinator.execute(text("SELECT id FROM ledger_trusts")).scalars()
    copy_rows(coordinator, target, ledger_trusts, map(int, trusts))
    rows = 0
    for table in OF_HOSTS:
        rows += _copy_table(source, target, table, span, into=table.name, going_on=going_on)
        going_on()
    target.execute(
        text(f"UPDATE hosts SET moving_until = 'infinity' WHERE {_within('id')}"),  # noqa: S608
        _bounds(span),
    )
    return rows


def read_marks(source: ReadSession, span: Span) -> list[Mark]:
    """The work that waits on the rows of a range of hosts."""
    statement = text(
        "SELECT kind, subject_id, service_id, bucket, created_at FROM marks"
        " WHERE subject_id >= :first AND subject_id < :beyond AND kind = ANY(:kinds) ORDER BY id"
    )
    return [Mark(*row) for row in source.execute(statement, _bounds(span) | {"kinds": OF_ONE_HOST})]


def store_anew(source: ReadSession, target: WriteTransaction, span: Span, waiting: Iterable[Mark]) -> None:
    """Makes a copy of hosts the one that counts: as they are now, open to what they send, with the work that waits.

    Marks get numbers of their new server: they are found by that.
    """
    target.execute(text("CREATE TEMPORARY TABLE arriving_hosts (LIKE hosts) ON COMMIT DROP"))
    _copy_table(source, target, hosts, span, into="arriving_hosts")
    columns = [column.name for column in hosts.c if column.name not in ("id", "moving_until")]
    changed = ", ".join(f'"{name}" = a."{name}"' for name in columns)
    target.execute(
        text(f"UPDATE hosts h SET {changed}, moving_until = NULL FROM arriving_hosts a WHERE h.id = a.id")  # noqa: S608
    )
    rows = [
        {
            "kind": mark.kind,
            "subject_id": mark.subject_id,
            "service_id": mark.service_id,
            "bucket": mark.bucket,
            "created_at": mark.created_at,
        }
        for mark in waiting
    ]
    if rows:
        target.execute(marks.insert(), rows)


def delete_hosts(transaction: WriteTransaction, span: Span) -> int:
    """Deletes all rows of a range of hosts, and no object; how many rows."""
    take_time(transaction)
    deleted = transaction.execute(
        text("DELETE FROM marks WHERE subject_id >= :first AND subject_id < :beyond AND kind = ANY(:kinds)"),
        _bounds(span) | {"kinds": OF_ONE_HOST},
    ).rowcount
    for table, key in reversed(OF_HOSTS.items()):
        statement = text(f'DELETE FROM "{table.name}" WHERE {_within(key)}')  # noqa: S608
        deleted += transaction.execute(statement, _bounds(span)).rowcount
    return deleted


def take_time(transaction: WriteTransaction) -> None:
    """Lets statements of this transaction take as long as they need."""
    transaction.take_time()


def disk_was_full(error: BaseException) -> bool:
    """Whether a server refused to store rows as its disk is full."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, pg_errors.DiskFull):
            return True
        seen = seen.__cause__
    return False


def _still_held(transaction: WriteTransaction, span: Span) -> bool:
    look = text(
        f"SELECT coalesce(moving_until > now(), false) FROM hosts WHERE {_within('id')} ORDER BY id FOR UPDATE"  # noqa: S608
    )
    return all(transaction.execute(look, _bounds(span)).scalars())


def _bounds(span: Span) -> dict[str, int]:
    return {"first": span[0], "beyond": span[1]}


def _within(key: str) -> str:
    return f"{key} >= :first AND {key} < :beyond"


def _named(session: ReadSession, table: Table, key: str, column: str, span: Span) -> list[int]:
    """What rows of a range of hosts refer to."""
    statement = text(
        f'SELECT DISTINCT {column} FROM "{table.name}" WHERE {_within(key)} AND {column} IS NOT NULL'  # noqa: S608
    )
    return [int(found) for found in session.execute(statement, _bounds(span)).scalars()]


def _copy_table(
    source: ReadSession,
    target: WriteTransaction,
    table: Table,
    span: Span,
    *,
    into: str,
    going_on: Callable[[], None] = lambda: None,
) -> int:
    """Rows of one time arrive in the order in which they stand: of repeats the last one counts.

    Objects that are about to be put, or deleted, stay the business of the server that does it.
    """
    listed = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.c)
    out = sql.SQL("COPY (SELECT {} FROM {} WHERE {key} >= {} AND {key} < {}{}{}) TO STDOUT (FORMAT binary)").format(
        listed,
        sql.Identifier(table.name),
        *map(sql.Literal, span),
        sql.SQL(f" AND {_COUNTED_OBJECTS}" if table is objects else ""),
        sql.SQL(" ORDER BY ts, ctid" if table in _TIMED else ""),
        key=sql.Identifier(OF_HOSTS[table]),
    )
    store = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(sql.Identifier(into), listed)
    with source.driver.cursor() as reading, target.driver.cursor() as writing:
        with reading.copy(out) as rows, writing.copy(store) as copied:
            size = 0
            for part in rows:
                copied.write(part)
                size += len(part)
                if size > _GOING_ON_BYTES:
                    going_on()
                    size = 0
        return writing.rowcount

"""The schema that the revisions make is the one that the tables describe, in both storage modes."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import ConfigurationError, Unavailable
from tierscope.storage import tables
from tierscope.storage.base.partitions import (
    chunk_spans,
    drop_chunk,
    drop_old,
    ensure_partitions,
    ensure_usual_partitions,
    partition_start,
    storage_mode,
)
from tierscope.storage.base.schema import schema_state, upgrade
from tierscope.storage.tables.views import SCHEMA


def _ours(_: object, name: str | None, kind: str, *__: object) -> bool:
    return kind != "table" or name in tables.metadata.tables


def test_the_revisions_make_what_the_tables_describe(database: Database) -> None:
    with database.read() as session:
        context = MigrationContext.configure(session.connection, opts={"include_object": _ours})
        assert compare_metadata(context, tables.metadata) == []


HEAT_SUMS = (
    "sampled_pages",
    "written_bytes",
    "written_of_bytes",
    "huge_active_bytes",
    "huge_subpage_bytes",
    "dirty_bytes",
    "dirty_of_bytes",
)
ADDED = {
    "heat_live": ("sampled_pages", "written_bytes", "subpage_active_bytes", "bits_per_interval", "dirty_bytes"),
    "heat_1h": HEAT_SUMS,
    "heat_1d": HEAT_SUMS,
    "tier_moves": ("trust_id", "reclaim_scanned_pages", "reclaim_passed_over_pages", "huge_pte_updates"),
    "self_reports": ("budget_state", "heat_rung", "budget_reason", "guard_paused_intervals", "throttles"),
}


def test_an_installation_of_the_first_revision_becomes_the_same_and_keeps_its_rows(
    database_url: str, database: Database, storage_mode: str
) -> None:
    now = utc_now()
    with database.write() as transaction:
        transaction.execute(text(f"DROP SCHEMA {SCHEMA} CASCADE"))
        for table, columns in ADDED.items():
            for column in columns:
                transaction.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        for table in ("traces", "pauses", "ledger_trusts"):
            transaction.execute(text(f"DROP TABLE {table}"))
        transaction.execute(text("ALTER TABLE tier_moves ALTER COLUMN trust SET NOT NULL"))
        transaction.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        values = "1, :ts, 60, 1, 2, 3, 4, 5, 6, 7, 8, '[]'"
        names = "host_id, ts, window_ns, cpu_ns, rss_bytes, spool_bytes, spool_batches, dropped_batches, sent_bytes"
        transaction.execute(
            text(
                f"INSERT INTO self_reports ({names}, counters_dropped, services_dropped, collectors) VALUES ({values})"
            ),
            {"ts": now},
        )
    assert not schema_state(database).current
    assert upgrade(database_url) == storage_mode
    test_the_revisions_make_what_the_tables_describe(database)
    with database.read() as session:
        kept = session.execute(text("SELECT cpu_ns, budget_state, samples_lost FROM self_reports")).one()
    assert tuple(kept) == (1, None, None)


def test_upgrading_again_changes_nothing(database_url: str, database: Database, storage_mode: str) -> None:
    assert upgrade(database_url, storage="native") == storage_mode
    assert schema_state(database).current


def test_timescaledb_is_refused_where_the_server_lacks_it(empty_database_url: str, storage_mode: str) -> None:
    if storage_mode == "timescaledb":
        assert upgrade(empty_database_url, storage="timescaledb") == "timescaledb"
    else:
        with pytest.raises(ConfigurationError, match="TimescaleDB"):
            upgrade(empty_database_url, storage="timescaledb")


def test_native_can_be_chosen_on_any_server(empty_database_url: str) -> None:
    assert upgrade(empty_database_url, storage="native") == "native"
    with closing(Database(empty_database_url)) as database, database.read() as session:
        assert storage_mode(session) == "native"


def test_a_read_session_cannot_write(database: Database) -> None:
    with pytest.raises(Exception, match="read-only"), database.read() as session:
        session.execute(text("INSERT INTO installation (key, value) VALUES ('a', 'b')"))


def test_the_audit_trail_cannot_be_changed(database: Database) -> None:
    with database.write() as transaction:
        transaction.execute(text("INSERT INTO audit (actor, action, subject) VALUES ('a', 'b', 'c')"))
    for statement in ("UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit"):
        with pytest.raises(Exception, match="append-only"), database.write() as transaction:
            transaction.execute(text(statement))


def test_partitions_are_made_once_and_old_ones_dropped(database: Database, storage_mode: str) -> None:
    now = utc_now()
    insert = text(
        "INSERT INTO metrics_10m (host_id, ts, keys_layout_id, first, last, min, max, sum, n)"
        " VALUES (1, :ts, 1, '{}', '{}', '{}', '{}', '{}', '{}')"
    )
    old = now - timedelta(days=40)
    with database.write() as transaction:
        ensure_usual_partitions(transaction, now - timedelta(days=1))  # as the schema does that is made on that day
        drop_old(transaction, now)
        ensure_usual_partitions(transaction, now)
        assert ensure_usual_partitions(transaction, now) == 0
        made = ensure_partitions(transaction, old, old)
        assert (made > len(tables.BLOCK_KINDS)) == (storage_mode == "native")
        for at in (old, now - timedelta(days=7), now):
            transaction.execute(insert, {"ts": at})
    with database.write() as transaction:
        dropped = drop_old(transaction, now)
        assert dropped["metrics_10m"] == 1
        left = transaction.execute(text("SELECT count(*) FROM metrics_10m")).scalar_one()
        assert left == 2
        assert drop_old(transaction, now)["metrics_10m"] == 0


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_partition_that_is_dropped_while_they_are_looked_at_is_none(database: Database) -> None:
    (entry,) = (entry for entry in tables.TIME_TABLES if entry.name == "counters_live")
    with database.snapshot() as session:
        first, *others = chunk_spans(session, entry)
        with database.write() as transaction:
            drop_chunk(transaction, entry, first)
        assert chunk_spans(session, entry) == others


@pytest.mark.parametrize("hours", [6, 24, 240, 2160])
def test_a_partition_holds_the_time_from_its_start(hours: int) -> None:
    at, length = datetime(2026, 11, 21, 17, 30, tzinfo=UTC), timedelta(hours=hours)
    start = partition_start(at, length)
    assert timedelta(0) <= at - start < length
    assert partition_start(start, length) == start
    assert partition_start(start + length, length) == start + length


def test_statements_on_the_schema_of_another_release_are_answered_later(database_url: str) -> None:
    with (
        closing(Database(database_url)) as database,
        pytest.raises(Unavailable, match="not of this release"),
        database.read() as session,
    ):
        session.execute(text("SELECT a_column_of_a_later_release FROM hosts"))

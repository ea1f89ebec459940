"""Retention: what is older than a table keeps goes, what is younger stays, and there is room for the days ahead."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.base.partitions import storage_mode as mode_of
from tierscope.storage.tables import BLOCK_KINDS, TIME_TABLES
from tierscope.usecases.operate.retention import KeepPartitions

KEEP_DAYS = {entry.name: entry.keep_days for entry in TIME_TABLES}
_METRICS = "(host_id, ts, keys_layout_id, first, last, min, max, sum, n) VALUES (1, :at, 1" + ", '{}'" * 6 + ")"
_BLOCK = "(host_id, service_id, ts, layout_id, n, offsets, body) VALUES (1, 0, :at, 1, 0, '{}', '')"
VALUES = {"metrics_10m": _METRICS, "metrics_10m_days": _BLOCK, "metrics_1h_days": _BLOCK}
CUT = tuple(entry for entry in TIME_TABLES if entry.name in VALUES)


def insert(database: Database, table: str, at: datetime) -> None:
    with database.write() as transaction:
        transaction.execute(text(f"INSERT INTO {table} {VALUES[table]}"), {"at": at})


def ages_in_days(database: Database, table: str) -> list[int]:
    with database.read() as session:
        return sorted(
            round((utc_now() - at) / timedelta(days=1))
            for at in session.execute(text(f"SELECT ts FROM {table}")).scalars()
        )


def test_old_chunks_go_and_young_ones_stay(database: Database) -> None:
    ages = (0, 6, 20, 60)
    with database.write() as transaction:
        ensure_partitions(transaction, utc_now() - timedelta(days=max(ages) + 1), utc_now(), CUT)
    for table in VALUES:
        for age in ages:
            insert(database, table, utc_now() - timedelta(days=age))
    kept = KeepPartitions(database, utc_now).run()
    assert ages_in_days(database, "metrics_10m") == [0, 6]
    assert ages_in_days(database, "metrics_10m_days") == [0, 6, 20]
    assert ages_in_days(database, "metrics_1h_days") == [0, 6, 20, 60]
    assert kept.dropped["metrics_10m"] >= 2
    assert "metrics_1h_days" not in kept.dropped
    assert KeepPartitions(database, utc_now).run().dropped == {}


def test_data_lives_at_least_as_long_as_its_table_promises(database: Database) -> None:
    for table in VALUES:
        at = utc_now() - timedelta(days=KEEP_DAYS[table]) + timedelta(minutes=1)
        with database.write() as transaction:
            ensure_partitions(transaction, at, at)
        insert(database, table, at)
    KeepPartitions(database, utc_now).run()
    for table in VALUES:
        assert ages_in_days(database, table) == [KEEP_DAYS[table]]


def test_there_is_room_for_the_days_ahead(database: Database) -> None:
    later = utc_now() + timedelta(days=30)
    made = KeepPartitions(database, lambda: later).run().made
    with database.read() as session:
        native = mode_of(session) == "native"
    assert (made > 2 * len(BLOCK_KINDS)) == native
    for table in VALUES:
        insert(database, table, later + timedelta(days=1))
    assert KeepPartitions(database, lambda: later).run().made == 0


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_series_of_which_nothing_came_for_as_long_as_samples_are_kept_go(database: Database) -> None:
    now = utc_now()
    with database.write() as transaction:
        transaction.execute(
            text(
                "WITH t AS (INSERT INTO sample_targets (cluster, name, host_id) VALUES ('', 'host', 7) RETURNING id)"
                " INSERT INTO sample_series (target_id, hash, metric, labels, first_seen_at, last_seen_at)"
                " SELECT id, convert_to(age::text, 'UTF8'), 'm', jsonb_build_object('age', age),"
                " CAST(:now AS timestamptz) - make_interval(days => 90), :now - make_interval(days => age)"
                " FROM t, unnest(ARRAY[0, 37, 40]) AS age"
            ),
            {"now": now},
        )

    def left() -> list[int]:
        with database.read() as session:
            return list(session.execute(text("SELECT (labels ->> 'age')::int FROM sample_series ORDER BY 1")).scalars())

    before = database.generation()
    assert KeepPartitions(database, utc_now).run().dropped == {"sample_series": 1}
    assert left() == [0, 37], "samples of the younger ones may be there"
    assert database.generation() != before, "no process may go on with what has gone"
    renewed = database.generation()
    assert "sample_series" not in KeepPartitions(database, lambda: now + timedelta(days=1)).run().dropped
    assert database.generation() == renewed, "not until one is a day over: it ends what processes remember"


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_targets_whose_samples_have_all_gone_go_with_their_series(database: Database) -> None:
    now = utc_now()
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO sample_targets (cluster, name, host_id, first_seen_at) VALUES ('', 'silent', NULL, :old),"
                " ('', 'speaks', NULL, :old), ('', 'host', 7, :old), ('', 'new', NULL, :now)"
            ),
            {"old": now - timedelta(days=40), "now": now},
        )
        transaction.execute(
            text(
                "INSERT INTO sample_series (target_id, hash, metric, labels)"
                " SELECT id, convert_to(name, 'UTF8'), 'm', '{}' FROM sample_targets"
            )
        )
        transaction.execute(
            text(
                "INSERT INTO samples_live (target_id, ts, hour, first_ms, last_ms, n, body)"
                " SELECT id, :now, :now, 0, 1, 1, '' FROM sample_targets WHERE name = 'speaks'"
            ),
            {"now": now},
        )
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO samples_live (target_id, ts, hour, first_ms, last_ms, n, body)"
                " VALUES (123456, :now, :now, 0, 1, 1, '')"
            ),
            {"now": now},
        )
    before = database.generation()
    dropped = KeepPartitions(database, utc_now).run().dropped
    assert (dropped["sample_targets"], dropped["samples_live"]) == (1, 1), "one of them belongs to nobody"
    assert database.generation() != before
    with database.read() as session:
        left = "SELECT t.name FROM sample_targets t JOIN sample_series s ON s.target_id = t.id ORDER BY t.name"
        assert list(session.execute(text(left)).scalars()) == ["host", "new", "speaks"]
        assert session.execute(text("SELECT count(*) FROM samples_live")).scalar_one() == 1
    before = database.generation()
    assert "sample_targets" not in KeepPartitions(database, utc_now).run().dropped
    assert database.generation() == before

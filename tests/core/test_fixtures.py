"""The test databases themselves: right mode, fresh for each test."""

import psycopg
import redis

from tierscope.core.database import libpq_url


def _has_timescaledb(url: str) -> bool:
    with psycopg.connect(libpq_url(url)) as connection:
        row = connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'timescaledb'").fetchone()
    return row == (1,)


def test_the_database_has_the_storage_mode_that_it_claims(database_url: str, storage_mode: str) -> None:
    assert _has_timescaledb(database_url) == (storage_mode == "timescaledb")


def test_one_test_leaves_a_host_behind(database_url: str) -> None:
    _leave_host(database_url)


def test_another_test_does_not_see_it(database_url: str) -> None:
    _leave_host(database_url)


def test_an_empty_database_has_no_tables(empty_database_url: str) -> None:
    with psycopg.connect(libpq_url(empty_database_url)) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert row == (0,)


def test_the_queue_is_empty_at_the_start(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


def _leave_host(url: str) -> None:
    with psycopg.connect(libpq_url(url)) as connection:
        assert connection.execute("SELECT count(*) FROM services").fetchone() == (0,)
        connection.execute(
            "INSERT INTO services (public_id, namespace, name, origin, first_seen_at, last_seen_at)"
            " VALUES ('x', 'n', 'left', 'live', now(), now())"
        )

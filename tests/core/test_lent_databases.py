"""A database that a test gives back is like a new one, or nobody gets it again."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from fixtures.lent_databases import LentDatabases
from fixtures.servers import Template
from tierscope.core.database import libpq_url

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
ADD_SERVICE = (
    "INSERT INTO services (public_id, namespace, name, origin, first_seen_at, last_seen_at)"
    " VALUES ('x', 'n', 'left', 'live', now(), now()) RETURNING id"
)

ADD_TO_TRAIL = "INSERT INTO audit (at, actor, action, subject, detail) VALUES (now(), 'test', 'x', 'y', '{}')"
"""Into a table whose rows nobody may remove."""


@pytest.fixture
def used(template: Template, storage_mode: str) -> Iterator[tuple[LentDatabases, str]]:
    """Databases of which one is lent, and its name; each test gives it back as `g1`."""
    lent = LentDatabases(template.cluster)
    name = template.make_database(schema=True, mode=storage_mode)
    lent.note(name)
    yield lent, name
    for left in (name, "g1"):
        template.drop_database(left)


def asked(lent: LentDatabases, name: str, *statements: str) -> list[tuple[object, ...]]:
    """Rows of the last of some statements."""
    with psycopg.connect(libpq_url(lent.cluster.url(name)), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def contents(lent: LentDatabases, name: str) -> dict[str, list[tuple[object, ...]]]:
    """Rows of all tables, and where each sequence stands."""
    found = {}
    listed = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')"
    with psycopg.connect(libpq_url(lent.cluster.url(name))) as connection:
        for (table,) in connection.execute(listed.encode()).fetchall():
            columns = sql.SQL("last_value, is_called" if table.endswith("_seq") else "*")
            statement = sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(table))
            found[table] = connection.execute(statement).fetchall()
    return found


def test_rows_are_gone_and_numbers_begin_again(used: tuple[LentDatabases, str]) -> None:
    lent, name = used
    new = contents(lent, name)
    with psycopg.connect(libpq_url(lent.cluster.url(name)), autocommit=True) as left_open:
        first = left_open.execute(ADD_SERVICE.encode()).fetchone()
        left_open.execute(ADD_TO_TRAIL.encode())
        left_open.execute(b"INSERT INTO installation (key, value) VALUES ('other', '1')")
        left_open.execute(b"UPDATE installation SET value = 'timescaledb' WHERE key = 'storage'")
        assert contents(lent, name) != new
        assert lent.give_back(name, "g1") is None
        assert lent.take() == "g1"
        assert lent.take() is None, "each goes to one test"
        with pytest.raises(psycopg.OperationalError):
            left_open.execute(b"SELECT 1")
    with pytest.raises(psycopg.OperationalError, match=f'database "{name}" does not exist'):
        asked(lent, name, "SELECT 1")
    assert contents(lent, "g1") == new
    assert asked(lent, "g1", ADD_SERVICE) == [first]


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE other (id int)",
        "DROP TABLE alerts CASCADE",
        (
            "DO $$ BEGIN EXECUTE 'DROP TABLE ' || (SELECT min(inhrelid::regclass::text) FROM pg_inherits"
            " JOIN pg_class ON pg_class.oid = inhrelid WHERE relkind = 'r'); END $$"
        ),
        "ALTER TABLE hosts ALTER name SET DEFAULT 'x'",
        "ALTER TABLE hosts ALTER name DROP NOT NULL",
        "ALTER SEQUENCE hosts_id_seq MINVALUE 7 START 7 RESTART",
        "ALTER TABLE services DISABLE TRIGGER ALL",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA other",
        "CREATE OR REPLACE VIEW tierscope_v1.other AS SELECT 1 AS x",
        "GRANT SELECT ON hosts TO PUBLIC",
        "ANALYZE services",
        "ALTER DATABASE CURRENT_NAME SET work_mem = '5MB'",
        "SELECT lo_create(7)",
    ],
)
def test_whoever_changed_more_than_rows_leaves_nothing(used: tuple[LentDatabases, str], change: str) -> None:
    lent, name = used
    asked(lent, name, ADD_SERVICE, change.replace("CURRENT_NAME", name))
    assert lent.give_back(name, "g1") == "g1"
    assert lent.take() is None


def test_a_database_that_is_gone_is_not_lent_again(used: tuple[LentDatabases, str], template: Template) -> None:
    lent, name = used
    template.drop_database(name)
    assert lent.give_back(name, "g1") == name
    assert lent.give_back("never_lent", "g1") == "never_lent"
    assert lent.take() is None

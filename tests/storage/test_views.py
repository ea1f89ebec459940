"""The SQL views and their page: what a role that may read them alone sees, and that promised columns are there."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, inspect, make_url, text

from factories.populated import populate
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, libpq_url
from tierscope.core.settings import RemoteWriteSettings, Settings
from tierscope.storage.base.ddl import make_view
from tierscope.storage.base.strangers import close_to_strangers
from tierscope.storage.tables.views import SCHEMA, VIEWS, View
from tierscope.usecases.alerts.evaluate import EvaluateRules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.operate.status import ComponentStatus, StatusReads

Rows = list[tuple[object, ...]]


def written(begin: str) -> list[str]:
    """The statements of those SQL blocks of docs/howto/sql.md that begin so."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "sql.md").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"```sql\n(.*?)```", page, re.DOTALL) if block.startswith(begin)]
    assert blocks, begin
    return [statement for block in blocks for statement in block.split(";") if statement.strip()]


@pytest.fixture
def reader(database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection of a new role that may read the views and nothing else."""
    owner = libpq_url(database_url)
    role = f"reader_{make_url(database_url).database}"
    with psycopg.connect(owner, autocommit=True) as connection:
        close_to_strangers(connection)  # as each start does: a copy of a database has rights of its own
        for statement in written("CREATE ROLE grafana"):
            connection.execute(statement.replace("grafana", f'"{role}"').encode())
        connection.execute(f'SET ROLE "{role}"')
        yield connection
        connection.execute("RESET ROLE")
        connection.execute(f'DROP OWNED BY "{role}"')
        connection.execute(f'DROP ROLE "{role}"')


def test_a_reader_sees_hosts_moves_and_heat_and_no_table(
    database: Database, reader: psycopg.Connection[tuple[object, ...]]
) -> None:
    populate(database)

    def ask(statement: str) -> Rows:
        return reader.execute(statement.encode()).fetchall()

    reader.execute(f"SET search_path TO {SCHEMA}")
    assert ask("SELECT host FROM hosts ORDER BY host") == [("node-0",), ("node-1",)]
    moved = "SELECT host, sum(promoted_pages), count(*) FROM host_tier_moves GROUP BY host ORDER BY host"
    with database.read() as session:
        stored = session.execute(
            text(
                "SELECT h.name, sum(m.promoted_pages), count(*) FROM tier_moves m JOIN hosts h ON h.id = m.host_id"
                " WHERE m.service_id = 0 GROUP BY h.name ORDER BY h.name"
            )
        )
        assert ask(moved) == [tuple(row) for row in stored]
    [(hot, cold, hosts, method)] = ask(
        "SELECT hot_bytes, cold_bytes, n_hosts, method FROM service_heat_1h ORDER BY hour_start DESC LIMIT 1"
    )
    assert (hot, cold, hosts, method) == (2 * 10 * 2**30, 2 * 90 * 2**30, 2, "trace")
    assert ask("SELECT DISTINCT heat_measured FROM service_hosts") == [(True,)]
    hourly, _ = written("SELECT")
    assert {host for _, host, _, _ in ask(hourly)} == {"node-0", "node-1"}
    for statement in written("SELECT"):
        ask(statement)
    for view in VIEWS:
        reader.execute(f"SELECT * FROM {SCHEMA}.{view.name} LIMIT 1".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute("SELECT credential_hash FROM public.hosts")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute("DELETE FROM hosts")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_try_advisory_lock(7201306114)",
        "SELECT pg_advisory_xact_lock_shared(1, 2)",
        "CREATE TEMPORARY TABLE mine (n int)",
        "SELECT lo_create(0)",
        "SELECT lo_from_bytea(0, 'x')",
        "SELECT pg_logical_emit_message(false, 'x', 'x')",
    ],
)
def test_a_reader_takes_no_lock_and_leaves_nothing(
    reader: psycopg.Connection[tuple[object, ...]], statement: str
) -> None:
    reader.execute("SET default_transaction_read_only = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute(statement.encode())


def test_status_tells_rules_that_nobody_judges_and_who_holds_locks(database: Database, database_url: str) -> None:
    populate(database)
    EvaluateRules(database, utc_now).run()
    context = ReadContext(database=database, clock=utc_now, settings=Settings(_env_file=None))

    def worker(later: timedelta = timedelta(0)) -> ComponentStatus:
        reads = StatusReads(replace(context, clock=lambda: utc_now() + later))
        return next(one for one in reads.status().components if one.name == "worker")

    assert worker().status == "healthy"
    with database.write() as transaction:
        transaction.execute(
            text(
                "WITH t AS (INSERT INTO sample_targets (cluster, name) VALUES ('', 'a') RETURNING id)"
                " INSERT INTO sample_series (target_id, hash, metric, labels)"
                " SELECT t.id, convert_to(n::text, 'UTF8'), 'm', '{}' FROM t, generate_series(1, 75) n"
            )
        )
        transaction.execute(text("ANALYZE sample_series"))
    few = RemoteWriteSettings(series=100)
    full = StatusReads(replace(context, settings=context.settings.model_copy(update={"remote_write": few})))
    assert "75 of at most 100 series" in full.status().components[0].detail
    late = worker(timedelta(minutes=5))
    assert late.status == "degraded"
    assert "no alert rule was judged for" in late.detail
    role = f"holder_{make_url(database_url).database}"
    with psycopg.connect(libpq_url(database_url), autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'".encode())
        owner.execute(f"GRANT EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) TO {role}".encode())
        try:
            address = make_url(libpq_url(database_url)).set(username=role, password="x")
            with psycopg.connect(address.render_as_string(hide_password=False), autocommit=True) as other:
                assert other.execute("SELECT pg_try_advisory_lock(7201306114)").fetchone() == (True,)
                found = worker()
                assert found.status == "degraded"
                assert role in found.detail
        finally:
            owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def columns_of(connection: Connection, view: View) -> list[str]:
    return [column["name"] for column in inspect(connection).get_columns(view.name, schema=SCHEMA)]


def test_every_promised_column_is_there(database: Database) -> None:
    """A column that is added to a view needs a revision that makes the view again."""
    with database.read() as session:
        for view in VIEWS:
            assert set(columns_of(session.connection, view)) == {column.name for column in view.columns}, view.name


def test_a_view_that_gains_columns_keeps_the_places_of_others(database: Database) -> None:
    whole = next(view for view in VIEWS if view.name == "services")
    few = View("some", "Some columns.", whole.columns[3:], whole.source)
    more = View("some", "More's there.", whole.columns, whole.source)
    with database.write() as transaction:
        make_view(transaction.connection, few)
        before = columns_of(transaction.connection, few)
        make_view(transaction.connection, more)
        after = columns_of(transaction.connection, more)
    assert after == before + [column.name for column in whole.columns[:3]]

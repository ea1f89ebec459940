"""Every revision down and up again, one at a time and on real data: it drops what it made and touches nothing else."""

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from factories.populated import populate
from fixtures.elsewhere import long, long_with_timescaledb
from tierscope.core.database import Database
from tierscope.core.errors import ConfigurationError
from tierscope.storage.base.schema import downgrade, migrations_dir, schema_state, upgrade
from tierscope.storage.tables import metadata

Digest = tuple[int, str]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url, read_statement_seconds=60)) as opened:
        yield opened


def revisions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(migrations_dir()))
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]


def tables_of(database: Database) -> dict[str, list[str]]:
    with database.read() as session:
        found = inspect(session.connection).get_multi_columns(filter_names=list(metadata.tables))
    return {name: sorted(column["name"] for column in columns) for (_, name), columns in sorted(found.items())}


def digests(database: Database, tables: dict[str, list[str]]) -> dict[str, Digest]:
    """Number and digest of each table's rows by its columns."""
    parts = []
    for table, columns in tables.items():
        cells = ", ".join(f't."{column}"' for column in columns)
        parts.append(
            f"SELECT '{table}', count(*), coalesce(md5(string_agg(row, '|' ORDER BY row)), '') FROM"
            f" (SELECT CAST(ROW({cells}) AS text) AS row FROM {table} AS t) AS rows"
        )
    with database.read() as session:
        rows = session.execute(text(" UNION ALL ".join(parts))).all()
    return {str(table): (int(count), str(found)) for table, count, found in rows}


CHANGED_BY_ITS_REVISION = {
    "0014": {"users", "tokens"},  # tokens of people go with them
    "0039": {"traces"},  # page samples get another form
    "0038": {"counters_packed"},  # packed hours get another form
    "0044": {"capacity_days"},  # days of services are made anew
    "0003": {"tier_moves"},  # the text of what its columns are made of stands in the rows again
}
WORK = {"marks", "installation", "alembic_version"}


@long_with_timescaledb
def test_every_revision_goes_down_and_up_again_on_real_data(
    database_url: str, database: Database, storage_mode: str
) -> None:
    populate(database)
    order = revisions()
    before = tables_of(database)
    rows_before = digests(database, before)
    for revision, older in pairwise(order):
        downgrade(database_url, older)
        after = tables_of(database)
        rows_after = digests(database, after)
        for name in before.keys() & after.keys() - WORK - CHANGED_BY_ITS_REVISION.get(revision, set()):
            if after[name] == before[name]:
                assert rows_after[name] == rows_before[name], (revision, name)
            else:
                assert rows_after[name][0] == rows_before[name][0], (revision, name)
        before, rows_before = after, rows_after
    assert schema_state(database).revision == order[-1]
    assert upgrade(database_url) == storage_mode
    assert tables_of(database) == {name: sorted(table.columns.keys()) for name, table in metadata.tables.items()}
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM counters_live")).scalar_one() > 0


@long
def test_from_anywhere_the_way_up_leads_to_the_same_schema(
    database_url: str, database: Database, storage_mode: str
) -> None:
    whole = tables_of(database)
    for older in (*revisions()[1:6], "0007", "0002", "base"):
        downgrade(database_url, older)
        if older == "base":
            assert tables_of(database) == {}
        assert upgrade(database_url) == storage_mode
        assert tables_of(database) == whole
        assert schema_state(database).current


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_revision_that_is_not_there_is_refused(database_url: str, database: Database) -> None:
    with pytest.raises(ConfigurationError, match="9999"):
        downgrade(database_url, "9999")
    assert schema_state(database).current

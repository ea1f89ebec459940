"""Backup and restore of real data: a fresh instance answers the same, and a damaged file loses nothing."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from cli.commands import Ended, tierscope
from factories.populated import Populated, populate
from factories.services import serving
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.elsewhere import long_with_timescaledb
from fixtures.servers import Template
from tierscope.api.app import create_app
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.embedded.process import ProcessId, identify, is_running, list_children
from tierscope.core.errors import TierscopeError
from tierscope.core.settings import Settings
from tierscope.storage.base.schema import schema_state
from tierscope.storage.tables import metadata


def answers(url: str, made: Populated, now: datetime) -> dict[str, bytes]:
    """What a service on this database says at one moment."""
    host, service = made.ids["host_id"][0], made.ids["service_id"][0]
    paths = [
        "/v1/hosts",
        f"/v1/hosts/{host}",
        f"/v1/hosts/{host}/ledger",
        f"/v1/hosts/{host}/counters/names",
        "/v1/services",
        f"/v1/services/{service}",
        f"/v1/services/{service}/heat?from=-25h",
        f"/v1/services/{service}/revisit",
        f"/v1/services/{service}/tiles",
        "/v1/data-quality",
        "/v1/agents/versions",
        "/v1/alerts",
        "/v1/advice",
        "/v1/experiments",
        "/v1/scenarios",
        "/v1/audit",
    ]
    app = create_app(Settings(database_url=url), clock=lambda: now)
    with serving(app) as address, httpx.Client(base_url=address, timeout=DEADLINE_SECONDS) as client:
        client.headers["Authorization"] = f"Bearer {made.token}"
        found = {path: client.get(path) for path in paths}
    assert {path: answer.status_code for path, answer in found.items()} == dict.fromkeys(paths, 200)
    return {path: answer.content for path, answer in found.items()}


def row_counts(url: str) -> dict[str, int]:
    """Rows of every table."""
    with closing(Database(url)) as database, database.read() as session:
        return {
            table.name: session.execute(text(f"SELECT count(*) FROM {table.name}")).scalar_one()
            for table in metadata.sorted_tables
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """A database with data, whose copies tests change, and what is in it."""

    name: str
    made: Populated


@pytest.fixture(scope="module")
def stored(template: Template, storage_mode: str) -> Iterator[Stored]:
    name = template.make_database(schema=True, mode=storage_mode)
    with closing(Database(template.cluster.url(name))) as database:
        made = populate(database)
        with database.read() as session:
            made.note("service_id", session.execute(text("SELECT public_id FROM services LIMIT 1")).scalar_one())
    yield Stored(name, made)
    template.drop_database(name)


@pytest.fixture
def database_url(template: Template, stored: Stored) -> Iterator[str]:
    """Of a copy that is the test's own."""
    name = template.copy_database(stored.name)
    yield template.cluster.url(name)
    template.drop_database(name)


@pytest.fixture
def fresh_url(template: Template, storage_mode: str) -> Iterator[str]:
    name = template.make_database(schema=True, mode=storage_mode)
    yield template.cluster.url(name)
    template.drop_database(name)


@long_with_timescaledb
def test_a_fresh_instance_that_is_restored_answers_the_same(
    template: Template, database_url: str, fresh_url: str, stored: Stored, tmp_path: Path
) -> None:
    made, now = stored.made, utc_now()
    before, counts = answers(database_url, made, now), row_counts(database_url)
    copy = tmp_path / "copy.dump"
    done = tierscope(template, database_url, tmp_path, "backup", str(copy))
    assert done.status == 0, done.stderr
    assert copy.stat().st_mode & 0o777 == 0o600
    assert made.token.encode() not in copy.read_bytes()
    done = tierscope(template, fresh_url, tmp_path, "restore", str(copy), "--replace")
    assert done.status == 0, done.stderr
    assert row_counts(fresh_url) == counts
    assert answers(fresh_url, made, now) == before
    with closing(Database(fresh_url)) as database:
        assert schema_state(database).current
        with database.write() as transaction:
            transaction.execute(text("INSERT INTO events (at, kind, text) VALUES (now(), 'deploy', 'after')"))


def _cross(url: str, ended: Event, *, patient: bool) -> None:
    """Read what a restore drops late, and as soon as it waits for that, what it has dropped already.

    Not `patient` it is the one that the server ends, as sessions of the service are.
    """
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'alerts'::regclass")
    with closing(Database(url)) as reader, closing(Database(url)) as watcher, reader.write() as transaction:
        if patient:
            transaction.execute(text("SET LOCAL deadlock_timeout = '1h'"))
        transaction.execute(text("SET LOCAL lock_timeout = '20s'"))
        transaction.execute(text("LOCK TABLE alerts IN ACCESS SHARE MODE"))

        def is_met() -> bool:
            with watcher.read() as session:
                return ended.is_set() or session.execute(waiting).scalar_one() > 0

        until(is_met, "the restore waits for the reader")
        # The reader gives up where it came too late for the server to see that both wait for each other.
        with suppress(TierscopeError, DBAPIError):
            transaction.execute(text("LOCK TABLE tokens IN ACCESS SHARE MODE"))


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_the_service_gives_way_to_a_restore_that_it_crosses(
    template: Template, database_url: str, tmp_path: Path
) -> None:
    counts, copy = row_counts(database_url), tmp_path / "copy.dump"
    assert tierscope(template, database_url, tmp_path, "backup", str(copy)).status == 0
    for _ in range(3):
        done = _restore_crossed(template, database_url, copy, patient=False)
        assert "beginning again" not in done.stderr, "readers and writers that go on would cross it again and again"
        assert row_counts(database_url) == counts


def _restore_crossed(template: Template, url: str, copy: Path, *, patient: bool) -> Ended:
    ended = Event()
    reader = Thread(target=_cross, args=(url, ended), kwargs={"patient": patient})
    reader.start()
    done = tierscope(template, url, copy.parent, "restore", str(copy), "--replace")
    ended.set()
    reader.join()
    assert done.status == 0, done.stderr
    return done


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_restore_begins_again_where_a_reader_crosses_it(
    template: Template, database_url: str, tmp_path: Path
) -> None:
    counts, copy = row_counts(database_url), tmp_path / "copy.dump"
    assert tierscope(template, database_url, tmp_path, "backup", str(copy)).status == 0
    for _ in range(10):
        done = _restore_crossed(template, database_url, copy, patient=True)
        assert row_counts(database_url) == counts
        if "beginning again" in done.stderr:
            return
    pytest.fail("no reader crossed a restore")


@long_with_timescaledb
def test_a_truncated_backup_loses_nothing(template: Template, database_url: str, tmp_path: Path) -> None:
    counts = row_counts(database_url)
    copy = tmp_path / "copy.dump"
    assert tierscope(template, database_url, tmp_path, "backup", str(copy)).status == 0
    whole = copy.read_bytes()
    with closing(Database(database_url)) as database, database.write() as transaction:
        transaction.execute(text("INSERT INTO events (at, kind, text) VALUES (now(), 'deploy', 'made since')"))
    for share in (0.1, 0.5, 0.98):
        copy.write_bytes(whole[: int(len(whole) * share)])
        done = tierscope(template, database_url, tmp_path, "restore", str(copy), "--replace")
        assert done.status == 1
        assert "pg_restore" in done.stderr
        assert row_counts(database_url) == counts | {"events": counts["events"] + 1}


def test_a_tool_ends_with_its_command(database_url: str) -> None:
    def sleeping(parent: int) -> list[ProcessId]:
        children = {child: Path(f"/proc/{child}/cmdline") for child in list_children(parent)}
        found = (identify(child) for child, path in children.items() if b"pg_sleep" in path.read_bytes())
        return [one for one in found if one is not None]

    asked = (
        "import sys; from tierscope.cli.operate.client_tools import ClientTools, Settings;"
        "ClientTools(Settings(), demo=False).run(sys.argv[1], ['psql', '-c', 'SELECT pg_sleep(600)', ''])"
    )
    with subprocess.Popen([sys.executable, "-c", asked, database_url]) as command:
        until(lambda: sleeping(command.pid), "the tool runs", alive={"the command": command})
        (tool,) = sleeping(command.pid)
        command.kill()
    until(lambda: not is_running(tool), "the tool has ended")

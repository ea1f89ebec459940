"""Objects of hosts on several servers in one bucket: they go with their hosts, and what any server lists stays."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from cli.commands import call, tierscope
from factories import batches
from factories.derived import drain, to_ns
from factories.installations import Enrolled, enrol, store
from factories.node_fleets import node_away, several_servers
from factories.object_stores import empty_bucket, s3_environment, s3_server, s3_settings
from factories.waiting import DEADLINE_SECONDS
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.objects.open import open_store
from tierscope.core.objects.store import ObjectStore
from tierscope.storage.curve.page_samples import list_samples, read_samples
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.turn import Turn
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.objects.by_node import keep_objects
from tierscope.usecases.objects.mover import MoveObjects
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]
NODES = ("n1", "n2", "n3")
Pages = list[list[object]]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with s3_server() as found:
        yield found


@pytest.fixture
def objects(address: str) -> ObjectStore:
    empty_bucket(address)
    opened = open_store(s3_settings(address))
    assert opened is not None
    return opened


@pytest.fixture
def fleet(template: Template, storage_mode: str, objects: ObjectStore) -> Iterator[Database]:
    with several_servers(template, storage_mode, *NODES) as found, closing(Database(found.url, objects=objects)) as it:
        yield it


@pytest.fixture
def hosts(fleet: Database) -> list[Enrolled]:
    """One on each server, with pages that were sampled two hours ago."""
    made = [enrol(fleet, name=f"h{number}") for number in range(4)]
    for pages, host in enumerate(made, 3):
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=to_ns(hour() + timedelta(minutes=10)))
        batches.add_page_sample(batch, pages=pages)
        batches.add_inventory(batch)
        assert store(fleet, host, [batch])
    drain(fleet)
    return made


def hour() -> datetime:
    return utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)


def pages_of(database: Database, hosts: Sequence[Enrolled]) -> Pages:
    """What pages of the dashboard read of these hosts, each with its own number of pages, by that number."""
    span = (hour() - timedelta(hours=1), utc_now())
    with database.read() as session:
        (service,) = session.driver.execute("SELECT id FROM services").fetchone() or (0,)
        heads = list_samples(session, int(service), *span, [host.identity.id for host in hosts])
        found = list(read_samples(session, int(service), heads))
    told = ([np.asarray(getattr(part, name)).tolist() for name in part.__slots__] for _, part in found)
    return sorted(told, key=lambda columns: len(str(columns)))


def keys(objects: ObjectStore) -> list[str]:
    return sorted(found.key for found in objects.list(""))


def listed(nodes: Nodes) -> list[list[str]]:
    found = []
    for number in nodes.numbers():
        with nodes.own(number).read() as session:
            found.append([row[0] for row in session.driver.execute("SELECT key FROM objects ORDER BY key")])
    return found


def in_rows(database: Database) -> int:
    """Bodies of page samples that are in rows, of all servers."""
    with database.read() as session:
        return len(session.driver.execute("SELECT FROM traces WHERE object_key IS NULL").fetchall())


def told(database: Database, address: str, word: str) -> str:
    """What `tierscope objects` says when it has ended, with its status first."""
    ended = call("objects", word, env=os.environ | {"TIERSCOPE_DATABASE_URL": database.url} | s3_environment(address))
    return f"{ended.status}: {ended.stderr}"


def swept(nodes: Nodes, objects: ObjectStore) -> int:
    """What a daily run deletes as nobody lists it, two days later."""
    return keep_objects(nodes, objects, lambda: hour() + timedelta(days=2))


def test_objects_of_each_server_go_with_their_hosts(
    fleet: Database, template: Template, objects: ObjectStore, hosts: list[Enrolled], address: str
) -> None:
    nodes, before = Nodes(fleet), pages_of(fleet, hosts)
    assert len(before) == 4
    assert told(fleet, address, "move").startswith("0: 4 objects made (")
    assert (in_rows(fleet), pages_of(fleet, hosts)) == (0, before)
    kept = keys(objects)
    assert [len(found) for found in listed(nodes)] == [1, 1, 1, 1]
    assert all(f"/host={host.id}/" in found[0] for host, found in zip(hosts, listed(nodes), strict=True))
    Moves(fleet).move([hosts[1].id], "n2", actor="test")
    Moves(fleet).drain("n3", actor="test")
    nodes.forget()
    for number in nodes.numbers():
        assert MoveObjects(nodes.own(number), objects, utc_now).run(full=True).deleted == 0
    assert (pages_of(fleet, hosts), keys(objects)) == (before, kept)
    assert (listed(nodes)[3], sorted(chain.from_iterable(listed(nodes)))) == ([], kept)
    stray = f"traces/day={hour():%Y-%m-%d}/stray"
    objects.put(stray, b"of a database that was restored to before it")
    with Turn(fleet, nodes).alone():
        assert swept(nodes, objects) == 0, "objects of hosts that move change lists"
    with node_away(template, fleet, 2):
        assert swept(nodes, objects) == 0, "a node that is away may list it"
        assert pages_of(fleet, [hosts[0]]) == before[:1], "what the others hold is read"
    assert keys(objects) == sorted([*kept, stray])
    assert swept(nodes, objects) == 1, "what no node lists"
    assert (pages_of(fleet, hosts), keys(objects)) == (before, kept)
    with node_away(template, fleet, 2):
        assert told(fleet, address, "bring-back").startswith("1: ")
    assert told(fleet, address, "bring-back").startswith("0: ")
    assert (in_rows(fleet), pages_of(fleet, hosts), keys(objects)) == (4, before, [])
    assert told(fleet, address, "move").startswith("0: 4 objects made (")
    assert (in_rows(fleet), pages_of(fleet, hosts), keys(objects)) == (0, before, kept)
    Purges(fleet).start("host", hosts[1].id, confirm=hosts[1].identity.name, actor="test")
    PurgeWork(nodes, utc_now).run(at_most=timedelta(hours=1))
    assert MoveObjects(nodes.own(2), objects, utc_now).run(full=True).deleted == 1
    assert keys(objects) == [key for key in kept if f"/host={hosts[1].id}/" not in key]


def test_a_node_that_was_added_a_moment_ago_lists_its_objects(
    fleet: Database,
    template: Template,
    objects: ObjectStore,
    hosts: list[Enrolled],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tierscope.usecases.nodes.fleet.KEPT_SECONDS", DEADLINE_SECONDS)
    nodes, before = Nodes(fleet), pages_of(fleet, hosts)
    nodes.on_each(lambda own: MoveObjects(own, objects, utc_now).run(full=True))
    kept = keys(objects)
    name = template.make_database(schema=False, mode="native")
    try:
        NodeChanges(fleet).add("n4", template.cluster.url(name), actor="test", storage="native")
        Moves(fleet).move([hosts[1].id], "n4", actor="test")
        assert swept(nodes, objects) == 0
        assert (keys(objects), pages_of(fleet, hosts)) == (kept, before)
    finally:
        fleet.close()
        template.drop_database(name)


def test_a_restored_fleet_reads_its_objects_and_makes_the_others_again(
    fleet: Database, template: Template, objects: ObjectStore, hosts: list[Enrolled], tmp_path: Path
) -> None:
    before = pages_of(fleet, hosts)
    MoveObjects(Nodes(fleet).own(0), objects, utc_now).run(full=True)
    MoveObjects(Nodes(fleet).own(1), objects, utc_now).run(full=True)
    kept = keys(objects)
    copy = tmp_path / "fleet.backup"
    assert tierscope(template, fleet.url, tmp_path, "backup", str(copy)).status == 0
    Nodes(fleet).on_each(lambda own: MoveObjects(own, objects, utc_now).run(full=True))
    assert (len(kept), len(keys(objects)), in_rows(fleet)) == (2, 4, 0)
    fleet.close()
    done = tierscope(template, fleet.url, tmp_path, "restore", str(copy), "--replace")
    assert done.status == 0, done.stderr
    with closing(Database(fleet.url, objects=objects)) as restored:
        NodeWatch(Nodes(restored)).look()
        assert (pages_of(restored, hosts), in_rows(restored)) == (before, 2)
        nodes = Nodes(restored)
        nodes.on_each(lambda own: MoveObjects(own, objects, utc_now).run(full=True))
        assert (pages_of(restored, hosts), in_rows(restored), sum(map(len, listed(nodes)))) == (before, 0, 4)
        assert swept(nodes, objects) == 0, "the same bodies have the same keys"
        assert (pages_of(restored, hosts), len(keys(objects))) == (before, 4)

"""Objects of hosts on several servers: they go with their hosts, and commands reach those of each server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from cli.commands import call
from factories import batches
from factories.derived import drain, to_ns
from factories.installations import enrol, store
from factories.node_fleets import node_away, several_servers
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.objects.directory import DirectoryStore
from tierscope.storage.curve.page_samples import list_samples, read_samples
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.turn import Turn
from tierscope.usecases.objects.by_node import keep_objects
from tierscope.usecases.objects.mover import MoveObjects
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


@pytest.fixture
def fleet(template: Template, storage_mode: str) -> Iterator[Database]:
    with several_servers(template, storage_mode, "n1", "n2") as database:
        yield database


def told_of_objects(url: str, folder: Path, word: str) -> str:
    """What `tierscope objects` says when it has ended, with its status first."""
    env = os.environ | {"TIERSCOPE_DATABASE_URL": url, "TIERSCOPE_OBJECTS__STORE": "directory"}
    ended = call("objects", word, env=env | {"TIERSCOPE_OBJECTS__DIRECTORY": str(folder)})
    return f"{ended.status}: {ended.stderr}"


def in_rows(database: Database) -> int:
    """Bodies of page samples that are in rows, of all servers."""
    with database.read() as session:
        return len(session.driver.execute("SELECT FROM traces WHERE object_key IS NULL").fetchall())


def test_objects_of_a_host_go_with_it(fleet: Database, template: Template, tmp_path: Path) -> None:
    objects = DirectoryStore(tmp_path / "objects")
    with closing(Database(fleet.url, objects=objects)) as database:
        host = [enrol(database, name=f"h{number}") for number in range(2)][1]
        hour = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=to_ns(hour + timedelta(minutes=10)))
        batches.add_page_sample(batch, pages=4)
        batches.add_inventory(batch)
        assert store(database, host, [batch])
        drain(database)
        nodes = Nodes(database)
        move, bring_back = ((fleet.url, tmp_path / "objects", word) for word in ("move", "bring-back"))
        assert told_of_objects(*move).startswith("0: 1 objects made (")
        assert in_rows(database) == 0

        def pages() -> list[list[object]]:
            span = (hour - timedelta(hours=1), utc_now())
            with database.read() as session:
                (service,) = session.driver.execute("SELECT id FROM services").fetchone() or (0,)
                heads = list_samples(session, int(service), *span, [host.identity.id])
                found = list(read_samples(session, int(service), heads))
            return [[np.asarray(getattr(part, name)).tolist() for name in part.__slots__] for _, part in found]

        before, keys = pages(), [found.key for found in objects.list("")]
        assert len(before) == len(keys) == 1
        Moves(database).move([host.id], "n2", actor="test")
        nodes.forget()
        for number in nodes.numbers():
            assert MoveObjects(nodes.own(number), objects, utc_now).run(full=True).deleted == 0
        assert (pages(), [found.key for found in objects.list("")]) == (before, keys)
        stray = f"traces/day={hour:%Y-%m-%d}/stray"
        objects.put(stray, b"of a database that was restored to before it")

        def swept() -> int:
            return keep_objects(nodes, objects, lambda: hour + timedelta(days=2))

        with Turn(database, nodes).alone():
            assert swept() == 0, "objects of hosts that move change lists"
        with node_away(template, database, 1):
            assert swept() == 0, "a node that is away may list it"
        assert sorted(found.key for found in objects.list("")) == sorted([*keys, stray])
        assert swept() == 1, "what no node lists"
        assert (pages(), [found.key for found in objects.list("")]) == (before, keys)
        with node_away(template, database, 2):
            assert told_of_objects(*bring_back).startswith("1: 0 objects brought back\nerror: n2 does not answer")
        assert told_of_objects(*bring_back) == "0: 1 objects brought back\n"
        assert (in_rows(database), pages(), list(objects.list(""))) == (1, before, [])
        assert told_of_objects(*move).startswith("0: ")
        assert (in_rows(database), pages(), [found.key for found in objects.list("")]) == (0, before, keys)
        Purges(database).start("host", host.id, confirm=host.identity.name, actor="test")
        PurgeWork(nodes, utc_now).run(at_most=timedelta(hours=1))
        assert MoveObjects(nodes.own(2), objects, utc_now).run(full=True).deleted == 1

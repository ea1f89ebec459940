"""Published days of a fleet on several servers: hosts are in them wherever they are, and none is lost by an outage."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from pyarrow import parquet

from factories.derived import day_before, drain, send_counters
from factories.installations import Enrolled, enrol
from factories.node_fleets import node_away, several_servers
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.objects.directory import DirectoryStore
from tierscope.storage.nodes.placement import HOSTS_PER_NODE
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.operate.history import ANEW_AFTER, Published, PublishHistory

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


@pytest.fixture
def fleet(template: Template, storage_mode: str) -> Iterator[Database]:
    with several_servers(template, storage_mode, "n1", "n2") as found, closing(Database(found.url)) as database:
        yield database


@pytest.fixture
def hosts(fleet: Database) -> list[Enrolled]:
    made = [enrol(fleet, name=f"h{number}") for number in range(3)]
    for host in made:
        send_counters(fleet, host, day_before(), range(10, 1441, 10))
    drain(fleet)
    return made


def publish(database: Database, folder: Path, *, later: timedelta = timedelta()) -> Published:
    keep = timedelta(days=1095)
    work = PublishHistory(database, DirectoryStore(folder), lambda: utc_now() + later, keep=keep)
    return work.run(full=True, at_most=timedelta(minutes=10))


def published(folder: Path) -> dict[str, set[str]]:
    """Whose rows each file that the manifest names has."""
    told = json.loads((folder / "manifests" / "tier_moves.json").read_text())["files"]
    return {
        file["path"]: set(parquet.read_table(folder / file["path"])["host_id"].to_pylist())
        for file in told
        if f"{day_before():%Y-%m-%d}" in file["path"]
    }


def test_hosts_of_all_servers_are_published_and_stay_so(
    template: Template, fleet: Database, hosts: list[Enrolled], tmp_path: Path
) -> None:
    publish(fleet, tmp_path)
    before = published(tmp_path)
    assert sorted(before) == [
        f"tier_moves/day={day_before():%Y-%m-%d}/hosts-{number * HOSTS_PER_NODE}.parquet" for number in range(3)
    ]
    assert set().union(*before.values()) == {host.id for host in hosts}
    away = next(host for host in hosts if host.identity.id >= HOSTS_PER_NODE)
    with node_away(template, fleet, away.identity.id // HOSTS_PER_NODE):
        assert publish(fleet, tmp_path, later=ANEW_AFTER) == Published()
    assert published(tmp_path) == before
    send_counters(fleet, away, day_before() + timedelta(days=1), range(10, 101, 10), seq=1)
    drain(fleet)
    assert publish(fleet, tmp_path, later=ANEW_AFTER).made > 0, "late rows of another server are noted here"
    Moves(fleet).move([away.id], "n2" if away.identity.id < 2 * HOSTS_PER_NODE else "n1", actor="test")
    publish(fleet, tmp_path, later=2 * ANEW_AFTER)
    assert published(tmp_path) == before

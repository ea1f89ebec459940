"""Servers leave a fleet: drained ones with nothing lost, those that are gone for ever with an account of what is."""

import json
import os
from datetime import timedelta

import pytest

from cli.commands import call
from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from factories.node_fleets import dumped, node_away
from factories.populated import populate
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, Unprocessable
from tierscope.core.settings import Settings
from tierscope.domain.base.figures import Figure
from tierscope.storage.base.retention import kept
from tierscope.storage.fleet.agent_plans import read_pauses
from tierscope.storage.fleet.events import list_events
from tierscope.storage.knobs.advice import list_groups
from tierscope.storage.nodes.leaving import NAMING_HOSTS, read_lost
from tierscope.storage.nodes.placement import OF_HOSTS
from tierscope.storage.operate.purge_steps import reference_column
from tierscope.storage.tables import metadata
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.heat.services import fleet_figures, read_heat_now
from tierscope.usecases.nodes.changes import NodeChanges, upgrade_all
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.removal import Removal
from tierscope.usecases.nodes.turn import Turn
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.operate.purges import Purges
from tierscope.usecases.tco.reclaimable import ReclaimableReads

SERVERS = ("n1", "n2")

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def names(database: Database) -> list[str]:
    return [state.name for state in NodeChanges(database).list()]


def url_of(database: Database, name: str) -> str:
    (url,) = [node.url for node in Nodes(database).listed() if node.name == name]
    return url


def asked(database: Database, url: str) -> int:
    """Foreign tables of a node."""
    with database.own_rows.read() as session:
        name = url.rsplit("/", 1)[1].split("?", maxsplit=1)[0]
        rows = session.driver.execute(
            "SELECT FROM pg_foreign_table t JOIN pg_foreign_server s ON s.oid = t.ftserver"
            " WHERE s.srvoptions @> ARRAY['dbname=' || %s]",
            [name],
        )
        return len(rows.fetchall())


def heat_now(database: Database) -> tuple[Figure, Figure]:
    """The fleet's cold bytes in DRAM and its resident bytes, now."""
    with database.read() as session:
        heats = list(read_heat_now(session, now=utc_now()).values())
    idle = ReclaimableReads(ReadContext(database, utc_now, Settings())).read(currency="USD")
    return idle.cold_in_dram_bytes, fleet_figures(heats, now=utc_now()).weighted.resident_bytes


def mention(database: Database, host: str) -> dict[str, int]:
    """Lets the coordinator name a host in all ways; what it lists then."""
    with database.write() as transaction:
        run = transaction.driver.execute
        (number,) = run("SELECT id FROM hosts WHERE public_id = %s", [host]).fetchone() or (0,)
        run("INSERT INTO events (at, kind, text, host_id) VALUES (now(), 'deploy', 'on it', %s)", [number])
        run("INSERT INTO pauses (host_id, scope, since, actor) VALUES (%s, 'heat', now(), 'test')", [number])
        run("INSERT INTO sample_targets (cluster, name, host_id) VALUES ('', 'it', %s)", [number])
        run(
            "INSERT INTO advice (public_id, kind, key, host_id, title, body, status, created_at, refreshed_at,"
            " expires_at) VALUES ('a1', 'knob', 'it', %s, 'it', '{}', 'open', now(), now(), now() + interval '1 day')",
            [number],
        )
    return listed(database)


def listed(database: Database) -> dict[str, int]:
    """What people are shown that belongs to hosts."""
    now = utc_now()
    with database.read() as session:
        day = timedelta(days=1)
        marks = list_events(session, start=now - day, end=now + day, service=None, host=None, before=None, limit=99)
        advised = list_groups(session, kind=None, status=None, service=None, host=None, after=0, limit=99)
        return {"events": len(marks), "pauses": len(read_pauses(session)), "advice": len(advised)}


def check_given_up(fleet: Database) -> None:
    """Hosts of the second node are kept as lost, and no other table of the coordinator names them."""
    with fleet.read() as session:
        assert len(read_lost(session, now=utc_now())) == 1
        assert read_lost(session, now=utc_now() + kept("heat")) == (), "no hour of theirs is among the newest"
    owned = {table for table in metadata.sorted_tables if reference_column(table, "host")}
    assert owned - set(OF_HOSTS) == set(NAMING_HOSTS)
    with fleet.own_rows.read() as session:
        for table in NAMING_HOSTS:
            left = "SELECT FROM {} WHERE host_id >= 2::bigint << 40 AND host_id < 3::bigint << 40"
            assert not session.driver.execute(left.format(table.name).encode()).fetchall(), table.name
        assert session.driver.execute("SELECT host_id FROM sample_targets").fetchall() == [(None,)]


def test_a_drained_node_leaves_and_everything_is_as_it_was(fleet: Database, template: Template) -> None:
    hosts = populate(fleet, n_hosts=3).ids["host_id"]
    before = dumped(fleet)
    nothing, (all_cold, all_resident) = listed(fleet), heat_now(fleet)
    assert all_cold.status == "ok"
    assert all_cold.n_hosts == 3
    assert [one for one in all_cold.warnings if "away" in one] == []
    url = url_of(fleet, "n1")
    process = Nodes(fleet)
    watch = NodeWatch(process)
    watch.look()
    assert len(watch.shown) == 3
    Moves(fleet).drain("n1", actor="test")
    with Nodes(fleet).own(1).write() as own:  # what is made of all hosts waits where its mark is
        own.driver.execute(
            "INSERT INTO marks (kind, subject_id, service_id, bucket) VALUES ('fleet_moves', 77, 0, now())"
        )
    removed = Removal(fleet).remove("n1", actor="test")
    assert removed.number == 1
    assert removed.work >= 1
    assert removed.lost is None
    assert (removed.left_bytes or 0) > 0
    assert asked(fleet, url) == 0
    shown = dumped(fleet)
    brought = set(shown.pop("marks")) - set(before.pop("marks"))
    assert shown == before
    assert [mark.startswith("(fleet_moves,77,") for mark in brought] == [True]
    watch.look()
    assert [node.name for node in watch.shown] == ["coordinator", "n2"], "without a restart"
    assert process.numbers() == (0, 2)
    drain(fleet)
    upgrade_all(fleet.url)
    assert names(fleet) == ["coordinator", "n2"]
    again = NodeChanges(fleet).add("n1", url, actor="test")
    assert again.number == 3, "numbers of hosts that have moved are given once"
    assert enrol(fleet, name="new").identity.id >> 40 == 3
    (n2_hosts,) = [state.hosts or 0 for state in NodeChanges(fleet).list() if state.name == "n2"]
    assert {name: count - nothing[name] for name, count in mention(fleet, hosts[2]).items()} == dict.fromkeys(
        nothing, 1
    )
    with node_away(template, fleet, 2):
        assert listed(fleet) == nothing, "a pause of a host that is away is not one of all hosts"
        (cold, resident), answering = heat_now(fleet), 3 - n2_hosts
        assert resident.value == pytest.approx((all_resident.value or 0) * answering / 3), "hosts are alike"
        assert cold.n_hosts == answering
        assert cold.warnings[-1] == "without the hosts of n2, which is away"
        assert cold.coverage == pytest.approx((all_cold.coverage or 0) * answering / 3)
        Removal(fleet).give_up("n2", actor="test")
        cold, resident = heat_now(fleet)
        assert resident.value == pytest.approx((all_resident.value or 0) * answering / 3), "its hours count lost hosts"
        assert cold.n_hosts == answering
        assert [one for one in cold.warnings if "away" in one] == []
        assert cold.coverage == pytest.approx(all_cold.coverage), "lost hosts are not awaited"
        check_given_up(fleet)


@long
def test_the_last_node_leaves_one_server_and_another_one_comes(fleet: Database) -> None:
    populate(fleet, n_hosts=3)
    before = dumped(fleet)
    urls = [url_of(fleet, name) for name in ("n1", "n2")]
    for name in ("n1", "n2"):
        Moves(fleet).drain(name, actor="test")
        Removal(fleet).remove(name, actor="test")
    assert names(fleet) == ["coordinator"]
    with fleet.own_rows.read() as session:
        left = session.driver.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname IN ('tierscope_fleet', 'tierscope_pieces')"
            " OR nspname LIKE 'tierscope_node%'"
        ).fetchall()
    assert left == []
    assert asked(fleet, urls[0]) == 0
    assert {**dumped(fleet), "marks": []} == {**before, "marks": []}
    with pytest.raises(Unprocessable, match="one database server"):
        Removal(fleet).remove("n1", actor="test")
    drain(fleet)
    upgrade_all(fleet.url)
    before = dumped(fleet)
    assert NodeChanges(fleet).add("n2", urls[1], actor="test").number == 3
    assert dumped(fleet) == before, "hosts with numbers of the nodes that left are the coordinator's"
    host = enrol(fleet, name="new")
    assert host.identity.id >> 40 == 3
    assert store(fleet, host, [batches.full_batch(host_id=host.id, seq=0)])
    Moves(fleet).drain("coordinator", actor="test")
    assert [state.hosts for state in NodeChanges(fleet).list()] == [0, 4]


def test_what_cannot_leave_says_why(fleet: Database) -> None:
    host = [enrol(fleet, name=f"h{number}") for number in range(3)][1]
    removal = Removal(fleet)
    with pytest.raises(Unprocessable, match="the coordinator holds what is of the whole fleet"):
        removal.remove("coordinator", actor="test")
    with pytest.raises(Conflict, match="node n1 takes hosts") as refused:
        removal.remove("n1", actor="test")
    assert "nodes drain n1" in (refused.value.next_step or "")
    with Turn(fleet, Nodes(fleet)).alone(), pytest.raises(Conflict, match="somebody else moves hosts"):
        removal.remove("n1", actor="test")
    with pytest.raises(Conflict, match="node n1 answers: nothing of it is lost"):
        removal.account("n1")
    with fleet.own_rows.write() as transaction:
        transaction.driver.execute("UPDATE nodes SET draining = true WHERE name = 'n1'")
    with pytest.raises(Conflict, match="node n1 has 1 hosts"):
        removal.remove("n1", actor="test")
    with Nodes(fleet).own(1).write() as own:
        own.driver.execute(
            "INSERT INTO objects (key, kind, host_id, service_id, ts, size_bytes, created_at, forgotten_at)"
            " VALUES ('k', 'traces', 1, 1, now(), 1, now(), now())"
        )
    with pytest.raises(Conflict, match="1 objects of node n1 are not deleted"):
        removal.remove("n1", actor="test")
    Purges(fleet).start("host", host.id, confirm=host.identity.name, actor="test")
    with pytest.raises(Conflict, match="are being removed"):
        removal.remove("n1", actor="test")
    assert names(fleet) == ["coordinator", "n1", "n2"]


@long
def test_a_node_that_is_gone_for_ever_is_given_up_with_an_account(fleet: Database, template: Template) -> None:
    hosts = [enrol(fleet, name=f"h{number}") for number in range(4)]
    Moves(fleet).move([hosts[1].id], "n2", actor="test")
    Moves(fleet).move([hosts[2].id, hosts[3].id], "n1", actor="test")

    def tierscope(*words: str) -> tuple[int, str, str]:
        ended = call("nodes", *words, env=os.environ | {"TIERSCOPE_DATABASE_URL": fleet.url})
        return ended.status, ended.stdout, ended.stderr

    with node_away(template, fleet, 1):
        with pytest.raises(Conflict, match="node n1 is away since"):
            Removal(fleet).remove("n1", actor="test")
        status, told, problem = tierscope("remove", "n1", "--lost")
        assert status == 2
        assert "2 hosts would be given up" in problem
        assert "add --yes" in problem
        for host in hosts[2:]:
            assert f"{host.id}  {host.identity.name}  lost from " in told
        assert names(fleet) == ["coordinator", "n1", "n2"]
        status, told, _ = tierscope("remove", "n1", "--lost", "--yes", "--json")
        assert status == 0
        assert [host["public_id"] for host in json.loads(told)["lost"]["hosts"]] == [host.id for host in hosts[2:]]
        assert names(fleet) == ["coordinator", "n2"]
        with fleet.read() as session:
            shown = [row[0] for row in session.driver.execute("SELECT public_id FROM hosts ORDER BY name")]
            lost = session.driver.execute("SELECT count(*) FROM audit WHERE action = 'host.lose'").fetchone()
        assert shown == [host.id for host in hosts[:2]]
        assert lost == (2,)
    with node_away(template, fleet, 2):
        assert [host.public_id for host in Removal(fleet).account("n2").hosts] == [hosts[1].id], "each is told once"
    assert tierscope("remove", "n2", "--yes")[0] == 2


def test_a_command_takes_a_node_out(fleet: Database) -> None:
    Moves(fleet).drain("n1", actor="test")
    ended = call("nodes", "remove", "n1", env=os.environ | {"TIERSCOPE_DATABASE_URL": fleet.url})
    assert ended.status == 0
    assert "no part of the fleet" in ended.stdout
    assert "is left as it is (" in ended.stdout
    assert "Drop it" in ended.stdout

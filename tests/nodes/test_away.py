"""A node that is away: the rest answers and says so, its hosts' batches wait, and nothing is lost or stored twice."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import drain
from factories.installations import Enrolled, enrol
from factories.services import batch_headers, running
from factories.waiting import until
from fixtures.servers import Template, running_cluster
from tierscope.core.database import Database
from tierscope.core.embedded.postgres import PostgresCluster
from tierscope.core.errors import Unavailable, UnknownCredential
from tierscope.core.settings import Settings
from tierscope.storage.nodes.counts import forget_counts, read_count
from tierscope.usecases.access.credentials import new_secret
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.moves import Moves
from tierscope.usecases.nodes.watch import COUNTED_EVERY, NodeWatch

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@dataclass(slots=True)
class Fleet:
    """A coordinator and a node on a server of its own, with a host on each, behind a running service."""

    database: Database
    client: httpx.Client
    watch: NodeWatch
    node: PostgresCluster
    here: Enrolled
    there: Enrolled

    def send(self, host: Enrolled, seq: int) -> int:
        """Uploads a batch of a host; the status of the answer."""
        body = batches.compress(batches.full_batch(host_id=host.id, seq=seq))
        return self.client.post("/v1/ingest/batches", content=body, headers=batch_headers(host.credential)).status_code

    def get(self, path: str) -> dict[str, Any]:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def nodes_detail(self) -> str:
        """What *Status* and the banner of each page say of the nodes."""
        return next(str(part["detail"]) for part in self.get("/v1/status")["components"] if part["name"] == "nodes")

    def look_twice(self) -> None:
        """Look at the node, beside the service's own thread."""
        for _ in range(2):
            self.watch.look()

    def samples(self) -> dict[str, int]:
        statement = text(
            "SELECT h.public_id, count(c.ts) AS n FROM hosts h LEFT JOIN counters_live c ON c.host_id = h.id GROUP BY 1"
        )
        with self.database.read() as session:
            return {row.public_id: row.n for row in session.execute(statement)}

    def hosts(self) -> set[str]:
        return {item["id"] for item in self.get("/v1/hosts")["items"]}


@pytest.fixture(scope="module")
def node() -> Iterator[Template]:
    """A server with a database for each fleet; who stops it starts it again."""
    with running_cluster("native", durable=True) as cluster:
        yield Template(cluster)


@pytest.fixture
def fleet(database_url: str, node: Template) -> Iterator[Fleet]:
    if node.cluster.server is None:
        node.cluster.start()
    url = node.cluster.url(node.make_database(schema=True, mode="native"))
    with closing(Database(database_url)) as database:
        NodeChanges(database).add("n1", url, actor="test", storage="native")
        here, there = enrol(database, name="here"), enrol(database, name="there")
        with running(Settings(database_url=database_url)) as (app, client):
            watch: NodeWatch = app.state.use_cases.node_watch
            watch.look()
            yield Fleet(database, client, watch, node.cluster, here, there)


def test_new_hosts_are_spread_and_found_by_their_numbers(fleet: Fleet) -> None:
    states = NodeChanges(fleet.database).list()
    assert [(state.number, state.name, state.hosts) for state in states] == [(0, "coordinator", 1), (1, "n1", 1)]
    assert all(state.current for state in states)
    assert fleet.there.identity.id >> 40 == 1
    assert fleet.client.get("/v1/hosts").headers["X-Nodes"] == "2 of 2"


def test_the_rest_answers_and_takes_batches_while_a_node_is_away(fleet: Fleet) -> None:
    assert (fleet.send(fleet.here, 0), fleet.send(fleet.there, 0)) == (200, 200)
    before = fleet.samples()
    fleet.node.stop(with_signal=signal.SIGQUIT)

    fleet.look_twice()  # once may be chance
    assert fleet.watch.away == ["n1"]
    assert fleet.hosts() == {fleet.here.id}
    answer = fleet.client.get("/v1/hosts")
    assert (answer.headers["X-Nodes"], answer.headers["X-Nodes-Away"]) == ("1 of 2", "n1")
    gone = fleet.client.get(f"/v1/hosts/{fleet.there.id}")
    assert gone.status_code == 503
    assert "n1" in gone.json()["detail"]
    assert fleet.client.get("/v1/hosts/hffffffffffffffff").status_code == 503, "it may be there"
    assert fleet.send(fleet.here, 1) == 200
    assert fleet.send(fleet.there, 1) == 503
    with running(Settings(database_url=fleet.database.url)) as (_, other):  # which has not seen its credential
        fleet_of_other = replace(fleet, client=other)
        assert (fleet_of_other.send(fleet.here, 2), fleet_of_other.send(fleet.there, 1)) == (200, 503)
    assert drain(fleet.database).total > 0, "what is there is worked"

    fleet.node.start()
    fleet.look_twice()
    assert fleet.watch.away == []
    assert fleet.hosts() == {fleet.here.id, fleet.there.id}
    assert fleet.samples()[fleet.there.id] == before[fleet.there.id], "acknowledged, and stored once"
    assert [fleet.send(fleet.there, seq) for seq in (0, 1, 1)] == [200, 200, 200]
    assert fleet.samples()[fleet.there.id] == 2 * before[fleet.there.id]
    assert fleet.client.get("/v1/hosts/hffffffffffffffff").status_code == 404


def test_what_another_process_left_out_may_be_there(fleet: Fleet) -> None:
    """The host and its credential, before this process has looked itself."""
    fleet.watch.stop()
    fleet.node.stop(with_signal=signal.SIGQUIT)
    nodes = Nodes(fleet.database)
    another = NodeWatch(nodes)
    assert [another.look(), another.look()] == [[], ["n1"]]
    assert fleet.watch.away == []
    assert fleet.client.get(f"/v1/hosts/{fleet.there.id}").status_code == 503
    agents = Agents(fleet.database, nodes)
    nobodys = new_secret("host")
    for credential in (fleet.there.credential, nobodys):
        with pytest.raises(Unavailable, match="away: n1"):
            agents.authenticate(credential)
    with pytest.raises(UnknownCredential):
        agents.authenticate(new_secret("api"))
    fleet.node.start()
    assert another.look() == ["n1"]
    agents.rotate(fleet.there.credential)
    with pytest.raises(UnknownCredential):
        agents.authenticate(nobodys)
    assert fleet.client.get("/v1/hosts/hffffffffffffffff").status_code == 404


def _same(at: datetime) -> datetime:
    return at


COUNTS = ("/v1/hosts", "/v1/fleet", "/v1/fleet/grid", "/v1/capacity", "/v1/scenarios/presets")
"""Routes whose answers count hosts."""


def test_every_count_of_hosts_says_how_many_are_on_a_node_that_is_away(fleet: Fleet) -> None:
    for path in COUNTS:
        assert fleet.get(path)["away"] == {"nodes": [], "hosts_away": 0, "counted_at": None}
    with fleet.database.own_rows.read() as session:
        counted = read_count(session, 1)
    assert counted is not None
    hosts, at = counted
    fleet.node.stop(with_signal=signal.SIGQUIT)
    fleet.look_twice()

    moment = f"{at:%Y-%m-%d %H:%M} UTC"
    expected = {"nodes": ["n1"], "hosts_away": 1, "counted_at": at}
    for path in COUNTS:
        found = fleet.get(path)["away"]
        assert {**found, "counted_at": datetime.fromisoformat(found["counted_at"])} == expected, path
    told = f"1 more host is on node n1, which is away (counted {moment})"
    assert (hosts, fleet.get("/v1/fleet")["hosts_total"]) == (1, 1)
    assert told in fleet.get("/v1/fleet")["headline"]
    assert fleet.get("/v1/capacity")["notes"][0] == f"{told}: days that are made meanwhile lack them."
    assert fleet.nodes_detail() == f"1 of 2 nodes answer; away: n1 (1 host, counted {moment})"

    with fleet.database.own_rows.write() as transaction:
        forget_counts(transaction, 1)
    for path in COUNTS:
        assert fleet.get(path)["away"] == {"nodes": ["n1"], "hosts_away": None, "counted_at": None}, path
    assert "how many more hosts are on node n1, which is away, is not known" in fleet.get("/v1/fleet")["headline"]
    assert fleet.nodes_detail() == "1 of 2 nodes answer; away: n1 (how many hosts is not known)"


def test_a_node_is_counted_anew_after_a_move_and_each_minute(fleet: Fleet) -> None:
    fleet.watch.stop()  # nobody else counts
    Moves(fleet.database).move([fleet.here.id], "n1", actor="test")
    fleet.watch.look()
    with fleet.database.own_rows.read() as session:
        moved = read_count(session, 1)
    assert moved is not None
    assert moved[0] == 2, "what was counted before the move is forgotten with it"

    with fleet.database.write() as transaction:
        statement = text("UPDATE hosts SET revoked_at = enrolled_at WHERE public_id = :id")
        transaction.execute(statement, {"id": fleet.here.id})
    later = moved[1] + COUNTED_EVERY
    for at, expected in ((later - timedelta(seconds=1), moved), (later, (1, later))):
        NodeWatch(Nodes(fleet.database), clock=partial(_same, at)).look()
        with fleet.database.own_rows.read() as session:
            assert read_count(session, 1) == expected

    fleet.node.stop(with_signal=signal.SIGQUIT)
    fleet.look_twice()
    headline = fleet.get("/v1/fleet")["headline"]
    assert headline.startswith("No host is on a node that answers; 1 more host is on node n1, which is away (counted ")


def test_a_read_within_a_read_goes_on_while_a_node_is_to_be_left_out(fleet: Fleet) -> None:
    reads = text("LOCK TABLE hosts IN ACCESS SHARE MODE")

    def waits() -> bool:
        with fleet.database.own_rows.read() as session:
            statement = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
            return bool(session.execute(text(statement)).scalar_one())

    with ThreadPoolExecutor(1) as pool:
        with fleet.database.read() as outer:
            outer.execute(reads)
            fleet.node.stop(with_signal=signal.SIGQUIT)
            looking = pool.submit(fleet.look_twice)
            until(waits, "somebody waits for the end of all reads")
            with fleet.database.read() as inner:
                inner.execute(reads)
        looking.result()
    assert fleet.watch.away == ["n1"]


def test_a_node_that_does_not_answer_is_named_by_its_list(fleet: Fleet) -> None:
    fleet.node.stop(with_signal=signal.SIGQUIT)
    state = NodeChanges(fleet.database).list()[1]
    assert (state.hosts, state.revision, state.current) == (None, None, None)
    assert state.problem

"""A node that is away: the rest answers and says so, its hosts' batches wait, and nothing is lost or stored twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

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
from tierscope.core.settings import Settings
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.watch import NodeWatch

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

    def look_twice(self) -> None:
        """Look at the node, beside the service's own thread."""
        for _ in range(2):
            self.watch.look()

    def samples(self) -> dict[str, int]:
        """Stored samples of each host that answers."""
        statement = text(
            "SELECT h.public_id, count(c.ts) AS n FROM hosts h LEFT JOIN counters_live c ON c.host_id = h.id GROUP BY 1"
        )
        with self.database.read() as session:
            return {row.public_id: row.n for row in session.execute(statement)}

    def hosts(self) -> set[str]:
        """Hosts of the list."""
        answer = self.client.get("/v1/hosts")
        assert answer.status_code == 200, answer.text
        return {item["id"] for item in answer.json()["items"]}


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
    assert drain(fleet.database).total > 0, "what is there is worked"

    fleet.node.start()
    fleet.look_twice()
    assert fleet.watch.away == []
    assert fleet.hosts() == {fleet.here.id, fleet.there.id}
    assert fleet.samples()[fleet.there.id] == before[fleet.there.id], "acknowledged, and stored once"
    assert [fleet.send(fleet.there, seq) for seq in (0, 1, 1)] == [200, 200, 200]
    assert fleet.samples()[fleet.there.id] == 2 * before[fleet.there.id]
    assert fleet.client.get("/v1/hosts/hffffffffffffffff").status_code == 404


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

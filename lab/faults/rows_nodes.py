"""The faults of a fleet on two servers: the node, its schema, and the coordinator."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import httpx

from factories.waiting import DEADLINE_SECONDS, until
from faults import rows
from faults.scene import Row, Scene
from faults.stage import NotHereError, filled
from tierscope.core.errors import TierscopeError
from tierscope.storage.base.schema import downgrade
from tierscope.storage.nodes.foreign import drop_pieces
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.nodes.changes import NodeChanges, upgrade_all
from tierscope.usecases.nodes.moves import Moves


def kill_node(scene: Scene) -> None:
    """While batches are on their way: its hosts get 503 and keep theirs, the others go on."""
    scene.pause(0.1, 1.0)
    scene.stage.kill_node()
    refused = scene.stage.proxy.tap.statuses[503]
    until(lambda: scene.stage.proxy.tap.statuses[503] > refused, "the API answers 503 for hosts of the node")
    scene.progress(2)
    scene.stage.revive_node()


def kill_node_in_queries(scene: Scene) -> None:
    """While pages are read: each is answered, and soon without the node."""
    token = Access(scene.stage.database).create_api_token(role="viewer", note="faults", lifetime=None, actor="faults")
    address = f"http://127.0.0.1:{scene.stage.api.port}"
    headers = {"Authorization": f"Bearer {token.secret}"}
    with httpx.Client(base_url=address, headers=headers, timeout=DEADLINE_SECONDS) as client:

        def asked(expected: str) -> bool:
            answer = client.get("/v1/hosts")
            assert answer.status_code in (200, 503), answer.text
            return answer.status_code == 200 and answer.headers["X-Nodes"] == expected

        assert asked("2 of 2")
        scene.stage.kill_node()
        until(lambda: asked("1 of 2"), "pages are answered without the node")
        scene.stage.revive_node()
        until(lambda: asked("2 of 2"), "the node is shown again")


def kill_node_at_work(scene: Scene) -> None:
    """While a worker rebuilds and packs what is there: what was not committed is done again."""
    for _ in range(2):  # new hosts go to the emptier node: one of two is there
        scene.add_reporters(1)
    scene.progress(2)
    scene.stage.worker.kill()
    until(lambda: marks_there(scene) > 0, "there is work on the node")
    scene.stage.worker.start()
    before = marks_there(scene)
    until(lambda: marks_there(scene) != before, "the worker is at it")
    scene.stage.kill_node()
    scene.pause(0.5, 2.0)
    scene.stage.revive_node()
    rows.wait_for_ledger(scene)


def marks_there(scene: Scene) -> int:
    """Marks that wait on the node."""
    with scene.stage.database.other(scene.stage.node_url()).read() as session:
        return int(session.ask("SELECT count(*) AS n FROM marks")[0].n)


def kill_node_in_a_move(scene: Scene) -> None:
    """While a host moves to and fro: it has one owner throughout, and the next move finishes."""
    host = scene.reporters[0].host.id

    def move_on() -> str:
        for to in cycle(("n1", "coordinator")):
            try:
                Moves(scene.stage.database).move([host], to, actor="faults")
            except TierscopeError as error:
                return error.detail
        raise AssertionError

    with ThreadPoolExecutor(1) as beside:
        moving = beside.submit(move_on)
        scene.pause(0.3, 2.0)
        scene.stage.kill_node()
        scene.notes.append(moving.result(DEADLINE_SECONDS))
    scene.stage.revive_node()

    def moved() -> bool:
        try:
            Moves(scene.stage.database).move([host], "n1", actor="faults")
        except TierscopeError:
            return False
        return True

    until(moved, "the next move finishes")
    for url, there in ((scene.stage.cluster.url(), 0), (scene.stage.node_url(), 1)):
        with scene.stage.database.other(url).read() as session:
            found = session.driver.execute(
                "SELECT count(*), count(moving_until) FROM hosts WHERE public_id = %s", (host,)
            ).fetchone()
        assert found == (there, 0), f"{host}: copies, refused ones: {found}"
    scene.progress(2)


def fill_node_disk(scene: Scene) -> None:
    """Its hosts get 503 and the others go on; no host is moved to it, and it goes on when there is space."""
    if not scene.stage.small:
        raise NotHereError("this account may not mount a small disk for a node")
    for _ in range(2):  # new hosts go to the emptier node: one of two is there
        scene.add_reporters(1)
    scene.progress(2)
    with scene.stage.database.own_rows.read() as session:
        (host,) = session.driver.execute("SELECT public_id FROM hosts ORDER BY id DESC LIMIT 1").fetchone() or ("",)
    refused = scene.stage.proxy.tap.statuses[503]
    with filled(scene.stage.node_disk):
        try:
            Moves(scene.stage.database).move([host], "n1", actor="faults")
        except TierscopeError as error:
            scene.notes.append(error.detail)
        else:
            raise AssertionError("a host was moved to a full disk")
        until(lambda: scene.stage.proxy.tap.statuses[503] > refused, "the API answers 503 for hosts of the node")
        scene.progress(2)
    # Where it could not even write its log, it has ended.
    scene.stage.revive_node()
    rows.wait_for_ledger(scene)


def kill_coordinator(scene: Scene) -> None:
    """Agents keep their batches, those of the node too."""
    rows.kill_database(scene)


def have_an_older_revision(scene: Scene) -> None:
    """The node's schema is of the release before: it is named, the other hosts go on, and `migrate` mends it."""
    with scene.stage.database.other(scene.stage.node_url()).write() as own:
        drop_pieces(own)  # what a row before may have moved: a schema does not change under these views
    downgrade(scene.stage.node_url(), "-1")
    there = NodeChanges(scene.stage.database).list()
    assert [state.current for state in there] == [True, False]
    scene.progress(2)
    upgrade_all(scene.stage.cluster.url())
    assert all(state.current for state in NodeChanges(scene.stage.database).list())


ROWS = (
    Row("node-killed", "node killed while hosts send, and started again", kill_node, reporters=2),
    Row("node-killed-query", "node killed while pages are read", kill_node_in_queries, reporters=2),
    Row("node-killed-packing", "node killed while a worker rebuilds and packs there", kill_node_at_work, reporters=2),
    Row("node-killed-move", "node killed while a host moves", kill_node_in_a_move, reporters=2),
    Row("node-disk-full", "disk of a node full", fill_node_disk, reporters=2),
    Row("coordinator-killed", "coordinator of two servers killed and started again", kill_coordinator, reporters=2),
    Row("node-older", "node with the schema of the release before", have_an_older_revision, reporters=2),
)

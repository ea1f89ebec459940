"""Adding servers: what cannot be one is refused with its cause, and changes nothing."""

import os
from contextlib import closing

import pytest

from cli.commands import call
from factories.installations import enrol
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, Unprocessable
from tierscope.usecases.nodes.changes import NodeChanges, upgrade_all
from tierscope.usecases.nodes.fleet import Nodes

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def test_a_server_that_is_in_use_is_refused(fleet: Database, database_url: str) -> None:
    there = NodeChanges(fleet).list()
    (url,) = [node.url for node in Nodes(fleet).listed() if node.number == 1]
    for name, address, cause in (
        ("n2", fleet.url, "is the node coordinator of a fleet"),
        ("n2", url, "is the node n1 of a fleet"),
        ("n1", database_url, "a node with the name n1"),
        ("coordinator", database_url, "a node with the name coordinator"),
    ):
        with pytest.raises(Conflict, match=cause):
            NodeChanges(fleet).add(name, address, actor="test")
    with pytest.raises(Unprocessable, match="names no node"):
        NodeChanges(fleet).add("N 2", database_url, actor="test")
    with closing(Database(database_url)) as other:
        enrol(other)
    with pytest.raises(Conflict, match="hosts of an installation of its own"):
        NodeChanges(fleet).add("n2", database_url, actor="test")
    assert NodeChanges(fleet).list() == there


def test_a_new_release_reaches_all_servers_and_shows_them_again(fleet: Database) -> None:
    hosts = [enrol(fleet, name=f"h{number}").id for number in range(2)]
    assert upgrade_all(fleet.url) == "native"
    states = NodeChanges(fleet).list()
    assert [(state.hosts, state.current) for state in states] == [(1, True), (1, True)]
    with fleet.read() as session:
        shown = [row[0] for row in session.driver.execute("SELECT public_id FROM hosts ORDER BY id")]
        views = session.driver.execute("SELECT count(*) FROM tierscope_v1.hosts").fetchone()
    assert (shown, views) == (hosts, (2,))


def test_a_fleet_on_several_servers_does_not_go_back(fleet: Database) -> None:
    before = [state.revision for state in NodeChanges(fleet).list()]
    ended = call("migrate", "--down-to", "0035", "--yes", env=os.environ | {"TIERSCOPE_DATABASE_URL": fleet.url})
    assert (ended.status, "restore a backup of all servers" in ended.stderr.lower()) == (1, True), ended.stderr
    assert [state.revision for state in NodeChanges(fleet).list()] == before

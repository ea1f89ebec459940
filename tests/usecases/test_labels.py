"""Labels of hosts: where each comes from, which one counts, and files that set many."""

import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import NotFound, Unprocessable
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.fleet.agents import Agents
from tierscope.usecases.fleet.labels import Labels, LabelUpload
from tierscope.wire._generated import inventory_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def labels(database: Database) -> Labels:
    return Labels(database)


def tell(
    database: Database,
    host: Enrolled,
    seq: int,
    own: dict[str, str],
    cluster: dict[str, str] | None = None,
    *,
    complete: bool = True,
) -> None:
    """The agent sends its inventory with these labels."""
    batch = batches.make_batch(host_id=host.id, seq=seq)
    told = [inventory_pb2.Label(key=key, value=value) for key, value in own.items()]
    told += [inventory_pb2.Label(key=key, value=value, source="kubernetes") for key, value in (cluster or {}).items()]
    batch.inventory.CopyFrom(inventory_pb2.Inventory(hostname="node-1", labels=told, labels_complete=complete))
    store(database, host, [batch])


def in_force(labels: Labels, host: Enrolled) -> dict[str, tuple[str, str]]:
    """Value and source by key."""
    return {label.key: (label.value, label.source) for label in labels.read(host.id).labels}


def test_the_strongest_source_of_a_label_counts_and_the_others_are_kept(database: Database, labels: Labels) -> None:
    token = Access(database).create_join_token(actor="test", labels={"team": "fixed"}).secret
    agents = Agents(database)
    given = agents.enrol(
        join_token=token, hostname="node-1", labels={"team": "mine", "rack": "r1"}, origin="live"
    ).credential
    host = Enrolled(agents.authenticate(given), given)
    tell(database, host, 0, {"rack": "r2", "team": "mine"}, {"rack": "k", "zone": "eu-1a"})
    labels.replace(host.id, {"rack": "r3", "team": "set"}, actor="test")
    assert in_force(labels, host) == {
        "rack": ("r3", "service"),
        "team": ("fixed", "join_token"),
        "zone": ("eu-1a", "kubernetes"),
    }
    rack = next(label for label in labels.read(host.id).labels if label.key == "rack")
    assert [(hidden.source, hidden.value) for hidden in rack.hidden] == [("agent", "r2"), ("kubernetes", "k")]


def test_a_restarted_agent_does_not_overwrite_what_was_set_here(database: Database, labels: Labels) -> None:
    host = enrol(database)
    tell(database, host, 0, {"rack": "r1"})
    labels.replace(host.id, {"rack": "r9"}, actor="test")
    tell(database, host, 1, {"rack": "r1", "sku": "c6"})
    assert in_force(labels, host) == {"rack": ("r9", "service"), "sku": ("c6", "agent")}
    labels.replace(host.id, {}, actor="test")
    assert in_force(labels, host) == {"rack": ("r1", "agent"), "sku": ("c6", "agent")}


def test_a_label_that_left_the_agents_file_goes_unless_the_release_cannot_say_so(
    database: Database, labels: Labels
) -> None:
    host = enrol(database)
    tell(database, host, 0, {"rack": "r1", "sku": "c6"})
    tell(database, host, 1, {"sku": "c7"}, complete=False)
    assert in_force(labels, host) == {"rack": ("r1", "agent"), "sku": ("c7", "agent")}
    tell(database, host, 2, {"sku": "c7"})
    assert in_force(labels, host) == {"sku": ("c7", "agent")}


FILE = "\ufeffhost;rack;region\r\nnode-1;r7;eu-1\r\nnode-2;-;\r\nnode-9;r1;eu-1\r\ntwin;r1;x\r\nnode-1;r8\r\n"


def upload(labels: Labels, content: str, *, dry_run: bool = False) -> LabelUpload:
    return labels.upload(content.encode(), dry_run=dry_run, actor="test")


def test_a_file_sets_labels_by_name_and_says_what_it_could_not_use(database: Database, labels: Labels) -> None:
    one, two = enrol(database), enrol(database, name="node-2")
    enrol(database, name="twin")
    enrol(database, name="twin")
    labels.replace(two.id, {"rack": "r1"}, actor="test")
    planned = upload(labels, FILE, dry_run=True)
    assert in_force(labels, one) == {}
    done = upload(labels, FILE)
    assert (planned.changed, planned.unknown, planned.problems) == (done.changed, done.unknown, done.problems)
    assert {change.name: (change.before, change.after) for change in done.changed} == {
        "node-1": ({}, {"rack": "r7", "region": "eu-1"}),
        "node-2": ({"rack": "r1"}, {}),
    }
    assert done.unknown == ("node-9",)
    assert [problem.row for problem in done.problems] == [5, 6]
    assert "2 hosts are named 'twin'" in done.problems[0].message
    assert in_force(labels, one) == {"rack": ("r7", "service"), "region": ("eu-1", "service")}
    assert upload(labels, FILE).changed == ()
    with database.read() as session:
        told = session.execute(text("SELECT count(*) FROM audit WHERE action = 'host.labels'")).scalar_one()
    assert told == 3


def test_a_host_is_named_by_its_id_where_its_name_is_not_its_own(database: Database, labels: Labels) -> None:
    one, two = enrol(database, name="twin"), enrol(database, name="twin")
    assert len(upload(labels, f"host,rack\n{two.id},r1\n").changed) == 1
    assert in_force(labels, one) == {}


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("", "first line"),
        ("rack,host\nr1,node-1\n", "first line"),
        ("host,rack,rack\n", "same name"),
        ("host,\n", "empty"),
        ('host,rack\n"node-1,r1\n', "no CSV"),
        ("host,rack\n" + "x,y\n" * 200_001, "rows"),
    ],
)
def test_what_is_no_such_file_is_refused_as_a_whole(labels: Labels, content: str, cause: str) -> None:
    with pytest.raises(Unprocessable, match=cause):
        upload(labels, content)


def test_what_cannot_be_stored_is_refused(database: Database, labels: Labels) -> None:
    host = enrol(database)
    for wrong in ({"": "x"}, {"a": "x" * 257}, {"a": "b\nc"}, {str(i): "x" for i in range(65)}):
        with pytest.raises(Unprocessable):
            labels.replace(host.id, wrong, actor="test")
    with pytest.raises(NotFound):
        labels.replace("h0", {}, actor="test")
    with pytest.raises(Unprocessable):
        labels.upload(b"host,rack\nnode-1,\xff\n", dry_run=True, actor="test")

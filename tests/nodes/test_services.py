"""A service has one id on all servers, or none on any."""

import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol, store
from factories.node_fleets import several_servers
from fixtures.servers import Template
from tierscope.core.database import Database
from tierscope.usecases.nodes.fleet import Nodes

_REFUSE_AT_COMMIT = (
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the disk is gone'; END $$",
    (
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON services DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION refuse()"
    ),
)


def ids(database: Database) -> list[set[int]]:
    found = []
    for number in Nodes(database).numbers():
        with Nodes(database).own(number).read() as session:
            found.append(set(session.execute(text("SELECT id FROM services")).scalars()))
    return found


def send(database: Database, host: Enrolled) -> None:
    assert store(database, host, [batches.full_batch(host_id=host.id)])


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_name_that_the_coordinator_did_not_commit_is_on_no_node(template: Template, storage_mode: str) -> None:
    with several_servers(template, storage_mode, "n1") as fleet:
        hosts = [enrol(fleet, name=f"h{number}") for number in range(2)]
        with fleet.own_rows.write() as transaction:
            for statement in _REFUSE_AT_COMMIT:
                transaction.execute(text(statement))
        with pytest.raises(Exception, match="the disk is gone"):
            send(fleet, hosts[1])
        assert ids(fleet) == [set(), set()]
        with fleet.own_rows.write() as transaction:
            transaction.execute(text("DROP FUNCTION refuse CASCADE"))
        for host in hosts[::-1]:
            send(fleet, host)
        coordinator, node = ids(fleet)
        assert coordinator == node != set()

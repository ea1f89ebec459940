"""A purge removes what is on any server."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from factories.populated import populate
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.storage.nodes.placement import KEYS
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.usecases.operate.purges import Purges

pytestmark = [long, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


def rows_of(database: Database, column: str, subject: int) -> dict[str, int]:
    """Rows that name a subject, by table, on all servers."""
    found = {}
    with database.read() as session:
        for table in KEYS:
            if column in table.c:
                statement = text(f"SELECT count(*) FROM {table.name} WHERE {column} = :subject")
                found[table.name] = session.execute(statement, {"subject": subject}).scalar_one()
    return {name: count for name, count in found.items() if count}


def test_a_host_of_a_node_and_then_a_service_of_all_go_wholly(fleet: Database) -> None:
    populate(fleet)
    with fleet.read() as session:
        hosts = session.execute(text("SELECT id, public_id, name FROM hosts ORDER BY id")).all()
        service = session.execute(text("SELECT id, public_id, namespace, name FROM services")).one()
    kept = rows_of(fleet, "host_id", hosts[0].id)
    assert len(rows_of(fleet, "host_id", hosts[1].id)) > 5
    Purges(fleet).start("host", hosts[1].public_id, confirm=hosts[1].name, actor="test")
    _work(fleet)
    assert rows_of(fleet, "host_id", hosts[1].id) == {}
    assert rows_of(fleet, "host_id", hosts[0].id) == kept, "others keep everything"

    Purges(fleet).start("service", service.public_id, confirm=f"{service.namespace}/{service.name}", actor="test")
    _work(fleet)
    assert rows_of(fleet, "service_id", service.id) == {}
    for number in Nodes(fleet).numbers():
        with Nodes(fleet).own(number).read() as session:
            assert session.execute(text("SELECT count(*) FROM services")).scalar_one() == 0


def _work(database: Database) -> None:
    done = PurgeWork(Nodes(database), utc_now).run(at_most=timedelta(hours=1))
    page = Purges(database).list(limit=5, cursor=None)
    assert (done.finished, [job.error for job in page.items if job.error]) == (1, [])

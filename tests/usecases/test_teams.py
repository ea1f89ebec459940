"""Teams beyond the API: what alerts about their services carry."""

from contextlib import closing

import pytest
from sqlalchemy import text

from factories.installations import enrol
from factories.people import make_owned
from tierscope.core.database import Database
from tierscope.domain.alerts.rules import Scope
from tierscope.usecases.access.teams import Teams
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.alerts.subjects import Fleet


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_alerts_about_a_service_carry_the_team_that_owns_it(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        owned = make_owned(database)
        enrol(database)
        with database.write() as transaction:
            transaction.execute(text("UPDATE hosts SET last_end_at = now()"))
            transaction.execute(
                text(
                    "INSERT INTO host_services (host_id, service_id) SELECT hosts.id, services.id FROM hosts, services"
                )
            )
        Teams(database).set_owner(owned.foreign["service_id"], None, by=Caller(kind="token", name="test", role="admin"))
        with database.read() as session:
            found = Fleet.read(session).subjects(Scope("service"))
    labels = {subject.name: dict(subject.labels) for subject in found}
    assert labels == {"ns/owned": {"team": "storage"}, "ns/foreign": {}}

"""What the service prepares as it starts: only where the database can be asked, and never in the way of starting."""

from __future__ import annotations

from contextlib import closing

import pytest

from factories import batches
from factories.installations import enrol, store
from tierscope.core.database import Database
from tierscope.domain.heat import aggregate
from tierscope.usecases.readiness import Readiness


def test_medians_over_the_hosts_of_the_largest_services_are_prepared(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(aggregate, "prepare", lambda n, _seed: drawn.append(n))
    monkeypatch.setattr(aggregate, "BOOTSTRAP_MIN_HOSTS", 2)
    with closing(Database(database_url)) as database:
        Readiness(database).prepare()
        assert drawn == []
        for i in range(3):
            host = enrol(database, name=f"node-{i}")
            batch = batches.make_batch(host_id=host.id, sealed_wall_ns=batches.now_ns(), seq=0)
            batches.add_inventory(batch)
            assert store(database, host, [batch])
        Readiness(database).prepare()
    assert drawn
    assert set(drawn) == {3}


def test_a_database_that_does_not_answer_is_no_reason_not_to_start() -> None:
    with closing(Database("postgresql://nobody@127.0.0.1:9/none")) as database:
        readiness = Readiness(database)
        assert readiness.obstacle() is not None
        readiness.prepare()

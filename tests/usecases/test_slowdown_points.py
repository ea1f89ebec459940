"""Owners' measurements: stored once per key, checked with the cause, removed with a trace in the audit trail."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import enrol, store
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.usecases.slowdown.points import MAX_POINTS, SlowdownPointRequest, SlowdownPoints

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
POINT = SlowdownPointRequest(0.25, 0.015, 0.004, "ab_test", None, "canary of five hosts")


@pytest.fixture
def service(database: Database) -> str:
    batch = batches.make_batch(host_id=(host := enrol(database)).id)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    with database.read() as session:
        return str(session.execute(text("SELECT public_id FROM services")).scalar_one())


def actions(database: Database) -> list[str]:
    with database.read() as session:
        statement = text("SELECT action FROM audit WHERE action LIKE 'slowdown%' ORDER BY id")
        return [str(found) for found in session.execute(statement).scalars()]


def test_one_key_stores_once_and_other_content_is_refused(database: Database, service: str) -> None:
    points = SlowdownPoints(database)
    first = points.create(service, POINT, actor="ann", idempotency_key="k")
    assert points.create(service, POINT, actor="ann", idempotency_key="k") == first
    assert points.list(service) == [first]
    with pytest.raises(Conflict, match="other content"):
        points.create(service, replace(POINT, loss=0.02), actor="ann", idempotency_key="k")
    assert actions(database) == ["slowdown_point.create"]


def test_a_prediction_brings_its_own_error_and_is_of_slow_memory_alone(database: Database, service: str) -> None:
    points = SlowdownPoints(database)
    prediction = replace(POINT, share_on_slow=1.0, loss=0.2, loss_standard_error=None, source="prediction")
    assert points.create(service, prediction, actor="ann", idempotency_key=None).loss_standard_error == 0.053
    with pytest.raises(Unprocessable, match="share of accesses is 1"):
        points.create(service, replace(prediction, share_on_slow=0.5), actor="ann", idempotency_key=None)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"share_on_slow": 0.0}, "above 0"),
        ({"share_on_slow": float("nan")}, "above 0"),
        ({"loss": 1.0}, "between -1 and 1"),
        ({"loss_standard_error": None}, "needs the standard error"),
        ({"loss_standard_error": 0.0}, "above 0"),
        ({"note": "x" * 501}, "500"),
    ],
)
def test_values_that_cannot_be_are_refused_with_the_cause(
    database: Database, service: str, changed: dict[str, object], cause: str
) -> None:
    with pytest.raises(Unprocessable, match=cause):
        SlowdownPoints(database).create(service, replace(POINT, **changed), actor="ann", idempotency_key=None)  # type: ignore[arg-type]
    assert actions(database) == []


def test_removing_leaves_what_it_said_in_the_audit_trail(database: Database, service: str) -> None:
    points = SlowdownPoints(database)
    made = points.create(service, POINT, actor="ann", idempotency_key=None)
    points.delete(made.id, actor="bob")
    assert points.list(service) == []
    assert actions(database) == ["slowdown_point.create", "slowdown_point.delete"]
    with pytest.raises(NotFound):
        points.delete(made.id, actor="bob")
    with pytest.raises(NotFound):
        points.list("s_none")


def test_a_service_has_no_more_than_it_may(database: Database, service: str) -> None:
    points = SlowdownPoints(database)
    for _ in range(MAX_POINTS):
        points.create(service, POINT, actor="ann", idempotency_key=None)
    with pytest.raises(Conflict, match=str(MAX_POINTS)):
        points.create(service, POINT, actor="ann", idempotency_key=None)

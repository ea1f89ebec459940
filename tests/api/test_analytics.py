"""Sensitivity, stability and ping-pong over HTTP: the answers fit their models, names and kinds of nothing included."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from factories import batches
from factories.installations import enrol, store
from factories.services import running
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE = batches.MINUTE_NS
KEYS = (
    "host|vmstat|pgdemote_anon",
    "host|vmstat|pgdemote_file",
    "host|vmstat|pgpromote_anon",
    "host|vmstat|pgpromote_candidate",
    "host|vmstat|pgpromote_candidate_demoted",
    "host|vmstat|pgpromote_file",
    "service:demo/cache|memory.numa_stat|anon[N0]",
    "service:demo/cache|memory.numa_stat|file[N0]",
    "service:demo/cache|memory.numa_stat|shmem[N0]",
    "service:demo/cache|metrics|load_milli",
    "service:demo/cache|metrics|throughput_milli_per_s",
)


@pytest.fixture
def service(database_url: str) -> Iterator[tuple[httpx.Client, str, str]]:
    """A client, a host on which half of the promotion candidates had been demoted before, and its service."""
    now = batches.now_ns()
    with closing(Database(database_url)) as database:
        host = enrol(database)
        rows: list[list[int | None]] = [
            [400_000 * i, 0, 400_000 * i, 100_000 * i, 50_000 * i, 0, 10**9 + i, 10**8, 10**7, 1000, 5000 + i]
            for i in range(10)
        ]
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
        batches.add_counters(batch, rows, ends_ns=[now - (9 - i) * MINUTE for i in range(10)], keys=KEYS)
        batches.add_inventory(batch)
        assert store(database, host, [batch])
        with database.read() as session:
            found = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    with running(Settings(database_url=database_url, _env_file=None)) as (_, client):
        yield client, host.id, found


def get(client: httpx.Client, path: str) -> dict[str, Any]:
    answer = client.get(path, params={"from": "-30m"})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_answers_fit_their_models(service: tuple[httpx.Client, str, str]) -> None:
    client, host, service_id = service
    moves = get(client, f"/v1/hosts/{host}/ping-pong")
    assert (moves["kind"], moves["state"]) == ("measured", "crit")
    assert set(moves["spans"][0]) == {"state", "from", "to", "why"}
    assert moves["spans"][0]["to"] is None
    assert {series["key"] for series in moves["series"]} == {
        "ping_pong_ratio",
        "promoted_pages_per_s",
        "demoted_pages_per_s",
        "churn_pages_per_s",
        "top_residency_ratio",
        "throughput_per_s",
        "memory_pressure_ratio",
    }
    assert len(moves["states"]) == len(moves["axis"]["times"])
    of_service = get(client, f"/v1/services/{service_id}/ping-pong")
    assert of_service["cost"]["psi_some_ratio"]["status"] == "not_supported"
    assert any("Whole hosts" in note for note in of_service["notes"])
    sensitivity = get(client, f"/v1/services/{service_id}/sensitivity")
    assert (sensitivity["label"], len(sensitivity["scatter"])) == ("association", 10)
    assert all(kind["refused"] and kind["elasticity"]["value"] is None for kind in sensitivity["kinds"])
    stability = get(client, f"/v1/services/{service_id}/stability")
    assert {kind["kind"]: kind["stable"] for kind in stability["kinds"]} == {"anon": True, "file": True, "tmpfs": True}
    assert [part["lag_minutes"] for part in stability["hot_set"]] == [10, 30, 60]


@pytest.mark.parametrize("noun", ["sensitivity", "stability", "ping-pong"])
def test_a_service_that_is_not_there_is_not_found(service: tuple[httpx.Client, str, str], noun: str) -> None:
    client, _, service_id = service
    assert client.get(f"/v1/services/nobody/{noun}").status_code == 404
    assert client.get(f"/v1/services/{service_id}/{noun}", params={"from": "yesterday"}).status_code == 400

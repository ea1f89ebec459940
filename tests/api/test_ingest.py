"""Bad uploads: each gets its own problem, and stores nothing; good ones are stored before they are answered."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest
import zstandard
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol
from factories.services import batch_headers, running
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import PROBLEM_BASE
from tierscope.core.settings import Limits, Settings
from tierscope.usecases.fleet.agents import Agents
from tierscope.wire._generated import batch_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
LIMITS = Limits(batch_bytes=64_000, batch_inflated_bytes=256_000)


@dataclass(slots=True)
class Service:
    client: httpx.Client
    database: Database
    host: Enrolled
    agents: Agents

    def send(self, body: bytes, **headers: str) -> httpx.Response:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post("/v1/ingest/batches", content=body, headers=batch_headers(self.host.credential) | names)

    def stored(self) -> int:
        with self.database.read() as session:
            return int(session.execute(text("SELECT count(*) FROM counters_live")).scalar_one())


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    settings = Settings(database_url=database_url, limits=LIMITS)
    with running(settings) as (app, client), closing(Database(database_url)) as database:
        yield Service(client, database, enrol(database), app.state.use_cases.agents)


def good(service: Service, seq: int = 0) -> bytes:
    return batches.compress(batches.full_batch(host_id=service.host.id, seq=seq))


def assert_problem(answer: httpx.Response, status: int, slug: str) -> None:
    """The answer is a problem of this type that names a cause and a next step."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["type"], problem["status"]) == (PROBLEM_BASE + slug, status)
    assert problem["detail"]
    assert problem["next_step"]


def test_a_batch_is_stored_when_it_is_answered_and_a_repeat_is_a_duplicate(service: Service) -> None:
    first = service.send(good(service))
    assert (first.status_code, first.json()["result"]) == (200, "accepted")
    assert first.json()["stored"]["counters"] == service.stored() == 2
    again = service.send(good(service))
    assert (again.status_code, again.json()["result"]) == (200, "duplicate")
    assert service.stored() == 2


def test_a_truncated_batch_is_unreadable(service: Service) -> None:
    body = good(service)
    assert_problem(service.send(body[:-5]), 422, "unreadable")
    inner = batches.full_batch(host_id=service.host.id).SerializeToString()[:-3]
    assert_problem(service.send(zstandard.ZstdCompressor().compress(inner)), 422, "unreadable")
    assert service.stored() == 0


def test_an_oversized_batch_is_refused_by_its_length_and_while_it_is_read(service: Service) -> None:
    body = b"x" * (LIMITS.batch_bytes + 1)
    assert_problem(service.send(body), 413, "too-large")
    headers = batch_headers(service.host.credential)
    chunked = service.client.post("/v1/ingest/batches", content=iter([body]), headers=headers)
    assert_problem(chunked, 413, "too-large")


def test_a_bomb_is_refused_declared_or_not(service: Service) -> None:
    bomb = b"\0" * (64 << 20)
    assert_problem(service.send(zstandard.ZstdCompressor().compress(bomb)), 413, "inflated-too-large")
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    assert_problem(service.send(stream.compress(bomb) + stream.flush()), 413, "inflated-too-large")
    assert service.send(good(service)).status_code == 200


def test_an_unknown_version_is_refused(service: Service) -> None:
    batch = batches.full_batch(host_id=service.host.id)
    batch.schema_version = 2
    assert_problem(service.send(batches.compress(batch)), 422, "unknown-version")
    assert service.stored() == 0


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic abc", "Bearer"])
def test_a_wrong_credential_is_refused(service: Service, authorization: str) -> None:
    answer = service.send(good(service), Authorization=authorization)
    assert_problem(answer, 401, "unknown-credential")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert service.stored() == 0


def test_a_batch_of_another_host_is_refused(service: Service) -> None:
    other = enrol(service.database, name="other")
    batch = batches.full_batch(host_id=other.id)
    assert_problem(service.send(batches.compress(batch)), 403, "wrong-host")
    assert service.stored() == 0


def test_another_origin_than_the_enrolled_one_is_refused(service: Service) -> None:
    batch = batches.full_batch(host_id=service.host.id, origin=batch_pb2.ORIGIN_SIMULATED)
    assert_problem(service.send(batches.compress(batch)), 422, "invalid")


def test_an_unknown_layout_is_a_conflict(service: Service) -> None:
    batch = batches.make_batch(host_id=service.host.id)
    batches.add_counters(batch, [[1, 2, 3]], with_layout=False)
    assert_problem(service.send(batches.compress(batch)), 409, "unknown-layout")


@pytest.mark.parametrize(("name", "value"), [("Content-Type", "application/json"), ("Content-Encoding", "gzip")])
def test_another_content_type_or_encoding_is_refused(service: Service, name: str, value: str) -> None:
    assert_problem(service.send(good(service), **{name: value}), 415, "unsupported-media")


def test_a_revoked_host_is_refused_at_once(service: Service) -> None:
    assert service.send(good(service)).status_code == 200
    service.agents.revoke(service.host.id, actor="test")
    assert_problem(service.send(good(service, seq=1)), 401, "unknown-credential")


def test_an_old_credential_works_beside_the_new_one_after_rotation(service: Service) -> None:
    answer = service.client.post("/v1/agent/rotate", headers=batch_headers(service.host.credential))
    assert answer.status_code == 200
    fresh = f"Bearer {answer.json()['credential']}"
    assert service.send(good(service, seq=0), Authorization=fresh).status_code == 200
    assert service.send(good(service, seq=1)).status_code == 200


def test_a_host_that_never_got_its_new_credential_can_rotate_again_with_the_old_one(service: Service) -> None:
    for _lost in range(2):
        answer = service.client.post("/v1/agent/rotate", headers=batch_headers(service.host.credential))
        assert answer.status_code == 200
    assert service.send(good(service)).status_code == 200


def test_the_clocks_of_sending_reveal_a_clock_that_is_behind(service: Service) -> None:
    behind = batches.now_ns() - 3600 * batches.SECOND_NS
    boottime = 5000 * batches.SECOND_NS
    batch = batches.make_batch(host_id=service.host.id, sealed_wall_ns=behind, sealed_boottime_ns=boottime)
    batches.add_counters(batch, [[1, 2, 3]], boottimes_ns=[boottime])
    clocks = {"X-Tierscope-Sent-Wall-Ns": str(behind), "X-Tierscope-Sent-Boottime-Ns": str(boottime)}
    answer = service.send(batches.compress(batch), **clocks)
    assert "behind" in answer.json()["warnings"][0]
    with service.database.read() as session:
        corrected = session.execute(text("SELECT ts FROM counters_live WHERE flags = 1")).scalar_one()
    assert abs(utc_now() - corrected) < timedelta(minutes=10)


def test_a_batch_that_waited_in_the_spool_keeps_its_time(service: Service) -> None:
    waited = batches.now_ns() - 3600 * batches.SECOND_NS
    batch = batches.make_batch(host_id=service.host.id, sealed_wall_ns=waited, sealed_boottime_ns=5)
    batches.add_counters(batch, [[1, 2, 3]], boottimes_ns=[5])
    assert service.send(batches.compress(batch)).json()["warnings"] == []
    with service.database.read() as session:
        row = session.execute(text("SELECT flags, extract(epoch FROM ts)::bigint AS at FROM counters_live")).one()
        assert (row.flags, row.at) == (0, waited // batches.SECOND_NS)

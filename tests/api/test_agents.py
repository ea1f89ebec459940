"""What agents get from the service: their plan, the kill switch, a new credential."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol, store
from factories.services import batch_headers, running
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import UnknownCredential
from tierscope.core.settings import Sending, Settings
from tierscope.domain.heat.plan import HEAT_HOSTS, SAMPLE_HOSTS
from tierscope.usecases.access.tokens import Access
from tierscope.usecases.fleet.agent_plans import AgentPlans
from tierscope.usecases.fleet.agents import Agents

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@dataclass(slots=True)
class Service:
    """A running service with one host and an operator."""

    client: httpx.Client
    database: Database
    host: Enrolled
    operator: dict[str, str]

    def config(self, **headers: str) -> httpx.Response:
        """The host's own settings, as its agent asks for them."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        headers = {"Authorization": f"Bearer {self.host.credential}"} | names
        return self.client.get("/v1/agent/config", headers=headers)

    def switch(self, verb: str, host: str | None, *, heat_only: bool = False) -> httpx.Response:
        body = {"host_id": host, "heat_only": heat_only}
        return self.client.post(f"/v1/agents/{verb}", json=body, headers=self.operator)


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with running(Settings(database_url=database_url)) as (_, client), closing(Database(database_url)) as database:
        token = Access(database).create_api_token(role="operator", note="", lifetime=None, actor="test").secret
        yield Service(client, database, enrol(database), {"Authorization": f"Bearer {token}"})


def place(database: Database, count: int, service: str = "cache") -> list[Enrolled]:
    hosts = [enrol(database, name=f"node-{i}") for i in range(count)]
    for host in hosts:
        batch = batches.make_batch(host_id=host.id)
        batches.add_inventory(batch, services=[service])
        store(database, host, [batch])
    return hosts


def test_an_agent_without_a_plan_measures_what_its_file_lists(service: Service) -> None:
    answer = service.config()
    assert answer.json() == {
        "interval_seconds": 60,
        "send_minutes": 1,
        "paused": False,
        "heat": {"enabled": True, "services": None, "sample_services": None},
        "version": 1,
    }
    again = service.config(if_none_match=answer.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")


def test_a_host_of_a_large_fleet_holds_minutes_back_until_somebody_looks_at_it(database_url: str) -> None:
    settings = Settings(database_url=database_url, sending=Sending(minutes=5, small_fleet_hosts=0))
    with running(settings) as (_, client), closing(Database(database_url)) as database:
        service = Service(client, database, place(database, 1)[0], {})
        asks = {"x_tierscope_most_send_minutes": "10"}
        assert service.config(**asks).json()["send_minutes"] == 5
        assert service.config().json()["send_minutes"] == 1, "an agent that does not know of it"
        refused = service.config(x_tierscope_most_send_minutes="0")
        assert refused.status_code == 422
        token = Access(database).create_api_token(role="viewer", note="", lifetime=None, actor="test").secret
        page, closely = f"/v1/hosts/{service.host.id}", text("SELECT closely_until > :now FROM hosts")
        assert client.get(page, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        with database.read() as session:
            assert session.execute(closely, {"now": utc_now()}).scalar_one() is None, "a program asks, nobody looks"
        assert client.get(page).status_code == 200
        with database.read() as session:
            assert session.execute(closely, {"now": utc_now()}).scalar_one() is True


def test_heat_comes_from_twenty_hosts_of_a_service_and_page_samples_from_three(service: Service) -> None:
    hosts = place(service.database, HEAT_HOSTS + 4)
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    with service.database.write() as transaction:
        transaction.execute(text("UPDATE host_services SET last_seen_at = :at"), {"at": now})

    def measured(at: datetime) -> tuple[set[str], set[str]]:
        plans = AgentPlans(service.database, clock=lambda: at)
        found = {host.id: plans.config(host.identity).plan for host in hosts}
        heat = {host for host, plan in found.items() if plan.services is None or "demo/cache" in plan.services}
        samples = {host for host, plan in found.items() if plan.sample_services is None}
        return heat, samples

    heat, samples = measured(now)
    assert (len(heat), len(samples)) == (HEAT_HOSTS, SAMPLE_HOSTS)
    assert samples < heat
    assert measured(now + timedelta(hours=11)) == (heat, samples)
    assert measured(now + timedelta(hours=12, minutes=1)) != (heat, samples)


def test_the_kill_switch_stops_one_host_or_all_and_leaves_a_trail(service: Service) -> None:
    before = service.config().headers["etag"]
    answer = service.switch("pause", service.host.id)
    assert answer.json()["changed"] == 1
    assert service.switch("pause", service.host.id).json()["changed"] == 0
    paused = service.config(if_none_match=before)
    assert (paused.status_code, paused.json()["paused"], paused.json()["heat"]["enabled"]) == (200, True, False)
    page = service.client.get(f"/v1/hosts/{service.host.id}").json()
    assert page["agent"]["pause"]["paused"] is True
    assert page["headline"].startswith("The agent is paused here, by ")
    assert service.switch("resume", service.host.id).json() == {"changed": 1, "pauses": []}
    assert service.config().headers["etag"] == before
    with service.database.read() as session:
        trail = session.execute(text("SELECT action, subject FROM audit WHERE action LIKE 'agents.%' ORDER BY id"))
        assert [tuple(row) for row in trail] == [
            ("agents.pause", service.host.id),
            ("agents.pause", service.host.id),
            ("agents.resume", service.host.id),
        ]


def test_heat_can_be_stopped_alone_everywhere(service: Service) -> None:
    service.switch("pause", None, heat_only=True)
    config = service.config().json()
    assert (config["paused"], config["heat"]["enabled"]) == (False, False)
    assert service.client.get("/v1/agents/pauses").json()[0]["host_id"] is None
    assert service.client.get(f"/v1/hosts/{service.host.id}").json()["agent"]["pause"]["everywhere"] is True
    refused = service.switch("resume", service.host.id)
    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (409, "conflict")
    assert service.switch("resume", None).json()["pauses"] == []
    assert service.config().json()["heat"]["enabled"] is True


def test_a_host_that_is_not_there_cannot_be_paused(service: Service) -> None:
    assert service.switch("pause", "h0").status_code == 404


def test_an_agent_rotates_its_credential_and_uploads_with_the_new_one(service: Service) -> None:
    old = {"Authorization": f"Bearer {service.host.credential}"}
    answer = service.client.post("/v1/agent/rotate", headers=old)
    assert answer.json()["host_id"] == service.host.id
    new = answer.json()["credential"]
    assert new != service.host.credential
    body = batches.compress(batches.full_batch(host_id=service.host.id))
    sent = service.client.post("/v1/ingest/batches", content=body, headers=batch_headers(new))
    assert sent.status_code == 200, sent.text
    assert service.config().status_code == 200


def test_the_old_credential_ends_a_day_after_a_rotation(service: Service) -> None:
    now = utc_now()
    new = Agents(service.database, clock=lambda: now).rotate(service.host.credential).credential
    later = Agents(service.database, clock=lambda: now + timedelta(hours=24, seconds=1))
    with pytest.raises(UnknownCredential):
        later.authenticate(service.host.credential)
    assert later.authenticate(new).public_id == service.host.id


@pytest.mark.parametrize("name", ["a\nb", "a\r", "a\x1b[2J", "a\x85", "db\u202e1", "../../etc", "..", "a/../b"])
def test_names_that_deceive_are_refused_at_enrolment_and_the_token_stays(service: Service, name: str) -> None:
    access = Access(service.database)
    token = access.create_join_token(actor="test").secret
    secret = access.create_api_token(role="admin", note="", lifetime=None, actor="test").secret
    admin = {"Authorization": f"Bearer {secret}"}
    for body in (
        {"hostname": name},
        {"hostname": "n", "labels": {name: "v"}},
        {"hostname": "n", "labels": {"k": name}},
    ):
        refused = service.client.post("/v1/agents/enrol", json={"join_token": token, **body})
        assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (422, "invalid"), body
        assert refused.json()["next_step"]
    taken = service.client.post("/v1/agents/enrol", json={"join_token": token, "hostname": "n"})
    assert taken.status_code == 201
    host = f"/v1/hosts/{taken.json()['host_id']}/labels"
    assert service.client.put(host, json={"labels": {"k": name}}, headers=admin).status_code == 422
    joining = service.client.post("/v1/agents/join-tokens", json={"labels": {"k": name}}, headers=admin)
    assert joining.status_code == 422

"""One stored row of any kind that cannot be read is quarantined: the others work, the status names it, it can go."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from factories.alert_changes import change_alert
from factories.receivers import web_receiver
from factories.services import signed_in
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.notifications.deliver import DeliverNotifications
from tierscope.usecases.reports.deliver import DeliverReports
from tierscope.usecases.simulate.work import SweepWork

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SHAPES = ["[]", "5", "null", '"x"', "{}", '{"bogus": 1}', "[[]]", '[{"name": 1}]']
"""What a body can be that another version, or a hand in the database, has written."""


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings.model_validate({"database_url": database_url, "outgoing": {"allow": "127.0.0.0/8"}})


@pytest.fixture
def context(database: Database, settings: Settings) -> ReadContext:
    return ReadContext(database=database, clock=utc_now, settings=settings)


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    with signed_in(database_url, "admin", outgoing={"allow": "127.0.0.0/8"}) as service:
        yield service.client


def spoil(database: Database, table: str, column: str, public_id: str, body: str) -> None:
    with database.write() as transaction:
        statement = text(f"UPDATE {table} SET {column} = CAST(:body AS jsonb) WHERE public_id = :id")
        assert transaction.execute(statement, {"body": body, "id": public_id}).rowcount == 1


def finding(client: httpx.Client) -> str:
    """What the status says of rows that are quarantined; empty where there are none."""
    worker = next(part for part in client.get("/v1/status").json()["components"] if part["name"] == "worker")
    return str(worker["detail"]) if "quarantined" in worker["detail"] else ""


def make(client: httpx.Client, path: str, body: dict[str, Any]) -> str:
    answer = client.post(path, json=body)
    assert answer.status_code in {201, 202}, answer.text
    return str(answer.json()["id"])


def silence(client: httpx.Client, value: str, op: str = "=") -> str:
    """A silence of one service for two hours."""
    ends_at = (utc_now() + timedelta(hours=2)).isoformat()
    return make(
        client, "/v1/silences", {"matchers": [{"name": "service", "op": op, "value": value}], "ends_at": ends_at}
    )


def test_a_silence(client: httpx.Client, database: Database) -> None:
    change_alert(database, "a1", "firing", utc_now())
    broken, good = silence(client, "cache"), silence(client, "cache")
    for body in [*SHAPES, '[{"name": "service", "op": "=~", "value": "(?=a)"}]']:
        spoil(database, "silences", "matchers", broken, body)
        listed = {item["id"]: item for item in client.get("/v1/silences").json()["items"]}
        assert (listed[good]["matches"], listed[good]["problem"]) == (["a1"], None)
        assert (listed[broken]["matches"], bool(listed[broken]["problem"])) == ([], True)
        (alert,) = client.get("/v1/alerts").json()["items"]
        assert alert["silenced_by"] == [good]
        assert f"POST /v1/silences/{broken}/expire" in finding(client)
    assert client.post(f"/v1/silences/{broken}/expire").status_code == 200
    assert finding(client) == ""


ROUTES: dict[str, Any] = {
    "a route": {"routes": [5]},
    "a label name": {"routes": [{"matchers": [{"name": "a b", "op": "=", "value": "x"}], "receiver": "hook"}]},
    "an expression": {"routes": [{"matchers": [{"name": "a", "op": "=~", "value": "(?=x)"}], "receiver": "hook"}]},
    "seconds": {"routes": [{"receiver": "hook", "group_wait_seconds": "soon"}]},
    "a route within": {"routes": [{"receiver": None, "routes": [{"receiver": 5}], "matchers": [], "continue": True}]},
    "a receiver": {"receivers": [{"name": "later", "kind": "carrier-pigeon", "settings": {}}]},
    "a receiver without settings": {"receivers": [{"name": "later", "kind": "webhook"}]},
    "an inhibition": {"inhibitions": [{"source_matchers": 1}]},
    "inhibitions": {"inhibitions": 5},
}


@pytest.mark.parametrize("name", ROUTES)
def test_a_part_of_the_routes(client: httpx.Client, context: ReadContext, name: str) -> None:
    database = context.database
    with web_receiver() as web:
        hook = {"name": "hook", "kind": "webhook", "settings": {"url": web.url}}
        waits = {"group_wait_seconds": 0, "group_interval_seconds": 0, "repeat_interval_seconds": 3600}
        good = {"receivers": [hook], "routes": [{"receiver": "hook", **waits}]}
        assert client.put("/v1/alert-routes", json=good).status_code == 200
        with database.write() as transaction:
            document = transaction.execute(text("SELECT body FROM alert_routing")).scalar_one()
            for part, entries in ROUTES[name].items():
                document[part] = entries + document[part] if isinstance(entries, list) else entries
            transaction.execute(
                text("UPDATE alert_routing SET body = CAST(:body AS jsonb)"), {"body": json.dumps(document)}
            )
        told = finding(client)
        assert "PUT /v1/alert-routes" in told
        assert next(iter(ROUTES[name])) in told
        assert "hook" in {receiver["name"] for receiver in client.get("/v1/alert-routes").json()["receivers"]}
        change_alert(database, "a1", "firing", utc_now())
        DeliverNotifications(database, context.clock, context.settings).run()
        assert [call.json()["alerts"][0]["labels"]["service"] for call in web.requests] == ["cache"]
        assert client.put("/v1/alert-routes", json=good).status_code == 200
        assert finding(client) == ""


def test_a_scenario(client: httpx.Client, database: Database) -> None:
    spec = client.get("/v1/scenarios/defaults").json()["spec"]
    broken, good = (make(client, "/v1/scenarios", {"name": name, "spec": spec}) for name in ("broken", "good"))
    for body in SHAPES:
        spoil(database, "scenarios", "spec", broken, body)
        assert [item["id"] for item in client.get("/v1/scenarios").json()["items"]] == [good]
        assert client.get(f"/v1/scenarios/{broken}").status_code == 422
        assert client.get("/v1/tco/compare", params={"scenario": [broken, good]}).status_code == 422
        assert "'broken'" in finding(client)
    assert client.delete(f"/v1/scenarios/{broken}").status_code == 204
    assert finding(client) == ""


def test_a_sweep(client: httpx.Client, database: Database) -> None:
    source = {"kind": "workload", "workload": "zipf", "pages": 1000, "intervals": 20}
    asked = {"source": source, "policies": ["first_touch"], "dram_ratios": [0.5]}
    broken, good = (make(client, "/v1/sweeps", {"name": name, **asked}) for name in ("broken", "good"))
    for body in SHAPES:
        spoil(database, "sweeps", "spec", broken, body)
        assert [item["id"] for item in client.get("/v1/sweeps").json()["items"]] == [good]
        assert client.get(f"/v1/sweeps/{broken}").status_code == 404
        assert f"DELETE /v1/sweeps/{broken}" in finding(client)
    SweepWork(database, utc_now).run()
    done = client.get(f"/v1/sweeps/{good}").json()
    assert done["status"] == "done", done["tasks"]
    assert client.delete(f"/v1/sweeps/{broken}").status_code == 204
    assert finding(client) == ""


WRONG_FIELDS: list[dict[str, Any]] = [
    {"cron": "never"},
    {"every_days": 0},
    {"webhook": 5},
    {"sections": ["weather"]},
    {"mail": 5},
    {"at": 7},
]


def test_a_report_schedule(client: httpx.Client, context: ReadContext) -> None:
    body: dict[str, Any] = {
        "cron": None,
        "at": "07:00",
        "every_days": 1,
        "webhook": None,
        "mail": ["a@b"],
        "sections": [],
        "format": "html",
    }
    with web_receiver() as web:
        report = {"every_days": 1, "to": {"webhook": web.url}, "format": "html"}
        broken, good = (make(client, "/v1/reports", {"name": name, **report}) for name in ("broken", "good"))
        for days, shape in enumerate([*SHAPES, *(json.dumps(body | wrong) for wrong in WRONG_FIELDS)], start=1):
            spoil(context.database, "reports", "body", broken, shape)
            with context.database.write() as transaction:
                late = text("UPDATE reports SET due_at = date_trunc('day', CAST(:now AS timestamptz) - :days)")
                transaction.execute(late, {"now": utc_now(), "days": timedelta(days=days)})
            assert [item["id"] for item in client.get("/v1/reports").json()] == [good]
            assert f"DELETE /v1/reports/{broken}" in finding(client), shape
            assert DeliverReports(context).run().sent == 1
        assert {call.json()["report_id"] for call in web.requests} == {good}
        assert client.delete(f"/v1/reports/{broken}").status_code == 204
        assert finding(client) == ""


def test_a_mark(client: httpx.Client, database: Database) -> None:
    broken, good = (make(client, "/v1/events", {"text": name}) for name in ("broken", "good"))
    window = {"from": "0001-01-01T00:00:00+00:00", "to": "9999-12-31T23:59:59-12:00"}
    for at in ("infinity", "-infinity", "10000-01-01 06:00+00", "0001-12-31 BC"):
        with database.write() as transaction:
            moved = text("UPDATE events SET at = CAST(:at AS timestamptz) WHERE id = :id")
            transaction.execute(moved, {"at": at, "id": int(broken)})
        for asked in (window, {}):
            assert [item["id"] for item in client.get("/v1/events", params=asked).json()["items"]] == [good]
        assert f"DELETE /v1/events/{broken}" in finding(client)
    assert client.delete(f"/v1/events/{broken}").status_code == 204
    assert client.delete(f"/v1/events/{broken}").status_code == 404
    assert finding(client) == ""
    assert [entry["detail"]["text"] for entry in client.get("/v1/audit?action=event.delete").json()["items"]] == [
        "broken"
    ]


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"])
def test_no_mark_is_taken_that_could_not_be_read(client: httpx.Client, at: str) -> None:
    assert client.post("/v1/events", json={"text": "t", "at": at}).status_code == 422

"""Rules and alerts over HTTP: check, store, try, export; what is refused says why."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
import yaml
from sqlalchemy import text

from factories.services import signed_in
from factories.watched import Watched
from tierscope.core.database import Database

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
KEYS = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgfault", "host|vmstat|pgpromote_success")
RULE = {
    "name": "busy",
    "group": "own",
    "expression": "promoted_pages>1000/s",
    "for_seconds": 120,
    "severity": "critical",
    "labels": {"team": "db"},
    "summary": "{{ subject }}: {{ value }}",
}


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    with signed_in(database_url) as service:
        yield service.client


@pytest.fixture
def watched(database_url: str) -> Iterator[Watched]:
    with closing(Database(database_url)) as database:
        yield Watched(database, 20)


@pytest.mark.parametrize(
    "body",
    ["[]", "5", "{}", '{"bogus": 1}', '{"name": 1, "expression": "x", "scope": {"hosts": 5}}', '{"labels": [[]]}'],
)
def test_a_stored_rule_that_cannot_be_read_is_skipped_told_and_deleted(
    client: httpx.Client, watched: Watched, body: str
) -> None:
    broken = client.post("/v1/rules", json=RULE | {"name": "broken"}).json()["id"]
    client.post("/v1/rules", json=RULE)
    with watched.database.write() as transaction:
        spoil = text(
            "UPDATE alert_rules SET body = CAST(:body AS jsonb) WHERE name IN ('broken', 'ping-pong-critical')"
        )
        transaction.execute(spoil, {"body": body})
    watched.evaluate(2.5)
    watched.send(watched.enrol(), KEYS, [[0, 1, 2000 * 60 * i] for i in range(12)])
    watched.evaluate(20)
    assert "busy" in {alert["rule_name"] for alert in client.get("/v1/alerts").json()["items"]}
    names = {rule["name"] for rule in client.get("/v1/rules").json()["items"]}
    assert {"busy", "ping-pong-critical"} <= names, "a shipped rule is stored anew"
    assert "broken" not in names
    worker = next(part for part in client.get("/v1/status").json()["components"] if part["name"] == "worker")
    assert worker["status"] == "degraded"
    assert "'broken'" in worker["detail"]
    assert f"/v1/rules/{broken}" in worker["detail"]
    told = client.get(f"/v1/rules/{broken}")
    assert (told.status_code, "cannot be read" in told.json()["detail"]) == (404, True)
    assert client.post("/v1/rules", json=RULE | {"name": "broken"}).status_code == 409
    assert client.delete(f"/v1/rules/{broken}").status_code == 204
    assert client.delete(f"/v1/rules/{broken}").status_code == 404
    assert "cannot be read" not in client.get("/v1/status").text
    assert client.post("/v1/rules", json=RULE | {"name": "broken"}).status_code == 201


def test_a_rule_is_checked_stored_judged_and_removed(client: httpx.Client, watched: Watched) -> None:
    checked = client.post("/v1/rules/check", json={"rule": RULE | {"expression": "promoted_page > 5"}}).json()
    assert (checked["ok"], checked["problems"][0]["at"]) == (False, "expression:1")
    assert "promoted_pages" in checked["problems"][0]["next_step"]
    made = client.post("/v1/rules", json=RULE)
    assert made.status_code == 201
    assert (made.json()["normal_form"], made.json()["unit"]) == ("promoted_pages > 1000/s", "pages/s")
    assert client.post("/v1/rules", json=RULE).status_code == 409
    watched.evaluate(2.5)
    host = watched.enrol()
    watched.send(host, KEYS, [[0, 0, 120_000 * i] for i in range(10)])
    watched.evaluate(12)
    rule = client.get(f"/v1/rules/{made.json()['id']}").json()
    assert rule["state_counts"] == {"ok": 0, "pending": 0, "firing": 1, "no_data": 0}
    (alert,) = client.get("/v1/alerts", params={"state": "firing", "host": host.id}).json()["items"]
    assert (alert["severity"], alert["subject"]["name"], alert["origin"]) == ("critical", "node-1", "simulated")
    assert alert["labels"]["team"] == "db"
    assert alert["summary"] == "node-1: 2,000 pages/s"
    detail = client.get(f"/v1/alerts/{alert['id']}").json()
    assert [change["to_state"] for change in detail["history"]] == ["pending", "firing"]
    values = next(series["values"] for series in detail["evidence"]["series"] if series["key"] == "value")
    assert 2000.0 in values
    incident = client.get(f"/v1/alerts/{alert['id']}/incident", params={"max_points": 60}).json()
    assert (incident["onset"]["fired_at"], len(incident["axis"]["times"]) <= 60) == (alert["fired_at"], True)
    assert [row["status"] for row in incident["rows"] if row["key"] == "tier_moves"] == ["ok"]
    assert client.get("/v1/alerts/a404/incident").status_code == 404
    window = {"from": watched.start.isoformat()}
    marks = client.get("/v1/alerts/marks", params={"host": host.id, **window}).json()
    assert [(mark["kind"], mark["to"]) for mark in marks] == [("fired", None)]
    spans = client.get("/v1/alerts/timeline", params=window).json()["spans"]
    assert [span["state"] for span in spans if span["rule_name"] == "busy"] == ["pending", "firing"]
    assert client.delete(f"/v1/rules/{rule['id']}").status_code == 204
    assert client.get(f"/v1/rules/{rule['id']}").status_code == 404
    gone = client.get(f"/v1/alerts/{alert['id']}").json()
    assert gone["alert"]["state"] == "resolved"
    assert gone["history"][-1]["reason"] == "rule deleted"


def test_a_changed_rule_begins_anew_and_its_texts_do_not(client: httpx.Client, watched: Watched) -> None:
    rule = client.post("/v1/rules", json=RULE).json()
    watched.evaluate(2.5)
    watched.send(watched.enrol(), KEYS, [[0, 0, 120_000 * i] for i in range(10)])
    watched.evaluate(12)
    assert client.put(f"/v1/rules/{rule['id']}", json=RULE | {"summary": "other"}).status_code == 200
    assert len(client.get("/v1/alerts", params={"rule": rule["id"], "state": "firing"}).json()["items"]) == 1
    client.put(f"/v1/rules/{rule['id']}", json=RULE | {"for_seconds": 600})
    (alert,) = client.get("/v1/alerts", params={"rule": rule["id"]}).json()["items"]
    assert alert["state"] == "resolved"


def test_shipped_rules_can_be_switched_off_and_not_changed(client: httpx.Client, watched: Watched) -> None:
    watched.evaluate(2.5)
    shipped = {rule["name"]: rule for rule in client.get("/v1/rules").json()["items"] if rule["origin"] == "shipped"}
    rule = shipped["agent-silent"]
    fields = ("name", "group", "expression", "for_seconds", "no_data", "severity", "summary", "description")
    body = {name: rule[name] for name in (*fields, "runbook_url")}
    assert client.put(f"/v1/rules/{rule['id']}", json=body | {"severity": "critical"}).status_code == 409
    assert client.put(f"/v1/rules/{rule['id']}", json=body | {"enabled": False}).json()["enabled"] is False
    assert client.delete(f"/v1/rules/{rule['id']}").status_code == 409
    watched.evaluate(5)
    assert client.get(f"/v1/rules/{rule['id']}").json()["enabled"] is False


def test_a_backtest_reads_metrics_of_the_catalogue_that_a_rule_named(client: httpx.Client, watched: Watched) -> None:
    rule = {"name": "faults", "expression": "vmstat.pgfault > 50faults/s", "for_seconds": 60}
    client.post("/v1/rules", json=rule)
    watched.send(watched.enrol(), KEYS, [[0, 6000 * i, 0] for i in range(10)])
    asked = {"rule": rule, "from": watched.start.isoformat(), "to": watched.at(9).isoformat()}
    found = client.post("/v1/rules/backtest", json=asked).json()
    assert (found["fired"], found["firing_seconds"], found["unit"]) == (1, 540, "faults/s")
    (subject,) = found["subjects"]
    assert subject["values"] == [100.0] * 9
    assert [span["state"] for span in subject["spans"]] == ["firing"]
    refused = client.post("/v1/rules/backtest", json=asked | {"from": "now", "to": "-1h"})
    assert (refused.status_code, bool(refused.json()["next_step"])) == (400, True)


def test_rules_travel_as_files(client: httpx.Client) -> None:
    client.post("/v1/rules", json=RULE)
    text = client.get("/v1/rules/export").text
    assert [rule["name"] for rule in yaml.safe_load(text)["rules"]] == ["busy"]
    assert client.post("/v1/rules/import", json={"yaml": text}).json()["unchanged"] == ["busy"]
    changed = text.replace("1000/s", "9/s") + "- {name: other, expression: psi_some_ratio > 5%}\n"
    done = client.post("/v1/rules/import", json={"yaml": changed}).json()
    assert (done["added"], done["changed"]) == (["other"], ["busy"])
    bad = client.post("/v1/rules/import", json={"yaml": changed.replace("9/s", "9MB/s")})
    assert bad.status_code == 422
    assert "expression:" in bad.json()["detail"]
    document = yaml.safe_load(client.get("/v1/rules/export", params={"format": "prometheus"}).text)
    assert {rule["alert"] for group in document["groups"] for rule in group["rules"]} == {"Busy", "Other"}


def test_the_vocabulary_says_what_conditions_can_name(client: httpx.Client) -> None:
    body = client.get("/v1/rules/vocabulary").json()
    by_name = {item["name"]: item for item in body["series"]}
    assert by_name["ping_pong_state"]["words"] == ["ok", "warn", "crit"]
    assert (by_name["tier_move_bytes"]["unit"], by_name["promoted_pages"]["unit"]) == ("bytes/s", "pages/s")
    assert by_name["vmstat.pgfault"]["in_catalogue"]
    assert {"rate", "absent"} <= {item["name"] for item in body["functions"]}


def test_pages_of_alerts_follow_each_other(client: httpx.Client, watched: Watched) -> None:
    client.post("/v1/rules", json=RULE | {"for_seconds": 0})
    watched.evaluate(2.5)
    for number in range(3):
        watched.send(watched.enrol(f"node-{number}"), KEYS, [[0, 0, 120_000 * i] for i in range(5)])
    watched.evaluate(8)
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        page = client.get("/v1/alerts", params={"limit": 1, **({"cursor": cursor} if cursor else {})}).json()
        seen += [item["subject"]["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == ["node-0", "node-1", "node-2"]
    assert client.get("/v1/alerts", params={"cursor": "x"}).status_code == 400
    assert client.get("/v1/alerts/marks").status_code == 400

"""Silences, acknowledgements, alert routes and the log of notifications over HTTP."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from factories.alert_changes import change_alert
from factories.receivers import WebReceiver, web_receiver
from factories.services import signed_in
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.access.tokens import Access

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SECRET = "https://hooks.example.org/T0/B0/very-secret"


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    with web_receiver() as started:
        yield started


@pytest.fixture
def client(database_url: str, tmp_path: Path) -> Iterator[httpx.Client]:
    with signed_in(database_url, "admin", outgoing={"allow": "127.0.0.0/8", "secrets_dir": tmp_path}) as service:
        yield service.client


def put(client: httpx.Client, *receivers: dict[str, Any], **fields: Any) -> httpx.Response:  # noqa: ANN401
    routes = [{"receiver": receivers[0]["name"]}] if receivers else []
    return client.put("/v1/alert-routes", json={"receivers": list(receivers), "routes": routes, **fields})


def hook(web: WebReceiver) -> dict[str, Any]:
    return {"name": "hook", "kind": "webhook", "settings": {"url": web.url}}


def audit(client: httpx.Client, action: str) -> list[dict[str, Any]]:
    return [entry for entry in client.get("/v1/audit").json()["items"] if entry["action"] == action]


def test_a_silence_is_made_listed_and_ended(client: httpx.Client, database: Database) -> None:
    change_alert(database, "a1", "firing", utc_now())
    ends_at = (utc_now() + timedelta(hours=2)).isoformat()
    body = {"matchers": [{"name": "service", "op": "=~", "value": "ca.+"}], "ends_at": ends_at, "comment": "upgrade"}
    made = client.post("/v1/silences", json=body)
    assert made.status_code == 201
    silence = made.json()
    assert (silence["status"], silence["matches"], silence["comment"]) == ("active", ["a1"], "upgrade")
    assert client.get(f"/v1/silences/{silence['id']}").json() == silence
    assert client.get("/v1/silences", params={"status": "active"}).json()["items"] == [silence]
    ended = client.post(f"/v1/silences/{silence['id']}/expire").json()
    assert (ended["status"], ended["matches"]) == ("expired", [])
    assert client.post(f"/v1/silences/{silence['id']}/expire").json() == ended
    assert client.get("/v1/silences", params={"status": "active"}).json()["items"] == []
    assert [entry["subject"] for entry in audit(client, "silence.create")] == [silence["id"]]
    assert len(audit(client, "silence.expire")) == 1


def test_silences_come_in_pages_newest_first(client: httpx.Client) -> None:
    ends_at = (utc_now() + timedelta(hours=2)).isoformat()
    for number in range(5):
        matcher = {"name": "host", "value": str(number)}
        assert client.post("/v1/silences", json={"matchers": [matcher], "ends_at": ends_at}).status_code == 201
    seen: list[str] = []
    cursor = None
    while cursor is not None or not seen:
        page = client.get("/v1/silences", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [silence["matchers"][0]["value"] for silence in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["4", "3", "2", "1", "0"]


@pytest.mark.parametrize(
    ("matchers", "minutes", "words"),
    [
        ([{"name": "service", "op": "=~", "value": ".*"}], 60, "every matcher also matches"),
        ([{"name": "service", "op": "!=", "value": "x"}], 60, "every matcher also matches"),
        ([{"name": "service", "op": "=~", "value": "("}], 60, "cannot be read"),
        ([{"name": "ser vice", "op": "=", "value": "x"}], 60, "label name"),
        ([{"name": "service", "op": "=", "value": "x"}], -1, "ends after it starts"),
        ([], 60, "matchers"),
    ],
)
def test_a_silence_that_cannot_be_meant_is_refused(
    client: httpx.Client, matchers: list[dict[str, str]], minutes: int, words: str
) -> None:
    ends_at = (utc_now() + timedelta(minutes=minutes)).isoformat()
    answer = client.post("/v1/silences", json={"matchers": matchers, "ends_at": ends_at})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_an_alert_is_acknowledged_and_taken_back(client: httpx.Client, database: Database) -> None:
    change_alert(database, "a1", "firing", utc_now())
    given = client.post("/v1/alerts/a1/acknowledge", json={"note": "on it"})
    assert (given.status_code, given.json()["note"]) == (200, "on it")
    again = client.post("/v1/alerts/a1/acknowledge", json={"note": "still"})
    assert again.json()["note"] == "still"
    assert client.delete("/v1/alerts/a1/acknowledge").status_code == 204
    assert client.delete("/v1/alerts/a1/acknowledge").status_code == 204
    assert len(audit(client, "alert.acknowledge")) == 2
    assert len(audit(client, "alert.unacknowledge")) == 1
    change_alert(database, "a1", "resolved", utc_now())
    assert client.post("/v1/alerts/a1/acknowledge", json={}).status_code == 409
    assert client.post("/v1/alerts/none/acknowledge", json={}).status_code == 404
    assert client.get("/v1/silences/none").status_code == 404


def test_routes_are_replaced_as_a_whole_and_nothing_is_lost_meanwhile(client: httpx.Client, web: WebReceiver) -> None:
    empty = client.get("/v1/alert-routes").json()
    assert (empty["version"], empty["receivers"], empty["routes"], empty["inhibitions"]) == (0, [], [], [])
    nested = {"matchers": [{"name": "severity", "op": "=", "value": "critical"}], "group_by": ["host"]}
    routes = [{"receiver": "hook", "continue": True, "routes": [nested]}]
    answer = client.put("/v1/alert-routes", json={"receivers": [hook(web)], "routes": routes, "version": 0})
    assert answer.status_code == 200
    stored = client.get("/v1/alert-routes").json()
    assert stored == answer.json()
    assert stored["version"] == 1
    assert stored["updated_by"].startswith("token:ann")
    assert stored["routes"][0]["continue"] is True
    assert stored["routes"][0]["routes"][0]["group_by"] == ["host"]
    assert stored["routes"][0]["routes"][0]["receiver"] is None
    late = client.put("/v1/alert-routes", json={"receivers": [], "routes": [], "version": 0})
    assert late.status_code == 409
    back = {name: stored[name] for name in ("routes", "inhibitions", "version")}
    shown = [{name: entry[name] for name in ("name", "kind", "settings")} for entry in stored["receivers"]]
    assert client.put("/v1/alert-routes", json={**back, "receivers": shown}).status_code == 200
    (entry, _) = audit(client, "alert_routes.replace")
    assert entry["detail"]["receivers"][0]["name"] == "hook"


def test_secrets_are_named_and_shown_as_set_or_not_set(client: httpx.Client, tmp_path: Path) -> None:
    (tmp_path / "chat").write_text(SECRET, encoding="utf-8")
    answer = put(
        client,
        {"name": "chat", "kind": "slack", "settings": {"url_file": "chat"}},
        {"name": "pager", "kind": "pagerduty", "settings": {"routing_key": "${TIERSCOPE_SECRET_NOT_THERE}"}},
    )
    assert answer.status_code == 200
    chat, pager = answer.json()["receivers"]
    assert chat["secrets"] == [{"field": "url", "source": "file", "name": "chat", "is_set": True}]
    assert pager["secrets"] == [
        {"field": "routing_key", "source": "environment", "name": "TIERSCOPE_SECRET_NOT_THERE", "is_set": False}
    ]
    assert "very-secret" not in answer.text
    assert "very-secret" not in client.get("/v1/audit").text


def test_a_secret_that_is_written_out_is_refused_and_not_repeated(client: httpx.Client) -> None:
    answer = put(client, {"name": "chat", "kind": "slack", "settings": {"url": SECRET}})
    assert answer.status_code == 422
    assert "`url` is a secret" in answer.json()["detail"]
    assert "very-secret" not in answer.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"routes": [{"receiver": "nobody"}]},
        {"routes": [{"receiver": "hook", "group_wait_seconds": -1}]},
        {"routes": [{"receiver": "hook", "matchers": [{"name": "a", "op": "=~", "value": "["}]}]},
        {"inhibitions": [{"source_matchers": [], "target_matchers": []}]},
        {"unknown": 1},
    ],
)
def test_routes_that_cannot_be_meant_are_refused(client: httpx.Client, web: WebReceiver, wrong: dict[str, Any]) -> None:
    assert put(client, hook(web), **wrong).status_code == 422
    assert client.get("/v1/alert-routes").json()["version"] == 0


def test_a_test_is_sent_at_once_and_stands_in_the_log(client: httpx.Client, web: WebReceiver) -> None:
    put(client, hook(web))
    answer = client.post("/v1/alert-routes/test", json={"receiver": "hook"}).json()
    assert (answer["delivered"], answer["said"]) == (True, None)
    (got,) = web.requests
    assert got.json()["alerts"][0]["labels"]["alertname"] == "Test"
    web.statuses = [500]
    failed = client.post("/v1/alert-routes/test", json={"receiver": "hook"}).json()
    assert (failed["delivered"], failed["said"]) == (False, "the receiver answered 500: ok")
    page = client.get("/v1/notifications").json()
    assert [(entry["id"], entry["status"], entry["reason"], entry["status_code"]) for entry in page["items"]] == [
        (failed["notification_id"], "dead", "test", 500),
        (answer["notification_id"], "delivered", "test", None),
    ]
    assert client.get("/v1/notifications", params={"status": "dead"}).json()["items"] == page["items"][:1]
    assert client.get("/v1/notifications", params={"receiver": "other"}).json()["items"] == []
    assert client.get("/v1/notifications", params={"alert": answer["notification_id"]}).json()["items"] == [
        page["items"][1]
    ]
    assert client.post(f"/v1/notifications/{failed['notification_id']}/retry").status_code == 409
    assert client.post("/v1/notifications/none/retry").status_code == 404
    assert client.post("/v1/alert-routes/test", json={"receiver": "other"}).status_code == 404


def test_viewers_see_silences_and_not_routes(client: httpx.Client, database: Database) -> None:
    token = Access(database).create_api_token(role="viewer", note="v", lifetime=None, actor="test").secret
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/v1/silences", headers=headers).status_code == 200
    assert client.get("/v1/alert-routes", headers=headers).status_code == 403
    assert client.get("/v1/notifications", headers=headers).status_code == 403


_ANY = [{"name": "a", "value": "b"}]
_UNFIT = {"source_matchers": _ANY, "target_matchers": _ANY, "equal": ["\0"]}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/silences/%00", None),
        ("GET", "/v1/notifications?alert=%00", None),
        ("POST", "/v1/alerts/%00/acknowledge", {"note": ""}),
        ("PUT", "/v1/alert-routes", {"receivers": [], "routes": [], "inhibitions": [_UNFIT]}),
    ],
)
def test_a_text_that_cannot_be_stored_is_the_callers_mistake(
    client: httpx.Client, method: str, path: str, body: dict[str, Any] | None
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == 400
    assert "NUL" in answer.json()["detail"]

"""Expressions of users over HTTP: each is answered whatever it says; one that is none is refused with what to do."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from factories.alert_changes import change_alert
from factories.receivers import web_receiver
from factories.remote_writes import HEADERS, named, write_body
from factories.services import signed_in
from factories.watched import Watched
from tierscope.core.clock import utc_now
from tierscope.core.database import Database

pytestmark = [pytest.mark.parametrize("storage_mode", ["native"], indirect=True), pytest.mark.timeout(300)]
NAME = "x" * 28
# With an engine that tries one way after the other, the first takes a minute on this name, the others never end.
EXPLODING = ["(x|x)*b", "(x|x|x|x)*b", "((x+)+)+b", "x?" * 28 + "x" * 28 + "b"]
LOOKING_AHEAD = "(?=x)x+"
KEYS = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success")
RULE = {"name": "busy", "expression": "promoted_pages > 1000/s", "for_seconds": 120}


@pytest.fixture
def client(database_url: str, tmp_path: Path) -> Iterator[httpx.Client]:
    with signed_in(database_url, "admin", outgoing={"allow": "127.0.0.0/8", "secrets_dir": tmp_path}) as service:
        yield service.client


def scoped(expression: str, op: str = "=~") -> dict[str, Any]:
    """The rule for hosts of such a name."""
    return RULE | {"scope": {"kind": "host", "labels": [{"name": "host", "op": op, "value": expression}]}}


def assert_refused(answer: httpx.Response, status: int) -> None:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert "RE2 says: invalid perl operator: (?=" in body["detail"]
    assert "no look-around" in body["next_step"]


def test_backtests_and_rules_answer_on_any_expression(client: httpx.Client, database: Database) -> None:
    watched = Watched(database, 20)
    watched.send(watched.enrol(NAME), KEYS, [[0, 120_000 * i] for i in range(10)])
    window = {"from": watched.start.isoformat(), "to": watched.at(9).isoformat()}
    for number, expression in enumerate(EXPLODING):
        for op, hosts in (("=~", 0), ("!~", 1)):
            rule = scoped(expression, op) | {"name": f"busy-{number}-{hosts}"}
            found = client.post("/v1/rules/backtest", json={"rule": rule, **window})
            assert (found.status_code, found.json()["n_subjects"]) == (200, hosts)
            assert client.post("/v1/rules", json=rule).status_code == 201
    watched.evaluate(2.5)
    watched.evaluate(12)
    assert {change.rule for change in watched.changes()} >= {f"busy-{number}-1" for number in range(len(EXPLODING))}
    assert not {change.rule for change in watched.changes()} & {f"busy-{number}-0" for number in range(len(EXPLODING))}


def test_silences_and_routes_answer_on_any_expression(client: httpx.Client, database: Database) -> None:
    change_alert(database, "a1", "firing", utc_now(), service=NAME)
    ends_at = (utc_now() + timedelta(hours=1)).isoformat()
    with web_receiver() as web:
        hook = {"name": "hook", "kind": "webhook", "settings": {"url": web.url}}
        for expression in EXPLODING:
            matcher = {"name": "service", "op": "=~", "value": expression}
            made = client.post("/v1/silences", json={"matchers": [matcher], "ends_at": ends_at})
            assert (made.status_code, made.json()["matches"]) == (201, [])
            routes = [{"receiver": "hook", "matchers": [matcher]}]
            put = client.put("/v1/alert-routes", json={"receivers": [hook], "routes": routes})
            assert put.status_code == 200
    matcher = {"name": "service", "op": "=~", "value": "(x|x)+"}
    made = client.post("/v1/silences", json={"matchers": [matcher], "ends_at": ends_at})
    assert made.json()["matches"] == ["a1"]
    assert client.get("/v1/alerts", params={"state": "firing"}).status_code == 200


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ('instance=~"db.*"', {"db1", "db2"}),
        ('instance=~"b.*"', set()),
        ('instance!~"db.*"', {NAME}),
        ('instance=~"(x|x|x|x)*b"', set()),
        ('instance!~"(x|x|x|x)*b"', {"db1", "db2", NAME}),
        ('shard=~"|1"', {"db1", NAME}),
        ('shard=~".+"', {"db1", "db2"}),
        ('shard!~"2",instance=~"db.*"', {"db1"}),
        ('__name__=~"node_l.*1",instance!="db1"', {"db2", NAME}),
        ('lines=~"a.b"', {"db2"}),
        ('none=~".+"', set()),
    ],
)
def test_selectors_find_what_their_patterns_fit(client: httpx.Client, conditions: str, wanted: set[str]) -> None:
    at = int(utc_now().timestamp() * 1000) - 60_000
    body = write_body(
        (named("node_load1", instance="db1", shard="1"), [(at, 1.0)]),
        (named("node_load1", instance="db2", shard="2", lines="a\nb"), [(at, 1.0)]),
        (named("node_load1", instance=NAME), [(at, 1.0)]),
        (named("up", instance="db3", kind="other"), [(at, 1.0)]),
    )
    assert client.post("/api/v1/write", content=body, headers=HEADERS).status_code == 204
    part = conditions if "__name__" in conditions else '__name__="node_load1",' + conditions
    found: set[str] = set()
    cursor: str | None = None
    while True:
        params = {"match": f"{{{part}}}", "limit": "1"} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/series", params=params).json()
        found |= {item["labels"]["instance"] for item in page["items"]}
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == wanted


def test_an_expression_of_another_syntax_is_refused_everywhere(client: httpx.Client) -> None:
    matcher = {"name": "service", "op": "=~", "value": LOOKING_AHEAD}
    rule = scoped(LOOKING_AHEAD)
    assert_refused(client.post("/v1/rules", json=rule), 422)
    assert_refused(client.post("/v1/rules/backtest", json={"rule": rule, "from": "-1h", "to": "now"}), 422)
    checked = client.post("/v1/rules/check", json={"rule": rule}).json()
    assert (checked["ok"], "no look-around" in checked["problems"][0]["next_step"]) == (False, True)
    file = f"rules: [{{name: a, expression: b, scope: {{labels: [{{name: a, op: '=~', value: '{LOOKING_AHEAD}'}}]}}}}]"
    assert_refused(client.post("/v1/rules/import", json={"yaml": file}), 422)
    ends_at = (utc_now() + timedelta(hours=1)).isoformat()
    assert_refused(client.post("/v1/silences", json={"matchers": [matcher], "ends_at": ends_at}), 422)
    hook = {"name": "hook", "kind": "webhook", "settings": {"url": "http://127.0.0.1:1/"}}
    for routing in (
        {"routes": [{"receiver": "hook", "matchers": [matcher]}]},
        {"routes": [], "inhibitions": [{"source_matchers": [matcher], "target_matchers": [matcher]}]},
    ):
        assert_refused(client.put("/v1/alert-routes", json={"receivers": [hook], **routing}), 422)
    for path in ("/v1/series", "/v1/series/samples"):
        params = {"match": f'up{{instance=~"{LOOKING_AHEAD}"}}', "from": "-1h"}
        assert_refused(client.get(path, params=params), 400)

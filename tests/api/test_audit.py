"""Every change leaves a row in the audit trail: each write of the API is made once, and its row is looked for.

A new write needs a step here, or a reason why it changes nothing that anybody would ask about.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from factories.alert_changes import change_alert
from factories.installations import Enrolled, enrol
from factories.people import headers_after, make_owned, session_of
from factories.services import running
from tierscope.api.app import create_app
from tierscope.api.base.permissions import declared_permissions
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.access.tokens import Access

NOT_A_CHANGE = {
    "POST /v1/ingest/batches": "data of hosts, by the million",
    "POST /api/v1/write": "samples, likewise",
    "POST /otlp/v1/metrics": "samples, likewise",
    "POST /v1/reports/preview": "draws a report and keeps nothing",
}
PASSWORD = "plover cutlass humid orbit"
TRACE = Path(__file__).parents[1] / "data" / "page-traces" / "sqlite.parquet"
RULE = {
    "name": "busy",
    "group": "own",
    "expression": "promoted_pages > 1000/s",
    "for_seconds": 120,
    "severity": "critical",
    "labels": {"team": "db"},
    "summary": "{{ subject }}: {{ value }}",
}


@dataclass(slots=True)
class Writer:
    """Somebody who makes every write once."""

    client: httpx.Client
    database: Database
    headers: dict[str, str]
    ids: dict[str, str]
    done: set[str] = field(default_factory=set)
    silent: list[str] = field(default_factory=list)

    def rows(self) -> int:
        with self.database.read() as session:
            return int(session.execute(text("SELECT count(*) FROM audit")).scalar_one())

    def write(
        self,
        endpoint: str,
        body: object = None,
        *,
        keep: str | None = None,
        as_: Mapping[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - what httpx takes
    ) -> httpx.Response:
        """Makes one write; `keep` names the id in its answer for later paths."""
        method, path = endpoint.split(" ")
        before = self.rows()
        self.client.cookies.clear()
        headers = {**(self.headers if as_ is None else as_), **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        answer = self.client.request(method, path.format(**self.ids), headers=headers, **options)
        assert answer.status_code < 400, f"{endpoint}: {answer.status_code} {answer.text}"
        if keep is not None:
            self.ids[keep] = str(answer.json()["id"])
        self.done.add(endpoint)
        if self.rows() == before:
            self.silent.append(endpoint)
        return answer


@pytest.fixture
def writer(database_url: str, tmp_path: Path) -> Iterator[Writer]:
    outgoing = {"allow": "127.0.0.0/8", "secrets_dir": tmp_path}
    with (
        running(Settings.model_validate({"database_url": database_url, "outgoing": outgoing})) as (_, client),
        closing(Database(database_url)) as database,
    ):
        owned = make_owned(database)
        hosts = [enrol(database, name=f"node-{number}") for number in range(3)]
        _run_on(database, owned.ids["service_id"], hosts)
        ids = {**owned.ids, "host_id": hosts[0].id, "canary": hosts[1].id, "control": hosts[2].id}
        change_alert(database, "a1", "firing", utc_now())
        yield Writer(client, database, session_of(database, name="root", role="admin"), ids | {"alert_id": "a1"})


def _run_on(database: Database, service: str, hosts: list[Enrolled]) -> None:
    with database.write() as transaction:
        statement = text(
            "INSERT INTO host_services (host_id, service_id) SELECT h.id, s.id FROM hosts h, services s"
            " WHERE h.public_id = ANY(:hosts) AND s.public_id = :service"
        )
        transaction.execute(statement, {"hosts": [host.id for host in hosts], "service": service})


def people(writer: Writer) -> None:
    """Accounts, logins, tokens and teams."""
    write = writer.write
    write("POST /v1/users", {"name": "ann", "role": "operator"}, keep="user_id")
    write("PUT /v1/users/{user_id}", {"role": "operator", "display_name": "Ann"})
    link = write("POST /v1/users/{user_id}/password-link").json()["path"].partition("link=")[2]
    write("POST /login/password", data={"link": link, "password": PASSWORD}, as_={})
    login = write("POST /v1/session", {"name": "ann", "password": PASSWORD}, as_={})
    ann = headers_after(login)
    write("POST /v1/me/tokens", {"note": "ci", "scopes": ["read:fleet"]}, keep="token_id", as_=ann)
    write("DELETE /v1/me/tokens/{token_id}", as_=ann)
    change = {"current_password": PASSWORD, "new_password": "seventeen quiet lanterns"}
    changed = write("PUT /v1/me/password", change, as_=ann)
    ann = headers_after(changed)
    write("DELETE /v1/session", as_=ann)
    write("POST /login", data={"link": Access(writer.database).create_link(actor="test").secret}, as_={})
    view = {"name": "hot hosts", "address": "/hosts?sort=hot", "shared": True}
    write("POST /v1/views", view, keep="view_id")
    write("PUT /v1/views/{view_id}", view | {"name": "hottest hosts"})
    write("DELETE /v1/views/{view_id}")
    write("POST /v1/teams", {"name": "search-2", "members": [writer.ids["user_id"]]}, keep="team_id")
    write("PUT /v1/teams/{team_id}", {"name": "search-3"})
    write("PUT /v1/services/{service_id}/owner", {"team_id": writer.ids["team_id"]})
    write("DELETE /v1/teams/{team_id}")
    write("DELETE /v1/users/{user_id}")
    write("POST /v1/tokens", {"role": "viewer", "note": "n"}, keep="token_id")
    write("DELETE /v1/tokens/{token_id}")


def agents(writer: Writer) -> None:
    write = writer.write
    token = write("POST /v1/agents/join-tokens", {}).json()["token"]
    host = write("POST /v1/agents/enrol", {"join_token": token, "hostname": "n"}, as_={}).json()
    write("POST /v1/agent/rotate", as_={"Authorization": f"Bearer {host['credential']}"})
    write("POST /v1/agents/pause", {"host_id": None})
    write("POST /v1/agents/resume", {"host_id": None})
    write("PUT /v1/hosts/{host_id}/labels", {"labels": {"rack": "a1"}})
    csv = f"host,rack\n{writer.ids['host_id']},b2\n"
    write("POST /v1/hosts/labels", content=csv, headers={"Content-Type": "text/csv"})
    writer.ids["host_id"] = host["host_id"]
    write("POST /v1/agents/{host_id}/revoke")


def advice(writer: Writer) -> None:
    """Marks, advice, measurements and experiments."""
    write = writer.write
    write("POST /v1/events", {"text": "deployed"}, keep="event_id")
    write("DELETE /v1/events/{event_id}")
    write("POST /v1/advice/{advice_id}/decision", {"decision": "dismissed"})
    point = {"share_on_slow": 0.5, "loss": 0.1, "loss_standard_error": 0.01}
    write("POST /v1/services/{service_id}/slowdown-points", point, keep="point_id")
    write("DELETE /v1/slowdown-points/{point_id}")
    experiment = {
        "name": "e",
        "service_id": writer.ids["service_id"],
        "metrics": [{"metric": "throughput_per_s"}],
        "canary": [writer.ids["canary"]],
        "control": [writer.ids["control"]],
        "before_from": (utc_now() - timedelta(days=1)).isoformat(),
        "change_at": utc_now().isoformat(),
        "planned_end": (utc_now() + timedelta(days=1)).isoformat(),
    }
    made = write("POST /v1/experiments", experiment).json()
    writer.ids["experiment_id"] = str(made.get("id") or made["experiment"]["id"])
    write("POST /v1/experiments/{experiment_id}/end")


def planning(writer: Writer) -> None:
    """Prices, scenarios, reports, sweeps and traces."""
    write = writer.write
    price = {"item": "dram", "value": 3.5, "currency": "USD", "source": "contract", "date": "2026-11-01"}
    write("POST /v1/prices", price | {"confirm": False}, keep="price_id")
    write("POST /v1/prices/{price_id}/confirm")
    write("DELETE /v1/prices/{price_id}")
    spec = writer.client.get("/v1/scenarios/defaults", headers=writer.headers).json()["spec"]
    write("POST /v1/scenarios", {"name": "plan", "spec": spec}, keep="scenario_id")
    write("PUT /v1/scenarios/{scenario_id}", {"version": 1, "spec": spec | {"name": "plan"}})
    write("DELETE /v1/scenarios/{scenario_id}")
    report = {"name": "weekly", "every_days": 7, "to": {"webhook": "http://127.0.0.1:1/"}}
    write("POST /v1/reports", report, keep="report_id")
    write("DELETE /v1/reports/{report_id}")
    binary = {"Content-Type": "application/octet-stream"}
    trace = "POST /v1/simulator/uploads"
    write(trace, content=TRACE.read_bytes(), params={"name": "sqlite"}, headers=binary, keep="upload_id")
    write("DELETE /v1/simulator/uploads/{upload_id}")
    source = {"kind": "workload", "workload": "zipf", "pages": 1000, "intervals": 20}
    sweep = {"name": "s", "source": source, "policies": ["first_touch"], "dram_ratios": [0.5]}
    write("POST /v1/sweeps", sweep, keep="sweep_id")
    write("POST /v1/sweeps/{sweep_id}/cancel")
    write("POST /v1/sweeps/{sweep_id}/resume")
    write("DELETE /v1/sweeps/{sweep_id}")


def alerts(writer: Writer) -> None:
    """Rules, silences, acknowledgements, routes and notifications."""
    write = writer.write
    write("POST /v1/rules", RULE, keep="rule_id")
    write("PUT /v1/rules/{rule_id}", RULE | {"for_seconds": 600})
    exported = writer.client.get("/v1/rules/export", headers=writer.headers).text
    write("DELETE /v1/rules/{rule_id}")
    write("POST /v1/rules/import", {"yaml": exported})
    matchers = [{"name": "host", "value": "n"}]
    silence = {"matchers": matchers, "ends_at": (utc_now() + timedelta(hours=2)).isoformat()}
    write("POST /v1/silences", silence, keep="silence_id")
    write("POST /v1/silences/{silence_id}/expire")
    write("POST /v1/alerts/{alert_id}/acknowledge", {})
    write("DELETE /v1/alerts/{alert_id}/acknowledge")
    hook = {"name": "hook", "kind": "webhook", "settings": {"url": "http://127.0.0.1:1/"}}
    write("PUT /v1/alert-routes", {"receivers": [hook], "routes": [{"receiver": "hook"}]})
    write("POST /v1/alert-routes/test", {"receiver": "hook"})
    with writer.database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO notifications (public_id, key, group_key, receiver, kind, reason, status, firing,"
                " resolved, alerts, created_at, next_attempt_at, ended_at) VALUES ('n1', 'k', 'g', 'hook', 'webhook',"
                " 'firing', 'dead', 1, 0, '[]', now(), now(), now())"
            )
        )
    writer.ids["notification_id"] = "n1"
    write("POST /v1/notifications/{notification_id}/retry")


def purges(writer: Writer) -> None:
    """Removing data, last."""
    writer.ids["host_id"] = writer.ids["canary"]
    writer.write("POST /v1/hosts/{host_id}/purge", {"confirm": "node-1"})
    writer.write("POST /v1/services/{service_id}/purge", {"confirm": "ns/owned"})


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_write_leaves_a_row(writer: Writer) -> None:
    app = create_app(Settings(database_url=writer.database.url))
    people(writer)
    agents(writer)
    advice(writer)
    planning(writer)
    alerts(writer)
    purges(writer)
    writes = {
        f"{method} {path}"
        for method, path, permission in declared_permissions(app)
        if method not in ("GET", "HEAD") and not str(permission).startswith("read:")
    }
    assert writes - writer.done - set(NOT_A_CHANGE) == set(), "writes without a step"
    assert (writer.done | set(NOT_A_CHANGE)) - writes == set(), "steps without a write"
    assert writer.silent == []

"""Who may do what: every endpoint by every kind of caller, against the running application.

A new endpoint needs a line in ENDPOINTS, and one in OWNED where members of an owning team may use it.
"""

import re
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from factories.people import Owned, make_owned, session_of
from factories.services import running
from tierscope.api.app import create_app
from tierscope.api.base.permissions import ANONYMOUS, ROLES, Permission, check_declared, declared, declared_permissions
from tierscope.core.database import Database
from tierscope.core.errors import ConfigurationError
from tierscope.core.settings import Settings
from tierscope.domain.access.permissions import NEVER_A_SCOPE, OWNER, Role
from tierscope.usecases.access.tokens import Access

ENDPOINTS: dict[str, Permission] = {
    "GET /healthz": "public",
    "GET /readyz": "public",
    "GET /openapi.json": "public",
    "GET /login": "public",
    "POST /login": "public",
    "GET /docs": "public",
    "GET /docs/{path:path}": "public",
    "GET /{path:path}": "public",
    "GET /v1/session": "public",
    "POST /v1/session": "public",
    "DELETE /v1/session": "public",
    "GET /login/password": "public",
    "POST /login/password": "public",
    "GET /v1/login/methods": "public",
    "GET /v1/login/oidc/start": "public",
    "GET /v1/login/oidc/callback": "public",
    "GET /v1/login/oidc/logout": "public",
    "GET /v1/me": "write:own",
    "PUT /v1/me/password": "write:own",
    "GET /v1/me/tokens": "write:own",
    "POST /v1/me/tokens": "write:own",
    "DELETE /v1/me/tokens/{token_id}": "write:own",
    "GET /v1/users": "write:users",
    "POST /v1/users": "write:users",
    "PUT /v1/users/{user_id}": "write:users",
    "DELETE /v1/users/{user_id}": "write:users",
    "POST /v1/users/{user_id}/password-link": "write:users",
    "GET /v1/teams": "write:users",
    "POST /v1/teams": "write:users",
    "PUT /v1/teams/{team_id}": "write:users",
    "DELETE /v1/teams/{team_id}": "write:users",
    "PUT /v1/services/{service_id}/owner": "write:users",
    "POST /v1/agents/enrol": "public",
    "POST /v1/ingest/batches": "agent",
    "POST /api/v1/write": "write:samples",
    "POST /otlp/v1/metrics": "write:samples",
    "GET /v1/series": "read:fleet",
    "GET /v1/series/samples": "read:fleet",
    "POST /v1/agent/rotate": "agent",
    "GET /v1/agent/config": "agent",
    "GET /v1/fleet": "read:fleet",
    "GET /v1/fleet/grid": "read:fleet",
    "GET /v1/tags": "read:fleet",
    "GET /v1/fleet/statistics": "read:fleet",
    "GET /v1/fleet/drift": "read:fleet",
    "GET /v1/services/{service_id}/lookalikes": "read:fleet",
    "GET /v1/services/{service_id}/network": "read:fleet",
    "GET /v1/hosts": "read:fleet",
    "GET /v1/hosts/{host_id}": "read:fleet",
    "GET /v1/hosts/{host_id}/pods": "read:fleet",
    "GET /v1/services/{service_id}/pods": "read:fleet",
    "GET /v1/hosts/{host_id}/counters": "read:fleet",
    "GET /v1/hosts/{host_id}/counters/names": "read:fleet",
    "GET /v1/hosts/{host_id}/ledger": "read:fleet",
    "GET /v1/hosts/{host_id}/triage": "read:fleet",
    "GET /v1/hosts/{host_id}/ping-pong": "read:fleet",
    "GET /v1/services": "read:fleet",
    "GET /v1/services/{service_id}": "read:fleet",
    "GET /v1/services/{service_id}/heat": "read:fleet",
    "GET /v1/services/{service_id}/metrics": "read:fleet",
    "GET /v1/services/{service_id}/ledger": "read:fleet",
    "GET /v1/hosts/{host_id}/knob-advice": "read:fleet",
    "GET /v1/services/{service_id}/revisit": "read:fleet",
    "GET /v1/services/{service_id}/revisit/objectives": "read:fleet",
    "GET /v1/services/{service_id}/curve": "read:fleet",
    "GET /v1/services/{service_id}/ratio": "read:fleet",
    "GET /v1/services/{service_id}/swap-tier": "read:fleet",
    "GET /v1/simulator/services/{service_id}/workload": "read:fleet",
    "GET /v1/hosts/{host_id}/swap-tier": "read:fleet",
    "GET /v1/rules": "read:fleet",
    "POST /v1/rules": "write:rules",
    "GET /v1/rules/vocabulary": "read:fleet",
    "POST /v1/rules/check": "read:fleet",
    "POST /v1/rules/backtest": "read:fleet",
    "GET /v1/rules/export": "read:fleet",
    "POST /v1/rules/import": "write:rules",
    "GET /v1/rules/{rule_id}": "read:fleet",
    "PUT /v1/rules/{rule_id}": "write:rules",
    "DELETE /v1/rules/{rule_id}": "write:rules",
    "GET /v1/alerts": "read:fleet",
    "GET /v1/alerts/timeline": "read:fleet",
    "GET /v1/alerts/marks": "read:fleet",
    "GET /v1/alerts/{alert_id}": "read:fleet",
    "GET /v1/alerts/{alert_id}/incident": "read:fleet",
    "GET /v1/prices": "read:fleet",
    "POST /v1/prices": "write:scenarios",
    "POST /v1/prices/{price_id}/confirm": "write:scenarios",
    "DELETE /v1/prices/{price_id}": "write:scenarios",
    "GET /v1/scenarios": "read:fleet",
    "POST /v1/scenarios": "write:scenarios",
    "GET /v1/scenarios/presets": "read:fleet",
    "GET /v1/scenarios/defaults": "read:fleet",
    "GET /v1/scenarios/schema": "read:fleet",
    "GET /v1/scenarios/{scenario_id}": "read:fleet",
    "PUT /v1/scenarios/{scenario_id}": "write:scenarios",
    "DELETE /v1/scenarios/{scenario_id}": "write:scenarios",
    "GET /v1/tco/reclaimable": "read:fleet",
    "POST /v1/tco/evaluate": "read:fleet",
    "POST /v1/tco/sheet": "read:fleet",
    "GET /v1/tco/compare": "read:fleet",
    "GET /v1/services/{service_id}/slowdown-points": "read:fleet",
    "GET /v1/slow-memory": "read:fleet",
    "POST /v1/services/{service_id}/slowdown-points": "write:advice",
    "DELETE /v1/slowdown-points/{point_id}": "write:advice",
    "GET /v1/advice": "read:fleet",
    "GET /v1/advice/plan": "read:fleet",
    "GET /v1/advice/plan/bundle": "read:fleet",
    "GET /v1/advice/plan/canaries": "read:fleet",
    "GET /v1/advice/drift": "read:fleet",
    "GET /v1/advice/{advice_id}": "read:fleet",
    "POST /v1/advice/{advice_id}/decision": "write:advice",
    "GET /v1/services/{service_id}/sensitivity": "read:fleet",
    "GET /v1/services/{service_id}/fairness": "read:fleet",
    "GET /v1/hosts/{host_id}/fairness": "read:fleet",
    "GET /v1/hosts/{host_id}/fairness/limits": "read:fleet",
    "GET /v1/services/{service_id}/stability": "read:fleet",
    "GET /v1/services/{service_id}/ping-pong": "read:fleet",
    "GET /v1/services/{service_id}/tiles/damo": "read:tiles",
    "GET /v1/services/{service_id}/tiles": "read:tiles",
    "GET /v1/status": "read:fleet",
    "GET /v1/metrics": "read:fleet",
    "GET /v1/quantities": "read:fleet",
    "GET /metrics": "read:fleet",
    "GET /metrics/fleet": "read:fleet",
    "GET /prometheus/api/v1/query": "read:fleet",
    "POST /prometheus/api/v1/query": "read:fleet",
    "GET /prometheus/api/v1/query_range": "read:fleet",
    "POST /prometheus/api/v1/query_range": "read:fleet",
    "GET /prometheus/api/v1/series": "read:fleet",
    "POST /prometheus/api/v1/series": "read:fleet",
    "GET /prometheus/api/v1/labels": "read:fleet",
    "POST /prometheus/api/v1/labels": "read:fleet",
    "GET /prometheus/api/v1/label/{name}/values": "read:fleet",
    "POST /prometheus/api/v1/read": "read:fleet",
    "GET /prometheus/api/v1/metadata": "read:fleet",
    "GET /prometheus/api/v1/status/buildinfo": "read:fleet",
    "GET /v1/events": "read:fleet",
    "POST /v1/events": "write:events",
    "DELETE /v1/events/{event_id}": "write:events",
    "GET /v1/views": "read:fleet",
    "POST /v1/views": "write:own",
    "PUT /v1/views/{view_id}": "write:own",
    "DELETE /v1/views/{view_id}": "write:own",
    "GET /v1/capacity": "read:fleet",
    "GET /v1/capacity/forecast": "read:fleet",
    "POST /v1/capacity/plan": "read:fleet",
    "GET /v1/reports": "write:reports",
    "POST /v1/reports": "write:reports",
    "POST /v1/reports/preview": "write:reports",
    "DELETE /v1/reports/{report_id}": "write:reports",
    "GET /v1/reports/{report_id}/runs": "write:reports",
    "GET /v1/experiments": "read:fleet",
    "POST /v1/experiments": "write:experiments",
    "GET /v1/experiments/plan": "read:fleet",
    "GET /v1/experiments/{experiment_id}": "read:fleet",
    "POST /v1/experiments/{experiment_id}/end": "write:experiments",
    "GET /v1/simulator/policies": "read:fleet",
    "GET /v1/simulator/sources": "read:fleet",
    "GET /v1/simulator/swap-devices": "read:fleet",
    "POST /v1/simulator/uploads": "write:sweeps",
    "DELETE /v1/simulator/uploads/{upload_id}": "write:sweeps",
    "GET /v1/sweeps": "read:fleet",
    "POST /v1/sweeps": "write:sweeps",
    "GET /v1/sweeps/{sweep_id}": "read:fleet",
    "DELETE /v1/sweeps/{sweep_id}": "write:sweeps",
    "POST /v1/sweeps/{sweep_id}/cancel": "write:sweeps",
    "POST /v1/sweeps/{sweep_id}/resume": "write:sweeps",
    "GET /v1/sweeps/{sweep_id}/results": "read:fleet",
    "GET /v1/sweeps/{sweep_id}/runs/{run_id}": "read:fleet",
    "GET /v1/sweeps/{sweep_id}/heat": "read:tiles",
    "POST /v1/agents/join-tokens": "write:agents",
    "POST /v1/agents/{host_id}/revoke": "write:agents",
    "POST /v1/agents/pause": "operate:agents",
    "POST /v1/agents/resume": "operate:agents",
    "GET /v1/agents/pauses": "read:fleet",
    "POST /v1/tokens": "write:tokens",
    "GET /v1/tokens": "write:tokens",
    "DELETE /v1/tokens/{token_id}": "write:tokens",
    "GET /v1/audit": "read:audit",
    "POST /v1/alerts/{alert_id}/acknowledge": "write:silences",
    "DELETE /v1/alerts/{alert_id}/acknowledge": "write:silences",
    "GET /v1/silences": "read:fleet",
    "POST /v1/silences": "write:silences",
    "GET /v1/silences/{silence_id}": "read:fleet",
    "POST /v1/silences/{silence_id}/expire": "write:silences",
    "GET /v1/alert-routes": "read:routes",
    "PUT /v1/alert-routes": "write:routes",
    "POST /v1/alert-routes/test": "write:routes",
    "GET /v1/notifications": "read:routes",
    "GET /v1/agents/versions": "read:agents",
    "GET /v1/data-quality": "read:fleet",
    "GET /v1/hosts/{host_id}/labels": "read:fleet",
    "PUT /v1/hosts/{host_id}/labels": "write:labels",
    "POST /v1/hosts/labels": "write:labels",
    "POST /v1/hosts/{host_id}/purge": "purge:data",
    "POST /v1/services/{service_id}/purge": "purge:data",
    "GET /v1/purges": "purge:data",
    "GET /v1/purges/{purge_id}": "purge:data",
    "POST /v1/notifications/{notification_id}/retry": "write:silences",
}
# What members of the team that owns the service may use as viewers, with the body that names the service where none of
# the path does.
OWNED: dict[str, dict[str, object]] = {
    "GET /v1/services/{service_id}/tiles": {},
    "GET /v1/services/{service_id}/tiles/damo": {},
    "POST /v1/services/{service_id}/slowdown-points": {},
    "DELETE /v1/slowdown-points/{point_id}": {},
    "POST /v1/advice/{advice_id}/decision": {},
    "POST /v1/events": {"service_id": "SERVICE"},
    "DELETE /v1/events/{event_id}": {},
    "POST /v1/experiments": {"service_id": "SERVICE"},
    "POST /v1/experiments/{experiment_id}/end": {},
}
ROLE_NAMES: tuple[Role, ...] = ("viewer", "operator", "admin")
CHECKED = [endpoint for endpoint, permission in ENDPOINTS.items() if permission not in ("public", "agent")]


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(Settings(database_url="postgresql://nobody@localhost/none"))


def test_the_table_names_every_endpoint_and_its_permission(app: FastAPI) -> None:
    found = {f"{method} {path}": permission for method, path, permission in declared_permissions(app)}
    assert found == ENDPOINTS


def test_the_table_names_what_owners_may_use(app: FastAPI) -> None:
    owned = {
        f"{method} {path}"
        for method, path, requirement in declared(app)
        if requirement is not None and requirement.owned is not None
    }
    assert owned == set(OWNED)
    assert {ENDPOINTS[endpoint] for endpoint in OWNED} == OWNER


def test_a_route_without_a_permission_is_refused() -> None:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    router = APIRouter()
    router.add_api_route("/open", lambda: None)
    app.include_router(router)
    with pytest.raises(ConfigurationError, match="/open"):
        check_declared(app)


def test_roles_include_each_other() -> None:
    assert ROLES["viewer"] < ROLES["operator"] < ROLES["admin"]
    assert not any(permission.startswith("write:") for permission in ANONYMOUS)


class Callers:
    """Everybody who may ask: what each of them sends, and what each of them may."""

    def __init__(self, database: Database) -> None:
        self.owned: Owned = make_owned(database)
        self.access = Access(database)
        self.headers: dict[str, dict[str, str]] = {"anonymous": {}, "forger": {"Authorization": "Bearer tsa_x"}}
        for role in ROLE_NAMES:
            self.headers[role] = session_of(database, name=f"a-{role}", role=role)
        self.headers["owner"] = session_of(database, user=self.owned.member)
        self._scoped: dict[str, dict[str, str]] = {}

    def scoped(self, permission: Permission) -> dict[str, str]:
        """What a program with an admin's token for this permission alone sends."""
        if permission not in self._scoped:
            made = self.access.create_api_token(
                role="admin", scopes=[permission], note=permission, lifetime=None, actor="test"
            )
            self._scoped[permission] = {"Authorization": f"Bearer {made.secret}"}
        return self._scoped[permission]

    def expected(self, endpoint: str) -> Iterator[tuple[str, dict[str, str], bool]]:
        """Yields who asks, with which headers, and whether that is allowed."""
        permission = ENDPOINTS[endpoint]
        yield "anonymous", self.headers["anonymous"], permission in ANONYMOUS
        yield "forger", self.headers["forger"], False
        for role in ROLE_NAMES:
            yield role, self.headers[role], permission in ROLES[role]
        yield "owner of another service", self.headers["owner"], permission in ROLES["viewer"]
        other: Permission = "read:audit" if permission == "read:routes" else "read:routes"
        yield f"token for {other}", self.scoped(other), False
        if permission not in NEVER_A_SCOPE:
            yield f"token for {permission}", self.scoped(permission), True


@pytest.fixture
def client(database_url: str) -> Iterator[tuple[httpx.Client, Callers]]:
    with closing(Database(database_url)) as database:
        callers = Callers(database)  # they make more tokens later
        limits = {"enabled": False}
        with running(Settings.model_validate({"database_url": database_url, "rate_limits": limits})) as (_, opened):
            yield opened, callers


def ask(client: httpx.Client, method: str, path: str, headers: dict[str, str], body: object = None) -> int:
    """The status of one request; cookies are those of the headers alone."""
    client.cookies.clear()
    return client.request(method, path, headers=headers, json=body).status_code


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_endpoint_answers_every_caller_as_the_table_says(client: tuple[httpx.Client, Callers]) -> None:
    opened, callers = client
    wrong = []
    for endpoint in CHECKED:
        method, pattern = endpoint.split(" ")
        path = re.sub(r"{[^}]*}", "none", pattern)
        for caller, headers, allowed in callers.expected(endpoint):
            status = ask(opened, method, path, headers)
            refused = 401 if caller in ("anonymous", "forger") else 403
            if (status not in (401, 403)) != allowed or (not allowed and status != refused):
                wrong.append(f"{endpoint} as {caller}: {status}")
    assert wrong == []


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_owners_may_use_what_the_table_says_of_their_service_alone(client: tuple[httpx.Client, Callers]) -> None:
    opened, callers = client
    wrong = []
    for endpoint in CHECKED:
        method, pattern = endpoint.split(" ")
        allowed = endpoint in OWNED or ENDPOINTS[endpoint] in ROLES["viewer"]
        if ENDPOINTS[endpoint] == "write:own":
            continue  # nothing of a service
        for things, expected in (
            (callers.owned.ids, allowed),
            (callers.owned.foreign, endpoint not in OWNED and allowed),
        ):
            path = pattern
            for name in re.findall(r"{([^}]*)}", pattern):
                path = path.replace(f"{{{name}}}", things.get(name, "none"))
            body = dict.fromkeys(OWNED.get(endpoint, {}), things["service_id"]) or None
            status = ask(opened, method, path, callers.headers["owner"], body)
            if (status != 403) != expected:
                wrong.append(f"{endpoint} {path}: {status}")
    assert wrong == []


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize(
    ("setting", "header"),
    [
        ({"anonymous_reads": False}, {}),
        ({"trusted_proxies": ("10.0.0.1",)}, {}),
        ({"host": "0.0.0.0"}, {}),  # noqa: S104 - the setting alone; the test listens on loopback
        ({}, {"X-Forwarded-For": "10.0.0.1"}),
        ({}, {"Forwarded": "for=10.0.0.1"}),
        ({}, {"Via": "1.1 proxy"}),
    ],
)
def test_reading_needs_a_login_unless_on_plain_loopback(
    database_url: str, setting: dict[str, object], header: dict[str, str]
) -> None:
    with running(Settings(database_url=database_url, **setting)) as (_, client):  # type: ignore[arg-type]
        assert client.get("/v1/events", headers=header).status_code == 401
        assert client.get("/v1/session", headers=header).json()["kind"] == "nobody"

"""Who may do what: every endpoint by every role, against the running application."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from factories.services import running
from tierscope.api.app import create_app
from tierscope.api.permissions import ANONYMOUS, ROLES, Permission, check_declared, declared_permissions
from tierscope.core.database import Database
from tierscope.core.errors import ConfigurationError
from tierscope.core.settings import Settings
from tierscope.usecases.access import Access, Role

ENDPOINTS: dict[str, Permission] = {
    "GET /healthz": "public",
    "GET /readyz": "public",
    "GET /openapi.json": "public",
    "GET /login": "public",
    "POST /login": "public",
    "GET /{path:path}": "public",
    "GET /v1/session": "public",
    "POST /v1/session": "public",
    "DELETE /v1/session": "public",
    "POST /v1/agents/enrol": "public",
    "POST /v1/ingest/batches": "agent",
    "POST /v1/agent/rotate": "agent",
    "GET /v1/agent/config": "agent",
    "GET /v1/fleet": "read:fleet",
    "GET /v1/fleet/statistics": "read:fleet",
    "GET /v1/services/{service_id}/lookalikes": "read:fleet",
    "GET /v1/hosts": "read:fleet",
    "GET /v1/hosts/{host_id}": "read:fleet",
    "GET /v1/hosts/{host_id}/counters": "read:fleet",
    "GET /v1/hosts/{host_id}/counters/names": "read:fleet",
    "GET /v1/hosts/{host_id}/ledger": "read:fleet",
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
    "GET /v1/prices": "read:fleet",
    "POST /v1/prices": "write:scenarios",
    "POST /v1/prices/{price_id}/confirm": "write:scenarios",
    "DELETE /v1/prices/{price_id}": "write:scenarios",
    "GET /v1/scenarios": "read:fleet",
    "POST /v1/scenarios": "write:scenarios",
    "GET /v1/scenarios/defaults": "read:fleet",
    "GET /v1/scenarios/schema": "read:fleet",
    "GET /v1/scenarios/{scenario_id}": "read:fleet",
    "PUT /v1/scenarios/{scenario_id}": "write:scenarios",
    "DELETE /v1/scenarios/{scenario_id}": "write:scenarios",
    "POST /v1/tco/evaluate": "read:fleet",
    "POST /v1/tco/sheet": "read:fleet",
    "GET /v1/tco/compare": "read:fleet",
    "GET /v1/services/{service_id}/slowdown-points": "read:fleet",
    "POST /v1/services/{service_id}/slowdown-points": "write:advice",
    "DELETE /v1/slowdown-points/{point_id}": "write:advice",
    "GET /v1/advice": "read:fleet",
    "GET /v1/advice/{advice_id}": "read:fleet",
    "POST /v1/advice/{advice_id}/decision": "write:advice",
    "GET /v1/services/{service_id}/sensitivity": "read:fleet",
    "GET /v1/services/{service_id}/stability": "read:fleet",
    "GET /v1/services/{service_id}/ping-pong": "read:fleet",
    "GET /v1/services/{service_id}/tiles": "read:tiles",
    "GET /v1/status": "read:fleet",
    "GET /v1/metrics": "read:fleet",
    "GET /v1/events": "read:fleet",
    "POST /v1/events": "write:events",
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
ROLE_NAMES: tuple[Role, ...] = ("viewer", "operator", "admin")
ALLOWED = {
    "read:fleet": {"anonymous", "viewer", "operator", "admin"},
    "read:tiles": {"anonymous", "operator", "admin"},
    "write:events": {"operator", "admin"},
    "write:advice": {"operator", "admin"},
    "write:experiments": {"operator", "admin"},
    "write:reports": {"operator", "admin"},
    "write:sweeps": {"operator", "admin"},
    "write:scenarios": {"operator", "admin"},
    "write:rules": {"operator", "admin"},
    "write:silences": {"operator", "admin"},
    "read:routes": {"operator", "admin"},
    "write:routes": {"admin"},
    "operate:agents": {"operator", "admin"},
    "write:agents": {"admin"},
    "write:tokens": {"admin"},
    "read:audit": {"admin"},
    "purge:data": {"admin"},
    "write:labels": {"operator", "admin"},
    "read:agents": {"operator", "admin"},
}
CHECKED = [endpoint for endpoint, permission in ENDPOINTS.items() if permission not in ("public", "agent")]


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(Settings(database_url="postgresql://nobody@localhost/none"))


def test_the_table_names_every_endpoint_and_its_permission(app: FastAPI) -> None:
    found = {f"{method} {path}": permission for method, path, permission in declared_permissions(app)}
    assert found == ENDPOINTS


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


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    return {}


@pytest.fixture
def client(database_url: str, tokens: dict[str, str]) -> Iterator[httpx.Client]:
    with closing(Database(database_url)) as database:
        access = Access(database)
        for role in ROLE_NAMES:
            tokens[role] = access.create_api_token(role=role, note=role, lifetime=None, actor="test").secret
    with running(Settings(database_url=database_url)) as (_, opened):
        yield opened


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_endpoint_answers_every_role_as_the_table_says(client: httpx.Client, tokens: dict[str, str]) -> None:
    wrong = []
    for endpoint in CHECKED:
        method, path = endpoint.split(" ")
        names = (
            "host_id",
            "service_id",
            "token_id",
            "experiment_id",
            "point_id",
            "price_id",
            "scenario_id",
            "sweep_id",
            "report_id",
            "run_id",
            "upload_id",
            "advice_id",
            "alert_id",
            "rule_id",
            "silence_id",
            "notification_id",
        )
        path = path.format(**dict.fromkeys(names, "none"))
        for caller in ("anonymous", *ROLE_NAMES, "forger"):
            headers = {"Authorization": f"Bearer {tokens.get(caller, 'x')}"} if caller != "anonymous" else {}
            status = client.request(method, path, headers=headers).status_code
            expected = caller in ALLOWED[ENDPOINTS[endpoint]]
            refused = 401 if caller in ("anonymous", "forger") else 403
            if (status not in (401, 403)) != expected or (not expected and status != refused):
                wrong.append(f"{endpoint} as {caller}: {status}")
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

"""Rate limits: by token and session, by agent, by address; alone and shared through Redis."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from fastapi import FastAPI
from limits import RateLimitItemPerHour
from starlette.types import Scope

from factories.people import session_of
from factories.services import running
from factories.waiting import DEADLINE_SECONDS
from tierscope.api.base import rate_limits
from tierscope.api.base.peers import client_address
from tierscope.core.settings import Settings

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
LOOPBACK = "127.0.0.1"


def settings(database_url: str, *, trusted: str = "", redis_url: str | None = None, **limits: object) -> Settings:
    values = {"database_url": database_url, "redis_url": redis_url, "trusted_proxies": trusted, "rate_limits": limits}
    return Settings.model_validate(values)


@contextmanager
def served(made: Settings) -> Iterator[tuple[FastAPI, httpx.Client]]:
    with running(made) as (app, client):
        yield app, client


def token(app: FastAPI, *, scope: str | None = None) -> dict[str, str]:
    scopes = None if scope is None else [scope]
    made = app.state.use_cases.access.create_api_token(
        role="operator", scopes=scopes, note="n", lifetime=None, actor="test"
    )
    return {"Authorization": f"Bearer {made.secret}"}


def statuses(client: httpx.Client, path: str, headers: dict[str, str], times: int) -> list[int]:
    """The statuses of so many requests in a row."""
    return [client.get(path, headers=headers).status_code for _ in range(times)]


@native
def test_each_token_and_session_has_its_own_limit(database_url: str) -> None:
    with served(settings(database_url, per_caller_per_minute=3)) as (app, client):
        first, second = token(app), token(app)
        answer = client.get("/v1/session", headers=first)  # public: it asks for nobody and counts nothing
        assert "ratelimit" not in answer.headers
        answer = client.get("/v1/events", headers=first)
        assert answer.headers["ratelimit-policy"] == '"caller";q=3;w=60'
        assert answer.headers["ratelimit"].startswith('"caller";r=2;t=')
        assert statuses(client, "/v1/events", first, 3) == [200, 200, 429]
        refused = client.get("/v1/events", headers=first)
        assert refused.json()["type"].endswith("/too-many")
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit"].startswith('"caller";r=0;t=')
        assert statuses(client, "/v1/events", second, 3) == [200, 200, 200]
        assert statuses(client, "/v1/events", session_of(app.state.use_cases.database), 4) == [200, 200, 200, 429]


@native
def test_a_dashboard_on_loopback_is_never_limited(database_url: str) -> None:
    with served(settings(database_url, per_address_per_minute=1)) as (_, client):
        assert set(statuses(client, "/v1/events", {}, 40)) == {200}
        assert set(statuses(client, "/healthz", {"X-Forwarded-For": "192.0.2.1"}, 5)) == {200}


@native
def test_nobody_in_particular_counts_by_address_and_those_who_are_known_do_not(database_url: str) -> None:
    made = settings(database_url, trusted=f"{LOOPBACK},10.0.0.0/8", per_address_per_minute=3)
    with served(made) as (app, client):
        one, two = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "6.6.6.6, 192.0.2.2, 10.1.1.1"}
        known = token(app)
        assert statuses(client, "/v1/events", one | known, 6) == [200] * 6
        assert statuses(client, "/v1/events", one, 4) == [401, 401, 401, 429]
        assert statuses(client, "/v1/events", two, 3) == [401, 401, 401]
        lie = {"X-Forwarded-For": "7.7.7.7, 192.0.2.2"}  # what a client writes itself stands before the proxy's word
        assert client.get("/v1/events", headers=lie).status_code == 429
        refused = client.get("/v1/events", headers=one)
        assert refused.headers["ratelimit"].startswith('"address";r=0;t=')
        assert "content-security-policy" in refused.headers


@native
def test_agents_and_remote_write_have_limits_of_their_own(database_url: str) -> None:
    made = settings(
        database_url, batches_per_host_per_minute=2, per_caller_per_minute=1, samples_per_token_per_minute=3
    )
    with served(made) as (app, client):
        join = app.state.use_cases.access.create_join_token(actor="test").secret
        host = client.post("/v1/agents/enrol", json={"join_token": join, "hostname": "n"}).json()
        bearer = {"Authorization": f"Bearer {host['credential']}"}
        assert statuses(client, "/v1/agent/config", bearer, 3) == [200, 200, 429]
        assert client.post("/v1/ingest/batches", headers=bearer).status_code == 429
        samples = token(app, scope="write:samples")
        sent = [client.post("/api/v1/write", headers=samples) for _ in range(4)]
        # Prometheus drops what is answered 429, and sends again what is answered 503.
        assert [answer.status_code for answer in sent] == [415, 415, 415, 503]
        assert 0 < int(sent[3].headers["retry-after"]) <= 60
        assert sent[3].headers["ratelimit"].startswith('"samples";r=0;t=')
        assert client.post("/otlp/v1/metrics", headers=samples).status_code == 429


@native
def test_processes_that_share_redis_count_together(
    database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Redis counts by its own clock, and a busy one may answer late.
    monkeypatch.setattr(rate_limits, "RateLimitItemPerMinute", RateLimitItemPerHour)
    monkeypatch.setattr(rate_limits, "_REDIS_SECONDS", DEADLINE_SECONDS)
    made = settings(database_url, redis_url=redis_url, shared=True, per_caller_per_minute=4)
    with served(made) as (app, one), served(made) as (_, other):
        caller = token(app)
        asked = [client.get("/v1/events", headers=caller).status_code for client in (one, other) * 3]
        assert asked == [200, 200, 200, 200, 429, 429]


@native
def test_without_its_redis_a_process_counts_alone(database_url: str) -> None:
    made = settings(database_url, redis_url="unix:///nonexistent/redis.sock", shared=True, per_caller_per_minute=2)
    with served(made) as (app, client):
        assert statuses(client, "/v1/events", token(app), 3) == [200, 200, 429]


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("192.0.2.7", "192.0.2.9", "192.0.2.7"),  # no proxy of ours: not believed
        ("10.0.0.5", "192.0.2.9", "192.0.2.9"),
        ("10.0.0.5", "198.51.100.1, 192.0.2.9, 10.0.0.6", "192.0.2.9"),
        ("10.0.0.5", "10.0.0.7", "10.0.0.7"),
        ("10.0.0.5", "", "10.0.0.5"),
        ("10.0.0.5", "garbage", "garbage"),
        ("::ffff:10.0.0.5", "192.0.2.9", "192.0.2.9"),
        ("2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"),
    ],
)
def test_the_counted_address_is_the_last_that_a_trusted_proxy_saw(peer: str, forwarded: str, counted: str) -> None:
    made = Settings.model_validate({"trusted_proxies": "10.0.0.0/8,proxy.example"})
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope: Scope = {"type": "http", "client": (peer, 1), "headers": headers}
    assert client_address(scope, made) == counted

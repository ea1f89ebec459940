"""Every route has a limit for its body, by what is announced and by what comes; one table names the exceptions."""

import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from google.rpc.status_pb2 import Status

from factories.otlp_requests import HEADERS as OTLP_HEADERS
from factories.services import running
from factories.waiting import DEADLINE_SECONDS
from tierscope.api.app import build_openapi, create_app
from tierscope.api.base.body_limits import DEFAULT_BYTES, body_limits
from tierscope.api.base.permissions import declared_permissions
from tierscope.core.errors import PROBLEM_BASE
from tierscope.core.settings import Settings

SETTINGS = Settings(database_url="postgresql://nobody@localhost/none")
SECURITY = Path(__file__).resolve().parents[2] / "docs" / "operating" / "security.md"
PART = b"x" * (64 << 10)


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(SETTINGS)


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    with running(Settings(database_url=database_url)) as (_, made):
        yield made


def routes(app: FastAPI) -> list[str]:
    """Every route as method and template."""
    return [f"{method} {path}" for method, path, _ in declared_permissions(app)]


def parts(size_bytes: int) -> Iterator[bytes]:
    """A body without a length."""
    while size_bytes > 0:
        yield PART[:size_bytes]
        size_bytes -= len(PART)


def announce(client: httpx.Client, method: str, path: str, size_bytes: int) -> httpx.Response:
    """The answer to the head of a request whose body never comes."""
    with closing(HTTPConnection(client.base_url.host, client.base_url.port, timeout=DEADLINE_SECONDS)) as connection:
        connection.putrequest(method, path)
        connection.putheader("Content-Length", str(size_bytes))
        connection.endheaders()
        answer = connection.getresponse()
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())


def assert_too_large(answer: httpx.Response, limit_bytes: int) -> None:
    assert answer.status_code == 413, answer.text
    if answer.headers["content-type"] == OTLP_HEADERS["Content-Type"]:
        assert str(limit_bytes) in Status.FromString(answer.content).message
        return
    assert answer.headers["content-type"] == "application/problem+json"
    assert "content-security-policy" in answer.headers
    problem = answer.json()
    assert problem["type"] == PROBLEM_BASE + "too-large"
    assert str(limit_bytes) in problem["detail"]
    assert problem["next_step"]


def test_the_table_names_routes_that_there_are(app: FastAPI) -> None:
    assert set(body_limits(SETTINGS)) <= set(routes(app))


def test_routes_that_take_files_are_in_the_table() -> None:
    taken = {
        f"{method.upper()} {path}"
        for path, methods in build_openapi()["paths"].items()
        for method, operation in methods.items()
        if set(operation.get("requestBody", {}).get("content", {})) - {"application/json"}
    }
    assert taken <= set(body_limits(SETTINGS))


def test_readers_are_told_of_every_exception() -> None:
    text = SECURITY.read_text("utf-8")
    assert [route for route in body_limits(SETTINGS) if f"`{route}`" not in text] == []


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_route_refuses_what_is_over_its_limit(app: FastAPI, client: httpx.Client) -> None:
    limits = body_limits(SETTINGS)
    for route in routes(app):
        method, path = route.split(maxsplit=1)
        limit = limits[route].size_bytes if route in limits else DEFAULT_BYTES
        address = re.sub(r"\{[^}]*\}", "x", path)
        if method != "HEAD":
            assert_too_large(announce(client, method, address, limit + 1), limit)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("path", ["/v1/session", "/login", "/v1/agents/enrol"])
def test_a_body_without_a_length_is_counted(client: httpx.Client, path: str) -> None:
    limits = body_limits(SETTINGS)
    limit = limits[f"POST {path}"].size_bytes if f"POST {path}" in limits else DEFAULT_BYTES
    headers = {"Content-Type": "application/json"}
    assert_too_large(client.post(path, content=parts(limit + 1), headers=headers), limit)
    assert client.post(path, content=parts(limit), headers=headers).status_code in (401, 422)
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_refused_batch_counts_among_the_refused(client: httpx.Client) -> None:
    answer = client.post("/v1/ingest/batches", content=b"x" * (SETTINGS.limits.batch_bytes + 1))
    assert_too_large(answer, SETTINGS.limits.batch_bytes)
    assert 'tierscope_ingest_refused_batches_total{cause="too-large"} 1.0' in client.get("/metrics").text

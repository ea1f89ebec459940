"""A running service for a test: the real application behind a real socket."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import httpx
import uvicorn
from fastapi import FastAPI

from factories.loopback import NO_AUTHORITIES
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.api.app import create_app
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.access.permissions import Role
from tierscope.usecases.access.tokens import Access


class SignedIn(NamedTuple):
    client: httpx.Client
    database: Database
    token: str

    @property
    def address(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def stored(self, match: str) -> list[dict[str, Any]]:
        """Series of the last hour with their samples."""
        answer = self.client.get("/v1/series/samples", params={"match": match, "from": "-1h"})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["series"]
        return found


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serves `app` on a free port of loopback; yields its address."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive(), "the server starts")
        assert server.started, "the server did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def running(settings: Settings) -> Iterator[tuple[FastAPI, httpx.Client]]:
    """Yields the application and a client of it; where the settings do not say how long a read may take, for long."""
    limits = settings.limits
    if "read_statement_seconds" not in limits.model_fields_set:
        patient = limits.model_copy(update={"read_statement_seconds": DEADLINE_SECONDS})
        settings = settings.model_copy(update={"limits": patient})
    app = create_app(settings)
    with (
        serving(app) as address,
        httpx.Client(base_url=address, timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as client,
    ):
        yield app, client


@contextmanager
def signed_in(database_url: str, role: Role = "operator", **settings: object) -> Iterator[SignedIn]:
    """Yields a client of a running service with a token of this role."""
    with (
        running(Settings.model_validate({"database_url": database_url, **settings})) as (_, client),
        closing(Database(database_url)) as database,
    ):
        token = Access(database).create_api_token(role=role, note="ann", lifetime=None, actor="test").secret
        client.headers["Authorization"] = f"Bearer {token}"
        yield SignedIn(client, database, token)


def batch_headers(credential: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {credential}",
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "zstd",
    }

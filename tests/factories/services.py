"""A running service for a test: the real application behind a real socket."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from fastapi import FastAPI

from factories.loopback import NO_AUTHORITIES
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.api.app import create_app
from tierscope.core.settings import Settings


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


def batch_headers(credential: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {credential}",
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "zstd",
    }

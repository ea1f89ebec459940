"""The short way of agents' requests: taken by heads as agents write them alone, with the answers of the long way."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from factories import batches
from factories.installations import Enrolled, enrol
from factories.services import batch_headers, running
from tierscope.api.base.rate_limits import WINDOW_SECONDS, Windows
from tierscope.api.base.short_ways import MAX_BODY_BYTES
from tierscope.core.database import Database
from tierscope.core.settings import Limits, Settings

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
LONG = {"Cookie": "a=b"}
"""A header that agents do not send."""
COUNTED = ("date", "ratelimit")
BATCHES, CONFIG = "/v1/ingest/batches", "/v1/agent/config"


@dataclass(slots=True)
class Service:
    """A running service with one host whose credential was checked."""

    app: FastAPI
    client: httpx.Client
    host: Enrolled

    @property
    def heads(self) -> dict[str, str]:
        return batch_headers(self.host.credential)

    def batch(self, seq: int) -> bytes:
        return batches.compress(batches.full_batch(host_id=self.host.id, seq=seq))

    def close_the_long_way(self) -> None:
        """Whatever is not answered on a short way is 418 from now on."""

        async def closed(_: Scope, receive: Receive, send: Send) -> None:
            del receive
            await send({"type": "http.response.start", "status": 418, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        self.app.middleware_stack._app = closed  # type: ignore[union-attr]


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    settings = Settings(database_url=database_url, limits=Limits(batch_bytes=1 << 20))
    with running(settings) as (app, client), closing(Database(database_url)) as database:
        host = enrol(database)
        made = Service(app, client, host)
        assert client.get(CONFIG, headers=made.heads).status_code == 200  # now its credential and its plan are known
        yield made


def seen(answer: httpx.Response) -> tuple[int, dict[str, str], object]:
    """Status, headers and body of an answer, without what counts on."""
    heads = {name: value for name, value in answer.headers.items() if name not in COUNTED}
    assert set(COUNTED) <= set(answer.headers)
    return answer.status_code, heads, answer.json() if answer.content else None


@native
def test_both_ways_give_the_same_answer(service: Service) -> None:
    wrong = batches.compress(batches.full_batch(host_id="h" + "0" * 16))
    bodies = {
        "stored before": service.batch(0),
        "unreadable": b"no frame",
        "cut off": service.batch(1)[:-5],
        "of another host": wrong,
        "empty": b"",
    }
    assert service.client.post(BATCHES, content=bodies["stored before"], headers=service.heads).status_code == 200
    for name, body in bodies.items():
        short, long = (
            seen(service.client.post(BATCHES, content=body, headers=service.heads | more)) for more in ({}, LONG)
        )
        assert short == long, name
    clocks = {"X-Tierscope-Sent-Wall-Ns": "1", "X-Tierscope-Sent-Boottime-Ns": "2"}
    first, second = (
        service.client.post(BATCHES, content=service.batch(seq), headers=service.heads | clocks | more).json()
        for seq, more in ((2, {}), (3, LONG))
    )
    assert first.pop("seq") == second.pop("seq") - 1
    assert first == second
    tag = service.client.get(CONFIG, headers=service.heads).headers["etag"]
    for more in ({}, {"If-None-Match": tag}, {"If-None-Match": f'"x", W/{tag}'}, {"If-None-Match": '"x"'}):
        heads = {"Authorization": service.heads["Authorization"]} | more
        assert seen(service.client.get(CONFIG, headers=heads)) == seen(service.client.get(CONFIG, headers=heads | LONG))


@native
def test_only_what_agents_write_takes_the_short_way(service: Service) -> None:
    service.close_the_long_way()
    post, get = service.client.post, service.client.get
    assert post(BATCHES, content=service.batch(0), headers=service.heads).json()["result"] == "accepted"
    assert get(CONFIG, headers=service.heads).status_code == 200
    assert get(CONFIG, headers=service.heads | {"X-Tierscope-Most-Send-Minutes": "1440"}).status_code in (200, 418)
    unusual: list[dict[str, str]] = [
        LONG,
        {"Authorization": "Bearer unknown"},
        {"Authorization": service.heads["Authorization"].replace("Bearer", "Basic")},
        {"Content-Type": "application/json"},
        {"Content-Encoding": "gzip"},
        {"Host": "elsewhere.example"},
        {"Origin": "https://elsewhere.example"},
        {"X-Forwarded-For": "192.0.2.1"},
        {"X-Tierscope-Sent-Wall-Ns": "-1"},
        {"X-Tierscope-Sent-Boottime-Ns": str(1 << 63)},
    ]
    for heads in unusual:
        assert post(BATCHES, content=service.batch(1), headers=service.heads | heads).status_code == 418, heads
    assert post(BATCHES, content=iter([service.batch(1)]), headers=service.heads).status_code == 418
    assert post(BATCHES, content=b"x" * (MAX_BODY_BYTES + 1), headers=service.heads).status_code == 418
    assert post(BATCHES + "?a=b", content=service.batch(1), headers=service.heads).status_code == 418
    assert get(CONFIG, headers=service.heads | {"X-Tierscope-Most-Send-Minutes": "0"}).status_code == 418


@native
def test_requests_of_both_ways_count_together(database_url: str) -> None:
    settings = Settings.model_validate(
        {"database_url": database_url, "rate_limits": {"batches_per_host_per_minute": 4}}
    )
    with running(settings) as (_, client), closing(Database(database_url)) as database:
        heads = {"Authorization": f"Bearer {enrol(database).credential}"}
        got = [client.get(CONFIG, headers=heads | more) for more in ({}, LONG, {}, {}, {}, LONG)]
        assert [answer.status_code for answer in got] == [200, 200, 200, 200, 429, 429]
        assert seen(got[4])[2] == seen(got[5])[2]
        assert got[4].headers["ratelimit"].startswith('"batches";r=0;t=')
        told = client.get("/metrics").text
        assert 'tierscope_http_requests_total{method="GET",route="/v1/agent/config",status="429"} 2.0' in told


def test_a_window_slides() -> None:
    windows = Windows(4)
    begin = 10 * WINDOW_SECONDS
    assert [windows.hit("a", begin + at) for at in range(6)] == [True] * 4 + [False] * 2
    assert windows.hit("b", begin)
    assert windows.left("a", begin + 15).remaining == 0
    assert windows.left("a", begin + 15).reset_seconds == WINDOW_SECONDS - 15
    half = begin + WINDOW_SECONDS * 1.5  # half of the window before counts
    assert [windows.hit("a", half) for _ in range(3)] == [True, True, False]
    assert windows.left("a", begin + 5 * WINDOW_SECONDS).remaining == 4

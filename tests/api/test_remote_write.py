"""Remote write: what is stored is exact and counts once; what does not fit is named, and the rest is stored."""

import math
import struct
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from factories.remote_writes import HEADERS, HEADERS_V2, named, write_body, write_body_v2, write_histogram
from factories.services import SignedIn, signed_in
from tierscope.core.clock import utc_now
from tierscope.core.errors import PROBLEM_BASE
from tierscope.core.settings import RemoteWriteSettings
from tierscope.usecases.ingest import series_registry

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
LIMITS = RemoteWriteSettings(body_bytes=100_000, inflated_bytes=400_000, samples_per_request=1000, series=50)
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]


class Service(SignedIn):
    now_ms: int

    def send(self, body: bytes, **headers: str) -> httpx.Response:
        """Sends a request."""
        sent = httpx.Headers(HEADERS)
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        return self.client.post("/api/v1/write", content=body, headers=sent)


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with signed_in(database_url, remote_write=LIMITS) as opened:
        service = Service(*opened)
        service.now_ms = int(utc_now().timestamp() * 1000) - 60_000
        yield service


def assert_problem(answer: httpx.Response, status: int, slug: str) -> None:
    """A problem of this type, which names a cause and a next step."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["type"] == PROBLEM_BASE + slug
    assert body["detail"]
    assert body["next_step"]


def test_samples_come_back_bit_by_bit_once_however_often_they_are_sent(service: Service) -> None:
    values = [0.1, -0.0, 1e308, 5e-324, 2.0**53 + 2, math.inf, -math.inf, math.nan]
    at = service.now_ms
    body = write_body(
        (named("node_load1"), [(at + i, value) for i, value in enumerate(values)]),
        (named("up", instance="db2:80"), [(at, 1.0), (at + 15_000, STALE)]),
    )
    for _ in range(3):
        assert service.send(body).status_code == 204
    (load,) = service.stored('node_load1{instance=~"db.*"}')
    words = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}
    back = [words.get(value, value) for value in load["values"]]
    assert [struct.pack("<d", value) for value in back[:7]] == [struct.pack("<d", value) for value in values[:7]]
    assert math.isnan(back[7])
    (up,) = service.stored("up")
    assert up["values"] == [1.0]
    assert service.stored('up{instance="db9:80"}') == []


def test_of_two_values_for_one_time_the_first_stays(service: Service) -> None:
    at = service.now_ms
    for value in (1.0, 2.0):
        service.send(write_body((named("up"), [(at, value)])))
    service.send(write_body((named("up"), [(at - 5_000, 7.0)])))
    (found,) = service.stored("up")
    assert found["values"] == [7.0, 1.0]


def test_what_does_not_fit_is_named_and_the_rest_is_stored(service: Service) -> None:
    at = service.now_ms
    body = write_body(
        (named("up"), [(at, 1.0), (at - 40 * 86_400_000, 1.0), (at + 3_600_000, 1.0)]),
        ({"job": "nameless"}, [(at, 1.0)]),
    )
    answer = service.send(body)
    assert_problem(answer, 400, "bad-request")
    detail = answer.json()["detail"]
    assert detail.startswith("1 samples are stored")
    for reason in ("older than 30 days", "ahead of the service's clock", "__name__"):
        assert reason in detail
    (found,) = service.stored("up")
    assert found["values"] == [1.0]


def test_series_beyond_the_limit_are_refused(service: Service) -> None:
    series = [(named("many", number=str(i)), [(service.now_ms, 1.0)]) for i in range(80)]
    assert "30 of series beyond the limit of 50" in service.send(write_body(*series)).json()["detail"]
    assert len(service.stored("many")) == 50


@pytest.mark.parametrize(
    ("headers", "status", "slug"),
    [
        ({"content_encoding": "zstd"}, 415, "unsupported-media"),
        ({"content_type": "application/json"}, 415, "unsupported-media"),
        ({"content_type": "application/x-protobuf;proto=io.prometheus.write.v3.Request"}, 415, "unsupported-media"),
        ({"content_type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}, 415, "unsupported-media"),
        ({"x_prometheus_remote_write_version": "2.0.0"}, 415, "unsupported-media"),
        ({"authorization": "Bearer none"}, 401, "unknown-token"),
    ],
)
def test_other_formats_and_strangers_are_refused(
    service: Service, headers: dict[str, str], status: int, slug: str
) -> None:
    assert_problem(service.send(write_body((named("up"), [(service.now_ms, 1.0)])), **headers), status, slug)


def test_bodies_that_are_broken_or_claim_too_much_are_refused(service: Service) -> None:
    good = write_body((named("up"), [(service.now_ms, 1.0)]))
    assert_problem(service.send(good[:-3]), 400, "bad-request")
    assert_problem(service.send(b"\xff\xff\xff\xff\x0f" + good), 400, "bad-request")
    assert_problem(service.send(b"x" * 100_001), 413, "too-large")
    many = write_body((named("up"), [(service.now_ms - i, 1.0) for i in range(1001)]))
    assert_problem(service.send(many), 400, "bad-request")
    with service.database.read() as session:
        assert session.execute(text("SELECT count(*) FROM samples_live")).scalar_one() == 0


@pytest.mark.parametrize("match", ["up{", "{}", 'up{a="b"} x', 'up{a=~"("}', "1up"])
def test_selectors_that_are_none_are_refused(service: Service, match: str) -> None:
    assert_problem(service.client.get("/v1/series", params={"match": match}), 400, "bad-request")


def test_series_are_listed_page_by_page_and_samples_are_exported(service: Service) -> None:
    series = [(named("many", number=str(i)), [(service.now_ms, i + 0.5)]) for i in range(7)]
    assert service.send(write_body(*series)).status_code == 204
    found, cursor = [], None
    while True:
        params = {"match": "many", "limit": "3"} | ({"cursor": cursor} if cursor else {})
        page = service.client.get("/v1/series", params=params).json()
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(item["labels"]["number"] for item in found) == [str(i) for i in range(7)]
    params = {"match": 'many{number="3"}', "from": "-1h", "format": "csv"}
    lines = service.client.get("/v1/series/samples", params=params).text.splitlines()
    assert len(lines) == 2
    assert lines[1].endswith(",3.5")


def written(answer: httpx.Response) -> list[str | None]:
    """What the answer says was stored."""
    kinds = ("Samples", "Histograms", "Exemplars")
    return [answer.headers.get(f"X-Prometheus-Remote-Write-{kind}-Written") for kind in kinds]


def test_version_2_stores_the_same_rows_as_version_1(service: Service) -> None:
    at = service.now_ms
    values = [0.1, -0.0, 1e308, math.inf, STALE, 7.0]
    series = [
        (named("node_load1"), [(at + i, value) for i, value in enumerate(values)]),
        (named("up", instance="db2:80", long="x" * 3000), [(at, 1.0)]),
    ]
    rows = "SELECT target_id, first_ms, n, body FROM samples_live"
    assert service.send(write_body(*series)).status_code == 204
    answer = service.send(write_body_v2(*series), **HEADERS_V2)
    assert (answer.status_code, written(answer)) == (204, ["7", "0", "0"])
    with service.database.read() as session:
        found = Counter(tuple(row) for row in session.execute(text(rows)))
        assert session.execute(text("SELECT count(*) FROM sample_series")).scalar_one() == 2
    assert len(found) >= 2
    assert set(found.values()) == {2}


def test_it_is_noted_each_day_that_samples_of_a_series_come(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def send() -> float:
        assert service.send(write_body((named("up"), [(service.now_ms, 1.0)]))).status_code == 204
        with service.database.read() as session:
            age = text("SELECT extract(epoch FROM now() - last_seen_at) / 86400 FROM sample_series")
            return float(session.execute(age).scalar_one())

    def pass_days(days: float) -> None:
        with service.database.write() as transaction:
            earlier = text("UPDATE sample_series SET last_seen_at = last_seen_at - make_interval(secs => :seconds)")
            transaction.execute(earlier, {"seconds": 86_400 * days})

    assert send() < 0.5
    pass_days(0.9)
    assert send() > 0.5, "a time of less than a day stands"
    pass_days(0.5)
    assert send() > 1, "the process knows the series"
    monkeypatch.setattr(series_registry, "INDEX_KEPT", timedelta(0))
    assert send() < 0.5
    assert len(service.stored("up")) == 1


def test_version_2_says_what_of_a_request_is_stored(service: Service) -> None:
    at = service.now_ms
    body = write_body_v2((named("up"), [(at, 1.0), (at - 40 * 86_400_000, 1.0)]), ({"job": "nameless"}, [(at, 1.0)]))
    answer = service.send(body, **HEADERS_V2)
    assert_problem(answer, 400, "bad-request")
    assert answer.json()["detail"].startswith("1 samples are stored")
    assert written(answer) == ["1", "0", "0"]
    assert_problem(service.send(body[:-3], **HEADERS_V2), 400, "bad-request")
    assert written(service.send(write_body((named("up"), [(at, 1.0)])))) == [None, None, None]


@pytest.mark.parametrize(("version", "headers"), [(1, {}), (2, HEADERS_V2)])
def test_native_histograms_break_no_request_and_are_told(
    service: Service, version: int, headers: dict[str, str]
) -> None:
    at = service.now_ms
    labels = named("request_seconds", instance="db1:9090")
    for _ in range(2):
        answer = service.send(write_histogram(labels, at, version=version), **headers)
        assert answer.status_code == 204, answer.text
    assert written(answer) == (["1", "0", "0"] if version == 2 else [None] * 3)
    (found,) = service.stored("request_seconds")
    assert found["values"] == [1.0]
    (told,) = service.client.get("/v1/status").json()["unread"]
    assert (told["series"], told["senders"], told["of_machines"]) == (1, 1, False)
    assert "native histograms" in told["reason"]
    assert told["example"].startswith("request_seconds{")

"""Capacity and reports over HTTP and on the command line: the same answers, files, refusals."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from factories.capacity import GIB, IN_USE_RATIO, CapacityFleet, make_fleet
from factories.services import signed_in
from tierscope.cli.main import app as command
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.capacity.update import UpdateCapacity

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
PLAN = {"skus": [{"name": "2s", "dram_slots": 16, "dimm_bytes": [64 * GIB]}], "horizon_quarters": 1}
REPORT = {"name": "Weekly", "every_days": 7, "to": {"mail": ["a@example.com"]}}


@pytest.fixture
def fleet(database_url: str) -> Iterator[CapacityFleet]:
    now = utc_now()
    with closing(Database(database_url)) as database:
        made = make_fleet(database, "prod/web", [(100.0 + i) * GIB for i in range(20)], hosts=1, now=now)
        make_fleet(database, "prod/new", [50.0 * GIB] * 2, hosts=1, now=now)
        while UpdateCapacity(database, lambda: now).run().days:
            pass
        yield made


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    with signed_in(database_url) as service:
        yield service.client


def test_answers_and_their_files(client: httpx.Client, fleet: CapacityFleet) -> None:
    listed = client.get("/v1/capacity")
    assert listed.status_code == 200
    by_name = {subject["name"]: subject for subject in listed.json()["subjects"]}
    assert by_name["prod/web"]["method"] == "line"
    assert by_name["prod/new"]["refused"] == "2 usable days: 14 are needed, 12 more days of data."
    assert client.get("/v1/capacity", headers={"If-None-Match": listed.headers["ETag"]}).status_code == 304
    where = {"kind": "service", "id": fleet.service_id, "horizon_days": "10"}
    forecast = client.get("/v1/capacity/forecast", params=where).json()
    assert [len(forecast[name]) for name in ("history", "forecast")] == [20, 10]
    assert forecast["forecast"][0]["median"] == pytest.approx(IN_USE_RATIO * 120 * GIB)
    plan = client.post("/v1/capacity/plan", json=PLAN).json()
    assert set(plan["packing"]) == {"without", "with", "with_swap"}
    assert plan["quarters"][0]["hosts_without_tiering"] == 1
    origins = {"": "measured", "/forecast": "measured", "/plan": "unknown"}
    for path, origin in origins.items():
        body = PLAN if path == "/plan" else None
        method = "POST" if body else "GET"
        params = where if path == "/forecast" else {}
        file = client.request(method, f"/v1/capacity{path}", params={**params, "format": "csv"}, json=body)
        assert file.headers["content-type"].startswith("text/csv")
        assert ".csv" in file.headers["content-disposition"]
        rows = list(csv.DictReader(io.StringIO(file.text)))
        table = client.request(method, f"/v1/capacity{path}", params={**params, "format": "parquet"}, json=body)
        read = parquet.read_table(io.BytesIO(table.content))
        assert read.num_rows == len(rows) > 0
        assert read.schema.metadata[b"origin"].decode() == table.headers["x-origin"] == origin


def test_what_is_not_there_or_cannot_be_is_refused(client: httpx.Client) -> None:
    assert client.get("/v1/capacity", params={"group_by": "colour"}).status_code == 400
    assert client.get("/v1/capacity", params={"service": "none"}).status_code == 404
    assert client.get("/v1/capacity/forecast", params={"kind": "service", "id": "none"}).status_code == 404
    bad = {"skus": [{"name": "2s", "dram_slots": 2, "dimms_min": 4, "dimm_bytes": [GIB]}]}
    refused = client.post("/v1/capacity/plan", json=bad)
    assert (refused.status_code, "4 modules at least" in refused.json()["detail"]) == (422, True)


def test_reports_are_scheduled_shown_and_deleted(client: httpx.Client) -> None:
    made = client.post("/v1/reports", json=REPORT)
    assert made.status_code == 201
    body = made.json()
    assert (body["at"], body["sections"], body["last_run"]) == ("07:00", ["capacity", "advice", "alerts"], None)
    assert [report["id"] for report in client.get("/v1/reports").json()] == [body["id"]]
    assert client.get(f"/v1/reports/{body['id']}/runs").json() == {"items": [], "next_cursor": None}
    page = client.post("/v1/reports/preview", json={"name": "Now"})
    assert page.headers["content-type"].startswith("text/html")
    assert "<h1>Now</h1>" in page.text
    pdf = client.post("/v1/reports/preview", params={"format": "pdf"}, json={})
    assert (pdf.headers["content-type"], pdf.content[:5]) == ("application/pdf", b"%PDF-")
    assert client.post("/v1/reports", json={**REPORT, "cron": "* * * * *"}).status_code == 422
    internal = client.post("/v1/reports", json={**REPORT, "to": {"webhook": "http://127.0.0.1:1/"}})
    assert internal.json()["next_step"]
    assert client.delete(f"/v1/reports/{body['id']}").status_code == 204
    assert client.delete(f"/v1/reports/{body['id']}").status_code == 404


def test_the_command_answers_as_the_api_does(
    client: httpx.Client, fleet: CapacityFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_URL", str(client.base_url))
    monkeypatch.setenv("TIERSCOPE_TOKEN", client.headers["Authorization"].removeprefix("Bearer "))
    run = CliRunner().invoke
    answered = run(command, ["capacity", "--service", "prod/web", "--horizon-days", "10", "--json"])
    assert answered.exit_code == 0, answered.output
    document = json.loads(answered.stdout)
    where = {"kind": "service", "id": fleet.service_id, "horizon_days": "10"}
    assert document["forecast"] == client.get("/v1/capacity/forecast", params=where).json()
    assert document["subject"] in client.get("/v1/capacity").json()["subjects"]
    text = run(command, ["capacity", "--service", fleet.service_id])
    assert "Forecast of memory in use by line:" in text.stdout
    assert "growth           +768 MiB a day" in text.stdout
    refused = run(command, ["capacity", "--service", "prod/new"])
    assert (refused.exit_code, "12 more days of data" in refused.stdout) == (3, True)
    assert "50.0 GiB" in refused.stdout
    assert run(command, ["capacity", "--service", "prod/none"]).exit_code == 1
    assert run(command, ["capacity", "--service", "prod/web", "--metric", "x"]).exit_code == 2

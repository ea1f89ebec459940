"""Tables as files: the same values as in JSON, empty where JSON has null, more by the cursor."""

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from pyarrow import parquet

from factories.populated import Populated, populate
from factories.services import running
from fixtures.servers import Template
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
ITEMS = ("/v1/hosts", "/v1/services", "/v1/alerts")
SERIES = (
    "/v1/hosts/{host}/ledger",
    "/v1/hosts/{host}/counters?name=pgpromote_success",
    "/v1/services/{service}/ledger",
    "/v1/services/{service}/heat?from=-1d",
    "/v1/services/{service}/metrics",
)


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[tuple[httpx.Client, Populated]]:
    name = template.make_database(schema=True, mode=storage_mode)
    url = template.cluster.url(name)
    chosen = Settings.model_validate({"database_url": url, "rate_limits": {"enabled": False}})
    with closing(Database(url)) as database, running(chosen) as (_, client):
        made = populate(database)
        made.note("service_id", client.get("/v1/services").json()["items"][0]["id"])
        yield client, made
    template.drop_database(name)


def address(path: str, made: Populated) -> str:
    return path.format(host=made.ids["host_id"][0], service=made.ids["service_id"][0])


def read(client: httpx.Client, path: str, **parameters: str | int) -> httpx.Response:
    url = httpx.URL(path)
    answer = client.get(url.copy_merge_params(parameters))
    assert answer.status_code == 200, answer.text
    return answer


def table(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def same(cell: str, value: object) -> bool:
    """Whether a cell of CSV says what JSON says."""
    if value is None:
        return cell == ""
    return float(cell) == value if isinstance(value, int | float) else cell.lstrip("'") == value


@pytest.mark.parametrize("path", ITEMS)
def test_items_are_rows(service: tuple[httpx.Client, Populated], path: str) -> None:
    client, _ = service
    items = read(client, path).json()["items"]
    rows = table(read(client, path, format="csv"))
    assert [row["id"] for row in rows] == [item["id"] for item in items]
    for row, item in zip(rows, items, strict=True):
        for key, value in item.items():
            if isinstance(value, dict) and "definition" in value:
                assert same(row[key], value["value"]), key
                assert row[f"{key}.status"] == value["status"]
            elif not isinstance(value, dict | list | bool):
                assert same(row[key], value), key


@pytest.mark.parametrize("path", SERIES)
def test_moments_are_rows(service: tuple[httpx.Client, Populated], path: str) -> None:
    client, made = service
    document: dict[str, Any] = read(client, address(path, made)).json()
    rows = table(read(client, address(path, made), format="csv"))
    assert len(rows) == len(document["axis"]["times"])
    columns = [name for name in (rows[0] if rows else {}) if name != "time" and not name.endswith("/s]")]
    for one, column in zip(document["series"], columns, strict=False):
        assert column.endswith(f"[{one['unit']}]")
        assert all(same(row[column], value) for row, value in zip(rows, one["values"], strict=True))


def test_data_quality_is_a_row_for_each_host(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    hosts = read(client, "/v1/data-quality").json()["hosts"]["items"]
    rows = table(read(client, "/v1/data-quality", format="csv"))
    assert [row["host_id"] for row in rows] == [host["host_id"] for host in hosts]
    assert {host["host_id"] for host in hosts} == set(made.ids["host_id"])
    for row, host in zip(rows, hosts, strict=True):
        for name in ("missing", "received", "dropped", "clock_skew_seconds"):
            assert same(row[name], host[name]["value"])
            assert row[f"{name}.status"] == host[name]["status"]


def test_there_are_moments_to_compare(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    rows = table(read(client, address(SERIES[0], made), format="csv"))
    assert any(cell for row in rows for name, cell in row.items() if name != "time")


@pytest.mark.parametrize("path", [*ITEMS, *SERIES])
def test_parquet_has_the_same_rows(service: tuple[httpx.Client, Populated], path: str) -> None:
    client, made = service
    found = parquet.read_table(io.BytesIO(read(client, address(path, made), format="parquet").content))
    text = read(client, address(path, made), format="csv").text
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert found.column_names == rows[0]
    assert found.num_rows == len(rows) - 1


def test_a_file_of_one_page_names_the_next(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    first = read(client, "/v1/hosts", format="csv", limit=1)
    second = read(client, "/v1/hosts", format="csv", limit=1, cursor=first.headers["x-next-cursor"])
    assert [row["id"] for answer in (first, second) for row in table(answer)] == [
        host["id"] for host in read(client, "/v1/hosts").json()["items"]
    ]
    assert "x-next-cursor" not in second.headers
    assert len(made.ids["host_id"]) == 2

"""Tables as files: the same values as in JSON, empty where JSON has null, all pages, with types and origin."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet

from architecture.tree import ROOT
from factories.populated import Populated, populated_service
from fixtures.servers import Template
from tierscope.api.base import tables as tables_module

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
DOCUMENT = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
PATHS = DOCUMENT["paths"]
ASKED = {"name": "pgpromote_success", "kind": "service", "metric": "resident", "match": "up", "effect_ratio": "0.1"}
"""What routes ask for besides what is in their path, but for ids."""
OWN_WORLD = {"/v1/me/tokens": "of a person who has logged in"}
NO_TABLE = {
    "/v1/advice/{advice_id}": "one card; its lists are ids",
    "/v1/advice/plan/bundle": "files to be written",
    "/v1/advice/plan/canaries": "one proposal, its parts read together",
    "/v1/alert-routes": "a tree of settings",
    "/v1/hosts/{host_id}": "one host with what it consists of",
    "/v1/me": "one account",
    "/v1/purges/{purge_id}": "one purge with its report",
    "/v1/rules/vocabulary": "words of a language",
    "/v1/scenarios/defaults": "values of a form",
    "/v1/scenarios/presets": "values of a form",
    "/v1/services/{service_id}": "one service with what it consists of",
    "/v1/services/{service_id}/tiles": "a matrix, which `format=binary` answers",
    "/v1/session": "one session",
    "/v1/silences/{silence_id}": "one silence with its matchers",
    "/v1/simulator/policies": "values of a form",
    "/v1/simulator/sources": "values of a form",
    "/v1/status": "one installation with its components",
    "/v1/sweeps/{sweep_id}/heat": "a matrix",
}
"""Answers with a list in them that are no table, and why."""
ITEMS = ("/v1/hosts", "/v1/services", "/v1/alerts")
SERIES = (
    "/v1/hosts/{host}/ledger",
    "/v1/hosts/{host}/counters?name=pgpromote_success",
    "/v1/services/{service}/ledger",
    "/v1/services/{service}/heat?from=-1d",
    "/v1/services/{service}/metrics",
)


def tables() -> list[tuple[str, str | None]]:
    """Address and table of everything that can be had as a file."""
    found: list[tuple[str, str | None]] = []
    for path, methods in PATHS.items():
        parameters = {one["name"]: one["schema"] for one in methods.get("get", {}).get("parameters", ())}
        if "arrow" in parameters.get("format", {}).get("enum", ()):
            found += [(path, table) for table in parameters.get("table", {}).get("enum", [None])]
    return found


def has_list(schema: dict[str, Any]) -> bool:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    lists = [schema, *schema.get("properties", {}).values()]
    return any("$ref" in one.get("items", {}) for one in lists if one.get("type") == "array")


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[tuple[httpx.Client, Populated]]:
    with populated_service(template, storage_mode) as (client, _, made):
        yield client, made


@pytest.fixture(scope="module")
def read_once(service: tuple[httpx.Client, Populated]) -> Callable[[str, str | None], httpx.Response]:
    """Reads a table as an Arrow stream, each one once for all tests."""
    client, made = service

    @cache
    def read_table(path: str, table: str | None) -> httpx.Response:
        url, given = asked(path, table, made)
        return read(client, url, **given, format="arrow")

    return read_table


def address(path: str, made: Populated) -> str:
    return path.format(host=made.ids["host_id"][0], service=made.ids["service_id"][0])


def asked(path: str, table: str | None, made: Populated) -> tuple[str, dict[str, Any]]:
    """The address and the parameters of a table's route."""
    needed = ["host"] if path == "/v1/alerts/marks" else []
    needed += [one["name"] for one in PATHS[path]["get"]["parameters"] if one.get("required") and one["in"] == "query"]
    ids: dict[str, Any] = {
        "scenario": made.ids["scenario_id"],
        "service": made.ids["service_id"][0],
        "id": made.ids["service_id"][0],
    }
    ids["host"] = made.ids["host_id"][0]
    given: dict[str, Any] = {name: (ASKED | ids)[name] for name in needed}
    return path.format(**{name: ids[0] for name, ids in made.ids.items()}), given | ({"table": table} if table else {})


def read(client: httpx.Client, path: str, **parameters: str | int) -> httpx.Response:
    url = httpx.URL(path)
    answer = client.get(url.copy_merge_params(parameters))
    assert answer.status_code == 200, answer.text
    return answer


def read_arrow(answer: httpx.Response) -> Any:  # noqa: ANN401 - pyarrow has no types
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    return pa.ipc.open_stream(answer.content).read_all()


def table(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def same(cell: str, value: object) -> bool:
    if value is None:
        return cell == ""
    return float(cell) == value if isinstance(value, int | float) else cell.lstrip("'") == value


@native
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
            elif not isinstance(value, dict | list | bool) and (key in row or value is not None):
                assert same(row[key], value), key
            elif value is None and key not in row:  # an object that is not there
                assert {cell for name, cell in row.items() if name.startswith(f"{key}.")} == {""}, key


@native
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


@native
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


@native
def test_there_are_moments_to_compare(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    rows = table(read(client, address(SERIES[0], made), format="csv"))
    assert any(cell for row in rows for name, cell in row.items() if name != "time")


@native
@pytest.mark.parametrize("path", [*ITEMS, *SERIES])
def test_parquet_has_the_same_rows(service: tuple[httpx.Client, Populated], path: str) -> None:
    client, made = service
    found = parquet.read_table(io.BytesIO(read(client, address(path, made), format="parquet").content))
    text = read(client, address(path, made), format="csv").text
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert found.column_names == rows[0]
    assert found.num_rows == len(rows) - 1


@native
def test_a_file_of_one_page_names_the_next(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    first = read(client, "/v1/hosts", format="csv", limit=1)
    second = read(client, "/v1/hosts", format="csv", limit=1, cursor=first.headers["x-next-cursor"])
    assert [row["id"] for answer in (first, second) for row in table(answer)] == [
        host["id"] for host in read(client, "/v1/hosts").json()["items"]
    ]
    assert "x-next-cursor" not in second.headers
    assert len(made.ids["host_id"]) == 2


def test_every_list_and_series_is_a_table() -> None:
    with_lists = {
        path
        for path, methods in PATHS.items()
        if path.startswith("/v1/") and "get" in methods
        for content in [methods["get"]["responses"].get("200", {}).get("content", {})]
        for schema in [content.get("application/json", {}).get("schema")]
        if schema is not None and has_list(schema)
    }
    found = {path for path, _ in tables()}
    assert sorted(with_lists - found - NO_TABLE.keys()) == [], "declare the route `tabular`, or say here why not"
    assert sorted(NO_TABLE.keys() & found) == [], "take these off the list"
    assert sorted(NO_TABLE.keys() - PATHS.keys()) == []


@native
@pytest.mark.parametrize(("path", "table"), [one for one in tables() if one[0] not in OWN_WORLD])
def test_every_table_has_one_form_in_all_formats(
    service: tuple[httpx.Client, Populated],
    read_once: Callable[[str, str | None], httpx.Response],
    path: str,
    table: str | None,
) -> None:
    client, made = service
    url, given = asked(path, table, made)
    answer = read_once(path, table)
    arrow = read_arrow(answer)
    assert arrow.schema.metadata[b"origin"].decode() == answer.headers["x-origin"]
    assert not [name for name, kind in zip(arrow.column_names, arrow.schema.types, strict=True) if kind == pa.null()]
    stored = parquet.read_table(io.BytesIO(read(client, url, **given, format="parquet").content))
    assert stored.equals(arrow)
    rows = list(csv.reader(io.StringIO(read(client, url, **given, format="csv").text, newline="")))
    assert (rows[0], len(rows) - 1) == (arrow.column_names, arrow.num_rows)
    for name in ("time", "at", "created_at"):
        if name in arrow.column_names and path != "/v1/reports":  # there, `at` is a time of day
            assert arrow.schema.field(name).type == pa.timestamp("us", tz="UTC"), name


@native
def test_some_tables_have_rows(read_once: Callable[[str, str | None], httpx.Response]) -> None:
    read = [one for one in tables() if one[0] not in OWN_WORLD]
    full = [path for path, table in read if read_arrow(read_once(path, table)).num_rows]
    assert len(full) > len(tables()) / 2, sorted({path for path, _ in tables()} - set(full))


@native
def test_accept_chooses_where_format_does_not(service: tuple[httpx.Client, Populated]) -> None:
    client, _ = service
    media = "application/vnd.apache.arrow.stream"
    for accept, answered in (
        (media, media),
        (f"application/json;q=0.1, {media}", media),
        (f"application/json, {media};q=0.9", "application/json"),
        ("*/*", "application/json"),
        (f"{media};q=0", "application/json"),
        (f"{media};q=much", "application/json"),
    ):
        answer = client.get("/v1/hosts", headers={"Accept": accept})
        assert answer.headers["content-type"] == answered, accept
        assert "Accept" in answer.headers["vary"].split(", ")
    assert client.get("/v1/hosts?format=csv", headers={"Accept": media}).headers["content-type"].startswith("text/csv")


@native
def test_a_file_says_where_its_data_comes_from(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    answer = read(client, address(SERIES[0], made), format="arrow")
    told = {name.decode(): value.decode() for name, value in read_arrow(answer).schema.metadata.items()}
    assert told["origin"] == answer.headers["x-origin"] == "measured"
    assert told["window_start"] < told["window_end"] <= told["exported_at"]
    units = json.loads(told["units"])
    assert units
    assert all(name.endswith(f"[{unit}]") for name, unit in units.items())
    hosts = read_arrow(read(client, "/v1/hosts", format="arrow")).schema.metadata
    assert json.loads(hosts[b"units"])["memory_bytes"] == "bytes"
    assert json.loads(hosts[b"definitions"]).keys() == json.loads(hosts[b"units"]).keys()


@native
def test_an_etag_of_json_does_not_empty_a_file(service: tuple[httpx.Client, Populated]) -> None:
    client, _ = service
    etag = client.get("/v1/hosts").headers["etag"]
    assert client.get("/v1/hosts", headers={"If-None-Match": etag}).status_code == 304
    assert table(client.get("/v1/hosts?format=csv", headers={"If-None-Match": etag}))


@native
def test_an_unknown_table_is_refused_with_those_that_are_there(service: tuple[httpx.Client, Populated]) -> None:
    client, made = service
    refused = client.get(address(SERIES[0], made), params={"format": "csv", "table": "rows"})
    assert refused.status_code == 422
    assert "series, columns, resets, services" in refused.text


@native
def test_a_file_of_a_list_has_all_pages_up_to_a_bound(
    service: tuple[httpx.Client, Populated], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, made = service
    whole = read_arrow(read(client, "/v1/hosts", format="arrow"))
    monkeypatch.setattr(tables_module, "_PAGE", 1)
    paged = read(client, "/v1/hosts", format="arrow")
    assert read_arrow(paged).column("id").to_pylist() == whole.column("id").to_pylist()
    assert len(made.ids["host_id"]) == whole.num_rows == 2
    assert "x-next-cursor" not in paged.headers
    monkeypatch.setattr(tables_module, "MAX_FILE_ROWS", 1)
    bounded = read(client, "/v1/hosts", format="arrow")
    assert read_arrow(bounded).num_rows == 1
    rest = read(client, "/v1/hosts", format="arrow", cursor=bounded.headers["x-next-cursor"])
    assert read_arrow(rest).column("id").to_pylist() == whole.column("id").to_pylist()[1:]

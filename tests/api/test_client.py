"""The Python client against the running service: every read once, pages, refusals, waiting."""

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from factories.loopback import LOOPBACK, QuietHandler, QuietServer, serving
from factories.populated import Populated, populated_service
from factories.waiting import DEADLINE_SECONDS
from fixtures.servers import Template
from tierscope_client import Client, MissingPackageError, ProblemError, Table, UnreachableError
from tierscope_client.transport import Transport

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
PACKAGE = ROOT / "backend" / "tierscope_client"
METHODS = {
    name: found
    for name, found in inspect.getmembers(Client, inspect.isfunction)
    if not name.startswith("_") and name not in vars(Transport)
}
ARGUMENTS: dict[str, Any] = {
    "kind": "service",
    "metric": "resident",
    "match": "up",
    "name": ["host|vmstat|nr_free_pages"],
    "effect_ratio": 0.05,
    "format_": "csv",
    "scope": None,
}
OWN_WORLD = {"read_config", "list_own_tokens", "list_own_tokens_file", "list_own_tokens_table"}
"""Reads of an agent, with its credential, and of a person who has logged in."""


def reads() -> list[str]:
    """Names of methods that send GET."""
    return sorted(
        name
        for name, found in METHODS.items()
        if any(word in inspect.getsource(found) for word in ('"GET"', "self._table(")) and name not in OWN_WORLD
    )


@pytest.fixture(scope="module")
def service(template: Template, storage_mode: str) -> Iterator[tuple[str, Populated]]:
    limits = {"read_statement_seconds": 60}
    with populated_service(template, storage_mode, limits=limits) as (client, _, made):
        yield str(client.base_url), made


@pytest.fixture(scope="module")
def client(service: tuple[str, Populated]) -> Iterator[Client]:
    with Client(service[0], token=service[1].token, timeout_seconds=DEADLINE_SECONDS) as made:
        yield made


def arguments_of(name: str, made: Populated) -> dict[str, Any]:
    """What a read needs: ids of things that exist, and values for what else is required."""
    parameters = list(inspect.signature(METHODS[name]).parameters.values())[1:]
    needed = [parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty]
    given: dict[str, Any] = {}
    for parameter in needed:
        known = made.ids.get(parameter) or made.ids.get(f"{parameter}_id")
        given[parameter] = known[0] if known else ARGUMENTS.get(parameter, "none")
    more: dict[str, dict[str, Any]] = {
        "compare_scenarios": {"scenario": made.ids["scenario_id"]},
        "compare_scenarios_file": {"scenario": made.ids["scenario_id"]},
        "compare_scenarios_table": {"scenario": made.ids["scenario_id"]},
        "read_forecast": {"id": made.ids["service_id"][0]},
        "read_forecast_file": {"id": made.ids["service_id"][0]},
        "read_forecast_table": {"id": made.ids["service_id"][0]},
        "read_marks": {"host": made.ids["host_id"][0]},
        "read_marks_file": {"host": made.ids["host_id"][0]},
        "read_marks_table": {"host": made.ids["host_id"][0]},
        "read_tiles_file": {"format_": "binary"},
        "prom_query": {"query": "up"},
        "prom_query_range": {"query": "up", "start": "0", "end": "60", "step": "60"},
        "prom_series": {"match": ["up"]},
        "prom_label_values": {"name": "__name__"},
    }
    return given | more.get(name, {})


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
@pytest.mark.parametrize("name", reads())
def test_every_read_gets_an_answer(client: Client, service: tuple[str, Populated], name: str) -> None:
    given = arguments_of(name, service[1])
    if "none" in given.values():  # nothing of the kind is there
        with pytest.raises(ProblemError) as refused:
            getattr(client, name)(**given)
        assert refused.value.status in (404, 422), f"{name}({given}): {refused.value}"
    else:
        assert getattr(client, name)(**given) is not None


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_pages_follow_each_other(client: Client, service: tuple[str, Populated]) -> None:
    hosts = list(client.iter_hosts(limit=1))
    assert [host["name"] for host in hosts] == ["node-0", "node-1"]
    assert sorted(host["id"] for host in hosts) == sorted(service[1].ids["host_id"])
    assert hosts[0]["memory_bytes"]["unit"] == "bytes"


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_table_has_all_pages_with_types_and_origin(client: Client, service: tuple[str, Populated]) -> None:
    table = client.list_hosts_table(limit=1)
    assert (len(table.streams), table.origin) == (2, "measured")
    frame = table.to_pandas()
    assert list(frame["id"]) == [host["id"] for host in client.iter_hosts()]
    assert str(frame["last_seen"].dtype) == "timestamp[us, tz=UTC][pyarrow]"
    assert frame["memory_bytes"].sum() == sum(host["memory_bytes"]["value"] or 0 for host in client.iter_hosts())
    columns = client.read_service_ledger_table(service[1].ids["service_id"][0], table="columns").to_arrow()
    assert b"window_start" in columns.schema.metadata
    assert "counters" in columns.column_names


@pytest.mark.parametrize("missing", ["polars", "pyarrow", "pandas"])
def test_a_package_that_is_missing_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    table = Table("unknown", [])
    read = {"polars": table.to_polars, "pyarrow": table.to_arrow, "pandas": table.to_pandas}[missing]
    with pytest.raises(MissingPackageError, match=f"{missing} is not installed: pip install 'tierscope-client"):
        read()


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_write_is_stored(client: Client) -> None:
    made = client.create_event({"text": "deployed by a script"})
    assert made["text"] == "deployed by a script"
    assert made in client.list_events()["items"]


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_refusal_says_cause_and_next_step(client: Client, service: tuple[str, Populated]) -> None:
    with pytest.raises(ProblemError) as refused:
        client.read_host("no/such")
    assert (refused.value.status, refused.value.slug) == (404, "not-found")
    assert "no/such" in refused.value.cause
    assert refused.value.next_step
    with Client(service[0], token="forged") as forger, pytest.raises(ProblemError) as unknown:
        forger.list_hosts()
    assert (unknown.value.status, unknown.value.slug) == (401, "unknown-token")


def test_every_operation_has_a_method() -> None:
    described = [
        operation
        for methods in DOCUMENT["paths"].values()
        for method, operation in methods.items()
        if method in ("get", "put", "post", "delete") and set(operation["responses"]) & {"200", "201", "202", "204"}
    ]
    made = [name for name in METHODS if not name.startswith("iter_") and not name.endswith(("_file", "_table"))]
    assert len(made) == len(described)


def test_it_needs_httpx_alone() -> None:
    imported: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:  # what is for type checks alone is deeper
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    standard = {"__future__", "collections", "dataclasses", "importlib", "io", "time", "types", "typing", "urllib"}
    assert imported <= standard | {"httpx", "tierscope_client"}


@contextmanager
def answering(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[str]]]:
    """A server that gives these answers one after another; its address, and what was asked."""
    left, asked = list(answers), []

    class Handler(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802 - the name that the base class calls
            asked.append(self.path)
            status, headers, body = left.pop(0)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = QuietServer((LOOPBACK, 0), Handler)
    with serving(server):
        yield f"http://{LOOPBACK}:{server.server_port}", asked


def test_it_waits_as_long_as_it_is_asked_to_and_sends_again() -> None:
    waited: list[float] = []
    busy = (429, {"Retry-After": "7"}, b"{}")
    with (
        answering(busy, (503, {}, b"down"), (200, {}, b'{"items": [], "next_cursor": null}')) as (address, asked),
        Client(address, sleep=waited.append) as client,
    ):
        assert client.list_hosts(state="late", label=["rack=r1", "zone=a"])["items"] == []
    assert waited == [7.0, 1.0]
    assert asked == ["/v1/hosts?state=late&label=rack%3Dr1&label=zone%3Da"] * 3


@pytest.mark.parametrize(("answers", "waits"), [([(503, {"Retry-After": "3600"}, b"")], 0), ([(503, {}, b"")] * 3, 2)])
def test_it_gives_up(answers: list[tuple[int, dict[str, str], bytes]], waits: int) -> None:
    waited: list[float] = []
    with answering(*answers) as (address, _), Client(address, retries=2, sleep=waited.append) as client:
        with pytest.raises(ProblemError) as refused:
            client.read_status()
        assert (refused.value.status, refused.value.slug) == (503, "unknown")
    assert len(waited) == waits


def test_nobody_there_is_said() -> None:
    with answering() as (address, _):
        pass
    with Client(address) as client, pytest.raises(UnreachableError, match="/v1/status") as failed:
        client.read_status()
    assert isinstance(failed.value.__cause__, httpx.TransportError)

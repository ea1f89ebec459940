"""Tags narrow every list that takes them to the same hosts and services."""

import json
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from architecture.tree import ROOT
from factories.populated import populated_service
from fixtures.servers import Template

DOCUMENT: dict[str, Any] = json.loads((ROOT / "contract" / "openapi.json").read_text(encoding="utf-8"))
NARROWED = sorted(
    path
    for path, methods in DOCUMENT["paths"].items()
    if "tag" in {one["name"] for one in methods.get("get", {}).get("parameters", ())}
)

ADVICE = """
INSERT INTO advice (public_id, kind, key, host_id, title, body, status, created_at, refreshed_at, expires_at)
SELECT 'a_' || id, 'knob', 'F1', id, 'set it', '{}', 'open', now(), now(), now() + interval '1 day' FROM hosts
"""


def ask(client: httpx.Client, path: str, *tags: str) -> dict[str, Any]:
    found = client.get(path, params={"tag": list(tags)})
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json()
    return answer


def listed(answer: dict[str, Any]) -> list[Any]:
    """What a list holds, by the names that lists go by."""
    return next(answer[name] for name in ("items", "hosts", "subjects", "services", "spans") if name in answer)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_every_list_is_narrowed_to_the_same_hosts_and_services(template: Template, storage_mode: str) -> None:
    with populated_service(template, storage_mode) as (client, database, made):
        first, second = made.ids["host_id"]
        for host, rack in ((first, "r1"), (second, "r2")):
            assert client.put(f"/v1/hosts/{host}/labels", json={"labels": {"rack": rack}}).status_code == 200
        with database.write() as transaction:
            transaction.execute(text("UPDATE host_recent SET kernel = '6.12.3'"))
            transaction.execute(text(ADVICE))
        service = ask(client, "/v1/services")["items"][0]["name"]

        assert len(NARROWED) == 8
        for path in NARROWED:
            assert len(listed(ask(client, path))) > 0, path
            assert listed(ask(client, path, "rack=r9")) == [], path
            assert len(listed(ask(client, path, f"service={service}", "kernel=6.12"))) > 0, path
            assert client.get(path, params={"tag": "rack"}).status_code == 400, path

        for tags, hosts in (
            (["rack=r1"], {first}),
            (["rack=r1", "rack=r2"], {first, second}),
            (["rack=r1", "kernel=6.1"], set()),
            (["rack=r2", "kernel=6.12", f"service={service}"], {second}),
            (["owner=nobody"], set()),
        ):
            assert {host["id"] for host in ask(client, "/v1/hosts", *tags)["items"]} == hosts, tags
            assert {host["id"] for host in ask(client, "/v1/fleet/grid", *tags)["hosts"]} == hosts, tags
            fleet = ask(client, "/v1/fleet", *tags)
            assert fleet["hosts_total"] == len(hosts), tags
            memory = [host["memory_bytes"]["value"] for host in ask(client, "/v1/hosts", *tags)["items"]]
            assert (fleet["memory_bytes"]["value"] or 0) == sum(memory), tags
        cold = [ask(client, "/v1/fleet", f"rack={rack}")["cold_in_dram_bytes"]["value"] for rack in ("r1", "r2")]
        assert sum(cold) == pytest.approx(ask(client, "/v1/fleet")["cold_in_dram_bytes"]["value"])
        assert {(one["key"], one["value"], one["hosts"]) for one in ask(client, "/v1/tags")["tags"]} >= {
            ("rack", "r1", 1),
            ("kernel", "6.12.3", 2),
            ("service", service, 2),
        }

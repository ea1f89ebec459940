"""Memory and tier moves of pods in PromQL, under the names that agents export."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from factories import batches
from factories.installations import enrol, store
from factories.services import running
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

GROUP = "cgroup:/kubepods/burstable/poduid-db-1-0"
OTHER = "cgroup:/kubepods/burstable/podgone/c1|memory.numa_stat|anon[N0]"
# In order, as layouts are: two containers, one of which begins with the second sample.
COUNTED: dict[str, list[int | None]] = {
    OTHER: [7, 7, 7],
    f"{GROUP}/c1|memory.numa_stat|anon[N0]": [100, 110, 120],
    f"{GROUP}/c1|memory.numa_stat|anon[N1]": [30, 20, 10],
    f"{GROUP}/c1|memory.stat|pgdemote_kswapd": [5, 6, 8],
    f"{GROUP}/c2|memory.numa_stat|anon[N0]": [None, 40, 50],
}


@dataclass(slots=True)
class Node:
    """A service that knows one node, and the time of its last sample."""

    client: httpx.Client
    end: int

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The series of an instant query, just after the last sample."""
        answer = self.client.get("/prometheus/api/v1/query", params={"query": query, "time": self.end})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["data"]["result"]
        return found


@pytest.fixture
def node(database_url: str) -> Iterator[Node]:
    settings = Settings.model_validate({"database_url": database_url, "anonymous_reads": True})
    with running(settings) as (_, client), closing(Database(database_url)) as database:
        host = enrol(database, name="node-7")
        sealed = (int(utc_now().timestamp()) - 1) * batches.SECOND_NS
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=sealed)
        keys = tuple(sorted(COUNTED))
        batches.add_counters(batch, [[COUNTED[key][place] for key in keys] for place in range(3)], keys=keys)
        batches.add_inventory(batch, hostname="node-7")
        batches.add_pods(batch, "db-1-0")
        store(database, host, [batch])
        yield Node(client, sealed // batches.SECOND_NS)


def test_memory_of_a_pod_is_the_sum_of_its_containers_by_tier(node: Node) -> None:
    found = node.ask("tierscope_pod_memory_bytes")
    assert {one["metric"]["tier"]: one["value"][1] for one in found} == {"dram": "170", "cxl": "10"}
    labels = found[0]["metric"]
    assert {name: labels[name] for name in ("pod", "uid", "owner", "node", "service", "host", "kind")} == {
        "pod": "db-1-0",
        "uid": "uid-db-1-0",
        "owner": "db",
        "node": "node-7",
        "service": "cache",
        "host": "node-7",
        "kind": "anon",
    }
    (before,) = node.ask('tierscope_pod_memory_bytes{tier="dram"} offset 2m')
    assert before["value"][1] == "100"
    assert node.ask('tierscope_pod_memory_bytes{job="x"}') == []
    assert node.ask('tierscope_pod_memory_bytes{owner="other"}') == []


def test_moves_of_a_container_are_a_counter_in_bytes(node: Node) -> None:
    (found,) = node.ask("tierscope_pod_tier_moves_bytes_total")
    assert found["value"][1] == str(8 * 4096)
    labels = found["metric"]
    assert (labels["container_cgroup"], labels["direction"], labels["by"]) == ("c1", "demoted", "kswapd")
    listed = node.client.get("/prometheus/api/v1/series", params={"match[]": "tierscope_pod_tier_moves_bytes_total"})
    assert listed.json()["data"] == [labels]


def test_a_long_time_is_refused_with_what_to_do(node: Node) -> None:
    answer = node.client.get(
        "/prometheus/api/v1/query", params={"query": "max_over_time(tierscope_pod_memory_bytes[5d])", "time": node.end}
    )
    assert answer.status_code == 422
    assert "two days" in answer.json()["error"]

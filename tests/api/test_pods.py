"""Pods of hosts and services, as a cluster's nodes told of them."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from factories import batches
from factories.installations import Enrolled, enrol, store
from factories.services import signed_in

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@dataclass(slots=True)
class Cluster:
    """A service that knows two nodes of a cluster, and a host of none."""

    client: httpx.Client
    nodes: list[Enrolled]
    other: Enrolled

    def get(self, path: str, **query: str | int) -> Any:  # noqa: ANN401 - JSON
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def cluster(database_url: str) -> Iterator[Cluster]:
    with signed_in(database_url, "viewer") as (client, database, _):
        nodes = [enrol(database, name=name) for name in ("node-7", "node-8")]
        for place, node in enumerate(nodes):
            batch = batches.make_batch(host_id=node.id)
            batches.add_inventory(batch, hostname=node.identity.public_id[:4])
            batch.inventory.labels.add(key="zone", value=f"eu-{place}", source="kubernetes")
            batches.add_pods(
                batch, f"cart-7c9-{place}a", f"cart-7c9-{place}b", unavailable="no answer" if place else ""
            )
            if place:
                nameless = batch.inventory.pods.pods.add(uid="uid-x")
                nameless.service_namespace, nameless.service = "demo", "cache"
            store(database, node, [batch])
        other = enrol(database, name="bare")
        batch = batches.make_batch(host_id=other.id)
        batches.add_inventory(batch)
        store(database, other, [batch])
        yield Cluster(client, nodes, other)


def test_pods_of_a_service_and_of_its_hosts(cluster: Cluster) -> None:
    (service,) = cluster.get("/v1/services")["items"]
    listed = cluster.get(f"/v1/services/{service['id']}/pods")["items"]
    assert [pod["pod"] for pod in listed] == [None, "cart-7c9-0a", "cart-7c9-0b", "cart-7c9-1a", "cart-7c9-1b"]
    known = listed[1]
    assert (known["namespace"], known["owner_kind"], known["owner"], known["owner_source"]) == (
        "demo",
        "Deployment",
        "cart",
        "api",
    )
    assert (known["host_id"], known["host"]) == (cluster.nodes[0].id, "node-7")
    assert (known["service_id"], known["service"], known["labels"]) == (service["id"], "demo/cache", {"team": "shop"})
    assert (listed[0]["uid"], listed[0]["owner"], listed[0]["labels"]) == ("uid-x", None, None)
    detail = cluster.get(f"/v1/services/{service['id']}")
    assert (detail["n_pods"], detail["owner"]) == (5, {"kind": "Deployment", "name": "cart", "source": "api"})
    of_host = cluster.get(f"/v1/hosts/{cluster.nodes[0].id}/pods")["items"]
    assert [pod["pod"] for pod in of_host] == ["cart-7c9-0a", "cart-7c9-0b"]
    state = cluster.get(f"/v1/hosts/{cluster.nodes[1].id}")["pods"]
    assert (state["n_pods"], state["left_out"], state["unavailable"]) == (3, 0, "no answer")


def test_a_host_of_no_cluster_has_no_pods(cluster: Cluster) -> None:
    assert cluster.get(f"/v1/hosts/{cluster.other.id}/pods")["items"] == []
    assert cluster.get(f"/v1/hosts/{cluster.other.id}")["pods"] is None
    for path in ("/v1/hosts/none/pods", "/v1/services/none/pods"):
        assert cluster.client.get(path).status_code == 404


def test_pages_follow_each_other_and_files_hold_the_same(cluster: Cluster) -> None:
    (service,) = cluster.get("/v1/services")["items"]
    path = f"/v1/services/{service['id']}/pods"
    found, cursor = [], None
    for _ in range(3):
        page = cluster.get(path, limit=2, **({} if cursor is None else {"cursor": cursor}))
        found += [pod["uid"] for pod in page["items"]]
        cursor = page["next_cursor"]
    assert cursor is None
    assert found == [pod["uid"] for pod in cluster.get(path)["items"]]
    table = list(csv.DictReader(io.StringIO(cluster.client.get(path, params={"format": "csv"}).text)))
    assert [row["uid"] for row in table] == found
    assert cluster.client.get(path, params={"cursor": "x"}).status_code == 400


def test_hosts_are_found_by_a_label_of_their_node(cluster: Cluster) -> None:
    (host,) = cluster.get("/v1/hosts", label="zone=eu-1")["items"]
    assert host["name"] == "node-8"
    labels = cluster.get(f"/v1/hosts/{host['id']}/labels")["labels"]
    assert {label["key"]: label["source"] for label in labels} == {"rack": "agent", "zone": "kubernetes"}

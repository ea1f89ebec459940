"""Containers as cAdvisor prints them by the layouts of cgroup v1, v2 and nested nodes: each counts once."""

import pytest

from tierscope.domain.ingest.prometheus.containers import repeated_containers

V2 = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1e2d.slice"
V1 = "/kubepods/burstable/pod1e2d"
KIND = "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod1e2d.slice"


def labels(path: str, name: str = "aaaa", **more: str) -> dict[str, str]:
    metric = {"__name__": "container_memory_rss", "namespace": "shop", "pod": "cart-0", "container": "app"}
    return {**metric, "id": path, "name": name, **more}


@pytest.mark.parametrize(
    ("series", "repeated"),
    [
        # A container that manages containers itself: groups of its own, which have its labels.
        (
            [
                labels(f"{V2}/cri-containerd-aaaa.scope{V2}/cri-containerd-aaaa.scope"),
                labels(f"{V2}/cri-containerd-aaaa.scope"),
                labels(f"{V2}/cri-containerd-aaaa.scope{V2}"),
            ],
            {0, 2},
        ),
        # systemd inside a container, below cgroup v1.
        ([labels(f"{V1}/aaaa"), labels(f"{V1}/aaaa/init.scope"), labels(f"{V1}/aaaa/system.slice")], {1, 2}),
        # A restart: another container of the runtime under the same name in the pod.
        ([labels(f"{V2}/cri-containerd-aaaa.scope"), labels(f"{V2}/cri-containerd-bbbb.scope", "bbbb")], set()),
        (
            [
                labels(f"{V1}/aaaa", "k8s_app_cart-0_shop_1e2d_0"),
                labels(f"{V1}/bbbb", "k8s_app_cart-0_shop_1e2d_1"),
            ],
            set(),
        ),
        # An init container and a sidecar beside it, with paths that begin alike.
        (
            [
                labels(f"{V1}/aaaa"),
                labels(f"{V1}/aaaa1", "aaaa1", container="init"),
                labels(f"{V1}/aaaa2", "aaaa2", container="proxy"),
            ],
            set(),
        ),
        # One series without the runtime's name: paths alone tell.
        ([labels(f"{V1}/aaaa", ""), labels(f"{V1}/aaaa/x", ""), labels(f"{V1}/bbbb", "")], {1}),
        # kind: the node is a container, and its groups are seen below its own root and below that of the machine.
        (
            [
                labels(f"/docker/c0ffee{KIND}/cri-containerd-aaaa.scope"),
                labels(f"{KIND}/cri-containerd-aaaa.scope"),
            ],
            {0},
        ),
        # A static pod.
        ([labels("/kubepods.slice/kubepods-pod3f.slice/crio-aaaa.scope", pod="etcd-node1", container="etcd")], set()),
        # Another metric, another pod of the same workload.
        ([labels(f"{V1}/aaaa"), labels(f"{V1}/aaaa", __name__="container_memory_cache")], set()),
        ([labels(f"{V1}/aaaa"), labels("/kubepods/burstable/pod77/aaaa", "cccc", pod="cart-1")], set()),
        # No control groups are told.
        ([labels(""), labels("", "bbbb")], set()),
    ],
)
def test_each_container_counts_once(series: list[dict[str, str]], repeated: set[int]) -> None:
    assert repeated_containers(dict(enumerate(series))) == repeated

"""Counters of control groups as what they say of pods."""

import pytest

from tierscope.domain.counters.pods import MEMORY, MOVES, pod_and_container, pod_terms

POD = "cgroup:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaa_1.slice"


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        (f"{POD}/cri-containerd-c1.scope", ("aa-1", "cri-containerd-c1.scope")),
        ("cgroup:/kubepods/burstable/podaa-1/c1/init", ("aa-1", "c1/init")),
        ("cgroup:/kubepods/podaa-1", ("aa-1", "")),
        ("cgroup:/kubepods/burstable", None),
        ("cgroup:/system.slice/podman.service", None),
    ],
)
def test_a_pod_is_found_under_both_cgroup_drivers(scope: str, found: tuple[str, str] | None) -> None:
    assert pod_and_container(scope) == found


def test_shared_memory_is_apart_from_files_and_moves_are_bytes() -> None:
    keys = [f"{POD}/c1|memory.numa_stat|{name}" for name in ("anon[N0]", "shmem[N7]", "slab_reclaimable[N0]")]
    keys += [f"{POD}/c1|memory.stat|{name}" for name in ("pgdemote_kswapd", "anon")]
    keys += ["host|vmstat|pgdemote_kswapd", "cgroup:/system.slice|memory.numa_stat|anon[N0]"]
    terms = [(term.metric, dict(term.labels), term.factor) for term in pod_terms(keys, {0: "dram"}, page_bytes=4096)]
    assert terms == [
        (MEMORY, {"tier": "dram", "kind": "anon"}, 1.0),
        (MEMORY, {"tier": "unknown", "kind": "file"}, -1.0),
        (MEMORY, {"tier": "unknown", "kind": "tmpfs"}, 1.0),
        (MOVES, {"container_cgroup": "c1", "direction": "demoted", "by": "kswapd"}, 4096.0),
    ]

"""Names of node_exporter are kernel counters; instances are hosts; selectors are read as Prometheus reads them."""

import numpy as np
import pytest

from tierscope.domain.counters.unsent import read_senders, why_unsent
from tierscope.domain.ingest.prometheus.containers import repeated_containers, workload_of_pod
from tierscope.domain.ingest.prometheus.counters import map_series
from tierscope.domain.ingest.prometheus.inventory import make_inventory
from tierscope.domain.ingest.prometheus.selector import Condition, parse_selector
from tierscope.domain.ingest.prometheus.targets import TargetName, find_target, strip_port
from tierscope.domain.ingest.prometheus.tellers import Machines, Mark, tell_machines, views
from tierscope.domain.ledger.machine import read_machine


def container(metric: str, **labels: str) -> dict[str, str]:
    """Labels of a container as the kubelet's cAdvisor prints them."""
    pod = "cart-7c9d8b6f5-x2k9z"
    place = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1e2d.slice/cri-containerd-9f86d081.scope"
    return {"__name__": metric, "container": "app", "id": place, "namespace": "shop", "pod": pod, **labels}


@pytest.mark.parametrize(
    ("labels", "counters"),
    [
        ({"__name__": "node_vmstat_pgpromote_success"}, [("host|vmstat|pgpromote_success", 1.0)]),
        ({"__name__": "node_pressure_memory_waiting_seconds_total"}, [("host|pressure.memory|some_total_us", 1e6)]),
        ({"__name__": "node_pressure_memory_stalled_seconds_total"}, [("host|pressure.memory|full_total_us", 1e6)]),
        ({"__name__": "node_cpu_seconds_total", "mode": "iowait", "cpu": "3"}, [("host|stat|cpu_iowait", 100.0)]),
        ({"__name__": "node_memory_Active_anon_bytes"}, [("host|meminfo|Active(anon)", 1.0)]),
        ({"__name__": "node_memory_HugePages_Total"}, [("host|meminfo|HugePages_Total", 1.0)]),
        ({"__name__": "node_memory_numa_MemFree", "node": "1"}, [("node:1|meminfo|MemFree", 1.0)]),
        (
            {"__name__": "node_memory_numa_Active_anon", "node": "1"},
            [("node:1|meminfo|Active(anon)", 1.0)],
        ),
        ({"__name__": "node_memory_numa_numa_foreign_total", "node": "0"}, [("node:0|numastat|numa_foreign", 1.0)]),
        (
            {"__name__": "node_zoneinfo_low_pages", "node": "1", "zone": "Movable"},
            [("zone:1/Movable|zoneinfo|low", 1.0)],
        ),
        (
            {"__name__": "node_zoneinfo_nr_active_anon_pages", "node": "1", "zone": "Movable"},
            [("node:1|vmstat|nr_active_anon", 1.0)],
        ),
        ({"__name__": "node_memory_numa_MemFree", "node": "all"}, []),
        ({"__name__": "node_network_receive_bytes_total", "device": "eth0"}, []),
        ({"__name__": "go_goroutines"}, []),
        # The kubelet's page of resources, and node_exporter on macOS.
        ({"__name__": "node_memory_working_set_bytes"}, []),
        ({"__name__": "node_memory_wired_bytes"}, []),
        (container("container_memory_rss"), [("service:shop/cart|memory.stat|anon", 1.0)]),
        (container("container_memory_cache"), [("service:shop/cart|memory.stat|file", 1.0)]),
        (
            container("container_memory_rss", namespace="sh\u202eop\n", pod=".."),
            [(r"service:sh\u202eop\x0a/\x2e\x2e|memory.stat|anon", 1.0)],
        ),
        (container("container_memory_usage_bytes"), [("service:shop/cart|memory.current|current", 1.0)]),
        (container("container_memory_swap"), [("service:shop/cart|memory.swap.current|current", 1.0)]),
        # The pod as a whole, the container that holds its namespaces, and the node: they hold what containers hold.
        (container("container_memory_rss", container=""), []),
        (container("container_memory_rss", container="POD"), []),
        ({"__name__": "container_memory_rss", "id": "/"}, []),
        (container("container_memory_rss", pod="a|b"), []),
        # A cAdvisor in a pod of its own, scraped with the labels of that pod (google/cadvisor issue 3162).
        (
            container(
                "container_memory_rss",
                container="cadvisor",
                namespace="monitoring",
                pod="cadvisor-8zkqv",
                container_label_io_kubernetes_container_name="app",
                container_label_io_kubernetes_pod_name="cart-7c9d8b6f5-x2k9z",
                container_label_io_kubernetes_pod_namespace="shop",
            ),
            [("service:shop/cart|memory.stat|anon", 1.0)],
        ),
        (container("container_memory_rss", container="cadvisor", container_label_io_kubernetes_container_name="a"), []),
        (
            container(
                "container_memory_rss",
                container="cadvisor",
                namespace="monitoring",
                pod="cadvisor-8zkqv",
                exported_container="app",
                exported_pod="cart-7c9d8b6f5-x2k9z",
                exported_namespace="shop",
            ),
            [("service:shop/cart|memory.stat|anon", 1.0)],
        ),
        # The pod as a whole, whose own label `container` is empty.
        (container("container_memory_rss", container="cadvisor", exported_pod="cart-7c9d8b6f5-x2k9z"), []),
        # The kubelet behind a Service: only its namespace is in the way.
        (
            container("container_memory_rss", namespace="kube-system", exported_namespace="shop"),
            [("service:shop/cart|memory.stat|anon", 1.0)],
        ),
        # A sum over pods that come and go does not only grow.
        (container("container_memory_failures_total", failure_type="pgmajfault", scope="container"), []),
    ],
)
def test_series_are_counters(labels: dict[str, str], counters: list[tuple[str, float]]) -> None:
    assert [(found.key, found.scale) for found in map_series(labels)] == counters


def test_the_labels_of_the_pod_that_was_scraped_name_no_container() -> None:
    own = {"container": "cadvisor", "namespace": "monitoring", "pod": "cadvisor-8zkqv"}
    series = {
        1: container("container_memory_rss", **own, id="/"),
        2: container("container_memory_rss", **own),
        3: container("container_memory_rss", **own, exported_pod="db-0", exported_container="db", id="/kubepods/b"),
    }
    assert repeated_containers(series) == {1, 2}
    assert repeated_containers({2: container("container_memory_rss")}) == frozenset()


@pytest.mark.parametrize(
    ("pod", "workload"),
    [
        ("cart-7c9d8b6f5-x2k9z", "cart"),
        ("db-0", "db"),
        ("node-agent-x2k9z", "node-agent"),
        ("nightly-28391040-x2k9z", "nightly"),
        ("my-proxy", "my-proxy"),
        ("plain", "plain"),
    ],
)
def test_pods_belong_to_the_workloads_that_agents_name(pod: str, workload: str) -> None:
    assert workload_of_pod(pod) == workload


@pytest.mark.parametrize(
    ("instance", "name"),
    [
        ("db1:9100", "db1"),
        ("db1", "db1"),
        ("http://db1:9100/metrics", "db1"),
        ("[fe80::1]:9100", "fe80::1"),
        ("10.0.0.7:9100", "10.0.0.7"),
        ("DB1.example.org:9100", "db1.example.org"),
        ("https://admin@db1/metrics", "db1"),
        ("http://[fe80::1%25eth0]:9100/", "fe80::1%eth0"),
        ("[2001:DB8::5]", "2001:db8::5"),
        # None of these has a port, whatever stands behind a colon.
        ("fd00:10:244::11", "fd00:10:244::11"),
        ("2001:DB8::5", "2001:db8::5"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::1", "::1"),
        ("a:b:1", "a:b:1"),
        ("db1:metrics", "db1:metrics"),
        ("prod/db1", "prod/db1"),
        ("prod/DB1:9100", "prod/DB1"),
        ("//db1:9100/metrics", "//db1:9100/metrics"),
        ("user@host", "user@host"),
        ("user@host:9100", "user@host"),
        ("db?1", "db?1"),
        ("db#1", "db#1"),
        ("[rack 1]:2", "[rack 1]"),
        ("[broken", "[broken"),
        ("", ""),
    ],
)
def test_instances_are_hosts(instance: str, name: str) -> None:
    assert strip_port(instance) == name


def test_what_comes_back_at_the_rhythm_of_scrapes_is_two_machines() -> None:
    marks = {1: Mark(0, "memory"), 2: Mark(0, "name", "a"), 3: Mark(0, "name", "b")}

    def judged(*samples: tuple[int, int, float]) -> Machines:
        ids, times, values = (np.array(column) for column in zip(*samples, strict=True))
        return tell_machines(marks, ids, times, values.astype(np.float64))

    # A machine that is renamed; memory that is plugged in, out and in again within a day.
    assert judged((2, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0), (3, 4, 1.0)) == Machines()
    assert not judged(*((1, i, 64.0 if i // 100 % 2 else 128.0) for i in range(400))).mixed
    assert judged(*((1, i, 64.0 if i % 2 else 128.0) for i in range(6))).mixed
    assert judged((2, 1, 1.0), (3, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)).mixed


def test_each_counter_is_taken_from_one_teller() -> None:
    places, tellers = np.array([0, 0, 0, 1, 2]), np.array([0, 0, 1, 2, 1])
    first, second = views(places, tellers, np.ones(5, np.bool_))
    assert first.tolist() == [True, True, False, True, True]
    assert second.tolist() == [False, False, True, True, True]
    (left,) = views(places, tellers, tellers != 0)
    assert left.tolist() == [False, False, True, True, True]


def test_clusters_keep_hosts_of_one_name_apart() -> None:
    labels = {"instance": "db1:9100", "cluster": "east", "zone": "b"}
    assert find_target(labels, host_label="instance", cluster_label="cluster") == TargetName("east", "db1")
    assert find_target(labels, host_label="zone", cluster_label="none") == TargetName("", "b")


def test_a_node_whose_cpus_never_allocated_has_none() -> None:
    counters = {
        "node:0|meminfo|MemTotal": 1000,
        "node:1|meminfo|MemTotal": 3000,
        "node:0|numastat|local_node": 5,
        "node:1|numastat|local_node": 0,
    }
    info = [({"__name__": "node_sysctl_kernel_numa_balancing"}, 2.0)]
    machine = read_machine(make_inventory("db1", counters, info))
    assert (machine.tiers.top_nodes, machine.tiers.known, machine.top_bytes) == (frozenset({0}), True, 1000.0)
    assert machine.balancing == 2
    told = make_inventory("db1", counters, [({"__name__": "tierscope_node_tier", "node": "1", "tier": "cxl"}, 1.0)])
    assert [node["tier_class"] for node in told["nodes"]] == ["dram", "cxl"]


def test_nothing_is_said_of_tiers_where_numastat_is_missing() -> None:
    counters = {"node:0|meminfo|MemTotal": 1000, "node:1|meminfo|MemTotal": 3000}
    assert not read_machine(make_inventory("db1", counters, [])).tiers.known
    assert read_machine(make_inventory("db1", {"node:0|meminfo|MemTotal": 1000}, [])).tiers.known


def test_selectors_are_read() -> None:
    assert parse_selector('up{job="a", instance=~"db.*|x", z!=""}') == (
        Condition("__name__", "=", "up"),
        Condition("job", "=", "a"),
        Condition("instance", "=~", "db.*|x"),
        Condition("z", "!=", ""),
    )
    assert parse_selector('{__name__=~"node_.*",}') == (Condition("__name__", "=~", "node_.*"),)
    assert parse_selector(r'up{a="\"\\\n"}')[1].value == '"\\\n'


@pytest.mark.parametrize("text", ["", "up{", "up{a}", 'up{a="b" c="d"}', "up x", 'up{a="b"}}', "{}", "1up"])
def test_other_texts_are_no_selectors(text: str) -> None:
    with pytest.raises(ValueError, match=r"selector|condition|braces"):
        parse_selector(text)


@pytest.mark.parametrize(
    ("info", "name"),
    [([], "node_series"), ([({"__name__": "node_exporter_build_info", "version": "1.12.1"}, 1.0)], "node_exporter")],
)
def test_who_does_not_name_itself_is_not_told_flags_of_node_exporter(
    info: list[tuple[dict[str, str], float]], name: str
) -> None:
    keys = ["host|vmstat|pgfault", "host|vmstat|pgpgin"]
    (sent,) = read_senders(make_inventory("db1", dict.fromkeys(keys, 1), info, {"node_exporter": keys}))
    assert sent.sender == name
    told = why_unsent([sent], ["host|vmstat|pgpromote_success"])
    assert told is not None
    assert ("Fluent Bit has a fixed list" in told.reason) is (name == "node_series")


@pytest.mark.parametrize(
    "key", ["host|pressure.memory|some_total_us", "node:0|meminfo|MemTotal", "host|vmstat|pgmigrate_success"]
)
def test_what_only_node_exporter_prints_tells_it(key: str) -> None:
    keys = ["host|vmstat|pgfault", "host|meminfo|MemTotal", key]
    (sent,) = read_senders(make_inventory("db1", dict.fromkeys(keys, 1), [], {"node_exporter": keys}))
    assert sent.sender == "node_exporter"

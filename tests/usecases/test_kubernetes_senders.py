"""Clusters as their charts and managed services send them: labels, pods that are replaced, and what lists leave out.

Labels and lists are those of kube-prometheus (manifests), kube-prometheus-stack (`cAdvisorMetricRelabelings`), Azure
managed Prometheus (`configmapparser`, minimal ingestion) and Grafana's k8s-monitoring (`default_allow_lists`).
"""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import text

from factories.derived import drain
from factories.sampled_hosts import AFTER, PROMOTED, rows, send_samples
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.counters.senders import CADVISOR_COUNTERS
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.counters.reads import CounterReads
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.operate.unread import find_unread
from usecases.test_sampled_senders import DEFAULTS, findings, hosts, page, reasons
from usecases.test_sampled_senders import send as send  # noqa: PLC0414 - a fixture

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

EXPORTER = {
    "job": "node-exporter",
    "container": "kube-rbac-proxy",
    "endpoint": "https",
    "namespace": "monitoring",
    "pod": "node-exporter-8zkqv",
    "service": "node-exporter",
}
KUBELET = {
    "job": "kubelet",
    "endpoint": "https-metrics",
    "instance": "10.0.0.5:10250",
    "metrics_path": "/metrics/cadvisor",
    "node": "node5",
    "service": "kubelet",
}
LISTS = {
    "azure": (
        r"node_(memory_Mem\w+_bytes|uname_info|exporter_build_info|boot_time_seconds|vmstat_pgmajfault)",
        r"container_memory_(rss|cache|swap|usage_bytes|working_set_bytes)",
    ),
    "grafana": (
        r"node_cpu.*|node_exporter_build_info|node_filesystem.*|node_memory.*",
        r"container_memory_(rss|cache|swap|working_set_bytes)",
    ),
}
RESOURCES = (
    'container_memory_working_set_bytes{{container="app",namespace="shop",pod="cart-7c9d8b6f5-x2k9z"}} 4000\n'
    "node_memory_working_set_bytes 3e9\nnode_cpu_usage_seconds_total {i}\nresource_scrape_error 0\n"
)
"""Of the kubelet's page /metrics/resource."""


def cadvisor_page(kept: str = r"container_memory_.*") -> str:
    """Memory of a pod, of its two containers and of the groups that hold it, as the kubelet's cAdvisor prints it."""
    pod = 'namespace="shop",pod="cart-7c9d8b6f5-x2k9z"'
    own = "/kubepods.slice/kubepods-pod1.slice"
    printed = []
    for metric in (*CADVISOR_COUNTERS, "container_memory_working_set_bytes"):
        if re.fullmatch(kept, metric):
            printed += [
                f'{metric}{{{{container="",id="/",image="",name="",namespace="",pod=""}}}} 9e9',
                f'{metric}{{{{container="",id="{own}",image="",name="",{pod}}}}} 5000',
                f'{metric}{{{{container="POD",id="{own}/cri-containerd-a.scope",image="pause",name="a",{pod}}}}} 500',
                f'{metric}{{{{container="app",id="{own}/cri-containerd-b.scope",image="cart",name="b",{pod}}}}} 4096',
            ]
    return "".join(f"{line}\n" for line in printed)


def service_counters(database: Database) -> dict[str, str]:
    """Of each counter of the one service that it came, or why not."""
    context = ReadContext(database, utc_now, Settings())
    (row,) = HostReads(context).list(limit=10, cursor=None, state=None, service=None, origin=None, labels=()).items
    found = {}
    for counter in (*CADVISOR_COUNTERS.values(), "memory.stat|pgdemote_kswapd"):
        source, name = counter.split("|")
        told = CounterReads(context).series(
            row.id, name=name, scope="service:shop/cart", source=source, from_=None, to=None, max_points=50
        )
        found[counter] = told.reason or told.status
    return found


DROPPED = "cAdvisor sends no such series: it prints them, and a filter on the way drops them: let {} through."


@pytest.mark.parametrize(
    ("exporter", "kept", "dropped"),
    [
        # kube-prometheus calls node_exporter by its node, and keeps all of the memory of containers.
        ({"instance": "node5"}, r"container_memory_.*", ()),
        # The chart kube-prometheus-stack calls it by its address, and drops two of the five.
        (
            {"instance": "10.0.0.5:9100"},
            r"container_memory_(?!mapped_file|swap).*",
            ("container_memory_mapped_file", "container_memory_swap"),
        ),
    ],
    ids=["kube-prometheus", "stack"],
)
def test_the_operators_charts_give_hosts_and_services_without_any_flag(
    database: Database, send: Callable[..., None], exporter: dict[str, str], kept: str, dropped: tuple[str, ...]
) -> None:
    send(DEFAULTS, **EXPORTER, **exporter)
    send(cadvisor_page(kept), **KUBELET)
    assert list(hosts(database)) == [exporter["instance"].removesuffix(":9100")]
    assert reasons(database) == {}
    with database.read() as session:
        assert session.execute(text("SELECT namespace || '/' || name FROM services")).scalars().all() == ["shop/cart"]
    told = service_counters(database)
    for metric, counter in CADVISOR_COUNTERS.items():
        assert told[counter] == (DROPPED.format(metric) if metric in dropped else "ok")
    assert told["memory.stat|pgdemote_kswapd"].endswith("It prints none: our agent on the machine reads them.")
    _, fix = findings(database)["counters-not-sent"]
    assert fix.endswith("--collector.meminfo_numa."), "nothing is dropped of node_exporter"


@pytest.mark.parametrize("name", LISTS)
def test_what_a_list_of_names_leaves_out_is_told_with_what_to_let_through(
    database: Database, send: Callable[..., None], name: str
) -> None:
    of_nodes, of_containers = LISTS[name]
    kept = [line for line in DEFAULTS.splitlines() if re.fullmatch(of_nodes, re.split(r"[ {]", line)[0])]
    send("\n".join(kept) + "\n", job="node", instance="node5", cluster="c1")
    send(cadvisor_page(of_containers), job="cadvisor", instance="node5", cluster="c1")
    told = service_counters(database)
    assert told["memory.stat|anon"] == told["memory.stat|file"] == "ok"
    assert told["memory.stat|file_mapped"] == DROPPED.format("container_memory_mapped_file")
    context = ReadContext(database, utc_now, Settings())
    (row,) = HostReads(context).list(limit=10, cursor=None, state=None, service=None, origin=None, labels=()).items
    assert row.psi_memory_some_ratio.status == row.promotion_pages_per_s.status == "not_collected"
    assert "let node_pressure_.* through" in (row.psi_memory_some_ratio.reason or "")
    assert "--collector.pressure" not in (row.psi_memory_some_ratio.reason or "")
    _, fix = findings(database)["counters-not-sent"]
    assert fix.endswith("A filter on the way drops names: let node_vmstat_.* and node_memory_numa_.* through it.")


def test_the_kubelets_own_page_gives_no_host_and_is_told_as_such(database: Database, send: Callable[..., None]) -> None:
    send(RESOURCES, n=3, **{**KUBELET, "metrics_path": "/metrics/resource"})
    assert hosts(database) == {}
    with database.read() as session:
        unread = {one.word: one.reason for one in find_unread(session, utc_now())}
    assert unread == dict.fromkeys(("container", "node", "resource"), "none is a counter that we read")


def test_a_counter_goes_on_when_the_exporters_pod_is_replaced(database: Database) -> None:
    now_ms = int(utc_now().timestamp()) * 1000
    printed = DEFAULTS + "node_vmstat_pgpromote_success {i}00\n"
    scrapes = []
    for i in range(60):
        pod, after_ms = ("node-exporter-8zkqv", 0) if i < 30 else ("node-exporter-x2k9z", 3000)
        labels = {**EXPORTER, "instance": "node5", "pod": pod}
        scrapes.append(page(printed.format(i=i + 1), now_ms - (60 - i) * 15_000 + after_ms, **labels))
    send_samples(database, *scrapes)
    drain(database, utc_now() + AFTER)
    block = rows(database)
    place = block.keys.index(PROMOTED)
    assert block.present[:, place].all()
    told = block.values[:, place].tolist()
    assert told == sorted(told)
    assert (told[0], told[-1]) == (100, 6000)
    pauses = [later - earlier for earlier, later in zip(block.times_us[:-1], block.times_us[1:], strict=True)]
    assert max(pauses) < timedelta(minutes=3) // timedelta(microseconds=1)

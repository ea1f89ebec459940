"""Hosts that other programs report: what these leave out is not collected, and never the kernel's answer."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from factories.derived import drain
from factories.remote_writes import Series
from factories.sampled_hosts import AFTER, column, rows, send_samples
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.counters.reads import CounterReads
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.fleet.overview import FleetReads
from tierscope.usecases.ledger.reads import LedgerReads
from tierscope.usecases.ledger.recorded import assess_recorded
from tierscope.usecases.operate.doctor import ServiceDoctor
from tierscope.usecases.operate.status import StatusReads
from tierscope.usecases.operate.unread import describe_unread, find_unread

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Send = Callable[..., int]

# What node_exporter 1.12 prints without any flag, on a host that promotes and demotes.
DEFAULTS = """
node_boot_time_seconds 1.795221451e+09
node_context_switches_total {i}
node_memory_MemAvailable_bytes 2.935926784e+09
node_memory_MemFree_bytes 3.065626624e+09
node_memory_MemTotal_bytes 3.76690688e+09
node_pressure_cpu_waiting_seconds_total {i}
node_pressure_memory_stalled_seconds_total 0
node_pressure_memory_waiting_seconds_total 0
node_exporter_build_info{{version="1.12.1"}} 1
node_scrape_collector_success{{collector="pressure"}} 1
node_uname_info{{machine="x86_64",nodename="db1",release="6.18.44",sysname="Linux",version="#1 SMP"}} 1
node_vmstat_oom_kill 0
node_vmstat_pgfault {i}49686
node_vmstat_pgmajfault 0
node_vmstat_pgpgin 20
node_vmstat_pgpgout 0
node_vmstat_pswpin 0
node_vmstat_pswpout 0
"""


def page(printed: str, at_ms: int, **labels: str) -> list[Series]:
    return [
        ({"__name__": sample.name, **sample.labels, **labels}, [(at_ms, sample.value)])
        for family in text_string_to_metric_families(printed)
        for sample in family.samples
    ]


@pytest.fixture
def send(database: Database) -> Callable[..., None]:
    """Sends a page every 15 s for some minutes until now, with the number of the scrape for `{i}`, and works on it."""

    def run(printed: str, n: int = 30, **labels: str) -> None:
        now_ms = int(utc_now().timestamp()) * 1000
        scrapes = (
            page(printed.format(i=i + 1), now_ms - (n - i) * 15_000, **(labels or {"instance": "db1:9100"}))
            for i in range(n)
        )
        send_samples(database, *scrapes)
        drain(database, utc_now() + AFTER)

    return run


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one)


def findings(database: Database) -> dict[str, tuple[str, str]]:
    """Causes and fixes of open findings by their ids."""
    with database.read() as session:
        rows = session.execute(text("SELECT finding_id, cause, fix FROM findings WHERE until IS NULL"))
        return {row.finding_id: (row.cause, row.fix) for row in rows}


def answers(database: Database) -> dict[str, Any]:
    """What pages say of the one host and of the fleet."""
    context = ReadContext(database, utc_now, Settings())
    (row,) = HostReads(context).list(limit=10, cursor=None, state=None, service=None, origin=None, labels=()).items
    return {
        "row": row,
        "detail": HostReads(context).detail(row.id),
        "ledger": LedgerReads(context).host(row.id, from_=None, to=None, max_points=50),
        "counter": CounterReads(context).series(
            row.id, name="pgpromote_success", scope=None, source=None, from_=None, to=None, max_points=50
        ),
        "overview": FleetReads(context).overview(from_=None, to=None, max_points=50),
    }


def test_a_host_of_node_exporter_as_it_comes_sees_no_wrong_sentence(
    database: Database, send: Callable[..., None]
) -> None:
    send(DEFAULTS)
    told = answers(database)
    row = told["row"]
    for figure in (row.promotion_pages_per_s, row.demotion_pages_per_s, told["overview"].promotion_pages_per_s):
        assert figure.status == "not_collected"
    assert (
        "node_exporter sends no such series: start it with --collector.vmstat.fields="
        in row.promotion_pages_per_s.reason
    )
    assert row.psi_memory_some_ratio.value == 0.0
    assert row.memory_bytes.value == 3766906880.0
    assert told["counter"].status == "not_collected"
    columns = {column.key: column for column in told["ledger"].columns}
    assert columns["promoted_pages"].trust == "not_collected"
    assert columns["swap_in_pages"].trust == "partial"
    ping_pong = told["ledger"].ping_pong
    assert ping_pong.verdict == "not_known"
    assert "not known" in ping_pong.explanation
    said = [one for answer in told.values() for one in texts(asdict(answer))]
    assert not [one for one in said if "his kernel" in one or "hese kernels" in one or "Nothing moves" in one]
    cause, fix = findings(database)["counters-not-sent"]
    assert cause.startswith("node_exporter sends nothing of: promotions, demotions, hint faults, memory by node.")
    assert "--collector.vmstat.fields='^(oom_kill|pg|" in fix
    assert "--collector.meminfo_numa" in fix
    recorded = assess_recorded(ReadContext(database, utc_now, Settings()), row.id)
    figures = {figure.key: figure for figure in recorded.figures}
    assert figures["memory_bytes"].figure.value == 3766906880.0
    assert figures["psi_some_us"].state == "bounded"
    assert figures["used_bytes"].figure.value == 3766906880.0 - 3065626624.0
    assert figures["cold_bytes"].note == "No Active came in this time."
    for key in ("promoted_pages", "slower_bytes", "refault_anon_pages"):
        assert (figures[key].state, "--collector." in figures[key].note) == ("not_collected", True), key
    assert recorded.days[0].promoted_pages is None
    assert "--collector.vmstat.fields=" in recorded.next_step


FLAGGED = """
node_vmstat_numa_hit {i}
node_vmstat_numa_local {i}
node_vmstat_numa_hint_faults {i}
node_vmstat_pgactivate {i}
node_vmstat_pgdeactivate {i}
node_vmstat_pgfree {i}
node_vmstat_pgrotated {i}
node_memory_numa_MemTotal{{node="0"}} 3.76690688e+09
node_memory_numa_local_node_total{{node="0"}} {i}
"""


def test_with_the_flags_what_is_absent_is_the_kernels(database: Database, send: Callable[..., None]) -> None:
    send(DEFAULTS)
    assert "counters-not-sent" in findings(database)
    silent = DEFAULTS.replace('collector="pressure"}} 1', 'collector="pressure"}} 0')
    kept = [line for line in (silent + FLAGGED).splitlines() if not line.startswith("node_pressure_")]
    send("\n".join(kept) + "\n", instance="db2:9100")
    send(DEFAULTS + FLAGGED + "node_vmstat_pgpromote_success {i}\nnode_vmstat_pgdemote_kswapd {i}\n")
    assert "counters-not-sent" not in findings(database)
    (first, second) = (
        HostReads(ReadContext(database, utc_now, Settings()))
        .list(limit=10, cursor=None, state=None, service=None, origin=None, labels=())
        .items
    )
    assert first.memory_bytes.value == 3766906880.0
    assert second.psi_memory_some_ratio.status == "not_supported"
    ledger = LedgerReads(ReadContext(database, utc_now, Settings())).host(second.id, from_=None, to=None, max_points=50)
    columns = {column.key: column for column in ledger.columns}
    assert columns["promoted_pages"].trust == "not_supported"
    assert columns["hint_faults"].trust == "exact"


_MOVES = ("pgpromote_success", "pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged", "numa_hint_faults")
TELEGRAF = "".join(f"kernel_vmstat_{name} {{i}}00\n" for name in (*_MOVES, "pgfault", "pgfree", "pgactivate")) + (
    "kernel_vmstat_nr_free_pages 1000\nmem_total 8589934592\nmem_free 4096000\nkernel_boot_time 1.7e+09\n"
)
PCP = "".join(f"mem_vmstat_{name} {{i}}00\n" for name in (*_MOVES, "pgfault", "pgfree", "pgactivate")) + (
    "mem_vmstat_nr_free_pages 1000\nmem_vmstat_pgdemote_total {i}00\nmem_util_free 4000\n"
    'mem_numa_util_total{{numa_node="0",instname="node0"}} 4194304\n'
    'mem_numa_alloc_local_node{{numa_node="0",instname="node0"}} {i}\n'
    'mem_numa_util_total{{numa_node="1",instname="node1"}} 4194304\n'
    'mem_numa_alloc_local_node{{numa_node="1",instname="node1"}} 0\n'
)


@pytest.mark.parametrize(
    ("printed", "labels", "memory", "trust", "lack"),
    [
        (TELEGRAF, {"host": "db1"}, 8 << 30, "exact", "Telegraf sends nothing of: memory by node."),
        (PCP, {"hostname": "db1", "agent": "linux"}, 8 << 30, "partial", None),
    ],
    ids=["telegraf", "pcp"],
)
def test_other_programs_feed_the_ledger(
    database: Database,
    send: Callable[..., None],
    printed: str,
    labels: dict[str, str],
    memory: int,
    trust: str,
    lack: str | None,
) -> None:
    send(printed, **labels)
    told = answers(database)
    columns = {column.key: column for column in told["ledger"].columns}
    assert columns["promoted_pages"].total.value == 29 * 100
    assert columns["demoted_pages"].total.value == 29 * 300
    # Performance Co-Pilot knows no pgdemote_proactive, so that a part of the sum may be missing.
    assert columns["demoted_pages"].trust == trust
    assert told["row"].name == "db1"
    assert told["row"].memory_bytes.value == memory
    assert told["ledger"].page_bytes == 4096
    cause = findings(database).get("counters-not-sent", (None,))[0]
    assert cause is None if lack is None else (cause or "").startswith(lack)


def hosts(database: Database) -> dict[str, list[str]]:
    with database.read() as session:
        statement = (
            "SELECT h.name, t.name AS target FROM hosts h JOIN sample_targets t ON t.host_id = h.id ORDER BY 1, 2"
        )
        found: dict[str, list[str]] = {}
        for row in session.execute(text(statement)):
            found.setdefault(row.name, []).append(row.target)
        return found


def reasons(database: Database) -> dict[str, str]:
    """Why the series of targets that are no host are not taken, by the names of the targets."""
    with database.read() as session:
        statement = "SELECT name, reason FROM sample_targets WHERE host_id IS NULL AND reason IS NOT NULL"
        return {row.name: row.reason for row in session.execute(text(statement))}


CONTAINER = (
    'container_memory_usage_bytes{{container="app",id="/kubepods/a",namespace="shop",pod="cart-7c9d8b6f5-x2k9z"}} '
    "4096\n"
)


@pytest.mark.parametrize(
    ("exporter", "kubelet"),
    [
        # kube-prometheus: node_exporter has the name of the node, the kubelet its address and the label `node`.
        ({"instance": "db1"}, {"instance": "10.0.0.5:10250", "node": "db1"}),
        # The chart prometheus: the other way round.
        ({"instance": "10.0.0.5:9100"}, {"instance": "db1"}),
        # Both by address, and the node calls itself by its name.
        ({"instance": "10.0.0.5:9100"}, {"instance": "10.0.0.9:10250", "node": "DB1"}),
    ],
    ids=["kube-prometheus", "chart", "uname"],
)
def test_containers_are_of_the_machine_that_their_node_names(
    database: Database, send: Callable[..., None], exporter: dict[str, str], kubelet: dict[str, str]
) -> None:
    send(CONTAINER, **kubelet)
    assert hosts(database) == {}
    (why,) = reasons(database).values()
    assert why == "no node_exporter reports the machine db1 of these containers"
    send(DEFAULTS, **exporter)
    send(CONTAINER, **kubelet)
    (targets,) = hosts(database).values()
    assert len(targets) == 2
    assert reasons(database) == {}
    context = ReadContext(database, utc_now, Settings())
    (row,) = HostReads(context).list(limit=10, cursor=None, state=None, service=None, origin=None, labels=()).items
    with database.read() as session:
        names = session.execute(text("SELECT namespace || '/' || name FROM services")).scalars().all()
    assert row.memory_bytes.value == 3766906880.0
    assert names == ["shop/cart"]


def test_containers_of_machines_that_no_label_tells_apart_are_of_none(
    database: Database, send: Callable[..., None]
) -> None:
    for name in ("db1", "db2"):
        send(DEFAULTS, instance=f"{name}:9100", cluster="east")
    # Another cluster has a node of this name.
    send(CONTAINER, instance="10.0.0.5:10250", node="db1", cluster="west")
    # One relay for all kubelets.
    for name in ("db1", "db2"):
        send(CONTAINER, instance="relay:8080", node=name, cluster="east")
    assert hosts(database) == {"db1": ["db1"], "db2": ["db2"]}
    assert reasons(database) == {
        "10.0.0.5": "no node_exporter reports the machine db1 of these containers",
        "relay": "no label says which machine these containers run on",
    }


def test_containers_of_a_cadvisor_in_a_pod_of_its_own_are_services_of_their_own(
    database: Database, send: Callable[..., None]
) -> None:
    own = 'container="cadvisor",namespace="monitoring",pod="cadvisor-8zkqv"'
    runtime = "container_label_io_kubernetes_"
    printed = [f'container_memory_usage_bytes{{{{id="/",{own}}}}} 9000\n']
    for name, pod, size in (
        ("web", "cart-7c9d8b6f5-x2k9z", 100),
        ("log", "cart-7c9d8b6f5-x2k9z", 20),
        ("db", "db-0", 7),
    ):
        told = f'{runtime}container_name="{name}",{runtime}pod_name="{pod}",{runtime}pod_namespace="shop"'
        printed.append(f'container_memory_usage_bytes{{{{id="/kubepods/{name}",name="{name}",{own},{told}}}}} {size}\n')
    send(DEFAULTS + "".join(printed), instance="db1:9100")
    block = rows(database)
    sizes = {key: set(column(block, key)) for key in block.keys if key.startswith("service:")}
    assert sizes == {
        "service:shop/cart|memory.current|current": {120},
        "service:shop/db|memory.current|current": {7},
    }


def test_a_machine_that_scrapes_itself_is_called_as_it_calls_itself(
    database: Database, send: Callable[..., None]
) -> None:
    send(DEFAULTS.replace('nodename="db1"', 'nodename="db7"'), instance="localhost:9100")
    send(DEFAULTS, instance="localhost:9100", host="db8")
    assert hosts(database) == {"db7": ["localhost"], "db8": ["db8"]}


def test_a_machine_that_runs_no_linux_is_no_host(database: Database, send: Callable[..., None]) -> None:
    send(
        'node_uname_info{{machine="amd64",nodename="fs1",release="14.1",sysname="FreeBSD",version="x"}} 1\n'
        "node_boot_time_seconds 1.7e+09\nnode_memory_size_bytes 8.5e+09\nnode_exporter_build_info 1\n",
        instance="fs1:9100",
    )
    assert hosts(database) == {}
    assert reasons(database) == {"fs1": "the machine runs FreeBSD, and counters of Linux alone are read"}


def test_telegraf_that_scrapes_node_exporters_names_each_of_them(database: Database, send: Callable[..., None]) -> None:
    kinds = {"_info": "_gauge", "_bytes": "_gauge", "_seconds": "_gauge", "_success": "_gauge", "_total": "_counter"}

    def suffixed(line: str) -> str:
        name, brace, rest = line.partition("{{")
        name, space, value = (name, "", "") if brace else line.partition(" ")
        ends = next((kinds[end] for end in kinds if name.endswith(end)), "_value")
        return f"{name}{ends}{brace}{rest}{space}{value}"

    version_1 = "".join(f"{suffixed(line)}\n" for line in DEFAULTS.strip().splitlines())
    for name in ("db1", "db2"):
        send(version_1.replace("db1", name), host="relay", url=f"http://{name}:9100/metrics")
    assert hosts(database) == {"db1": ["db1"], "db2": ["db2"]}
    cause, fix = findings(database)["counters-not-sent"]
    assert cause.startswith("node_exporter sends nothing of: promotions")
    told = HostReads(ReadContext(database, utc_now, Settings())).list(
        limit=10, cursor=None, state=None, service=None, origin=None, labels=()
    )
    assert [row.memory_bytes.value for row in told.items] == [3766906880.0, 3766906880.0]
    assert fix


def test_grafana_alloy_is_told_its_own_arguments(database: Database, send: Callable[..., None]) -> None:
    send(DEFAULTS.replace('version="1.12.1"', 'version="v1.19.0"'), instance="db1", job="integrations/unix")
    cause, fix = findings(database)["counters-not-sent"]
    assert cause.startswith("Grafana Alloy sends nothing of: promotions, demotions, hint faults, memory by node.")
    assert fix.startswith('Set in its prometheus.exporter.unix vmstat { fields = "^(oom_kill|pg|')
    assert 'enable_collectors = ["meminfo_numa"]' in fix
    assert "--collector" not in fix


def test_what_gives_no_host_is_told_with_what_it_looks_like(
    database_url: str, database: Database, send: Callable[..., None]
) -> None:
    context = ReadContext(database, utc_now, Settings())
    status = StatusReads(context)
    assert status.status().unread == ()
    send('collectd_memory{{memory="free"}} {i}\ncollectd_memory{{memory="used"}} {i}\n', n=3, instance="db1")
    send("node_vmstat_pgfault {i}\n", n=3, job="node")
    send("kernel_vmstat_pgfault {i}\ncpu_usage_idle {i}\n", n=3, host="db2")
    unread = StatusReads(context).status().unread
    assert status.status().unread == (), "looked for once a minute"
    assert [(one.word, one.series, one.senders, one.of_machines) for one in unread] == [
        ("collectd", 2, 1, True),
        ("node", 1, 1, True),
    ]
    assert unread[0].example == 'collectd_memory{instance="db1",memory="free"}'
    assert "no label `instance`" in unread[1].reason
    assert describe_unread(unread).startswith("3 series of 1 senders came and give no host: collectd_memory{")
    checks = ServiceDoctor(Settings(), clock=utc_now, schedule={}).examine(database_url)
    (samples,) = (check for check in checks if check.name == "samples")
    assert samples.result == "warning"
    assert samples.detail == describe_unread(unread)
    with database.read() as session:
        assert find_unread(session, utc_now() + timedelta(hours=4)) == (), "what ended long ago is not told"


def test_series_that_rules_made_are_told_as_such(database: Database, send: Callable[..., None]) -> None:
    send(
        "instance:node_vmstat_pgmajfault:rate5m {i}\nnode_vmstat_pgpromote_success:1m_total {i}\n"
        "node_memory_MemTotal_bytes:1m_last 8.5e+09\nhost_memory_total_bytes 8.5e+09\n",
        n=3,
        instance="db1:9100",
    )
    assert hosts(database) == {}
    with database.read() as session:
        unread = {one.word: one for one in find_unread(session, utc_now())}
    assert sorted(unread) == ["host", "instance:node", "node"]
    assert all(one.of_machines for one in unread.values())
    assert unread["host"].reason == "none is a counter that we read"
    for word in ("instance:node", "node"):
        assert unread[word].reason.startswith("made of other series by a recording rule or by aggregation"), word

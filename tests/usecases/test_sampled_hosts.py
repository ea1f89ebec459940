"""Hosts that Prometheus reports: made once, not beside an agent, with boots apart, whatever comes again or late."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from factories.derived import drain, dump, leave
from factories.installations import enrol
from factories.remote_writes import Series, named
from factories.sampled_hosts import AFTER, PROMOTED, column, count, rows, scrape, send_samples, start_ms
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.storage.base.partitions import drop_old, ensure_usual_partitions
from tierscope.usecases.alerts.evaluate import EvaluateRules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.capacity.update import UpdateCapacity

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Send = Callable[..., int]
DERIVED = ("hosts", "boots", "inventory", "counters_live", "tier_moves", "metrics_10m")


@pytest.fixture
def send(database: Database) -> Send:
    """Sends requests, each of some series; how many samples were stored."""
    return partial(send_samples, database)


def test_requests_that_come_again_or_in_parts_change_nothing(database: Database, send: Send) -> None:
    at = start_ms()
    scrapes = [scrape(at + i * 15_000, i * i) for i in range(1, 9)]
    send(*scrapes)
    drain(database, utc_now() + AFTER)
    assert column(rows(database), PROMOTED) == [i * i for i in range(1, 9)]
    before = dump(database, DERIVED)
    # The same once more, one series at a time.
    send(*([series] for one in reversed(scrapes) for series in one))
    drain(database, utc_now() + AFTER)
    after = dump(database, DERIVED)
    assert after["counters_live"] == before["counters_live"]
    assert after["tier_moves"] == before["tier_moves"]
    assert count(database, "SELECT count(*) FROM hosts") == 1
    assert count(database, "SELECT count(*) FROM audit WHERE action = 'host.first-seen'") == 1


def test_late_scrapes_find_their_place(database: Database, send: Send) -> None:
    at = start_ms()
    send(*(scrape(at + i * 15_000, i) for i in (1, 2, 5, 6)))
    drain(database, utc_now() + AFTER)
    send(*(scrape(at + i * 15_000, i) for i in (4, 3)))
    drain(database, utc_now() + AFTER)
    assert column(rows(database), PROMOTED) == [1, 2, 3, 4, 5, 6]
    assert count(database, "SELECT sum(promoted_pages) FROM tier_moves") == 5


def test_exporters_that_are_scraped_apart_make_one_row(database: Database, send: Send) -> None:
    at = start_ms()
    other = [(named("node_procs_running", "db1:9200"), [(at + i * 15_000 + 7_000, float(i))]) for i in range(4)]
    send(*(scrape(at + i * 15_000, i) for i in range(1, 5)), other)
    drain(database, utc_now() + AFTER)
    found = rows(database)
    assert found.present.all()
    assert column(found, "host|stat|procs_running") == [0, 1, 2, 3]


def test_of_two_prometheus_one_is_taken_and_the_other_where_it_is_silent(database: Database, send: Send) -> None:
    at = start_ms()

    def seen_by(replica: str, i: int, late_ms: int) -> list[Series]:
        return [({**labels, "replica": replica}, points) for labels, points in scrape(at + i * 15_000 + late_ms, i)]

    alone = [(named("node_procs_running", "db1:9200"), [(at + i * 15_000 + 5_000, float(i))]) for i in range(40)]
    send(*(seen_by("a", i, 0) for i in range(1, 9)), *(seen_by("b", i, 3_000) for i in range(1, 40)), alone)
    drain(database, utc_now() + AFTER)
    found = rows(database)
    # The first of b's that is two minutes after a's last, at 8 * 15 s: at 16 * 15 s and 3 s.
    assert column(found, PROMOTED) == [*range(1, 9), *range(16, 40)]
    assert found.present.all()
    assert count(database, "SELECT sum(promoted_pages) FROM tier_moves") == 38


def test_rows_that_have_left_are_corrected_by_late_scrapes(database: Database, send: Send) -> None:
    at = start_ms(timedelta(days=1))

    def seen_by(replica: str, instance: str, i: int, late_ms: int) -> list[Series]:
        made = scrape(at + i * 15_000 + late_ms, i, instance=instance)
        return [({**labels, "replica": replica}, points) for labels, points in made]

    def tell(instance: str, between: Callable[[], object]) -> None:
        # What the first of two saw comes late, and takes the place of rows of the second.
        send(*(seen_by("b", instance, i, 3_000) for i in range(1, 40)))
        drain(database, utc_now() + AFTER)
        between()
        send(*(seen_by("a", instance, i, 0) for i in range(1, 9)))
        drain(database, utc_now() + AFTER)
        between()

    tell("db1:9100", lambda: None)
    wanted = rows(database, 1)
    tell("db2:9100", lambda: leave(database))
    found = rows(database, 2)
    assert count(database, "SELECT count(*) FROM counters_live") == 0
    assert len(wanted) < 39 + 8
    assert found.times_us.tolist() == wanted.times_us.tolist()
    assert found.values.tolist() == wanted.values.tolist()
    sums = "SELECT sum(promoted_pages) FROM tier_moves WHERE host_id = "
    assert count(database, f"{sums}2") == count(database, f"{sums}1")


def test_another_boot_time_is_another_boot(database: Database, send: Send) -> None:
    at = start_ms()
    send(*(scrape(at + i * 15_000, 100 + i, boot_s=1_700_000_000 + i % 2) for i in range(4)))
    send(*(scrape(at + i * 15_000, 200 + i, boot_s=1_700_500_000) for i in range(4, 8)))
    drain(database, utc_now() + AFTER)
    assert len(set(rows(database).boots.tolist())) == 2
    assert count(database, "SELECT sum(promoted_pages) FROM tier_moves") == 6


def test_a_host_that_an_agent_reports_keeps_its_counters(database: Database, send: Send) -> None:
    host = enrol(database, name="db1")
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET agent_version = '1.0', last_seen_at = now()"))
    send(scrape(start_ms(), 5))
    drain(database, utc_now() + AFTER)
    assert len(rows(database, host.identity.id)) == 0
    assert count(database, "SELECT count(*) FROM hosts") == 1
    finding = "SELECT count(*) FROM findings WHERE finding_id = 'reported-twice' AND until IS NULL"
    assert count(database, finding) == 1
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET last_seen_at = now() - interval '2 hours'"))
    send(scrape(start_ms() + 60_000, 6))
    drain(database, utc_now() + AFTER)
    assert len(rows(database, host.identity.id)) >= 1
    assert count(database, finding) == 0


def test_only_machines_become_hosts_and_not_more_than_allowed(
    database: Database, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_REMOTE_WRITE__HOSTS", "2")
    at = start_ms()
    app = [(named("http_requests_total", "app1:80"), [(at, 1.0)])]
    nameless = [({"__name__": "node_vmstat_pgfault"}, [(at, 1.0)])]
    send(app, nameless, *(scrape(at, 1, instance=f"db{i}:9100") for i in range(4)))
    drain(database, utc_now() + AFTER)
    assert count(database, "SELECT count(*) FROM hosts") == 2
    assert count(database, "SELECT count(*) FROM sample_targets WHERE reason LIKE 'more than 2 hosts'") == 2
    assert count(database, "SELECT count(*) FROM sample_targets WHERE name = '' AND reason LIKE 'no label%'") == 1
    assert count(database, "SELECT count(*) FROM sample_targets WHERE name = 'app1' AND host_id IS NULL") == 1


# What the kubelet prints: the node, a pod as a whole, the container that holds a pod's namespaces, and the containers;
# each with the time of its own reading.
_CADVISOR = """
# HELP container_memory_rss Size of RSS in bytes.
# TYPE container_memory_rss gauge
container_memory_rss{{container="",id="/",image="",name="",namespace="",pod=""}} 9e+09 {early}
container_memory_rss{{container="",id="/kubepods.slice/kubepods-pod1e2d.slice",image="",name="",namespace="shop",pod="cart-7c9d8b6f5-x2k9z"}} 5000 {early}
container_memory_rss{{container="POD",id="/kubepods.slice/kubepods-pod1e2d.slice/a.scope",image="pause:3",name="k8s_POD",namespace="shop",pod="cart-7c9d8b6f5-x2k9z"}} 40 {early}
container_memory_rss{{container="app",id="/kubepods.slice/kubepods-pod1e2d.slice/b.scope",image="cart:1",name="b",namespace="shop",pod="cart-7c9d8b6f5-x2k9z"}} {first} {early}
container_memory_rss{{container="app",id="/kubepods.slice/kubepods-pod3f4a.slice/c.scope",image="cart:1",name="c",namespace="shop",pod="cart-7c9d8b6f5-b6f4d"}} 2000 {late}
# HELP container_memory_cache Number of bytes of page cache memory.
# TYPE container_memory_cache gauge
container_memory_cache{{container="app",id="/kubepods.slice/kubepods-pod1e2d.slice/b.scope",image="cart:1",name="b",namespace="shop",pod="cart-7c9d8b6f5-x2k9z"}} 300 {early}
# HELP container_memory_failures_total Cumulative count of memory allocation failures.
# TYPE container_memory_failures_total counter
container_memory_failures_total{{container="app",failure_type="pgmajfault",id="/kubepods.slice/kubepods-pod1e2d.slice/b.scope",image="cart:1",name="b",namespace="shop",pod="cart-7c9d8b6f5-x2k9z",scope="container"}} 7 {early}
"""  # noqa: E501 - lines as they are printed


def cadvisor(at_ms: int, first: int) -> list[Series]:
    """One scrape of the kubelet's cAdvisor: two pods of one workload, read 9 s and 2 s before."""
    printed = _CADVISOR.format(early=at_ms - 9_000, late=at_ms - 2_000, first=first)
    return [
        (
            named(sample.name, "db1:10250", **{name: value for name, value in sample.labels.items() if value}),
            [(round(float(str(sample.timestamp)) * 1000), sample.value)],
        )
        for family in text_string_to_metric_families(printed)
        for sample in family.samples
    ]


def test_containers_are_services_of_the_machine_as_agents_name_them(database: Database, send: Send) -> None:
    at = start_ms(timedelta(minutes=40))
    scrapes = [at + i * 30_000 for i in range(20)]
    send(*(cadvisor(at_ms, 1000) for at_ms in scrapes))
    drain(database, utc_now() + AFTER)
    assert count(database, "SELECT count(*) FROM hosts") == 0, "containers alone say nothing of the machine"
    send(*(scrape(at_ms, i) for i, at_ms in enumerate(at + i * 30_000 for i in range(40))))
    drain(database, utc_now() + AFTER)
    found = rows(database)
    anon = found.keys.index("service:shop/cart|memory.stat|anon")
    assert len(found) == 40
    assert {key for key in found.keys if key.startswith("service:")} == {
        "service:shop/cart|memory.stat|anon",
        "service:shop/cart|memory.stat|file",
    }
    assert set(found.values[1:20, anon].tolist()) == {3000}
    assert not found.present[26:, anon].any(), "nothing is known of it, which is not zero"
    with database.read() as session:
        listed = session.execute(
            text(
                "SELECT namespace, name, origin, rule, heat_measured"
                " FROM services JOIN host_services ON id = service_id"
            )
        ).all()
    assert [tuple(row) for row in listed] == [("shop", "cart", "live", "kubernetes pod", False)]


def test_containers_of_a_kernel_whose_memory_controller_is_off_have_no_size(database: Database, send: Send) -> None:
    at = start_ms()
    names_of = {"namespace": "shop", "pod": "cart-7c9d8b6f5-x2k9z", "container": "app", "id": "/kubepods/pod1/b"}
    zeros = ("container_memory_usage_bytes", "container_memory_rss", "container_memory_cache", "container_memory_swap")
    static = {**names_of, "pod": "tool-7c9d8b6f5-x2k9z", "id": "/kubepods/pod2/b"}
    for at_ms in (at + i * 15_000 for i in range(1, 9)):
        printed = [(named(name, "db1:10250", **names_of), [(at_ms, 0.0)]) for name in zeros]
        printed += [
            (named("container_memory_usage_bytes", "db1:10250", **static), [(at_ms, 4096.0)]),
            (named("container_memory_rss", "db1:10250", **static), [(at_ms, 0.0)]),
        ]
        send(scrape(at_ms, 1), printed)
    drain(database, utc_now() + AFTER)
    found = rows(database)
    told = {key for place, key in enumerate(found.keys) if key.startswith("service:") and found.present[:, place].any()}
    assert told == {"service:shop/tool|memory.current|current", "service:shop/tool|memory.stat|anon"}


def test_a_host_known_by_prometheus_alone_has_capacity_and_is_under_the_rules(database: Database, send: Send) -> None:
    now = utc_now()
    now_ms = int(now.timestamp() * 1000)

    def request(at_ms: int) -> list[Series]:
        more = {"node_memory_MemFree_bytes": 1 << 28, "node_memory_MemAvailable_bytes": 1 << 28}
        other = [(named(metric), [(at_ms, float(value))]) for metric, value in more.items()]
        return [*scrape(at_ms, 1), *cadvisor(at_ms, 1000), *other]

    send(*(request(now_ms - minute * 60_000) for minute in range(1, 150)))
    drain(database, now + AFTER)
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET enrolled_at = enrolled_at - interval '3 hours'"))
    assert EvaluateRules(database, lambda: now).run().failed == []
    sent = utc_now()
    send(request(int(sent.timestamp() * 1000)))
    # The rows once the last minute has ended and the scrapes of its end were waited for, then what is made of them.
    for seconds in (66, 76):
        drain(database, sent + timedelta(seconds=seconds))
    EvaluateRules(database, lambda: sent + timedelta(minutes=5)).run()
    with database.read() as session:
        changes = session.execute(
            text(
                "SELECT rule_name, subject_name, to_state FROM alert_changes c"
                " JOIN alerts a ON a.id = c.alert_id ORDER BY c.id"
            )
        ).all()
    # Nothing was heard of it in time, and then it was.
    assert [tuple(row) for row in changes] == [("agent-silent", "db1", "pending"), ("agent-silent", "db1", "resolved")]
    later = now + timedelta(hours=2)
    drain(database, later)
    UpdateCapacity(database, lambda: later).run()
    [service] = CapacityReads(ReadContext(database, lambda: later, Settings())).list("service").subjects
    assert (service.name, service.hosts) == ("shop/cart", 1)
    assert service.resident_bytes.value == pytest.approx(3300)


def test_hours_are_packed_without_loss(database: Database, send: Send) -> None:
    at = start_ms(timedelta(hours=3))
    send(*(scrape(at + i * 15_000, i) for i in range(30)))
    drain(database)
    with database.write() as transaction:
        transaction.execute(text("TRUNCATE samples_live"))
    send(*(scrape(at + i * 15_000, i) for i in range(28, 33)))
    drain(database)
    assert column(rows(database), PROMOTED) == list(range(33))
    assert count(database, "SELECT sum(n) FROM samples_packed") == 33 * 4


def test_what_waits_for_a_worker_is_not_dropped(database: Database, send: Send) -> None:
    send(*(scrape(start_ms(timedelta(hours=3)) + i * 15_000, i) for i in range(4)))
    with database.write() as transaction:
        drop_old(transaction, utc_now() + timedelta(days=9))
        ensure_usual_partitions(transaction, utc_now())
    assert count(database, "SELECT sum(n) FROM samples_live") == 16
    drain(database)
    with database.write() as transaction:
        drop_old(transaction, utc_now() + timedelta(days=9))
    assert count(database, "SELECT count(*) FROM samples_live") == 0
    assert count(database, "SELECT sum(n) FROM samples_packed") == 16

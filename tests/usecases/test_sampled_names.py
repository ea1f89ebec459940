"""Hosts that Prometheus reports, by their names: no two become one, and of two machines nothing adds up."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from sqlalchemy import text

from factories.derived import drain
from factories.remote_writes import Series, named
from factories.sampled_hosts import AFTER, PROMOTED, column, count, rows, scrape, send_samples, start_ms
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import RemoteWriteSettings

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Send = Callable[..., int]
OPEN = "SELECT count(*) FROM findings WHERE finding_id = 'several-machines' AND until IS NULL"


@pytest.fixture
def send(database: Database) -> Send:
    """Sends requests, each of some series; how many samples were stored."""
    return partial(send_samples, database)


def names(database: Database) -> list[str]:
    with database.read() as session:
        return sorted(session.execute(text("SELECT name FROM hosts")).scalars())


def told(database: Database) -> str:
    """The cause of the open finding."""
    with database.read() as session:
        statement = "SELECT cause FROM findings WHERE finding_id = 'several-machines' AND until IS NULL"
        return str(session.execute(text(statement)).scalar_one())


def labelled(series: Sequence[Series], **labels: str) -> list[Series]:
    return [({**one, **labels}, points) for one, points in series]


def test_addresses_and_free_labels_are_hosts_of_their_own(database: Database, send: Send) -> None:
    instances = {
        "fd00:10:244::11": "fd00:10:244::11",
        "fd00:10:244::12": "fd00:10:244::12",
        "[fd00:10:244::14]:9100": "fd00:10:244::14",
        "prod/db1": "prod/db1",
        "prod/db2": "prod/db2",
        "blue@db:9100": "blue@db",
        "green@db:9100": "green@db",
        "a:b:1": "a:b:1",
        "a:b:2": "a:b:2",
    }
    at = start_ms()
    send(*(scrape(at + i * 15_000, i, instance=instance) for instance in instances for i in range(1, 5)))
    drain(database, utc_now() + AFTER)
    assert names(database) == sorted(instances.values())
    assert count(database, "SELECT max(promoted_pages) FROM tier_moves") == 1


def test_one_machine_that_two_jobs_scrape_counts_once(database: Database, send: Send) -> None:
    at = start_ms()

    def both(i: int) -> list[Series]:
        made = scrape(at + i * 15_000, i)
        return [*made, *labelled(made, job="second")]

    send(*(both(i) for i in range(1, 9)))
    # One of them ends, and the other goes on.
    send(*(labelled(scrape(at + i * 15_000, i), job="second") for i in range(9, 40)))
    drain(database, utc_now() + AFTER)
    found = column(rows(database), PROMOTED)
    assert found[:8] == list(range(1, 9))
    assert (found[-1], len(found)) == (39, 8 + 24)
    assert count(database, "SELECT sum(promoted_pages) FROM tier_moves") == 38
    assert count(database, OPEN) == 0


@pytest.mark.parametrize(
    ("different", "said"),
    [
        ("node_boot_time_seconds", "boot times 2023-11-14T22:13:20Z and 2023-11-20T17:06:40Z"),
        ("node_memory_MemTotal_bytes", "1.0 GiB and 2.0 GiB of memory"),
        ("node_uname_info", "node_uname_info names n1 and n2"),
    ],
)
def test_two_machines_of_one_name_never_add_up(database: Database, send: Send, different: str, said: str) -> None:
    at = start_ms()
    other = {"node_boot_time_seconds": 1_700_500_000.0, "node_memory_MemTotal_bytes": float(2 << 30)}

    def second(i: int) -> list[Series]:
        return [
            (one, [(at_ms, other[different] if one["__name__"] == different else 1000 * value)])
            if one["__name__"].startswith("node_vmstat") or one["__name__"] == different in other
            else (one, [(at_ms, value)])
            for one, [(at_ms, value)] in labelled(scrape(at + i * 15_000, i), port="9101")
        ]

    uname = [
        (named("node_uname_info", nodename=f"n{k + 1 if different == 'node_uname_info' else 1}", **more), points)
        for k, more in enumerate(({}, {"port": "9101"}))
        for points in [[(at + i * 15_000, 1.0) for i in range(1, 9)]]
    ]
    send(*(scrape(at + i * 15_000, i) for i in range(1, 9)), *(second(i) for i in range(1, 9)), uname)
    drain(database, utc_now() + AFTER)
    assert column(rows(database), PROMOTED) == list(range(1, 9))
    assert said in told(database)


def test_of_two_machines_that_no_label_tells_apart_nothing_is_taken(database: Database, send: Send) -> None:
    at = start_ms()
    send(
        *(scrape(at + i * 15_000, i) for i in range(1, 9)),
        *(scrape(at + i * 15_000 + 5_000, 9000 + i, boot_s=1_700_500_000) for i in range(1, 9)),
    )
    drain(database, utc_now() + AFTER)
    assert len(rows(database)) == 0
    assert "boot times" in told(database)
    # Later, one of them has a name of its own.
    again = start_ms()
    send(*(scrape(again + 16 * 60_000 + i * 15_000, 100 + i) for i in range(1, 9)))
    drain(database, utc_now() + AFTER)
    assert len(rows(database)) == 8
    assert count(database, OPEN) == 0


def test_series_go_to_the_host_that_they_name_by_the_settings(database: Database, send: Send) -> None:
    """What was stored under another name stays there; the rest is the host's that it names, and both are one series."""
    at = start_ms()
    machine = {"rack": "r1"}
    send(*(labelled(scrape(at + i * 15_000, i), **machine) for i in range(1, 5)))
    drain(database, utc_now() + AFTER)
    by_rack = RemoteWriteSettings(host_label="rack")
    send(*(labelled(scrape(at + i * 15_000, i), **machine) for i in range(5, 9)), settings=by_rack)
    drain(database, utc_now() + AFTER)
    assert names(database) == ["db1", "r1"]
    assert column(rows(database, 1), PROMOTED) == [1, 2, 3, 4]
    assert column(rows(database, 2), PROMOTED) == [5, 6, 7, 8]


def test_nested_groups_of_a_container_count_once(database: Database, send: Send) -> None:
    base = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111.slice"
    outer = f"{base}/cri-containerd-aaaa.scope"
    sizes = {outer: 1470, outer + base: 1470, f"{outer}{base}/cri-containerd-aaaa.scope": 1460}
    at = start_ms()
    names_of = {"namespace": "shop", "pod": "box-7b5f8d98c6-m5xjn", "container": "box", "name": "aaaa"}

    def kubelet(at_ms: int, job: str) -> list[Series]:
        made = named("container_memory_usage_bytes", "db1:10250", **names_of)
        return [({**made, "job": job, "id": path}, [(at_ms, float(size))]) for path, size in sizes.items()]

    times = [at + i * 15_000 for i in range(1, 9)]
    send(*(scrape(at_ms, i) for i, at_ms in enumerate(times)))
    send(*(kubelet(at_ms, job) for at_ms in times for job in ("kubelet", "cadvisor")))
    drain(database, utc_now() + AFTER)
    assert set(column(rows(database), "service:shop/box|memory.current|current")) == {1470}

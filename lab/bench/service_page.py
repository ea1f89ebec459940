"""How long the calls of a service page take through HTTP: warm, and after both servers were started again.

The page is that of a service on a thousand hosts over seven days. The service is the real one, a process of its own on
a durable PostgreSQL; what it answers was stored by ingest and by the workers' own code (service_store.py). The
reference of the page is COPY of the rows that it is made from: what the database takes to hand them out.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import psycopg

from bench.figures import Row, Section, median
from bench.ingest import serving
from bench.processes import cpu_seconds
from bench.service_store import Seeded, make_rollups, newest, seed_hosts, seed_hours, seed_moves
from fixtures.servers import running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.core.embedded.postgres import PostgresCluster
from tierscope.storage.base.schema import upgrade

HOSTS = 1000
DAYS = 7
WARM_PAGES = 60
COLD_PAGES = 7
WARM_MS, COLD_MS = 150, 600
PAGE = {
    "one service": "/v1/services/{id}?from=-7d",
    "its heat": "/v1/services/{id}/heat?from=-7d&max_hosts=8",
    "its metrics": "/v1/services/{id}/metrics?from=-7d",
}
"""What the page asks for at once as it opens."""
MOVES = "its tier moves (a tab)"
LATER = {
    MOVES: "/v1/services/{id}/ledger?from=-7d",
    "heat by frequency": "/v1/services/{id}/heat?from=-7d&scheme=frequency",
    "its hosts (a tab)": "/v1/hosts?limit=1000&service={id}",
    "list of services": "/v1/services?limit=1000",
}
ROWS_OF_PAGE = "SELECT body FROM service_heat_1h WHERE service_id = {service} ORDER BY ts"


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of pages or calls, and the service's CPU for each."""

    warm_ms: Sequence[float]
    warm_cpu_ms: float
    cold_ms: Sequence[float]


def measure(*, hosts: int = HOSTS, days: int = DAYS) -> Section:
    """Seed a store and time the page on it."""
    with running_cluster("native", durable=True) as cluster:
        url = cluster.url()
        upgrade(url)
        database = Database(url)
        seeded = seed_hosts(database, hosts, now=newest())
        seed_hours(database, seeded, days=days)
        seed_moves(database, seeded, days=days)
        make_rollups(database, seeded, days=days)
        database.close()
        with psycopg.connect(libpq_url(url), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        copy_ms = [_time_copy(url, seeded) for _ in range(5)]
        page, calls = time_page(cluster, seeded)
    return describe(page, calls, median(copy_ms), hosts=hosts, days=days)


def time_page(cluster: PostgresCluster, seeded: Seeded) -> tuple[Times, dict[str, Times]]:
    """The page as a whole, and each of its calls alone."""
    cold: dict[str, list[float]] = {"page": [], MOVES: []}
    for _ in range(COLD_PAGES):
        for name, found in cold.items():
            with started_anew(cluster) as (address, _), httpx.Client(base_url=address, timeout=60) as client:
                found.append(_open_page(client, seeded) if name == "page" else _call(client, LATER[name], seeded))
    with started_anew(cluster) as (address, pid), httpx.Client(base_url=address, timeout=60) as client:
        warm = {"page": _repeat(lambda: _open_page(client, seeded), pid)}
        for name, path in (PAGE | LATER).items():
            warm[name] = _repeat(partial(_call, client, path, seeded), pid)
    calls = {name: Times(*warm[name], cold.get(name, ())) for name in (*PAGE, *LATER)}
    return Times(*warm["page"], cold["page"]), calls


def _repeat(call: Callable[[], float], pid: int) -> tuple[list[float], float]:
    """Milliseconds of many calls after one that is not counted, and the service's CPU for each."""
    call()
    before = cpu_seconds(pid)
    found = [call() for _ in range(WARM_PAGES)]
    return found, (cpu_seconds(pid) - before) * 1e3 / WARM_PAGES


def _open_page(client: httpx.Client, seeded: Seeded) -> float:
    """Milliseconds until all calls of the page, sent at once, are answered."""
    start = time.perf_counter()
    with ThreadPoolExecutor(len(PAGE)) as pool:
        list(pool.map(lambda path: _call(client, path, seeded), PAGE.values()))
    return (time.perf_counter() - start) * 1e3


def _call(client: httpx.Client, path: str, seeded: Seeded) -> float:
    start = time.perf_counter()
    client.get(path.format(id=seeded.public_id)).raise_for_status()
    return (time.perf_counter() - start) * 1e3


@contextmanager
def started_anew(*clusters: PostgresCluster) -> Iterator[tuple[str, int]]:
    """All servers started again, and the databases' files dropped from the page cache; the first is the service's."""
    for cluster in clusters:
        cluster.stop()
        for path in Path(cluster.places.database).rglob("*"):
            if path.is_file():
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(descriptor)
        cluster.start()
    with serving(clusters[0].url()) as (address, pid):
        _wait(address)
        yield address, pid


def _wait(address: str) -> None:
    """Until the service answers: it starts slowly on a machine that is busy with other things."""
    for _ in range(600):
        try:
            if httpx.get(f"{address}/healthz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError("the service did not start")


def _time_copy(url: str, seeded: Seeded) -> float:
    with psycopg.connect(libpq_url(url), autocommit=True) as connection, connection.cursor() as cursor:
        start = time.perf_counter()
        query = f"COPY ({ROWS_OF_PAGE.format(service=seeded.service_id)}) TO STDOUT (FORMAT BINARY)"
        with cursor.copy(query.encode()) as out:
            for _ in out:
                pass
        return (time.perf_counter() - start) * 1e3


def p95(values: Sequence[float]) -> float:
    """The smallest value that at least 95 % do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * 95 // 100) - 1]


def describe(page: Times, calls: dict[str, Times], copy_ms: float, *, hosts: int, days: int) -> Section:
    warm, cold = p95(page.warm_ms), p95(page.cold_ms)
    rows = [
        Row(
            "page, warm, p95",
            f"{warm:.0f} ms",
            f"{copy_ms:.0f} ms",
            warm / copy_ms,
            f"under {WARM_MS} ms",
            warm < WARM_MS,
        ),
        Row(
            "page, cold, p95",
            f"{cold:.0f} ms",
            f"{copy_ms:.0f} ms",
            cold / copy_ms,
            f"under {COLD_MS} ms",
            cold < COLD_MS,
        ),
        Row("page, warm: CPU of the service", f"{page.warm_cpu_ms:.0f} ms"),
    ]
    for name, times in calls.items():
        rows.append(Row(f"{name}, warm, p95 (CPU {times.warm_cpu_ms:.0f} ms)", f"{p95(times.warm_ms):.0f} ms"))
        if times.cold_ms:
            rows.append(Row(f"{name}, cold, p95", f"{p95(times.cold_ms):.0f} ms"))
    return Section(
        title=f"Service page over {days} days and {hosts:,} hosts",
        rows=rows,
        notes=[
            f"The page is {', '.join(PAGE)}, asked for at once over HTTP; its time is that of the last answer.",
            f"Warm: {WARM_PAGES} times after a first one.",
            f"Cold: both servers started again, the database's files dropped from the page cache; {COLD_PAGES} times.",
            "The reference is COPY of the rows of heat that the page is made from, warm.",
            f"Measured at {datetime.now(UTC):%H:%M} UTC with a load average of {os.getloadavg()[0]:.1f}.",
        ],
    )

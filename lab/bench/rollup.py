"""Service roll-ups and heat classes of 10,000 host-days from single intervals, read from the store, on two cores.

Each worker takes stretches of six hours of all hosts: it reads their packs, folds and sums them, stores the service's
hours and classes them by every scheme and window. The references are COPY of the same rows, and the same sums over
arrays that are in memory already.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import psycopg
import zstandard
from sqlalchemy import text

from bench.figures import Row, Section
from bench.processes import cpu_seconds
from factories.heat_rows import MINUTE_US, STRATA, draw_row
from fixtures.servers import running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.domain.base.buckets import HOUR_US
from tierscope.domain.heat.classes import CLASSES, WINDOWS, Rule, Scheme, make_rule
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.columns import make_columns
from tierscope.domain.heat.packs import pack_rows
from tierscope.domain.heat.rows import HeatRow, Method, coarsen
from tierscope.storage.base import copy
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.base.schema import upgrade
from tierscope.storage.heat.rows import read_folded_packs
from tierscope.storage.heat.services import replace_service_heat

HOSTS, DAYS, CORES = 1000, 10, 2
TEMPLATES = 12
"""Host-days of which all others are copies at other times; what is read is stored for each host-day."""
BLOCK = timedelta(minutes=10)
STRETCH = timedelta(hours=6)
HOSTS_AT_ONCE = 100
MOST_SECONDS = 60.0
SERVICE = 1
METHOD = Method(4, 1, 60 * 10**9)
SCHEMES: tuple[Scheme, ...] = ("recency", "frequency", "cold_age")


def measure(*, hosts: int = HOSTS, days: int = DAYS) -> Section:
    """Store the packs, roll them up with two processes, and read them again by COPY alone."""
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    with running_cluster("native", durable=True) as cluster:
        url = cluster.url()
        upgrade(url)
        stored = seed(url, hosts, start, days)
        workers = [_start(url, start, share, hosts, days) for share in range(CORES)]
        before = sum(_ready(worker) for worker in workers)
        began = time.perf_counter()
        for worker in workers:
            _tell(worker)
        cpu = sum(_finish(worker) for worker in workers) - before
        seconds = time.perf_counter() - began
        with psycopg.connect(libpq_url(url)) as connection:
            rows = connection.execute("SELECT count(*), sum(n_hosts) FROM service_heat_1h").fetchone()
        copy_seconds = time_copy(url)
    assert rows is not None
    assert rows == (days * 24, days * 24 * hosts)
    return describe(hosts * days, seconds, cpu, copy_seconds, time_sums(), stored)


def seed(url: str, hosts: int, start: datetime, days: int) -> int:
    """Packs of every host-day; the bytes that they take in the store."""
    database = Database(url)
    with database.write() as transaction:
        ensure_partitions(transaction, start, start + timedelta(days=days))
        transaction.execute(
            text(
                "INSERT INTO services (public_id, namespace, name, origin) VALUES ('s1', 'demo', 'packed', 'simulated')"
            )
        )
    rng = np.random.default_rng(5)
    templates = [draw_day(rng) for _ in range(TEMPLATES)]
    deflate = zstandard.ZstdCompressor(level=3)
    columns = ("host_id", "service_id", "ts", "backend", "granularity", "interval_ns", "n", "body")
    method = copy.int2(METHOD.backend) + copy.int2(METHOD.granularity) + copy.int8(METHOD.interval_ns)
    for day in range(days):
        midnight = start + timedelta(days=day)
        packed = [pack_day(rows, midnight, deflate) for rows in templates]
        with database.write() as transaction:
            copy.copy_rows(
                transaction,
                "heat",
                columns,
                [
                    b"".join([(8).to_bytes(2, "big"), copy.int8(host), copy.int8(SERVICE), at, method, n, body])
                    for host in range(1, hosts + 1)
                    for at, n, body in packed[(host * 7 + day) % TEMPLATES]
                ],
            )
    with database.read() as session:
        # The table is cut into partitions: each has its own size.
        sizes = text("SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'heat'::regclass")
        stored = int(session.execute(sizes).scalar_one())
    database.close()
    return stored


def draw_day(rng: np.random.Generator) -> list[HeatRow]:
    """A day of minutes: memory that changes every other minute. Drawn anew each minute it would hardly be packed."""
    rows: list[HeatRow] = []
    for minute in range(1440):
        if minute % 2 == 0:
            drawn = draw_row(rng, 0, method=METHOD)
        rows.append(drawn)
    return rows


def pack_day(
    rows: Sequence[HeatRow], midnight: datetime, deflate: zstandard.ZstdCompressor
) -> list[tuple[bytes, bytes, bytes]]:
    """Start, rows and body of each ten minutes, as fields of COPY."""
    found = []
    base_us = int(midnight.timestamp()) * 10**6
    for first in range(0, len(rows), 10):
        some = [
            _at(row, base_us + (first + place + 1) * MINUTE_US) for place, row in enumerate(rows[first : first + 10])
        ]
        at = copy.instant((base_us + first * MINUTE_US) * 1000)
        found.append((at, copy.int4(len(some)), copy.blob(deflate.compress(pack_rows(some)))))
    return found


def _at(row: HeatRow, end_us: int) -> HeatRow:
    return replace(row, end_us=end_us)


def work(url: str, start: datetime, share: int, hosts: int, days: int) -> None:
    """One process: every second stretch of six hours."""
    database = Database(url, read_statement_seconds=600)
    stretches = [start + at * STRETCH for at in range(days * 24 // 6)]
    rules = [make_rule(scheme) for scheme in SCHEMES] + [Rule("cold_age", length, None) for length in WINDOWS]
    for begin in stretches[share::CORES]:
        hours = []
        for first in range(1, hosts + 1, HOSTS_AT_ONCE):
            some = list(range(first, min(first + HOSTS_AT_ONCE, hosts + 1)))
            with database.read() as session:
                packs = read_folded_packs(session, SERVICE, begin, begin + STRETCH, some)
            hours += [coarsen(part, HOUR_US) for part in packs]
        columns = make_columns(hours)
        source = ColumnSource(columns)
        for rule in rules:
            source.classes(rule)
            for place in range(len(CLASSES)):
                source.share(rule, place)
        starts = [begin + timedelta(hours=at) for at in range(6)]
        with database.write() as transaction:
            replace_service_heat(transaction, "service_heat_1h", SERVICE, starts, [columns], built_at=datetime.now(UTC))
    database.close()


def _start(url: str, start: datetime, share: int, hosts: int, days: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "bench.rollup", url, start.isoformat(), str(share), str(hosts), str(days)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ready(worker: "subprocess.Popen[bytes]") -> float:
    """Wait until a worker has loaded what it needs, as one that runs all day has; its CPU seconds so far."""
    assert worker.stdout is not None
    worker.stdout.readline()
    return cpu_seconds(worker.pid)


def _tell(worker: "subprocess.Popen[bytes]") -> None:
    assert worker.stdin is not None
    worker.stdin.write(b"go\n")
    worker.stdin.close()


def _finish(worker: "subprocess.Popen[bytes]") -> float:
    """Wait for a worker; its CPU seconds."""
    used = 0.0
    while worker.poll() is None:
        try:
            used = cpu_seconds(worker.pid)
        except (OSError, ValueError):
            break
        time.sleep(0.2)
    if worker.wait() != 0:
        raise RuntimeError(f"a worker ended with {worker.returncode}")
    return used


def time_copy(url: str) -> float:
    """Seconds to hand the same rows out by COPY."""
    start = time.perf_counter()
    with psycopg.connect(libpq_url(url)) as connection, connection.cursor() as cursor:
        query = "COPY (SELECT host_id, ts, body FROM heat ORDER BY host_id, ts) TO STDOUT (FORMAT BINARY)"
        with cursor.copy(query.encode()) as out:
            for _ in out:
                pass
    return time.perf_counter() - start


def time_sums() -> float:
    """Seconds per host-day to sum arrays of single intervals to hours, in memory."""
    values = np.random.default_rng(1).integers(0, 1 << 40, (1440, len(STRATA), 38))
    first = np.arange(0, 1440, 60)
    start = time.process_time()
    for _ in range(50):
        np.add.reduceat(values, first, axis=0)
    return (time.process_time() - start) / 50


def describe(host_days: int, seconds: float, cpu: float, copied: float, sums: float, stored: int) -> Section:
    whole = seconds / host_days * HOSTS * DAYS
    return Section(
        title=f"Roll-up of {host_days:,} host-days from single intervals",
        rows=[
            Row(
                f"read, roll up, class and store, {CORES} processes",
                f"{seconds:.1f} s ({host_days / seconds:.0f} host-days/s)",
                f"{copied:.1f} s",
                seconds / copied,
                f"{HOSTS * DAYS:,} in under {MOST_SECONDS:g} s",
                whole < MOST_SECONDS,
            ),
            Row(
                "CPU of the processes per host-day",
                f"{cpu / host_days * 1e3:.2f} ms",
                f"{sums * 1e3:.2f} ms",
                cpu / host_days / sums,
            ),
        ],
        notes=[
            f"{len(STRATA)} strata of kind, size and tier; intervals of a minute; {stored / 2**30:.2f} GiB stored.",
            f"{TEMPLATES} days are drawn and stored again and again at other times: each host-day is read for itself.",
            "The references: COPY of the same rows in order; sums of hours over arrays in memory, on one core.",
            f"Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end.",
        ],
    )


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    work(sys.argv[1], datetime.fromisoformat(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))

"""Ingest through HTTP, decode and commit, against COPY of the same stored rows, in the same run.

The service is the real one, as a process of its own on a durable PostgreSQL (fsync on). The reference is the cheapest
way to bring the same rows into the same kind of table: binary COPY of bytes that are already encoded.
"""

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx
import psycopg

from bench.batches import Prepared, prepare_host
from bench.figures import Row, Section
from bench.processes import cpu_seconds
from bench.recorded import Recorded
from factories.loopback import free_port
from fixtures.servers import running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.storage.base.schema import upgrade
from tierscope.usecases.access.tokens import Access

HOSTS = 16
SENDERS = 4
SHAPES = ((1, 60), (10, 24), (60, 6))
"""Samples per batch (one a minute live; more after an outage) and batches per host."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One shape of batch: both rates, and what it cost."""

    samples_per_batch: int
    http_values_per_s: float
    copy_values_per_s: float
    bytes_per_value: float
    api_cpu_ms_per_batch: float


@contextmanager
def serving(url: str) -> Iterator[tuple[str, int]]:
    """Yield address and process id of the service on the database `url`."""
    port = free_port()
    environment = os.environ | {"TIERSCOPE_DATABASE_URL": url, "TIERSCOPE_LOG_LEVEL": "warning"}
    process = subprocess.Popen([sys.executable, "-m", "tierscope.cli", "serve", "--port", str(port)], env=environment)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{address}/healthz").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def measure(recorded: Recorded, *, mode: str) -> Section:
    """Measure all shapes on one storage mode, each on an empty database."""
    results = [_measure_shape(recorded, mode=mode, samples=samples, batches=count) for samples, count in SHAPES]
    rows = [
        Row(
            f"{result.samples_per_batch} samples per batch ({result.bytes_per_value:.1f} stored bytes per value, "
            f"{result.api_cpu_ms_per_batch:.1f} ms CPU of the service per batch)",
            f"{result.http_values_per_s / 1e6:.2f} M values/s",
            f"{result.copy_values_per_s / 1e6:.2f} M values/s",
            result.http_values_per_s / result.copy_values_per_s,
            "at least 0.33",
            result.http_values_per_s / result.copy_values_per_s >= 1 / 3,
        )
        for result in results
    ]
    return Section(
        title=f"Ingest against COPY of the same rows ({mode})",
        rows=rows,
        notes=[
            f"{HOSTS} hosts, {SENDERS} connections, {len(recorded.keys)} counters per sample, one service process.",
            "Values are those present; stored bytes are of table, TOAST and index after the run.",
            "The reference is one connection that COPYs pre-encoded bytes and commits once.",
        ],
    )


def _measure_shape(recorded: Recorded, *, mode: str, samples: int, batches: int) -> Measured:
    with running_cluster(mode, durable=True) as cluster:
        url = cluster.url()
        upgrade(url)
        with serving(url) as (address, pid):
            credentials = _enrol(url, address)
            work = [
                (credential, prepare_host(recorded, host_id=host, n_batches=batches, samples_per_batch=samples))
                for host, credential in credentials
            ]
            n_values = sum(batch.n_values for _, prepared in work for batch in prepared)
            cpu_before, start = cpu_seconds(pid), time.perf_counter()
            _send_all(address, work)
            elapsed = time.perf_counter() - start
            cpu = cpu_seconds(pid) - cpu_before
        copied, stored_bytes = _copy_again(libpq_url(url))
    return Measured(
        samples_per_batch=samples,
        http_values_per_s=n_values / elapsed,
        copy_values_per_s=n_values / copied,
        bytes_per_value=stored_bytes / n_values,
        api_cpu_ms_per_batch=cpu * 1e3 / (batches * HOSTS),
    )


def _enrol(url: str, address: str) -> list[tuple[str, str]]:
    database = Database(url, pool_size=1)
    token = Access(database).create_join_token(
        uses=HOSTS, lifetime=timedelta(hours=1), origin="simulated", note="benchmark", actor="benchmark"
    )
    database.close()
    hosts = []
    for number in range(HOSTS):
        body = {"join_token": token.secret, "hostname": f"bench-{number}", "labels": {}, "origin": "simulated"}
        answer = httpx.post(f"{address}/v1/agents/enrol", json=body).raise_for_status().json()
        hosts.append((answer["host_id"], answer["credential"]))
    return hosts


def _send_all(address: str, work: Sequence[tuple[str, Sequence[Prepared]]]) -> None:
    failures: list[str] = []
    threads = [
        threading.Thread(target=_send_share, args=(address, work[number::SENDERS], failures))
        for number in range(SENDERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"{len(failures)} batches were not taken, first: {failures[0]}")


def _send_share(address: str, work: Sequence[tuple[str, Sequence[Prepared]]], failures: list[str]) -> None:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    for credential, batches in work:
        headers = {
            "Authorization": f"Bearer {credential}",
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "zstd",
        }
        for batch in batches:
            connection.request("POST", "/v1/ingest/batches", body=batch.body, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200 or b'"accepted"' not in text:
                failures.append(f"{answer.status} {text[:300].decode(errors='replace')}")


def _copy_again(url: str) -> tuple[float, int]:
    """COPY the stored counter rows into a twin table; seconds it took, and bytes the stored ones take."""
    with psycopg.connect(url, autocommit=True) as connection:
        with connection.cursor() as cursor, cursor.copy("COPY (SELECT * FROM counters_live) TO STDOUT BINARY") as out:
            encoded = b"".join(bytes(block) for block in out)
        connection.execute("CREATE TABLE copy_twin (LIKE counters_live INCLUDING ALL)")
        start = time.perf_counter()
        with (
            connection.transaction(),
            connection.cursor() as cursor,
            cursor.copy("COPY copy_twin FROM STDIN BINARY") as into,
        ):
            for offset in range(0, len(encoded), 1 << 20):
                into.write(encoded[offset : offset + (1 << 20)])
        elapsed = time.perf_counter() - start
        size = connection.execute("SELECT pg_total_relation_size('copy_twin')").fetchone()
    assert size is not None
    return elapsed, int(size[0])

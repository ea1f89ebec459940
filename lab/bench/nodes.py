"""How long the pages of a fleet of a hundred thousand hosts take on four database servers, and while one is away.

The first server is the coordinator and has a quarter of the hosts; the other three are nodes. All run on this machine,
from the same binaries, reached on sockets. The first server's hosts are seeded as those of the part `queries`
(fleet_store.py) and copied to the nodes under numbers and names of their own; then what is of all hosts is stored on
the coordinator. Calls are those of `queries`, by its own way of timing them.
"""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
from sqlalchemy import Table

from bench.figures import Row, Section
from bench.fleet_store import Fleet, Span, make_partitions, seed_hosts, seed_sums
from bench.kept_store import keep, kept_cluster, read_kept
from bench.queries import Times, server_pid, time_running, told_cpu
from bench.service_page import p95, started_anew
from bench.service_store import newest
from factories.node_fleets import bring_rows
from fixtures.servers import running_cluster
from tierscope.core.database import Database, libpq_url
from tierscope.core.embedded.postgres import PostgresCluster
from tierscope.storage.base.schema import upgrade
from tierscope.storage.nodes.placement import HOSTS_PER_NODE, KEYS
from tierscope.storage.tables import boots, counters_live, hosts, layouts, ledger_trusts, marks, services
from tierscope.usecases.nodes.changes import NodeChanges

SERVERS = 4
HOSTS, DAYS = 100_000, 7
WHOLE_HOSTS = 20
"""Hosts of each server with ledgers and hours of all days."""
RECENT = timedelta(minutes=10)
ROUNDS = 8
MOST_WAIT_SECONDS = 60
_SETTINGS = {
    "max_wal_size": "1GB",
    "shared_buffers": "256MB",
    "max_connections": "100",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
}
"""Nothing is written while calls are timed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure: so many hosts, so many warm calls of each route by one viewer."""

    n_hosts: int = HOSTS
    kept: Path | None = None
    """A directory that keeps the servers; what it has of an earlier run is asked again."""
    rounds: int = ROUNDS


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of all calls with all nodes there, and with one away."""

    whole: dict[tuple[str, str], Times]
    lacking: dict[tuple[str, str], Times]
    fleet: Fleet
    days: int
    rounds: int
    """Warm calls of each route by one viewer."""
    seeded_s: float | None
    """None: an earlier run had seeded them."""
    disk_bytes: int


def measure(asked: Asked) -> Section:
    """Seed four servers, time every call on them, and once more with one of them stopped.

    Raises:
        RuntimeError: what is kept is of another number of hosts, or so old that windows up to now are empty.
    """
    return describe(run(asked))


def run(asked: Asked, *, days: int = DAYS) -> Measured:
    kept, n_hosts, rounds = asked.kept, asked.n_hosts, asked.rounds
    with _running(kept) as clusters:
        fleet, seeded_s = None if kept is None else read_kept(kept), None
        if fleet is None:
            began = time.perf_counter()
            fleet = seed([cluster.url() for cluster in clusters], n_hosts // SERVERS, days)
            seeded_s = time.perf_counter() - began
            if kept is not None:
                keep(kept, fleet)
        if fleet.n_hosts != n_hosts // SERVERS * SERVERS:
            raise RuntimeError(f"{kept} has {fleet.n_hosts:,} hosts, not {n_hosts:,}: name another directory")
        disk_bytes = sum(_bytes_below(cluster.places.database) for cluster in clusters)
        with started_anew(*clusters) as (address, pid):
            _until_nodes(address, f"{SERVERS} of {SERVERS}")
            servers = [pid, *map(server_pid, clusters)]
            whole = time_running(address, servers, fleet, rounds=rounds)
            clusters[-1].stop()
            _until_nodes(address, f"{SERVERS - 1} of {SERVERS}")
            lacking = time_running(address, servers[:-1], fleet, rounds=rounds)
    return Measured(whole, lacking, fleet, days, rounds, seeded_s, disk_bytes)


@contextmanager
def _running(kept: Path | None) -> Iterator[list[PostgresCluster]]:
    with ExitStack() as running:
        yield [
            running.enter_context(
                running_cluster("native", durable=True, settings=_SETTINGS)
                if kept is None
                else kept_cluster(kept / f"server-{number}", settings=_SETTINGS)
            )
            for number in range(SERVERS)
        ]


def seed(urls: Sequence[str], n_hosts: int, days: int) -> Fleet:
    """Store a fleet on several servers, each with so many hosts; the first is the coordinator."""
    span = Span(days, newest(), whole_hosts=WHOLE_HOSTS, recent=RECENT)
    upgrade(urls[0])
    with closing(Database(urls[0])) as coordinator:
        ledgers = seed_hosts(coordinator, n_hosts, span)
        for number, url in enumerate(urls[1:], start=1):
            NodeChanges(coordinator).add(f"n{number}", url, actor="bench")
            with closing(Database(url)) as node:
                make_partitions(node, span)
        with ThreadPoolExecutor(2) as pool:
            copies = [
                pool.submit(_copy_hosts, urls[0], url, number, n_hosts) for number, url in enumerate(urls[1:], start=1)
            ]
            for copy in copies:
                copy.result()
        return seed_sums(coordinator, ledgers, span)


def _copy_hosts(source: str, target: str, node: int, n_hosts: int) -> None:
    """The first server's hosts under numbers and names of a node, with the services and layouts that they name."""
    shift = node * HOSTS_PER_NODE
    tables: dict[Table, dict[str, str]] = {table: {} for table in (services, layouts, ledger_trusts)}
    tables |= {table: {key: f"{key} + {shift}"} for table, key in KEYS.items() if table is not marks}
    for table in (hosts, boots):
        tables[table]["id"] = f"id + {shift}"
    tables[counters_live]["boot_ref"] = f"boot_ref + {shift}"
    tables[hosts] |= {
        "public_id": f"public_id || '-{node}'",
        "name": f"'host-' || lpad((id + {node * n_hosts})::text, 6, '0')",
        "labels": f"labels || jsonb_build_object('rack', 'n{node}-' || (labels->>'rack'))",
        "credential_hash": f"sha256(credential_hash || '\\x{node:02x}')",
    }
    with (
        psycopg.connect(libpq_url(source)) as reading,
        psycopg.connect(libpq_url(target), autocommit=True) as writing,
    ):
        bring_rows(reading, writing, tables)
        writing.execute("VACUUM (ANALYZE, PROCESS_TOAST false)")


def _bytes_below(directory: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())


def _until_nodes(address: str, expected: str) -> None:
    """Until the service answers for so many nodes: it looks every few seconds."""
    for _ in range(MOST_WAIT_SECONDS):
        if httpx.get(f"{address}/v1/status", timeout=60).headers.get("X-Nodes") == expected:
            return
        time.sleep(1)
    raise RuntimeError(f"the service does not answer for {expected} nodes")


def describe(measured: Measured) -> Section:
    seeding = "Seeded by an earlier run." if measured.seeded_s is None else f"Seeding took {measured.seeded_s:.0f} s."
    rows = [
        Row(f"{page}: {name}", _told(found, measured.lacking[page, name]))
        for (page, name), found in measured.whole.items()
    ]
    for named, times in (("all calls", measured.whole), ("all calls, one node away", measured.lacking)):
        values = [value for found in times.values() for value in found.alone]
        said = sorted({one for found in times.values() for one in found.nodes})
        rows.insert(0, Row(f"{named}: answers of {', '.join(said)} nodes, p95", f"{p95(values):.0f} ms"))
    return Section(
        title=f"Pages of {measured.fleet.n_hosts:,} hosts on {SERVERS} servers",
        rows=rows,
        notes=[
            f"Each row: p50 / p95 of {measured.rounds} warm calls by one viewer; p95 with four viewers at once.",
            "First: the first call after all servers were started with a cold page cache.",
            "CPU: of the service + coordinator + each node, for a warm call. One away: p95 by one viewer meanwhile.",
            f"{seeding} {measured.disk_bytes / 1e9:.1f} GB on disk. Whole hours up to {measured.fleet.end:%H:%M} UTC.",
            f"Every host has its inventory (8 kB), newest hour and {RECENT.seconds // 60} min of ledger.",
            f"{WHOLE_HOSTS} hosts of each server have ledgers, heat and counters of {measured.days} days.",
            f"Measured at {datetime.now(UTC):%H:%M} UTC with a load average of {os.getloadavg()[0]:.1f}.",
        ],
    )


def _told(found: Times, lacking: Times) -> str:
    if found.refused is not None:
        return f"not answered ({found.refused[:60]})"
    away = f"{p95(lacking.alone):.0f} ms" if lacking.refused is None else f"not answered ({lacking.refused[:60]})"
    middle = sorted(found.alone)[len(found.alone) // 2]
    return (
        f"{middle:.0f} / {p95(found.alone):.0f} ms; four viewers {p95(found.together):.0f} ms; first"
        f" {found.cold[0]:.0f} ms; CPU {told_cpu(found)}; one away {away}"
    )
